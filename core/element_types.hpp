// Forward declarations of Strata's number types, for code that only has to recognise them; complex.hpp and
// half.hpp define them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

template <class T>
class complex;

template <class Format>
class ShortFloat;

namespace detail {
struct Binary16;
struct Brain16;
}  // namespace detail

/// IEEE 754 binary16: 11 significant bits, magnitudes up to 65504.
using half_t = ShortFloat<detail::Binary16>;
/// The upper half of a float: 8 significant bits, the range of float.
using bfloat16_t = ShortFloat<detail::Brain16>;

/// Whether T is a complex<...>.
template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<complex<T>> = true;

/// Whether T is half_t or bfloat16_t.
template <class T>
inline constexpr bool is_short_float_v = false;
template <class Format>
inline constexpr bool is_short_float_v<ShortFloat<Format>> = true;

}  // namespace strata::inline STRATA_ABI
