// The arithmetic of one element: the trilinear hexahedron with 2 x 2 x 2 Gauss points, all in registers.
//
// The trilinear functions are spanned by the monomials 1, xi, eta, xi eta, zeta, ... Number them, and the
// corners and Gauss points, by three bits: bit a of monomial m says whether coordinate a is a factor, bit a
// of corner or point b whether it lies on the positive side of a. With s_m(b) = +-1, the product of the signs
// of b over the factors of m,
//
//   phi_m at corner b = s_m(b),    phi_m at Gauss point q = g^|m| s_m(q),    g = 1 / sqrt(3)
//
// so that interpolation, derivatives and sums over Gauss points are Walsh-Hadamard transforms of length 8: 24
// additions instead of 64 products. A product of monomials at a Gauss point is again a sign, s_p s_r = s_(p
// xor r), and the whole matrix follows from the transforms of C = det J J^-T J^-1 k:
//
//   K_mn = sum over a in m, b in n of g^(|m|+|n|-2) sum_q C_ab(q) s_(m-a xor n-b)(q)
//   M_mn =                            g^(|m|+|n|)   sum_q c det J(q) s_(m xor n)(q)
//
// transformed to corners from both sides. These are the Gauss sums in another order: about 1500 operations
// for matrix and vector where the usual loops take 6000. Loops are unrolled by the compiler's front end:
// arrays whose indices are all constants stay in registers, and kernels over such code vectorise across
// elements.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <strata/core/config.hpp>
#include <strata/miniapps/fem/multiply_add.hpp>

namespace strata::inline STRATA_ABI::thermal {

using fem::difference_of_products;
using fem::multiply_add;
using fem::sum_of_products;

/// Calls f(0), f(1) ... f(N - 1) with constants.
template <int N, class F>
STRATA_FUNCTION constexpr void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (f(std::integral_constant<int, I>{}), ...); }
  (std::make_integer_sequence<int, N>{});
}

/// The bits of a corner of Exodus' numbering, and back.
STRATA_FUNCTION constexpr int bits_of_corner(int corner) { return corner ^ (corner >> 1 & 1); }
/// The number of factors of a monomial.
STRATA_FUNCTION constexpr int degree(int m) { return (m & 1) + (m >> 1 & 1) + (m >> 2 & 1); }
/// 3^(-k/2): powers of the coordinate of Gauss points.
STRATA_FUNCTION constexpr double gauss_power(int k) {
  constexpr double powers[] = {1,       0.57735026918962576451,     1.0 / 3, 0.57735026918962576451 / 3,
                               1.0 / 9, 0.57735026918962576451 / 9, 1.0 / 27};
  return powers[k];
}
/// The place of component ab of a symmetric 3 x 3 matrix.
STRATA_FUNCTION constexpr int component(int a, int b) { return a == b ? a : a + b + 2; }  // 01 3, 02 4, 12 5

/// v(m) = sum over b of s_m(b) v(b).
template <class R>
STRATA_FUNCTION constexpr void to_monomials(R (&v)[8]) {
  unrolled<3>([&](auto a) {
    unrolled<8>([&](auto b) {
      if constexpr ((b >> a & 1) == 0) {
        const R low = v[b], high = v[b | 1 << a];
        v[b] = low + high;
        v[b | 1 << a] = high - low;
      }
    });
  });
}

/// v(b) = sum over m of s_m(b) v(m). With `NoConstant`, v(0) is taken as 0.
template <bool NoConstant = false, class R>
STRATA_FUNCTION constexpr void to_corners(R (&v)[8]) {
  unrolled<3>([&](auto a) {
    unrolled<8>([&](auto m) {
      if constexpr ((m >> a & 1) == 0) {
        const R high = v[m | 1 << a];
        if constexpr (NoConstant && a == 0 && m == 0) {
          v[m] = -high;
        } else {
          const R low = v[m];
          v[m] = low - high;
          v[m | 1 << a] = low + high;
        }
      }
    });
  });
}

/// The values at the Gauss points of a function with these coefficients.
template <class R>
STRATA_FUNCTION constexpr void to_points(const R (&coefficients)[8], R (&values)[8]) {
  unrolled<8>([&](auto m) { values[m] = static_cast<R>(gauss_power(degree(m))) * coefficients[m]; });
  to_corners(values);
}

/// Its derivatives by coordinate A at the Gauss points, which do not depend on bit A of the point: values[q],
/// where that bit is 0.
template <int A, class R>
STRATA_FUNCTION constexpr void derivative(const R (&coefficients)[8], R (&values)[8]) {
  unrolled<8>([&](auto p) {
    if constexpr ((p >> A & 1) == 0)
      values[p] = static_cast<R>(gauss_power(degree(p))) * coefficients[p | 1 << A];
  });
  unrolled<3>([&](auto a) {
    unrolled<8>([&](auto p) {
      if constexpr (a != A && (p >> A & 1) == 0 && (p >> a & 1) == 0) {
        const R low = values[p], high = values[p | 1 << a];
        values[p] = low - high;
        values[p | 1 << a] = low + high;
      }
    });
  });
}

/// What an element's shape gives at its Gauss points.
template <class R>
struct Metric {
  R flow[6][8];  ///< C = det J J^-T J^-1, by component()
  R volume[8];   ///< det J, the volume that belongs to the point
};

/// The metric of an element with corners x (direction, bits of the corner). The differences of coordinates
/// are taken in their own type, so that elements far from the origin lose nothing in float.
template <class R, class X>
STRATA_FUNCTION constexpr void measure(const X (&x)[3][8], Metric<R>& metric) {
  R jacobian[3][3][8];  // of coordinate a, direction d, at points whose bit a is 0
  unrolled<3>([&](auto d) {
    X sums[8];
    unrolled<8>([&](auto b) { sums[b] = x[d][b]; });
    to_monomials(sums);
    R coefficients[8];
    unrolled<8>([&](auto m) { coefficients[m] = static_cast<R>(sums[m] * X(0.125)); });
    unrolled<3>([&](auto a) { derivative<a>(coefficients, jacobian[a][d]); });
  });
  unrolled<8>([&](auto q) {
    R j[3][3], cofactor[3][3];
    unrolled<3>([&](auto a) { unrolled<3>([&](auto d) { j[a][d] = jacobian[a][d][q & ~(1 << a)]; }); });
    unrolled<3>([&](auto a) {
      unrolled<3>([&](auto d) {
        constexpr int a1 = (a + 1) % 3, a2 = (a + 2) % 3, d1 = (d + 1) % 3, d2 = (d + 2) % 3;
        cofactor[a][d] = difference_of_products(j[a1][d1], j[a2][d2], j[a1][d2], j[a2][d1]);
      });
    });
    const R volume =
        sum_of_products(j[0][0], cofactor[0][0], j[0][1], cofactor[0][1], j[0][2], cofactor[0][2]);
    const R inverse = R(1) / volume;
    metric.volume[q] = volume;
    unrolled<3>([&](auto a) {
      unrolled<3>([&](auto b) {
        if constexpr (a <= b)
          metric.flow[component(a, b)][q] =
              inverse * sum_of_products(cofactor[a][0], cofactor[b][0], cofactor[a][1], cofactor[b][1],
                                        cofactor[a][2], cofactor[b][2]);
      });
    });
  });
}

/// The matrix between monomials, its upper triangle: of the flow C (transformed here), and with `Mass` of a
/// weight at each point, which includes the volume.
template <bool Mass, class R>
STRATA_FUNCTION constexpr void monomial_matrix(R (&flow)[6][8], R (&weight)[8], R (&k)[8][8]) {
  unrolled<6>([&](auto c) { to_monomials(flow[c]); });
  if constexpr (Mass) to_monomials(weight);
  unrolled<8>([&](auto m) {
    unrolled<8>([&](auto n) {
      if constexpr (m <= n) {
        R sum = R(0);
        unrolled<3>([&](auto a) {
          unrolled<3>([&](auto b) {
            if constexpr ((m >> a & 1) == 1 && (n >> b & 1) == 1)
              sum += flow[component(a < b ? a : b, a < b ? b : a)][(m ^ 1 << a) ^ (n ^ 1 << b)];
          });
        });
        constexpr int factors = degree(m) + degree(n);
        if constexpr (factors > 2) sum *= static_cast<R>(gauss_power(factors - 2));
        if constexpr (Mass) sum = multiply_add(static_cast<R>(gauss_power(factors)), weight[m ^ n], sum);
        k[m][n] = sum;
      }
    });
  });
}

/// Calls store(i, j, scale K_ij) for the corners i <= j by bits. `k` is the upper triangle between monomials;
/// without `Mass` its first row is 0.
template <bool Mass, class R, class Store>
STRATA_FUNCTION constexpr void corner_matrix(const R (&k)[8][8], R scale, const Store& store) {
  R half[8][8];  // (monomial n, corner b): transformed from the left
  unrolled<8>([&](auto n) {
    if constexpr (Mass || n > 0) {
      unrolled<8>([&](auto m) { half[n][m] = k[m <= n ? m : n][m <= n ? n : m] * (R(1.0 / 64) * scale); });
      to_corners<!Mass>(half[n]);
    }
  });
  unrolled<8>([&](auto i) {
    R row[8];
    unrolled<8>([&](auto n) {
      if constexpr (Mass || n > 0) row[n] = half[n][i];
    });
    to_corners<!Mass>(row);
    unrolled<8>([&](auto j) {
      if constexpr (i <= j) store(i, j, row[j]);
    });
  });
}

/// v(b) = sum over the points q of N_b(q) w(q), N_b being the function of corner b: what a density gives to
/// the corners.
template <class R>
STRATA_FUNCTION constexpr void density_to_corners(R (&v)[8]) {
  to_monomials(v);
  unrolled<8>([&](auto m) { v[m] *= static_cast<R>(gauss_power(degree(m)) / 8); });
  to_corners(v);
}

}  // namespace strata::inline STRATA_ABI::thermal
