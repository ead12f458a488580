// The matrix and the vector of a trilinear hexahedron for -div(k grad T) = Q with 2 x 2 x 2 Gauss points, as
// sums and differences over the bits that number corners, Gauss points and monomials: bit a of a corner says
// whether it is on the positive side of coordinate a, bit a of a monomial whether a is a factor of it (what
// the mini-app's element.hpp explains). Without a Strata header; loops have constant bounds, to be unrolled.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__CUDACC__)
#define STRATA_PERF_INLINE __host__ __device__ __forceinline__
#else
#define STRATA_PERF_INLINE [[gnu::always_inline]] inline
#endif
#if defined(__CUDA_ARCH__)
#define STRATA_PERF_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define STRATA_PERF_UNROLL  // nvcc's compiler for hosts knows neither
#else
#define STRATA_PERF_UNROLL _Pragma("GCC unroll 8")
#endif

namespace perf {

/// The corner of Exodus' numbering that has these bits, and back.
STRATA_PERF_INLINE constexpr int corner_bits(int corner) { return corner ^ (corner >> 1 & 1); }
STRATA_PERF_INLINE constexpr int factors_of(int m) { return (m & 1) + (m >> 1 & 1) + (m >> 2 & 1); }
/// 3^(-k/2)
STRATA_PERF_INLINE constexpr double gauss_factor(int k) {
  return (k >= 2 ? 1.0 / 3 : 1.0) * (k >= 4 ? 1.0 / 3 : 1.0) * (k >= 6 ? 1.0 / 3 : 1.0) *
         (k % 2 == 1 ? 0.57735026918962576451 : 1.0);
}
/// The place of component ab of a symmetric matrix.
STRATA_PERF_INLINE constexpr int symmetric_place(int a, int b) { return a == b ? a : a + b + 2; }

/// Between values at corners and coefficients of monomials; bits of `fixed` are left alone.
template <bool Back, class R>
STRATA_PERF_INLINE void sums_and_differences(R (&v)[8], int fixed = 0) {
  STRATA_PERF_UNROLL for (int a = 0; a < 3; ++a) {
    if ((fixed >> a & 1) == 1) continue;
    STRATA_PERF_UNROLL for (int b = 0; b < 8; ++b) {
      if ((b >> a & 1) == 1 || (b & fixed) != 0) continue;
      const R low = v[b], high = v[b | 1 << a];
      v[b] = Back ? low - high : low + high;
      v[b | 1 << a] = Back ? low + high : high - low;
    }
  }
}

/// x: (direction, bits of the corner), in a type X of its own that convert(x, r) turns into R, the type of
/// the numbers (T, or a vector of T). Calls matrix(i, j, value) for i <= j and load(i, value), by bits.
template <class T, class X, class R, class Convert, class Matrix, class Load>
STRATA_PERF_INLINE void thermal_element(const X (&x)[3][8], R conductivity, R source, const Convert& convert,
                                        const Matrix& matrix, const Load& load) {
  R jacobian[3][3][8];  // of coordinate a, direction d, at points without bit a
  STRATA_PERF_UNROLL for (int d = 0; d < 3; ++d) {
    X sums[8];
    STRATA_PERF_UNROLL for (int b = 0; b < 8; ++b) sums[b] = x[d][b];
    sums_and_differences<false>(sums);
    R c[8];
    STRATA_PERF_UNROLL for (int m = 0; m < 8; ++m) convert(sums[m] * 0.125, c[m]);
    STRATA_PERF_UNROLL for (int a = 0; a < 3; ++a) {
      STRATA_PERF_UNROLL for (int p = 0; p < 8; ++p) if ((p >> a & 1) == 0) jacobian[a][d][p] =
          T(gauss_factor(factors_of(p))) * c[p | 1 << a];
      sums_and_differences<true>(jacobian[a][d], 1 << a);
    }
  }
  R flow[6][8], density[8];
  STRATA_PERF_UNROLL for (int q = 0; q < 8; ++q) {
    R j[3][3], cofactor[3][3];
    STRATA_PERF_UNROLL for (int a = 0; a < 3; ++a) STRATA_PERF_UNROLL for (int d = 0; d < 3; ++d) j[a][d] =
        jacobian[a][d][q & ~(1 << a)];
    STRATA_PERF_UNROLL for (int a = 0; a < 3; ++a) STRATA_PERF_UNROLL for (int d = 0; d < 3; ++d)
        cofactor[a][d] = j[(a + 1) % 3][(d + 1) % 3] * j[(a + 2) % 3][(d + 2) % 3] -
                         j[(a + 1) % 3][(d + 2) % 3] * j[(a + 2) % 3][(d + 1) % 3];
    const R volume = j[0][0] * cofactor[0][0] + j[0][1] * cofactor[0][1] + j[0][2] * cofactor[0][2];
    const R inverse = T(1) / volume;
    density[q] = volume * source;
    STRATA_PERF_UNROLL for (int a = 0; a < 3; ++a) STRATA_PERF_UNROLL for (int b = a; b < 3; ++b)
        flow[symmetric_place(a, b)][q] =
            inverse * (cofactor[a][0] * cofactor[b][0] + cofactor[a][1] * cofactor[b][1] +
                       cofactor[a][2] * cofactor[b][2]);
  }
  sums_and_differences<false>(density);
  STRATA_PERF_UNROLL for (int m = 0; m < 8; ++m) density[m] = density[m] * T(gauss_factor(factors_of(m)) / 8);
  sums_and_differences<true>(density);
  STRATA_PERF_UNROLL for (int i = 0; i < 8; ++i) load(i, density[i]);

  STRATA_PERF_UNROLL for (int c = 0; c < 6; ++c) sums_and_differences<false>(flow[c]);
  const R scale = conductivity * T(1.0 / 64);
  R half[8][8];  // (monomial n, corner)
  STRATA_PERF_UNROLL for (int n = 1; n < 8; ++n) {
    half[n][0] = R{};
    STRATA_PERF_UNROLL for (int m = 1; m < 8; ++m) {
      R sum = R{};
      STRATA_PERF_UNROLL for (int a = 0; a < 3; ++a)
          STRATA_PERF_UNROLL for (int b = 0; b < 3; ++b) if ((m >> a & 1) == 1 && (n >> b & 1) == 1) sum =
              sum + flow[symmetric_place(a < b ? a : b, a < b ? b : a)][(m ^ 1 << a) ^ (n ^ 1 << b)];
      half[n][m] = sum * (scale * T(gauss_factor(factors_of(m) + factors_of(n) - 2)));
    }
    sums_and_differences<true>(half[n]);
  }
  STRATA_PERF_UNROLL for (int i = 0; i < 8; ++i) {
    R row[8];
    row[0] = R{};
    STRATA_PERF_UNROLL for (int n = 1; n < 8; ++n) row[n] = half[n][i];
    sums_and_differences<true>(row);
    STRATA_PERF_UNROLL for (int j = i; j < 8; ++j) matrix(i, j, row[j]);
  }
}

}  // namespace perf
