// Copies that convert the elements: numbers of one type to numbers of another, as static_cast does it.
// Without a template over the types of a caller: a pair of kinds chooses a loop that is compiled once.
//
// Integers are taken modulo the range of a narrower one; floating-point numbers outside of the range of an
// integer have no defined result, as in C++. Complex numbers are converted to complex numbers, part by part.
// A kind is identified by size: `long` and `long long` are the same kind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <strata/core/copy_execute.hpp>
#include <strata/core/element_types.hpp>
#include <strata/core/layout_descriptor.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A type of numbers.
enum class NumberKind : unsigned char {
  Bool,
  Int8,
  UInt8,
  Int16,
  UInt16,
  Int32,
  UInt32,
  Int64,
  UInt64,
  Float,
  Double,
  Half,
  Brain,
  None
};
inline constexpr int number_kinds = static_cast<int>(NumberKind::None);

/// The kind of T; None of structs, complex numbers and long double.
template <class T>
constexpr NumberKind number_kind() {
  if constexpr (std::is_same_v<T, bool>) return NumberKind::Bool;
  else if constexpr (std::is_same_v<T, float>) return NumberKind::Float;
  else if constexpr (std::is_same_v<T, double>) return NumberKind::Double;
  else if constexpr (std::is_same_v<T, half_t>) return NumberKind::Half;
  else if constexpr (std::is_same_v<T, bfloat16_t>) return NumberKind::Brain;
  else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    constexpr int log2_bytes = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<NumberKind>(1 + 2 * log2_bytes + (std::is_signed_v<T> ? 0 : 1));
  } else return NumberKind::None;
}

/// How elements are converted: each is `parts` numbers of a kind, 2 for complex ones.
struct Conversion {
  NumberKind to, from;
  int parts;
};

template <class To, class From>
constexpr Conversion conversion() {
  if constexpr (is_complex_v<To> && is_complex_v<From>)
    return {number_kind<typename To::value_type>(), number_kind<typename From::value_type>(), 2};
  else return {number_kind<To>(), number_kind<From>(), 1};
}
template <class To, class From>
constexpr bool can_convert() {
  constexpr Conversion how = conversion<To, From>();
  return how.to != NumberKind::None && how.from != NumberKind::None;
}

/// The bytes of a number.
constexpr index_t bytes_of(NumberKind kind) {
  switch (kind) {
    case NumberKind::Bool:
    case NumberKind::Int8:
    case NumberKind::UInt8:
      return 1;
    case NumberKind::Int16:
    case NumberKind::UInt16:
    case NumberKind::Half:
    case NumberKind::Brain:
      return 2;
    case NumberKind::Int32:
    case NumberKind::UInt32:
    case NumberKind::Float:
      return 4;
    default:
      return 8;
  }
}

/// Whether the bytes from the lowest to the highest offset of one side reach into those of the other.
bool conversion_overlaps(const void* dst_base, const LayoutDescriptor& dst, const void* src_base,
                         const LayoutDescriptor& src, Conversion how);

/// Converts each element of `src` to the element of the same index of `dst`, whatever the layouts. The sides
/// have the same extents and do not overlap.
void convert_on_host(void* dst_base, const LayoutDescriptor& dst, const void* src_base,
                     const LayoutDescriptor& src, Conversion how, const ChunkRunner& runner = {});

}  // namespace strata::inline STRATA_ABI::detail
