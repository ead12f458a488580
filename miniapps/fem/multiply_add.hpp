// Multiply-adds that are written, not left to compilers: those contract one function differently in different
// kernels, and a run in core and one in slices would differ in last bits. Files that are compiled for GPUs
// with -fmad=false and for hosts with -ffp-contract=off have the bits that are written here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::fem {

/// a b + c: rounded once on GPUs, twice on hosts, where not all processors have an instruction for it.
template <class T>
STRATA_FUNCTION constexpr T multiply_add(T a, T b, T c) {
#if defined(__CUDA_ARCH__)
  return ::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// c - a b
template <class T>
STRATA_FUNCTION constexpr T multiply_subtract(T a, T b, T c) {
#if defined(__CUDA_ARCH__)
  return ::fma(-a, b, c);
#else
  return c - a * b;
#endif
}

/// a b - c d
template <class T>
STRATA_FUNCTION constexpr T difference_of_products(T a, T b, T c, T d) {
  return multiply_subtract(c, d, a * b);
}

/// Sums of two and of three products, from the left.
template <class T>
STRATA_FUNCTION constexpr T sum_of_products(T a, T b, T c, T d) {
  return multiply_add(c, d, a * b);
}
template <class T>
STRATA_FUNCTION constexpr T sum_of_products(T a, T b, T c, T d, T e, T f) {
  return multiply_add(e, f, multiply_add(c, d, a * b));
}

/// Longer ones, term by term: SumOfProducts{a * b}.plus(c, d).minus(e, f).value is a b + c d - e f.
template <class T>
struct SumOfProducts {
  T value;
  STRATA_FUNCTION constexpr SumOfProducts plus(T a, T b) const { return {multiply_add(a, b, value)}; }
  STRATA_FUNCTION constexpr SumOfProducts minus(T a, T b) const { return {multiply_subtract(a, b, value)}; }
};

}  // namespace strata::inline STRATA_ABI::fem
