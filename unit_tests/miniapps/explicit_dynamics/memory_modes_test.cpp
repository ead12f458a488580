// Simulations in every memory mode: the bits of smart arrays, in core, in parts and in slices.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata::dynamics;
using strata_tests::DeviceName;
using strata_tests::TestDevices;

constexpr MemoryMode all_modes[] = {MemoryMode::Smart,   MemoryMode::Pinned,   MemoryMode::Managed,
                                    MemoryMode::Mapped,  MemoryMode::Explicit, MemoryMode::ExplicitPinned,
                                    MemoryMode::Implicit};
bool is_explicit(MemoryMode mode) {
  return mode == MemoryMode::Explicit || mode == MemoryMode::ExplicitPinned;
}

// All that a bar that hits a wall says.
struct Seen {
  std::vector<char> state;
  std::vector<double> forces, cauchy, reaction;
  double kinetic = 0, elastic = 0, stable = 0;

  friend bool operator==(const Seen&, const Seen&) = default;
};
Seen seen_of(Dynamics& s, bool has_forces) {
  s.fix("x>=max", all_directions);
  s.set_velocity("all", 0.05, 0.01, 0);
  s.advance(5);
  s.look();
  s.advance(2);
  s.fix("y<=min", 2);
  s.set(Field::Displacement, s.get(Field::Displacement));
  s.restore(s.state());
  s.advance(3);
  const double kinetic = s.seen().energies.kinetic;
  return {s.state(),
          has_forces ? s.get(Field::Force) : std::vector<double>(),
          s.get(Field::Cauchy),
          s.get(Field::Reaction),
          kinetic,
          s.energies().elastic,
          s.stable_dt()};
}

template <class D>
class DynamicsMemory : public ::testing::Test {};
TYPED_TEST_SUITE(DynamicsMemory, TestDevices, DeviceName);

TYPED_TEST(DynamicsMemory, EveryModeHasTheBitsOfSmartArrays) {
  using K = miniapp::KernelDevice<TypeParam>;
  const K device(TypeParam{});
  const fem::MeshOnHost mesh = fem::load_mesh_on_host("box:9x3x3:3,1,1", 0);
  Parameters p;
  p.poisson = 0.3;
  p.bulk_linear = 0.06;
  const Seen expected = seen_of(*make_simulation_of<double>(device, mesh, p), true);
  ASSERT_GT(expected.kinetic, 0);
  for (const bool fused : {false, true})
    for (const MemoryMode mode : all_modes) {
      p.fused = fused;
      p.memory = mode;
      SCOPED_TRACE(to_string(mode));
      coherent::reset_counters();
      EXPECT_TRUE(seen_of(*make_simulation_of<double>(device, mesh, p), true) == expected);
      if constexpr (strata_tests::is_asynchronous<TypeParam>) {
        const TransferCounters moved = coherent::counters();
        const bool is_shared = mode == MemoryMode::Managed || mode == MemoryMode::Mapped;
        EXPECT_EQ(moved.host_to_device.bytes == 0, is_shared);
        EXPECT_EQ(moved.prefetched_to_devices.count > 0, mode == MemoryMode::Managed);
      }
    }
}
TYPED_TEST(DynamicsMemory, AlsoInPartsAndInSlices) {
  using K = miniapp::KernelDevice<TypeParam>;
  const K device(TypeParam{});
  std::vector<K> devices(2, device);
  if constexpr (strata_tests::is_asynchronous<TypeParam>)
    if (TypeParam::count() > 1) devices[1] = K(1);
  const fem::MeshOnHost mesh = fem::load_mesh_on_host("box:30x3x3:10,1,1", 0);
  Parameters p;
  p.fused = true;
  for (const index_t every : {1, 8}) {
    // Through slices forces leave the device where each step decides its length.
    const bool has_forces = every == 1;
    p.dt_every = every;
    p.memory.reset();
    const Seen expected = seen_of(*make_simulation_of<double>(device, mesh, p), has_forces);
    for (const MemoryMode mode : all_modes) {
      if (is_explicit(mode)) continue;
      p.memory = mode;
      SCOPED_TRACE(std::string(to_string(mode)) + ", " + std::to_string(every));
      EXPECT_TRUE(seen_of(*make_split_simulation<double>(devices, mesh, p), has_forces) == expected);
      EXPECT_TRUE(seen_of(*make_streamed_simulation<double>(device, mesh, p, 300000), has_forces) ==
                  expected);
    }
  }
}

}  // namespace
