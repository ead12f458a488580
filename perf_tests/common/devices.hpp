// Calls a function for every device that the options ask for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

#include <strata/strata.hpp>

#include "common/options.hpp"

namespace perf {

/// Calls f(D{}) for the devices asked for; ends the program when there is none of that name.
template <class F>
void for_each_device(const Options& options, F&& f) {
  bool found = false;
  strata::AllDevices::for_each([&](auto device) {
    using D = decltype(device);
    if (!options.wants_device(D::name)) return;
    if (D::count() == 0) {
      std::fprintf(stderr, "left out: %s, of which this machine has none\n", D::name);
      return;
    }
    found = true;
    f(device);
  });
  if (found) return;
  std::string names;
  strata::AllDevices::for_each([&](auto device) { names += std::string(" ") + decltype(device)::name; });
  std::fprintf(stderr, "there is no device %s in this build; it has:%s\n", options.device.c_str(),
               names.c_str());
  std::exit(2);
}

/// Whether kernels of the device work on the processors of this machine, so that its bandwidth bounds them.
/// Those of Emulated do not count: its speed is not a machine's; those of a GPU are bounded by its memory.
template <class D>
inline constexpr bool is_machine = D::memory_space::host_accessible;

/// Whether the device is a GPU, which has cases and competitors of its own.
template <class D>
inline constexpr bool is_gpu = !is_machine<D> && !std::is_same_v<D, strata::Emulated>;

/// The host threads that bound the device: one, or all.
template <class D>
int team_size() {
  if constexpr (is_machine<D>) return D::concurrency();
  else return 0;
}

/// Calls f(T{}) for float and double, as far as the options ask for them.
template <class F>
void for_each_type(const Options& options, F&& f) {
  if (options.wants_type("double")) f(double{}, "double");
  if (options.wants_type("float")) f(float{}, "float");
}

}  // namespace perf
