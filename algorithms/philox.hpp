// Philox4x32-10, and the numbers that random.hpp makes of its bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/core/real_functions.hpp>

namespace strata::inline STRATA_ABI {

/// 128 random bits.
struct RandomBits {
  std::uint32_t word[4];  ///< the lowest first

  /// Bits 0 to 63, or 64 to 127.
  STRATA_FUNCTION constexpr std::uint64_t word64(int half) const {
    return word[2 * half] | static_cast<std::uint64_t>(word[2 * half + 1]) << 32;
  }
};

/// The key of the generator: a seed of 64 bits.
struct PhiloxKey {
  std::uint32_t word[2];  ///< the lowest first
};

/// The block cipher: different counters give different, well-mixed bits under every key.
STRATA_FUNCTION constexpr RandomBits philox4x32_10(RandomBits counter, PhiloxKey key) {
  // In variables of their own, and unrolled, so that compilers vectorise across work items.
  std::uint32_t c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2], c3 = counter.word[3];
  std::uint32_t k0 = key.word[0], k1 = key.word[1];
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 10
#endif
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53} * c0;
    const std::uint64_t odd = std::uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<std::uint32_t>(odd >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(odd);
    c2 = static_cast<std::uint32_t>(even >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(even);
    k0 += 0x9E3779B9;  // the golden ratio
    k1 += 0xBB67AE85;  // the square root of 3, less 1
  }
  return {{c0, c1, c2, c3}};
}

namespace detail {

struct Product {
  std::uint64_t high, low;
};

/// a * b in full.
STRATA_FUNCTION constexpr Product multiply(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t mask = 0xffffffff;
  const std::uint64_t low = (a & mask) * (b & mask);
  const std::uint64_t middle = (a >> 32) * (b & mask) + (low >> 32);
  const std::uint64_t other = (a & mask) * (b >> 32) + (middle & mask);
  return {(a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32), a * b};
}

template <class T>
STRATA_FUNCTION constexpr void require_random_real() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "strata: random real numbers are float or double");
}

/// In [0, 1), equally spaced: exact in every step.
template <class T>
STRATA_FUNCTION constexpr T unit_number(const RandomBits& bits) {
  require_random_real<T>();
  if constexpr (std::is_same_v<T, float>) return static_cast<float>(bits.word[0] >> 8) * 0x1p-24F;
  else return static_cast<double>(bits.word64(0) >> 11) * 0x1p-53;
}

/// The largest number below `high`, but not below `low`.
template <class T>
STRATA_FUNCTION constexpr T last_below(T low, T high) {
  using Word = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  if (!(low < high)) return low;
  // Away from 0 numbers of one sign are ordered as their bits are; -0 is where the negative ones begin.
  Word bits = __builtin_bit_cast(Word, high == 0 ? -T(0) : high);
  bits += high > 0 ? Word(-1) : Word(1);
  const T below = __builtin_bit_cast(T, bits);
  return below < low ? low : below;
}

/// Box and Muller: the distance from 0 of a point in the plane from one number in (0, 1], its direction from
/// another in [0, 1).
template <class T>
STRATA_FUNCTION T normal_number(const RandomBits& bits) {
  require_random_real<T>();
  if constexpr (std::is_same_v<T, float>) {
    const float u = static_cast<float>(bits.word[0]) * 0x1p-32F + 0x1p-33F;
    const float turn = static_cast<float>(bits.word[1] >> 8) * 0x1p-24F;
#if defined(__CUDA_ARCH__)
    return sqrtf(-2 * logf(u)) * cospif(2 * turn);
#else
    return real_sqrt(-2 * real_log(u)) * real_cos(6.283185307179586F * turn);
#endif
  } else {
    const double u = static_cast<double>(bits.word64(0)) * 0x1p-64 + 0x1p-65;
    const double turn = static_cast<double>(bits.word64(1) >> 11) * 0x1p-53;
#if defined(__CUDA_ARCH__)
    return sqrt(-2 * log(u)) * cospi(2 * turn);
#else
    return real_sqrt(-2 * real_log(u)) * real_cos(6.283185307179586476925 * turn);
#endif
  }
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
