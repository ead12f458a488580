// Kernels that several tests of grids launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/coherent/executor_fixture.hpp"

namespace grid_testing {

using namespace coherent_testing;
template <class T>
using Plane = CoherentArray<T, rank<2>, LayoutRight>;

struct NumberOfPlace {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const { a(i, j) = 1000 * i + j; }
};
struct AddOne {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const { a(i, j) += 1; }
};
// The sum of an element and its neighbours, as far as there are any.
struct FivePoints {
  index_t n, m;
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto u, auto v) const {
    v(i, j) = u(i, j) + (i > 0 ? u(i - 1, j) : 0) + (i + 1 < n ? u(i + 1, j) : 0) +
              (j > 0 ? u(i, j - 1) : 0) + (j + 1 < m ? u(i, j + 1) : 0);
  }
};
struct Nothing {
  STRATA_FUNCTION void operator()(index_t, index_t, auto) const {}
};

}  // namespace grid_testing
