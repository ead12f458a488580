// Bytes that the applications of Dastgeer and Kessler (IJPP 44, 2016, table 1) move on emulated devices:
// those that follow from their sequences of calls. Those of the paper's own protocol are counted in
// unit_tests/views/coherent/plan/counts_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/devices/emulated/control.hpp>
#include <strata/devices/emulated/device.hpp>
#include <strata/devices/queue.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/coherent_apps/run_app.hpp>

#include "views/coherent/byte_sums.hpp"

namespace {

using namespace strata;
using namespace strata::coherent_apps;
using strata_tests::Sums;

// Emulated devices, with links between them or without.
class EmulatedMachine {
 public:
  EmulatedMachine(int devices, bool peer) {
    finish_work();
    emulated::Config config = before_;
    config.count = devices;
    config.peer_bandwidth = peer ? 395e9 : 0;
    emulated::configure(config);
  }
  ~EmulatedMachine() {
    finish_work();
    emulated::configure(before_);
  }
  EmulatedMachine(const EmulatedMachine&) = delete;
  EmulatedMachine& operator=(const EmulatedMachine&) = delete;

 private:
  // What nobody reads may still be computed.
  static void finish_work() {
    for (int k = 0; k < Emulated::count(); ++k) wait(Emulated(k));
  }

  emulated::Config before_ = emulated::config();
};

// Computed once for each application and number of steps.
const std::vector<double>& values_on_serial(const AppRequest& request) {
  static std::map<std::pair<std::string, index_t>, std::vector<double>> known;
  std::vector<double>& values = known[{request.app, request.steps}];
  if (values.empty()) values = run_app(std::vector<AnyHost>{Serial{}}, request).values;
  return values;
}

AppOutcome run_on(int count, bool peer, AppRequest request, MemoryMode mode) {
  const EmulatedMachine machine(count, peer);
  std::vector<Emulated> devices;
  for (int k = 0; k < count; ++k) devices.push_back(Emulated(k));
  request.memory = mode;
  AppOutcome outcome = run_app(devices, request);
  EXPECT_EQ(outcome.values, values_on_serial(request));
  return outcome;
}
Sums sums_of(int devices, bool peer, const AppRequest& request, MemoryMode mode) {
  return strata_tests::sums_of(run_on(devices, peer, request, mode).traffic);
}

const AppRequest nbody{"nbody", 1000, 11}, lu{"lu", 20, 20}, sph{"sph", 500, 50};

TEST(CoherentAppsTraffic, RegionsMoveWhatIsMissing) {
  EXPECT_EQ(sums_of(2, true, nbody, MemoryMode::Smart), (Sums{0, 0, 1936000, 88000, 352000}));
  // The matrix leaves the host once, and goes on from device to device. Of the places a device has its block.
  EXPECT_EQ(sums_of(2, true, lu, MemoryMode::Smart), (Sums{1604, 0, 64160, 1604, 8020}));
  EXPECT_EQ(sums_of(2, true, sph, MemoryMode::Smart), (Sums{0, 0, 5050000, 50000, 200000}));
}
TEST(CoherentAppsTraffic, RegionsMoveWhatIsMissingThroughTheHost) {
  EXPECT_EQ(sums_of(2, false, nbody, MemoryMode::Smart), (Sums{1936000, 0, 0, 2024000, 352000}));
  EXPECT_EQ(sums_of(2, false, lu, MemoryMode::Smart), (Sums{65764, 0, 0, 64160, 8020}));
  EXPECT_EQ(sums_of(2, false, sph, MemoryMode::Smart), (Sums{5050000, 0, 0, 5100000, 200000}));
}
TEST(CoherentAppsTraffic, FourDevicesGetThreeQuartersFromTheOthers) {
  EXPECT_EQ(sums_of(4, true, nbody, MemoryMode::Smart), (Sums{0, 0, 5808000, 88000, 704000}));
  EXPECT_EQ(sums_of(4, false, nbody, MemoryMode::Smart), (Sums{5808000, 0, 0, 2024000, 704000}));
}
TEST(CoherentAppsTraffic, OneDeviceKeepsEverything) {
  EXPECT_EQ(sums_of(1, true, nbody, MemoryMode::Smart), (Sums{0, 0, 0, 88000, 176000}));
  EXPECT_EQ(sums_of(1, true, lu, MemoryMode::Smart), (Sums{1604, 0, 0, 1604, 4812}));
  EXPECT_EQ(sums_of(1, true, sph, MemoryMode::Smart), (Sums{0, 0, 0, 50000, 100000}));
}
// What a step needs does not grow with the steps before it.
TEST(CoherentAppsTraffic, NumbersOfCopiesGrowWithTheStepsAndAllocationsDoNot) {
  const auto of = [](index_t steps) {
    AppRequest request = nbody;
    request.steps = steps;
    return run_on(2, true, request, MemoryMode::Smart).traffic;
  };
  const TransferCounters few = of(2), many = of(11);

  EXPECT_EQ(few.peer.count, 8u);
  EXPECT_EQ(many.peer.count, 44u);
  EXPECT_EQ(many.device_to_host.count, 2u);
  EXPECT_EQ(many.allocated.count, few.allocated.count);
}
// Of each of the C = 22 calls both devices get both arrays; out come, from each, the array that it reads and
// the block that it writes. What is generated comes out, too.
TEST(CoherentAppsTraffic, ImplicitArraysTravelEveryTime) {
  const Sums sums = sums_of(2, false, nbody, MemoryMode::Implicit);

  EXPECT_EQ(sums.to_device, 22u * 4 * 88000);
  EXPECT_EQ(sums.to_host, (22u * 3 + 2) * 88000);
}
TEST(CoherentAppsTraffic, ReductionsFindTheirArraysWhereTheyAre) {
  const auto bytes = [](const AppRequest& request, MemoryMode mode) {
    return sums_of(2, false, request, mode).to_device;
  };
  const AppRequest ppmcc{"ppmcc", 1000, 3}, mse{"mse", 1000, 1};

  EXPECT_EQ(bytes(ppmcc, MemoryMode::Smart), 2u * 8000);
  EXPECT_EQ(bytes(ppmcc, MemoryMode::Implicit), 3u * 6 * 2 * 8000);  // to both devices
  EXPECT_EQ(bytes(mse, MemoryMode::Smart), 2u * 8000);
  EXPECT_EQ(bytes(mse, MemoryMode::Implicit), 2u * 2 * 8000);
}

}  // namespace
