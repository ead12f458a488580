// Heat in a plate that is larger than the memory it may use on the device: step after step of it goes through
// in slices of rows, several steps each time that a slice is there. docs/out_of_core.md explains what is used
// here.
//
//   strata_example_streaming                             on the device that Strata would choose
//   strata_example_streaming --strata-device=emulated    serial, threads, tbb, emulated, cuda
//
// The same steps in core give the same bits; both are compared, and so is the heat of the plate.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <utility>

#include <strata/strata.hpp>
#include <strata/streaming.hpp>

using namespace strata;

namespace {

struct Step {  // an explicit step in time; `r` is dt / dx^2
  double r;
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
    next(i, j) =
        old(i, j) + r * (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1) - 4 * old(i, j));
  }
};
struct Heat {
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& t, double& sum) const { sum += t(i, j); }
};
struct Differs {
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& a, const auto& b, int& count) const {
    count += a(i, j) != b(i, j);
  }
};

template <class Device>
int run(const Device& device) {
  using Plate = CoherentArray<double, rank<2>, LayoutRight>;
  const index_t rows = 2000, columns = 400;
  const int steps = 60;
  Plate t("temperature", rows, columns);  // 6.4 MB of zeros, and 0 at the edges for ever
  Plate now("in core", rows, columns), next("in core, next", rows, columns);
  for (const Plate& plate : {t, now}) {
    const auto hot = plate.read_write(Box({900, 150}, {1100, 250}));  // a hot spot in the middle
    for (index_t i = 900; i < 1100; ++i)
      for (index_t j = 150; j < 250; ++j) hot(i, j) = 100;
  }
  const auto inner = mdrange({1, 1}, {rows - 1, columns - 1}), plate = mdrange({rows, columns});

  const auto where = streamed(device, 2_MiB);  // of the device's memory; a kernel, and views of it, as always
  const StreamReport report =
      streamed_iterate(where.named("plate"), inner, steps, Step{0.2}, state(t, halo(1, 1)));
  std::printf("%s: %s", device_name(device), report.explain().c_str());
  double heat = 0;
  launch_reduce(where.named("heat"), plate, Heat{}, Sum(heat), in(t));

  for (int step = 0; step < steps; ++step) {
    launch(on(device).named("in core"), inner, Step{0.2}, in(now, halo(1, 1)), inout(next));
    std::swap(now, next);
  }
  int different = 0;
  launch_reduce(on(device).named("compare"), plate, Differs{}, Sum(different), in(t), in(now));
  std::printf("%g of heat, %d points differ from the same in core\n", heat, different);
  // Nothing has reached an edge: the plate has as much heat as at first.
  const bool small = report.device_bytes <= 2_MiB, kept = std::abs(heat / (200 * 100 * 100.0) - 1) < 1e-12;
  return different == 0 && small && kept ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return main_guard(argc, argv,
                    [] { return visit_device<KernelDevices>([](auto device) { return run(device); }); });
}
