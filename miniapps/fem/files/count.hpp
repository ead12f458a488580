// Count: how many there are of something, as a file says. A file may say anything, so sums and products of
// counts do not overflow: what is too large to be counted, or negative, is the largest count and stays it. It
// is refused where it is compared with the bytes of the file, of which no file has as many.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

class Count {
 public:
  constexpr Count() = default;
  /// Negative numbers are too many.
  template <std::integral Integer>
  constexpr Count(Integer number)
      : value_(number >= 0 && std::in_range<std::int64_t>(number) ? static_cast<std::int64_t>(number)
                                                                  : too_many) {}

  constexpr std::int64_t value() const { return value_; }
  constexpr std::size_t size() const { return static_cast<std::size_t>(value_); }
  /// For messages.
  std::string text() const { return std::to_string(value_) + (value_ == too_many ? " or more" : ""); }

  friend constexpr Count operator+(Count a, Count b) {
    Count sum;
    if (__builtin_add_overflow(a.value_, b.value_, &sum.value_)) sum.value_ = too_many;
    return sum;
  }
  friend constexpr Count operator*(Count a, Count b) {
    Count product;
    if (__builtin_mul_overflow(a.value_, b.value_, &product.value_)) product.value_ = too_many;
    return product;
  }
  constexpr Count& operator+=(Count other) { return *this = *this + other; }
  constexpr Count& operator*=(Count other) { return *this = *this * other; }
  friend constexpr auto operator<=>(Count, Count) = default;

 private:
  static constexpr std::int64_t too_many = INT64_MAX;

  std::int64_t value_ = 0;
};

}  // namespace strata::inline STRATA_ABI::fem::detail
