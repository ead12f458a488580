// Text as a JSON string.
#pragma once

#include <string>
#include <string_view>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// `text` in quotes, escaped. Bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace strata::inline STRATA_ABI::detail
