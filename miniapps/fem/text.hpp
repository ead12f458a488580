// Text of files: the words of readers, for all formats.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::fem {

/// Whether a character separates words, ends of lines included.
bool is_blank(char c);
/// The integer or number that all of `word` is; false if it is none. Numbers may have Fortran's exponents;
/// one that is too large is infinite, one that is too small 0.
bool to_integer(std::string_view word, std::int64_t& value);
bool to_number(std::string_view word, double& value);
/// Without blanks at both ends; in lower case.
std::string_view trimmed(std::string_view text);
std::string lower_case(std::string_view text);
/// For messages: at most 40 characters of `text`, and nothing that a terminal would not print.
std::string printable(std::string_view text);
std::string in_quotes(std::string_view text);

/// The first bytes of a file, at most so many. Calls fail(reason), which throws, where it cannot be read.
std::string bytes_of_file(const std::string& path, std::size_t most,
                          const std::function<void(const std::string& reason)>& fail);

}  // namespace strata::inline STRATA_ABI::fem
