// Heat problems in every memory mode: the bits of plain arrays in core, on one device, in parts and in
// slices.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <strata/core/error.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata::thermal;
using strata_tests::DeviceName;
using strata_tests::TestDevices;

constexpr MemoryMode all_modes[] = {MemoryMode::Smart,   MemoryMode::Pinned,   MemoryMode::Managed,
                                    MemoryMode::Mapped,  MemoryMode::Explicit, MemoryMode::ExplicitPinned,
                                    MemoryMode::Implicit};
bool is_explicit(MemoryMode mode) {
  return mode == MemoryMode::Explicit || mode == MemoryMode::ExplicitPinned;
}

HeatRequest request_of(bool is_nonlinear) {
  HeatRequest request;
  request.mesh = "box:4x4x30:1,1,6:random=0.15";
  request.problem = uniform({2, 1, 5}, is_nonlinear ? 0.1 : 0, is_nonlinear ? 0.02 : 0);
  request.solve.preconditioner = linear::Preconditioner::Chebyshev;
  // Bits are compared, for which some iterations do.
  request.solve.tolerance = 1e-6;
  request.solve.newton_tolerance = 1e-5;
  return request;
}

// All that a problem says.
struct Found {
  std::vector<double> temperatures, matrix, b, numbers;

  friend bool operator==(const Found&, const Found&) = default;
};
Found found_of(Heat& heat, bool is_in_time) {
  heat.set_temperature(1);
  heat.give("z<=min", 3);
  heat.give("x>=max & z>=max-0.5", -1);
  if (is_in_time) heat.step(0.01), heat.step(0.01);
  else heat.solve_steady();
  const HeatSystem system = heat.system();
  const LinearResidual residual = heat.residual();
  const HeatState state = heat.state(is_in_time ? 0.01 : 0);
  return {heat.temperatures(),
          system.values,
          system.b,
          {residual.residual, residual.magnitude, state.least, state.mean, state.volume, state.stored,
           state.sink, static_cast<double>(heat.statistics().cg_iterations)}};
}

template <class D>
class ThermalMemory : public ::testing::Test {};
TYPED_TEST_SUITE(ThermalMemory, TestDevices, DeviceName);

TYPED_TEST(ThermalMemory, EveryModeHasTheBitsOfPlainArrays) {
  for (const bool is_in_time : {false, true}) {
    HeatRequest request = request_of(is_in_time);
    const Found expected = found_of(*make_heat(TypeParam{}, request), is_in_time);
    for (const MemoryMode mode : all_modes) {
      request.memory = mode;
      const auto heat = make_heat(TypeParam{}, request);
      ASSERT_FALSE(heat->setup().remarks.empty());
      EXPECT_NE(heat->setup().remarks.back().find(std::string("memory mode ") + to_string(mode)),
                std::string::npos)
          << heat->setup().remarks.back();
      EXPECT_TRUE(found_of(*heat, is_in_time) == expected) << to_string(mode);
    }
  }
}
TYPED_TEST(ThermalMemory, AlsoInPartsAndInSlices) {
  HeatRequest request = request_of(true);
  const Found expected = found_of(*make_heat(TypeParam{}, request), true);
  for (const MemoryMode mode : all_modes) {
    if (is_explicit(mode)) continue;
    request.memory = mode;
    request.devices = strata_tests::is_asynchronous<TypeParam> ? std::min(2, TypeParam::count()) : 2;
    EXPECT_TRUE(found_of(*make_heat(TypeParam{}, request), true) == expected)
        << to_string(mode) << " in parts";
    request.devices = 1;
    request.memory_limit = 600 << 10;
    EXPECT_TRUE(found_of(*make_heat(TypeParam{}, request), true) == expected)
        << to_string(mode) << " in slices";
    request.memory_limit = 0;
  }
}
TYPED_TEST(ThermalMemory, WhatNeedsAllOfTheMatrixHasPlainArrays) {
  HeatRequest request = request_of(false);
  request.memory = MemoryMode::Smart;
  request.solve.assembly = Assembly::Atomic;
  EXPECT_THROW(make_heat(TypeParam{}, request), SettingError);
}

}  // namespace
