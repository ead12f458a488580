// A file that is a text, written as a whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// What was at `path` stays until all is written. FileError, which says of `what` ("the graph") and `path`
/// why not.
void write_text_file(const std::string& path, const char* what, const std::string& text);

}  // namespace strata::inline STRATA_ABI::detail
