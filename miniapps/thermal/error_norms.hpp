// How far a solution is from a known one: the greatest difference at nodes, and the L2 and H1 norms by 3 x 3
// x 3 Gauss points an element. In double, whatever the solution is.
//
// An exact solution is a functor with value(x, y, z) and gradient(x, y, z, double (&)[3]).
#pragma once

#include <cmath>

#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/miniapps/thermal/heat_equation.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The squares of the norms of a difference.
struct NormSquares {
  double l2, h1;
};

namespace detail {

template <class Arrays, class Exact>
struct DifferenceNorms {
  using device_type = typename Arrays::device_type;
  using value_type = NormSquares;
  Arrays in;
  Exact exact;

  STRATA_FUNCTION void operator()(index_t e, NormSquares& sum) const {
    const double points[3] = {-std::sqrt(0.6), 0, std::sqrt(0.6)}, weights[3] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
    for (int q = 0; q < 27; ++q) {
      const double at[3] = {points[q % 3], points[q / 3 % 3], points[q / 9]};
      add_point(e, at, weights[q % 3] * weights[q / 3 % 3] * weights[q / 9], sum);
    }
  }
  STRATA_FUNCTION static void init(NormSquares& sum) { sum = {0, 0}; }
  STRATA_FUNCTION static void join(NormSquares& sum, const NormSquares& other) {
    sum.l2 += other.l2;
    sum.h1 += other.h1;
  }

 private:
  STRATA_FUNCTION void add_point(index_t e, const double (&at)[3], double weight, NormSquares& sum) const {
    double x[3] = {}, value = 0, slope[3] = {},
           j[3][3] = {};  // slope and j(a, .): derivatives by coordinate a
    for (int c = 0; c < 8; ++c) {
      double half[3], sign[3];
      for (int a = 0; a < 3; ++a) {
        sign[a] = (bits_of_corner(c) >> a & 1) == 1 ? 0.5 : -0.5;
        half[a] = 0.5 + sign[a] * at[a];
      }
      const auto node = in.nodes(e, c);
      const double shape = half[0] * half[1] * half[2], t = static_cast<double>(in.temperature(node));
      value += shape * t;
      for (int d = 0; d < 3; ++d) x[d] += shape * in.coordinates(node, d);
      for (int a = 0; a < 3; ++a) {
        const double local = sign[a] * half[(a + 1) % 3] * half[(a + 2) % 3];
        slope[a] += local * t;
        for (int d = 0; d < 3; ++d) j[a][d] += local * in.coordinates(node, d);
      }
    }
    double gradient[3] = {}, found[3] = {}, cofactor[3][3];
    for (int a = 0; a < 3; ++a)
      for (int d = 0; d < 3; ++d)
        cofactor[a][d] = j[(a + 1) % 3][(d + 1) % 3] * j[(a + 2) % 3][(d + 2) % 3] -
                         j[(a + 1) % 3][(d + 2) % 3] * j[(a + 2) % 3][(d + 1) % 3];
    const double volume = j[0][0] * cofactor[0][0] + j[0][1] * cofactor[0][1] + j[0][2] * cofactor[0][2];
    for (int a = 0; a < 3; ++a)
      for (int d = 0; d < 3; ++d) found[d] += cofactor[a][d] / volume * slope[a];
    exact.gradient(x[0], x[1], x[2], gradient);
    const double difference = value - exact.value(x[0], x[1], x[2]);
    sum.l2 += weight * volume * difference * difference;
    for (int d = 0; d < 3; ++d) {
      const double own = found[d] - gradient[d];
      sum.h1 += weight * volume * own * own;
    }
  }
};

template <class Coordinates, class Field, class Exact>
struct NodalDifference {
  using device_type = typename Field::device_type;
  using value_type = double;
  Coordinates coordinates;
  Field temperature;
  Exact exact;

  STRATA_FUNCTION void operator()(index_t n, double& most) const {
    const double own = static_cast<double>(temperature(n)) -
                       exact.value(coordinates(n, 0), coordinates(n, 1), coordinates(n, 2));
    join(most, own < 0 ? -own : own);
  }
  STRATA_FUNCTION static void init(double& most) { most = 0; }
  STRATA_FUNCTION static void join(double& most, const double& other) {
    if (!(other <= most)) most = other;  // lets NaN through
  }
};

}  // namespace detail

/// The norms of a difference; h1 is that of the gradients alone.
struct ErrorNorms {
  double l2, h1;
};
template <class Heat, class Exact>
ErrorNorms error_norms(const Heat& heat, const Exact& exact) {
  const auto arrays = heat.element_arrays();
  NormSquares squares{};
  parallel_reduce("error norms", on(heat.queue()), heat.mesh().element_count(),
                  detail::DifferenceNorms<std::remove_const_t<decltype(arrays)>, Exact>{arrays, exact},
                  squares);
  return {std::sqrt(squares.l2), std::sqrt(squares.h1)};
}

/// The greatest difference at a node.
template <class Heat, class Exact>
double nodal_error(const Heat& heat, const Exact& exact) {
  using Coordinates = std::remove_cvref_t<decltype(heat.mesh().coordinates)>;
  using Field = std::remove_cvref_t<decltype(heat.fields().temperature)>;
  double most = 0;
  parallel_reduce("nodal error", on(heat.queue()), heat.mesh().node_count(),
                  detail::NodalDifference<Coordinates, Field, Exact>{heat.mesh().coordinates,
                                                                     heat.fields().temperature, exact},
                  most);
  return most;
}

}  // namespace strata::inline STRATA_ABI::thermal
