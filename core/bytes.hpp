// Byte counts: literals, and to and from text. Counts are of type index_t; units of literals and in output
// are powers of 1024.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>  // declares std::string in libstdc++ and libc++; who calls with one includes <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// The bytes that a text names: digits, perhaps with a decimal fraction ("1.5 GiB"), then B (or nothing),
/// KiB, MiB, GiB, TiB (powers of 1024), kB, MB, GB, TB (powers of 1000) in any case. SettingError when it
/// cannot be read, is negative, names part of a byte, or overflows index_t.
index_t bytes_from_string(const std::string& text);

/// A byte count for people, in the largest unit that it reaches: "8 GiB", "100 B", and rounded to two
/// decimals where it is not whole, "1.15 GiB".
std::string string_from_bytes(index_t bytes);
/// The same for a text that also has `other`: "1600 bytes", exactly, if both would be rounded to the same
/// text.
std::string string_from_bytes(index_t bytes, index_t other);

namespace detail {
void the_byte_count_overflows_index_t();  // not constexpr: a call to it ends constant evaluation

consteval index_t scaled_bytes(unsigned long long count, int shift) {
  if (count > (~0ULL >> 1) >> shift) the_byte_count_overflows_index_t();
  return static_cast<index_t>(count << shift);
}
}  // namespace detail

/// `using namespace strata::literals` gives `4_KiB`, `64_MiB`, `2_GiB`; too many bytes do not compile.
inline namespace literals {
/// Of 1024, 1024^2 and 1024^3 bytes.
consteval index_t operator""_KiB(unsigned long long count) { return detail::scaled_bytes(count, 10); }
consteval index_t operator""_MiB(unsigned long long count) { return detail::scaled_bytes(count, 20); }
consteval index_t operator""_GiB(unsigned long long count) { return detail::scaled_bytes(count, 30); }
}  // namespace literals

}  // namespace strata::inline STRATA_ABI
