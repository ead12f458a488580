// --memory: which mode arrays get, and which is refused.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/settings.hpp>
#include <strata/devices/emulated/device.hpp>
#include <strata/miniapps/common/memory.hpp>

#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata::miniapp;
using strata_tests::expect_parts;
using strata_tests::message_of;

class MemoryOption : public ::testing::Test {
 protected:
  void TearDown() override { detail::forget_settings(); }
};

TEST_F(MemoryOption, IsAModeOrTheSettingThatIsGiven) {
  EXPECT_FALSE(memory_choice("default").has_value());
  EXPECT_EQ(memory_choice("managed"), MemoryMode::Managed);
  EXPECT_EQ(memory_mode_for<Emulated>(memory_choice("default")), MemoryMode::Smart);
  EXPECT_EQ(memory_mode_for<Emulated>(memory_choice("mapped")), MemoryMode::Mapped);
  set_setting("memory", "implicit");
  EXPECT_EQ(memory_choice("default"), MemoryMode::Implicit);
  EXPECT_EQ(memory_choice("explicit-pinned"), MemoryMode::ExplicitPinned);
}
TEST_F(MemoryOption, IsOneOfAList) {
  std::string name = "default";
  Options options("program", "Does things.");
  declare_memory(options, name);
  const std::vector<const char*> right{"program", "--memory", "explicit-pinned"},
      wrong{"program", "--memory", "fast"};
  options.parse(static_cast<int>(right.size()), right.data());
  EXPECT_EQ(name, "explicit-pinned");
  expect_parts(message_of<UsageError>([&] { options.parse(static_cast<int>(wrong.size()), wrong.data()); }),
               {"smart", "pinned", "managed", "mapped", "explicit", "implicit"});
  expect_parts(message_of<UsageError>([] { memory_choice("fast"); }),
               {"--memory", "fast", "explicit-pinned"});
}
TEST_F(MemoryOption, ThatIsExplicitIsRefusedWhereTheLibraryCopies) {
  for (const MemoryMode mode : {MemoryMode::Explicit, MemoryMode::ExplicitPinned})
    expect_parts(message_of<UsageError>([&] { refuse_explicit(mode, "--devices", "halos travel"); }),
                 {"--devices", to_string(mode), "halos travel", "take --memory smart"});
  EXPECT_NO_THROW(refuse_explicit(MemoryMode::Implicit, "--devices", "halos travel"));
  EXPECT_NO_THROW(refuse_explicit({}, "--devices", "halos travel"));
}
TEST_F(MemoryOption, ProgramsCopyWhatIsExplicitThemselves) {
  for (const MemoryMode mode : {MemoryMode::Smart, MemoryMode::Explicit, MemoryMode::Managed}) {
    const CoherentArray<int, rank<1>> x("x", 10, mode, main_for(Emulated{0}));
    x.write()(3) = 7;
    to_device(x, Emulated{0});
    EXPECT_EQ(x.counters().host_to_device.count, is_explicit(mode) ? 1u : 0u);
    to_host(x);
    EXPECT_EQ(x.read()(3), 7);
  }
  const CoherentArray<int, rank<1>> x("x", 10, MemoryMode::Managed, any_main_for(Emulated{0})),
      y("y", 10, any_main_for(Serial{}));
  EXPECT_EQ(x.memory_mode(), MemoryMode::Managed);
  EXPECT_EQ(y.size(), 10);
}

}  // namespace
