// text_of: the message of an exception that was kept.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// What it says; of one that is no std::exception, that.
inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace strata::inline STRATA_ABI::detail
