// What the tests of parallel_reduce share: the suite, and functors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays.hpp"

namespace strata_tests {

template <class D>
class ParallelReduce : public ::testing::Test {};

// x . y, as in figure 11 of the Kokkos Array paper.
template <class D>
struct Dot {
  using device_type = D;
  using value_type = double;
  Vector<double, D> x, y;

  STRATA_FUNCTION void operator()(int i, double& update) const { update += x(i) * y(i); }
  STRATA_FUNCTION static void init(double& update) { update = 0; }
  STRATA_FUNCTION static void join(volatile double& update, const volatile double& input) {
    update = update + input;
  }
};

// A value as large as one likes.
template <class D, int Doubles>
struct SumOfVectors {
  struct value_type {
    double v[Doubles];
  };
  using device_type = D;
  Vector<double, D> x;

  STRATA_FUNCTION void operator()(auto i, value_type& update) const {
    for (int k = 0; k < Doubles; ++k) update.v[k] += x(i) * static_cast<double>(k + 1);
  }
  STRATA_FUNCTION static void init(value_type& update) {
    for (double& v : update.v) v = 0;
  }
  STRATA_FUNCTION static void join(value_type& update, const value_type& input) {
    for (int k = 0; k < Doubles; ++k) update.v[k] += input.v[k];
  }
};

}  // namespace strata_tests
