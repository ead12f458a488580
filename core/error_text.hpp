// text_of, with_text_of: the message of an exception that was kept.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// f(what it says); of one that is no std::exception, that. The text lives as long as the call.
template <class F>
auto with_text_of(const std::exception_ptr& error, const F& f) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return f(known.what());
  } catch (...) {
    return f("an exception that is no std::exception");
  }
}

/// What it says.
inline std::string text_of(const std::exception_ptr& error) {
  return with_text_of(error, [](const char* text) { return std::string(text); });
}

}  // namespace strata::inline STRATA_ABI::detail
