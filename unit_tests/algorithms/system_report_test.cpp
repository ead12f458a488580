// What a program can ask about devices, memory and settings. That the JSON can be read is tested with the
// program strata-info (unit_tests/tools/).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/build_info.hpp>
#include <strata/algorithms/system_report.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/emulated/control.hpp>
#include <strata/devices/emulated/device.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/views/create.hpp>
#include <strata/views/mdarray.hpp>

namespace {

using strata::DeviceDescription;

std::vector<DeviceDescription> described(const std::string& name) {
  std::vector<DeviceDescription> devices = strata::describe_devices();
  std::erase_if(devices, [&](const DeviceDescription& device) { return device.name != name; });
  return devices;
}

TEST(SystemReport, DescribesEveryDeviceThatIsBuiltIn) {
  for (const std::string& name : strata::build_info().backends) {
    const auto devices = described(name);

    ASSERT_FALSE(devices.empty()) << name;
    for (std::size_t k = 0; k < devices.size(); ++k) {
      EXPECT_EQ(devices[k].instance, static_cast<int>(k)) << name;
      EXPECT_NE(devices[k].problem.empty(), devices[k].memory.empty()) << name << ": " << devices[k].problem;
    }
  }
}

TEST(SystemReport, SaysWhichMemoryAndThreadsAHostDeviceHas) {
  const auto serial = described("Serial");

  ASSERT_EQ(serial.size(), 1u);
  EXPECT_EQ(serial[0].memory, "Host");
  EXPECT_GT(serial[0].capacity, strata::index_t{1} << 20);
  EXPECT_EQ(serial[0].threads, 1);
}

TEST(SystemReport, CountsTheBytesThatArraysHold) {
  const auto before = described("Emulated");
  const auto array =
      strata::create<strata::MDArray<double, strata::Emulated, strata::rank<1>>>("array", 1 << 16);
  const auto after = described("Emulated");

  ASSERT_EQ(after.size(), static_cast<std::size_t>(strata::Emulated::count()));
  EXPECT_GE(after[0].used - before[0].used, 8 << 16);
  EXPECT_EQ(after[0].capacity, strata::emulated::config().capacity);
}

TEST(SystemReport, AsTextHoldsVersionDevicesAndSettings) {
  const std::string text = strata::system_report();

  EXPECT_EQ(text.rfind(strata::version_text() + "\n", 0), 0u) << text;
  EXPECT_NE(text.find("\n  Emulated{0}: memory Emulated, "), std::string::npos) << text;
  for (const strata::SettingDescription& setting : strata::describe_settings())
    EXPECT_NE(text.find("\n  " + setting.name + " = "), std::string::npos) << setting.name << " in " << text;
}

}  // namespace
