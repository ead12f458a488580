// The program that docs/kokkos.md begins with, for Kokkos: examples/heat.cpp is the same for Strata.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <utility>

//! [heat]
#include <Kokkos_Core.hpp>

using Field = Kokkos::View<double**>;

struct Step {  // every inner point becomes the mean of its neighbours
  Field old, now;
  KOKKOS_FUNCTION void operator()(int i, int j) const {
    now(i, j) = 0.25 * (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1));
  }
};

struct Change {  // how far the points moved
  Field old, now;
  KOKKOS_FUNCTION void operator()(int i, int j, double& largest) const {
    const double moved = std::abs(now(i, j) - old(i, j));
    if (moved > largest) largest = moved;
  }
};

int main(int argc, char** argv) {
  Kokkos::ScopeGuard guard(argc, argv);
  const int n = 64;
  Field a("a", n, n), b("b", n, n);
  Kokkos::deep_copy(Kokkos::subview(a, 0, Kokkos::ALL), 1.0);
  Kokkos::deep_copy(b, a);

  const Kokkos::MDRangePolicy<Kokkos::Rank<2>> inner({1, 1}, {n - 1, n - 1});
  double change = 1;
  int steps = 0;
  for (; change > 1e-4; ++steps) {
    Kokkos::parallel_for("step", inner, Step{a, b});
    Kokkos::parallel_reduce("change", inner, Change{a, b}, Kokkos::Max<double>(change));
    std::swap(a, b);
  }

  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
  std::printf("%d steps, %.6f in the middle\n", steps, host(n / 2, n / 2));
}
//! [heat]
