// The first example: heat in a rod of length 1, its ends kept at 0 and 100 degrees, until nothing changes.
//
//   dT/dt = d/dx (k(T) dT/dx),   k(T) = 1 + T / 100,   T = 100 (sqrt(1 + 3 x) - 1) in the end
//
//   strata_example_first                            on the best device of the machine
//   strata_example_first --strata-device=serial     on another one: threads, tbb, emulated, cuda:1
//
// docs/tutorial.md explains it.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <utility>

#include <strata/strata.hpp>

using namespace strata;

namespace {

//! [step]
STRATA_FUNCTION inline double conductivity(double t) { return 1 + t / 100; }

// Heat that flows from a point of the rod to its neighbour, times their distance.
STRATA_FUNCTION inline double flow(double a, double b) { return conductivity((a + b) / 2) * (a - b); }

struct Step {  // an explicit step in time: a point gets warmer by what flows in from both sides
  double dx;
  STRATA_FUNCTION void operator()(auto i, auto now, auto next, auto dt) const {
    next(i) = now(i) + *dt / (dx * dx) * (flow(now(i - 1), now(i)) + flow(now(i + 1), now(i)));
  }
};
//! [step]

//! [reduce]
struct LargestConductivity {  // a reduction: each index contributes, two contributions are joined
  using value_type = double;
  STRATA_FUNCTION void operator()(auto i, auto t, double& most) const { join(most, conductivity(t(i))); }
  STRATA_FUNCTION static void init(double& most) { most = 0; }
  STRATA_FUNCTION static void join(double& most, double other) { most = most < other ? other : most; }
};

template <class Device>
struct SetTimeStep {  // runs once, on the device, when the reduction is done: the largest stable step
  double dx;
  Value<double, Device> dt;
  STRATA_FUNCTION void operator()(double most) const { *dt = 0.45 * dx * dx / most; }
};
//! [reduce]

//! [main]
template <class Device>
int run(const Device& device) {
  const index_t points = 33;
  const double dx = 1.0 / static_cast<double>(points - 1);
  using Field = MDArray<double, Device, rank<1>>;
  Field now = create<Field>("temperature", points, on(device));  // zeros, in the device's memory
  Field next = create<Field>("next temperature", points, on(device));
  const auto dt = create<Value<double, Device>>("time step", on(device));
  deep_copy(subview(now, points - 1), 100.0);
  deep_copy(next, now);

  for (int step = 0; step < 10000; ++step) {  // launches only: the host waits for no step
    parallel_reduce("time step", on(device), points, with(LargestConductivity{}, now),
                    SetTimeStep<Device>{dx, dt});
    parallel_for("step", on(device), range(1, points - 1), with(Step{dx}, now, next, dt));
    std::swap(now, next);
  }

  const auto host = create_mirror_and_copy(now);  // waits, and throws what went wrong
  const double exact = 100 * (std::sqrt(2.5) - 1);
  std::printf("%s: %.6f degrees in the middle, %.6f by hand\n", device_name(device), host(points / 2), exact);
  return std::abs(host(points / 2) - exact) < 1e-6 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  // Takes the options --strata-..., prints errors.
  return main_guard(argc, argv,
                    [] { return visit_device<KernelDevices>([](auto device) { return run(device); }); });
}
//! [main]
