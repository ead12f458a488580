// Heat in a bar over all GPUs of the machine, or over two emulated devices where there is none.
//
//   dT/dt = d2T/dx2 on a bar of length 1, T = sin(pi x) at first, and 0 at both ends always
//
// Each device has a part of the bar. A step needs one point of its neighbours on each side: those are all
// that is copied between devices. docs/coherent_arrays.md explains what is used here.
//
//   strata_example_coherent_arrays             on the GPUs, or emulated devices
//   strata_example_coherent_arrays threads     on devices of that name: serial, threads, tbb, emulated, cuda
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <strata/strata.hpp>

using namespace strata;

namespace {

//! [step]
struct Step {  // an explicit step in time; `r` is dt / dx^2
  double r;
  STRATA_FUNCTION void operator()(auto i, auto now, auto next) const {
    next(i) = now(i) + r * (now(i - 1) - 2 * now(i) + now(i + 1));
  }
};
struct Heat {  // what the bar has of it
  STRATA_FUNCTION void operator()(auto i, auto t, double& sum) const { sum += t(i); }
};
//! [step]

//! [run]
template <class Device>
int run(const std::vector<Device>& devices) {
  const index_t points = 1001;
  const int steps = 20000;
  const double dx = 1.0 / double(points - 1), pi = std::acos(-1.0), r = 0.4;
  CoherentArray<double, rank<1>> now("temperature", points), next("next temperature", points);  // zeros
  {
    const auto t = now.write();  // the host's view, until the end of its scope
    for (index_t i = 0; i < points; ++i) t(i) = i == 0 || i == points - 1 ? 0 : std::sin(pi * double(i) * dx);
  }

  const auto everywhere = across(devices);
  const Range inner = range(1, points - 1);
  for (int step = 0; step < steps; ++step) {
    launch(everywhere.named("step"), inner, Step{r}, in(now, halo(1, 1)), out(next));
    std::swap(now, next);  // two handles: nothing is copied
  }
  double heat = 0;
  launch_reduce(everywhere.named("heat"), points, Heat{}, Sum(heat), in(now));

  // A step keeps the form of the sine and makes it smaller by the same factor each time.
  const double factor = 1 - 4 * r * std::pow(std::sin(pi * dx / 2), 2);
  const double by_hand = std::pow(factor, steps), middle = now(points / 2);
  std::printf("%d x %s: %.9f in the middle, %.9f by hand; mean %.6f\n", int(devices.size()),
              device_name(devices[0]), middle, by_hand, heat * dx);
  std::printf("what was copied: %s\n", to_json(coherent::counters()).c_str());
  return std::abs(middle - by_hand) < 1e-9 ? 0 : 1;
}
//! [run]

int run_on_all(int argc, char** argv) {  // instances of the device that is named
  bool has_gpu = false;
  for (const std::string& name : device_names()) has_gpu = has_gpu || name.starts_with("Cuda");
  return visit_device<KernelDevices>(argc > 1  ? argv[1]
                                     : has_gpu ? "cuda"
                                               : "emulated",
                                     []<class Device>(Device) {
                                       std::vector<Device> devices;
                                       for (int k = 0; k < Device::count(); ++k) devices.push_back(Device(k));
                                       return run(devices);
                                     });
}

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, run_on_all); }
