// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

namespace {

constexpr const char* byte_units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
// Read, but never written: powers of 1000.
constexpr const char* decimal_units[] = {"kB", "MB", "GB", "TB"};
constexpr index_t decimal_scales[] = {1'000, 1'000'000, 1'000'000'000, 1'000'000'000'000};

bool equal_in_any_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// The bytes of a unit, in any case; 0: there is no such unit.
index_t scale_of(std::string_view unit) {
  if (unit.empty()) return 1;
  const auto is_unit = [&](const char* name) { return equal_in_any_case(name, unit); };
  if (const auto* found = std::find_if(std::begin(byte_units), std::end(byte_units), is_unit);
      found != std::end(byte_units))
    return index_t{1} << (10 * (found - byte_units));
  const auto* found = std::find_if(std::begin(decimal_units), std::end(decimal_units), is_unit);
  return found == std::end(decimal_units) ? 0 : decimal_scales[found - decimal_units];
}

[[noreturn]] void fail_bytes(const std::string& text, const char* reason) {
  throw SettingError(
      "cannot read \"" + text + "\" as bytes: " + reason +
      "; write digits and a unit of B, KiB, MiB, GiB or TiB (powers of 1024) or of kB, MB, GB or TB (powers "
      "of 1000), such as 512MiB");
}

// The largest unit that a count reaches, as an index of byte_units.
int unit_of(index_t bytes) {
  int unit = 0;
  const double magnitude = std::abs(static_cast<double>(bytes));
  while (unit + 1 < std::ssize(byte_units) && magnitude >= std::ldexp(1.0, 10 * (unit + 1))) ++unit;
  return unit;
}

std::string rounded(index_t bytes, int unit) {
  char text[32];
  const double count = std::ldexp(static_cast<double>(bytes), -10 * unit);
  const auto written = std::to_chars(text, text + sizeof text, count, std::chars_format::fixed, 2);
  return std::string(text, written.ptr) + " " + byte_units[unit];
}

}  // namespace

index_t bytes_from_string(const std::string& text) {
  const char* end = text.data() + text.size();
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::size_t unit = std::min(text.find_first_not_of(' ', digits), text.size());
  const std::string_view suffix(text.data() + unit, text.size() - unit);
  if (digits == 0) fail_bytes(text, "it does not begin with a digit");
  const index_t scale = scale_of(suffix);
  if (scale == 0) fail_bytes(text, "the unit is unknown");

  // Whole counts are read exactly; fractions in floating point, where every sensible one is exact too.
  index_t whole = 0;
  const std::from_chars_result exact = std::from_chars(text.data(), end, whole);
  if (exact.ec == std::errc() && exact.ptr == text.data() + digits) {
    if (__builtin_mul_overflow(whole, scale, &whole)) fail_bytes(text, "it is more than 64 bits count");
    return whole;
  }
  if (exact.ec == std::errc::result_out_of_range) fail_bytes(text, "it is more than 64 bits count");
  double count = 0;
  const std::from_chars_result real = std::from_chars(text.data(), end, count, std::chars_format::fixed);
  if (real.ec != std::errc() || real.ptr != text.data() + digits) fail_bytes(text, "it is not a number");
  const double bytes = count * static_cast<double>(scale);
  if (bytes >= 0x1p63) fail_bytes(text, "it is more than 64 bits count");
  if (bytes != std::floor(bytes)) fail_bytes(text, "it is not a whole number of bytes");
  return static_cast<index_t>(bytes);
}

std::string string_from_bytes(index_t bytes) {
  const int unit = unit_of(bytes);
  const index_t scale = index_t{1} << (10 * unit);
  return bytes % scale == 0 ? std::to_string(bytes / scale) + " " + byte_units[unit] : rounded(bytes, unit);
}

std::string string_from_bytes(index_t bytes, index_t other) {
  const int unit = std::max(unit_of(bytes), unit_of(other));
  const bool is_close = bytes != other && rounded(bytes, unit) == rounded(other, unit);
  return is_close ? std::to_string(bytes) + " bytes" : string_from_bytes(bytes);
}

}  // namespace strata::inline STRATA_ABI
