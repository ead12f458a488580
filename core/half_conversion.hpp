// The bits of 16-bit floating-point numbers from and to float and double, rounded to nearest, ties to even,
// subnormals included.
//
// A NaN stays a quiet NaN; hosts keep the leading bits of its payload, GPUs do not. Subnormals are rounded in
// the rounding mode of the processor, which is "to nearest" unless the program changed it.
//
// On hosts everything is arithmetic on bits without branches, which compilers vectorise, or where the
// compiler may use F16C, one instruction; on GPUs it is one instruction each (bfloat16_t: from sm_80 on).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/element_types.hpp>

namespace strata::inline STRATA_ABI::detail {

using Bits16 = std::uint16_t;
using Bits32 = std::uint32_t;

STRATA_FUNCTION constexpr Bits32 bits_of(float x) { return __builtin_bit_cast(Bits32, x); }
STRATA_FUNCTION constexpr float float_of(Bits32 bits) { return __builtin_bit_cast(float, bits); }

#if defined(__F16C__) && !defined(__CUDA_ARCH__)
using FourFloats = float __attribute__((vector_size(16)));
using EightShorts = short __attribute__((vector_size(16)));
#endif

// `a` where the condition holds, else `b`: compilers make branches of `c ? a : b` here, and then vectorise
// nothing.
STRATA_FUNCTION constexpr Bits32 choose(bool condition, Bits32 a, Bits32 b) {
  const Bits32 mask = Bits32{0} - static_cast<Bits32>(condition);
  return (a & mask) | (b & ~mask);
}

/// `x` rounded *to odd*: an inexact value becomes that of its two neighbours whose last bit is set. Rounded
/// again, to at least two bits fewer, it gives the same as `x` itself; the nearest float need not, as it may
/// be a tie where `x` is not (Boldo, Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
template <class Wide>
STRATA_FUNCTION constexpr float float_to_odd(Wide x) {
  constexpr float greatest = 0x1.fffffep127F;  // odd
  if (x > greatest) return x - x == 0 ? greatest : __builtin_huge_valf();
  if (x < -greatest) return x - x == 0 ? -greatest : -__builtin_huge_valf();
  const float nearest = static_cast<float>(x);
  const Wide there = static_cast<Wide>(nearest);
  const Bits32 bits = bits_of(nearest);
  if (!(there < x || there > x) || (bits & 1) != 0) return nearest;  // exact, or a NaN, or odd
  return float_of((x > 0) == (there < x) ? bits + 1 : bits - 1);
}

/// An integer rounded to odd.
STRATA_FUNCTION constexpr double double_to_odd(unsigned long long x) {
  if (x >> 53 == 0) return static_cast<double>(x);
  return static_cast<double>((x & ~0xfffULL) | ((x & 0xfff) != 0 ? 0x800U : 0U));
}

struct Binary16 {
  static constexpr int digits = 11, min_exponent = -13, max_exponent = 16;
  static constexpr int digits10 = 3, max_digits10 = 5, min_exponent10 = -4, max_exponent10 = 4;
  static constexpr Bits16 min = 0x0400, max = 0x7bff, epsilon = 0x1400, infinity = 0x7c00;
  static constexpr Bits16 quiet_nan = 0x7e00, signaling_nan = 0x7d00, denorm_min = 1, one_half = 0x3800;

  STRATA_FUNCTION static constexpr float to_float(Bits16 h) {
    if (!std::is_constant_evaluated()) {
#if defined(__CUDA_ARCH__)
      float x;
      asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
      return x;
#elif defined(__F16C__) && !defined(__CUDACC__)
      return __builtin_ia32_vcvtph2ps(EightShorts{static_cast<short>(h)})[0];
#endif
    }
    return float_by_arithmetic(h);
  }
  STRATA_FUNCTION static constexpr float float_by_arithmetic(Bits16 h) {
    constexpr Bits32 exponents = 0x1fU << 23, rebias = (127U - 15) << 23, least_normal = (127U - 14) << 23;
    const Bits32 sign = (h & 0x8000U) << 16, magnitude = (h & 0x7fffU) << 13;
    const Bits32 normal = magnitude + rebias + choose(magnitude >= exponents, rebias, 0);
    const Bits32 subnormal = bits_of(float_of(magnitude + least_normal) - float_of(least_normal));
    return float_of(sign | choose(magnitude < 1U << 23, subnormal, normal));
  }

  STRATA_FUNCTION static constexpr Bits16 from_float(float x) {
    if (!std::is_constant_evaluated()) {
#if defined(__CUDA_ARCH__)
      Bits16 h;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
      return h;
#elif defined(__F16C__) && !defined(__CUDACC__)
      return static_cast<Bits16>(__builtin_ia32_vcvtps2ph(FourFloats{x}, 0)[0]);
#endif
    }
    return bits_by_arithmetic(x);
  }
  STRATA_FUNCTION static constexpr Bits16 bits_by_arithmetic(float x) {
    constexpr Bits32 rebias = (127U - 15) << 23, least_normal = (127U - 14) << 23;
    constexpr Bits32 too_large = (127U + 16) << 23, infinite = 0xffU << 23;
    const Bits32 all = bits_of(x), sign = all >> 16 & 0x8000U, magnitude = all & 0x7fffffffU;
    // A carry out of the fraction increments the exponent, up to infinity.
    const Bits32 normal = (magnitude - rebias + 0xfff + (magnitude >> 13 & 1)) >> 13;
    // The last bit of a float from 0.5 on is worth 2^-24, as is that of a subnormal half.
    const Bits32 subnormal = bits_of(float_of(magnitude) + 0.5F) - bits_of(0.5F);
    const Bits32 nan = quiet_nan | (magnitude >> 13 & 0x3ffU);
    Bits32 bits = choose(magnitude < least_normal, subnormal, normal);
    bits = choose(magnitude >= too_large, infinity, bits);
    bits = choose(magnitude > infinite, nan, bits);
    return static_cast<Bits16>(sign | bits);
  }

  STRATA_FUNCTION static constexpr Bits16 from_double(double x) {
#if defined(__CUDA_ARCH__)
    if (!std::is_constant_evaluated()) {
      Bits16 h;
      asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(x));
      return h;
    }
#endif
    return from_float(float_to_odd(x));
  }
};

struct Brain16 {
  static constexpr int digits = 8, min_exponent = -125, max_exponent = 128;
  static constexpr int digits10 = 2, max_digits10 = 4, min_exponent10 = -37, max_exponent10 = 38;
  static constexpr Bits16 min = 0x0080, max = 0x7f7f, epsilon = 0x3c00, infinity = 0x7f80;
  static constexpr Bits16 quiet_nan = 0x7fc0, signaling_nan = 0x7fa0, denorm_min = 1, one_half = 0x3f00;

  STRATA_FUNCTION static constexpr float to_float(Bits16 h) { return float_of(Bits32{h} << 16); }

  STRATA_FUNCTION static constexpr Bits16 from_float(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (!std::is_constant_evaluated()) {
      Bits16 h;
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
      return h;
    }
#endif
    constexpr Bits32 infinite = 0xffU << 23, quiet = 0x40;
    const Bits32 all = bits_of(x), nan = all >> 16 | quiet;
    const Bits32 rounded = (all + 0x7fff + (all >> 16 & 1)) >> 16;
    return static_cast<Bits16>(choose((all & 0x7fffffffU) > infinite, nan, rounded));
  }

  STRATA_FUNCTION static constexpr Bits16 from_double(double x) { return from_float(float_to_odd(x)); }
};

}  // namespace strata::inline STRATA_ABI::detail
