// What the README shows of arrays in several memories: a coherent array over two devices, and steps of a
// stencil over an array that is larger than what a device may use. docs/coherent_arrays.md and
// docs/out_of_core.md explain both.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <vector>

// clang-format off
//! [coherent]
#include <strata/strata.hpp>
using namespace strata;

struct Smooth {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = (x(i - 1) + x(i) + x(i + 1)) / 3; }
};

double smooth_on_two_devices() {
  CoherentArray<double, rank<1>> x("x", 1'000'000), y("y", 1'000'000);  // each is one array, in any memory
  x(500'000) = 9;                                                       // the host writes an element
  const auto both = across(Emulated{0}, Emulated{1});                   // for GPUs: Cuda{0}, Cuda{1}
  launch(both, range(1, 999'999), Smooth{}, in(x, halo(1, 1)), out(y)); // copies what is missing, nothing else
  launch(both, range(1, 999'999), Smooth{}, in(y, halo(1, 1)), out(x)); // from the neighbour: one row
  return x(500'000);                                                    // one row comes back: 3
}
//! [coherent]

//! [streaming]
#include <strata/streaming.hpp>

struct Heat {  // a step in time: old values, new values
  STRATA_FUNCTION void operator()(auto i, auto t, auto next) const { next(i) = t(i) + 0.4 * (t(i - 1) - 2 * t(i) + t(i + 1)); }
};

double heat_in_slices() {
  CoherentArray<double, rank<1>> t("temperature", 1'000'000);           // 8 MB, or more than the device has
  t(500'000) = 100;
  const auto where = streamed(Emulated{}, 1_MiB);                       // so much of its memory, and no more
  const auto report = streamed_iterate(where, 50, Heat{}, state(t, halo(1, 1)));  // in slices, several steps for each copy
  std::printf("%s", report.explain().c_str());                          // what was chosen, and how long it took
  return t(500'000);
}
//! [streaming]
// clang-format on

namespace {

double expected_heat() {
  std::vector<double> t(201), next(201);
  t[100] = 100;
  for (int step = 0; step < 50; ++step) {
    for (std::size_t i = 1; i < 200; ++i) next[i] = t[i] + 0.4 * (t[i - 1] - 2 * t[i] + t[i + 1]);
    t = next;
  }
  return t[100];
}

void run() {
  const double smoothed = smooth_on_two_devices(), heat = heat_in_slices();
  std::printf("%g, %g\n", smoothed, heat);
  if (std::abs(smoothed - 3) > 1e-12 || std::abs(heat - expected_heat()) > 1e-12)
    throw Error("memories: a result is wrong");
}

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, run); }
