// Choosing a device by name while the program runs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/visit_device.hpp>
#include <strata/core/error.hpp>
#include <strata/core/settings.hpp>
#include <strata/version.hpp>

#include "core/settings_fixture.hpp"
#include "messages.hpp"

namespace {

using strata::DeviceList;
using strata::Emulated;
using strata::NoSuchDevice;
using strata::Serial;
using strata::Threads;
using strata::visit_device;
using strata_tests::expect_parts;
using strata_tests::message_of;

class VisitDevice : public settings_testing::SettingsTest {};

struct NameOf {
  template <class D>
  std::string operator()(const D& device) const {
    return D::name + ("{" + std::to_string(device.index()) + "}");
  }
};

TEST_F(VisitDevice, CallsTheFunctionWithTheDeviceOfThatNameInAnyCase) {
  EXPECT_EQ(visit_device("Serial", NameOf()), "Serial{0}");
  EXPECT_EQ(visit_device("threads", NameOf()), "Threads{0}");
  EXPECT_EQ(visit_device("EMULATED", NameOf()), "Emulated{0}");
}

TEST_F(VisitDevice, TakesTheNumberOfAnInstanceInBothSpellings) {
  EXPECT_EQ(visit_device("Emulated:1", NameOf()), "Emulated{1}");
  EXPECT_EQ(visit_device("emulated{1}", NameOf()), "Emulated{1}");
  EXPECT_EQ(visit_device("Threads:0", NameOf()), "Threads{0}");
}

// A device that stands for one of a GPU, present or not.
template <int Count>
struct OtherCuda {
  static constexpr char name[] = "Cuda";
  OtherCuda() = default;
  explicit OtherCuda(int index) : index_(index) {
    if (index >= Count) throw NoSuchDevice("Cuda{" + std::to_string(index) + "}: no driver");
  }
  static int count() { return Count; }
  int index() const { return index_; }

 private:
  int index_ = 0;
};

TEST_F(VisitDevice, DefaultIsCudaWhereThereIsAGpuElseThreadsElseWhatThereIs) {
  for (const char* name : {"", "default", "Default"}) {
    EXPECT_EQ((visit_device<DeviceList<Serial, Threads, OtherCuda<1>>>(name, NameOf())), "Cuda{0}");
    EXPECT_EQ((visit_device<DeviceList<Serial, OtherCuda<0>, Threads>>(name, NameOf())), "Threads{0}");
    EXPECT_EQ((visit_device<DeviceList<Emulated, Serial>>(name, NameOf())), "Serial{0}");
    EXPECT_EQ((visit_device<DeviceList<OtherCuda<0>, Emulated>>(name, NameOf())), "Emulated{0}");
  }
}

TEST_F(VisitDevice, WithoutANameTheSettingDecides) {
  EXPECT_EQ((visit_device<DeviceList<Serial, Threads>>(NameOf())), "Threads{0}");

  settings_testing::CommandLine({"--strata-device=emulated:1"}).parse();

  EXPECT_EQ(visit_device(NameOf()), "Emulated{1}");
}

TEST_F(VisitDevice, ReturnsTheCommonTypeOfWhatTheFunctionReturns) {
  const auto number = [](auto device) {
    if constexpr (std::string_view(decltype(device)::name) == "Serial") return 1;
    else return 2.5;
  };
  int place = 0;
  const auto reference = [&](auto) -> int& { return place; };
  int calls = 0;

  const auto result = visit_device("serial", number);
  visit_device("serial", reference) = 7;
  visit_device("serial", [&](auto) { ++calls; });

  static_assert(std::is_same_v<decltype(result), const double>);
  EXPECT_EQ(result, 1.0);
  EXPECT_EQ(place, 7);
  EXPECT_EQ(calls, 1);
}

TEST_F(VisitDevice, AnUnknownNameIsAnErrorThatListsWhatThereIs) {
  const std::string text = message_of<NoSuchDevice>([] { visit_device("Treads", NameOf()); });

  expect_parts(text, {"\"Treads\"", "there is no such device", "there are Serial, Threads", "Emulated:0"});
}

TEST_F(VisitDevice, AnInstanceThatDoesNotExistIsAnErrorThatListsWhatThereIs) {
  expect_parts(message_of<NoSuchDevice>([] { visit_device("Emulated:7", NameOf()); }),
               {"Emulated{7}", "Emulated:1"});
  expect_parts(message_of<NoSuchDevice>([] { visit_device("threads{1}", NameOf()); }),
               {"Threads{1}", "there are Serial"});
  expect_parts(
      message_of<NoSuchDevice>([] { visit_device<DeviceList<Serial, OtherCuda<0>>>("cuda", NameOf()); }),
      {"\"cuda\"", "no driver", "there are Serial"});
}

TEST_F(VisitDevice, NumbersThatCannotBeReadAreErrors) {
  for (const char* name : {"Emulated:", "Emulated:x", "Emulated{1", "Emulated:1}", "Emulated:-1",
                           "Emulated:1 ", "Emulated:99999999999"})
    expect_parts(message_of<NoSuchDevice>([&] { visit_device(name, NameOf()); }), {"as in Cuda:1"});
}

TEST_F(VisitDevice, ADeviceOutsideOfTheListIsAnErrorThatSaysWhy) {
  using Hosts = DeviceList<Serial, Threads>;

  expect_parts(message_of<NoSuchDevice>([] { visit_device<Hosts>("Emulated", NameOf()); }),
               {"\"Emulated\"", "list"});
  expect_parts(message_of<NoSuchDevice>([] { visit_device<Hosts>("Cuda", NameOf()); }),
               {STRATA_HAS_CUDA ? "strata_add_kernels" : "STRATA_ENABLE_CUDA"});
}

TEST_F(VisitDevice, ErrorsOfTheSettingNameIt) {
  strata::set_setting("device", "gpu");

  expect_parts(message_of<NoSuchDevice>([] { visit_device(NameOf()); }),
               {"--strata-device", "STRATA_DEVICE", "\"gpu\"", "there are"});
}

TEST_F(VisitDevice, TheNamesOfWhatThereIsAreNamesItTakes) {
  const std::vector<std::string> names = strata::device_names();

  EXPECT_EQ(names.front(), "Serial");
  EXPECT_NE(std::find(names.begin(), names.end(), "Emulated:1"), names.end());
  for (const std::string& name : names) EXPECT_NO_THROW(visit_device(name, NameOf())) << name;
  EXPECT_EQ((strata::device_names<DeviceList<Threads, OtherCuda<0>, OtherCuda<2>>>()),
            (std::vector<std::string>{"Threads", "Cuda:0", "Cuda:1"}));
}

struct TypeAndName {
  template <class D>
  std::string operator()(const D& device) const {
    return std::string(D::name) + " " + device.backend().device_name();
  }
};

TEST_F(VisitDevice, KernelDevicesAreAllDevicesWithTheHostsAsOneType) {
  using strata::KernelDevices;

  EXPECT_EQ(strata::device_names<KernelDevices>(), strata::device_names());
  EXPECT_EQ(visit_device<KernelDevices>("serial", TypeAndName()), "AnyHost Serial");
  EXPECT_EQ(visit_device<KernelDevices>("Threads:0", TypeAndName()), "AnyHost Threads");
#if STRATA_HAS_TBB
  EXPECT_EQ(visit_device<KernelDevices>("TBB", TypeAndName()), "AnyHost Tbb");
#endif
  EXPECT_EQ(visit_device<KernelDevices>("emulated:1", NameOf()), "Emulated{1}");
  EXPECT_EQ((visit_device<DeviceList<Emulated, strata::AnyHost>>("threads", TypeAndName())),
            "AnyHost Threads");
  expect_parts(message_of<NoSuchDevice>([] { visit_device<KernelDevices>("Serial:1", NameOf()); }),
               {"\"Serial:1\"", "one instance", "there are Serial, Threads"});
  expect_parts(
      message_of<NoSuchDevice>([] { visit_device<DeviceList<strata::AnyHost>>("emulated", NameOf()); }),
      {"not in the list", "there are Serial, Threads"});
}

TEST_F(VisitDevice, TheChosenHostIsTheDefaultWhileTheFunctionRuns) {
  using Hosts = DeviceList<strata::AnyHost>;
  const auto name_of_default = [](auto) { return std::string(strata::AnyHost{}.device_name()); };

  EXPECT_EQ(visit_device<Hosts>("serial", name_of_default), "Serial");
  EXPECT_EQ(visit_device<Hosts>("threads", name_of_default), "Threads");
  EXPECT_THROW(visit_device<Hosts>("serial", [](auto) { throw std::runtime_error("thrown"); }),
               std::runtime_error);
  EXPECT_STREQ(strata::AnyHost{}.device_name(), "Threads");
}

TEST_F(VisitDevice, DefaultAmongHostsIsTheOneOfTheSetting) {
  strata::set_setting("host_device", "serial");

  EXPECT_EQ((visit_device<DeviceList<Threads, Serial>>("default", NameOf())), "Serial{0}");
  EXPECT_EQ((visit_device<DeviceList<strata::AnyHost>>("default", TypeAndName())), "AnyHost Serial");
}

}  // namespace
