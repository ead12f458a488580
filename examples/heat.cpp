// The program that docs/kokkos.md begins with, for Strata: examples/kokkos/heat.cpp is the same for Kokkos.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <utility>

//! [heat]
#include <strata/strata.hpp>
using namespace strata;

using Field = MDArray<double, Threads, rank<2>>;

struct Step {  // every inner point becomes the mean of its neighbours
  STRATA_FUNCTION void operator()(auto i, auto j, auto old, auto now) const {
    now(i, j) = 0.25 * (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1));
  }
};

struct Change {  // how far the points moved
  STRATA_FUNCTION void operator()(auto i, auto j, auto old, auto now, double& largest) const {
    const double moved = std::abs(now(i, j) - old(i, j));
    if (moved > largest) largest = moved;
  }
};

void run() {
  const index_t n = 64;
  Field a = create<Field>("a", n, n), b = create<Field>("b", n, n);
  deep_copy(subview(a, 0, everything), 1.0);
  deep_copy(b, a);

  const auto inner = mdrange({1, 1}, {n - 1, n - 1});
  double change = 1;
  int steps = 0;
  for (; change > 1e-4; ++steps) {
    parallel_for("step", inner, with(Step{}, a, b));
    parallel_reduce("change", inner, with(Change{}, a, b), Max(change));
    std::swap(a, b);
  }

  const auto host = create_mirror_and_copy(a);
  std::printf("%d steps, %.6f in the middle\n", steps, host(n / 2, n / 2));
}

int main(int argc, char** argv) { return main_guard(argc, argv, run); }
//! [heat]
