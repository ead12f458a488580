// Text as a JSON string, and checks of text for XML and terminals.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::profiling {

/// `text` in quotes, escaped. Bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

/// Whether all of `text` is UTF-8, which XML is.
bool is_utf8(std::string_view text);

/// Whether a control character is in `text`: XML has none of them, and terminals obey them.
bool has_control_character(std::string_view text);

}  // namespace strata::inline STRATA_ABI::detail::profiling
