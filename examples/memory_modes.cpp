// The code of docs/memory_modes.md.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include <strata/core/settings.hpp>
#include <strata/strata.hpp>
#include <strata/views/coherent/managed_like.hpp>

using namespace strata;

namespace {

struct Scale {
  double factor;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = factor * x(i); }
};

using Device = Emulated;  // as on any machine

// As the page shows it.
// clang-format off
void creating() {
  const index_t n = 1000;
  const Device device{0};
//! [creating]
  CoherentArray<double, rank<1>> x("x", n);                      // in the mode of the setting `memory`: smart
  CoherentArray<double, rank<1>> y("y", n, MemoryMode::Pinned);  // error where a device has no such memory
  CoherentArray<double, rank<1>> z("z", n, prefer(MemoryMode::Managed), main_in(device));  // or smart
  std::printf("%s %s %s\n", to_string(x.memory_mode()), to_string(y.memory_mode()),
              to_string(z.memory_mode()));
//! [creating]
}

void same_text() {
  const index_t n = 1000;
  const Device device{0};
//! [same]
  for (const char* name : {"smart", "pinned", "managed", "mapped", "implicit"}) {
    CoherentArray<double, rank<1>> x("x", n, memory_mode_of(name), main_in(device));
    {
      const auto all = x.write();
      for (index_t i = 0; i < n; ++i) all(i) = 1;
    }
    launch(on(device), n, Scale{2}, inout(x));
    std::printf("%s: %g\n", name, double(x(7)));  // 2
  }
//! [same]
}

void explicit_copies() {
  const index_t n = 1000;
  const Device device{0};
//! [explicit]
  CoherentArray<double, rank<1>> x("x", n, MemoryMode::Explicit);
  x.prefetch(x.domain(), device);  // without it the launch throws NotCurrent, which names the box
  launch(on(device), n, Scale{2}, inout(x));
  x.flush();  // without it the host's view does
  std::printf("%g\n", double(x(7)));
//! [explicit]
}

void likes() {
  const Device device{0};
  const auto view = create<MDArray<double, Device, rank<1>>>("view", 1000);
  deep_copy(view, 3.0);
//! [like]
  const auto y = to_managed("y", view, main_in(device));  // a coherent array with the values of a view
  const auto z = managed_like("z", y, main_in(device));   // extents and layout of another, no values
//! [like]
  launch(on(device), 1000, Scale{2}, inout(y));
  std::printf("%g, %s\n", double(y(7)), to_string(z.memory_mode()));
}

void moved() {
  const Device device{0};
//! [moved]
  CoherentArray<double, rank<1>> x("x", 1 << 20, MemoryMode::Managed, main_in(device));
  launch(on(device), 1000, Scale{2}, inout(x));  // its pages come before the kernel runs
  const TransferCounters counters = x.counters();
  std::printf(
      "%llu bytes were brought, and %s by faults\n",
      static_cast<unsigned long long>(counters.prefetched_to_devices.bytes),
      counters.faults.is_known ? std::to_string(counters.faults.to_devices).c_str() : "an unknown number of");
//! [moved]
  wait(device);
}

// clang-format on
}  // namespace

int main(int argc, char** argv) try {
  if (parse_settings(argc, argv)) return 0;
  creating();
  same_text();
  explicit_copies();
  likes();
  moved();
} catch (const Error& error) {
  std::fprintf(stderr, "strata_example_memory_modes: %s\n", error.what());
  return 1;
}
