// AnyHost: which device it is, who decides that, and that it works as that device does.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <strata/algorithms/team.hpp>
#include <strata/version.hpp>

#include "core/settings_fixture.hpp"
#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using strata_tests::expect_parts;
using strata_tests::message_of;

class AnyHostOfSetting : public settings_testing::SettingsTest {};

TEST_F(AnyHostOfSetting, IsThreadsUnlessTheSettingSaysOtherwise) {
  EXPECT_STREQ(AnyHost{}.device_name(), "Threads");

  set_variable("STRATA_HOST_DEVICE", "serial");
  strata::detail::forget_settings();
  EXPECT_STREQ(AnyHost{}.device_name(), "Serial");

  set_setting("host_device", "threads");
  EXPECT_STREQ(AnyHost{}.device_name(), "Threads") << "the program comes before the environment";
  EXPECT_TRUE(AnyHost(0) == AnyHost(Threads{}));
}

TEST_F(AnyHostOfSetting, IsTbbOnlyWhereThatIsBuiltIn) {
  set_setting("host_device", "tbb");

#if STRATA_HAS_TBB
  EXPECT_STREQ(AnyHost{}.device_name(), "Tbb");
#else
  expect_parts(message_of<NoSuchDevice>([] { AnyHost{}; }),
               {"host_device", "\"tbb\"", "STRATA_ENABLE_TBB", "serial"});
#endif
}

TEST_F(AnyHostOfSetting, IsRefusedByAnUnknownNameWithThoseThereAre) {
  expect_parts(message_of<SettingError>([] { set_setting("host_device", "treads"); }),
               {"host_device", "\"treads\"", "one of serial, threads, tbb"});
  EXPECT_THROW(set_setting("host_device", ""), SettingError);

  set_variable("STRATA_HOST_DEVICE", "cuda");
  strata::detail::forget_settings();
  expect_parts(message_of<SettingError>([] { AnyHost{}; }), {"STRATA_HOST_DEVICE", "\"cuda\""});
}

TEST(AnyHostDeathTest, SetDefaultComesBeforeTheSettingAndIsSeenByAllThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(
      {
        set_setting("host_device", "threads");
        AnyHost::set_default(Serial{});
        std::string elsewhere;
        std::thread([&] { elsewhere = AnyHost{}.device_name(); }).join();
        const bool serial = elsewhere == "Serial" && AnyHost{} == AnyHost(Serial{});
        AnyHost::set_default(Threads{});
        std::exit(serial && AnyHost{} == AnyHost(Threads{}) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(AnyHost, IsEqualToWhatItWasMadeOf) {
  const AnyHost serial = Serial{}, threads = Threads{};

  EXPECT_TRUE(serial == AnyHost(Serial{}));
  EXPECT_FALSE(serial == threads);
  EXPECT_TRUE(threads == Threads{});
  EXPECT_STREQ(threads.device_name(), "Threads");
  EXPECT_EQ(&serial.backend(), &Serial{}.backend());
  EXPECT_EQ(serial.concurrency(), 1);
  EXPECT_EQ(threads.concurrency(), Threads::concurrency());
  EXPECT_EQ(AnyHost::count(), 1);
  EXPECT_EQ(threads.index(), 0);
}

TEST(AnyHost, HasOneInstance) {
  expect_parts(message_of<NoSuchDevice>([] { AnyHost(1); }), {"{1}", "one instance"});
  EXPECT_NO_THROW(AnyHost(0));
}

// Only devices that launch as the three do convert into it.
static_assert(std::is_convertible_v<Serial, AnyHost> && std::is_convertible_v<Threads, AnyHost>);
static_assert(!std::is_convertible_v<Emulated, AnyHost> && !std::is_convertible_v<int, AnyHost>);
static_assert(!std::is_same_v<Serial, AnyHost> && !std::is_convertible_v<AnyHost, Serial>);

TEST(AnyHost, LaunchesOnTheDeviceItIs) {
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<index_t> order;

  parallel_for(on(AnyHost(Serial{})), 1000, [&](index_t i) {
    if (std::this_thread::get_id() == caller) order.push_back(i);
  });

  ASSERT_EQ(order.size(), 1000u) << "all on the calling thread";
  for (index_t i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  const Queue<AnyHost> queue{AnyHost(Serial{})};
  parallel_for(on(queue), 10, [&](index_t) { order.push_back(0); });
  EXPECT_EQ(order.size(), 1010u);
  EXPECT_TRUE(queue.device() == AnyHost(Serial{}));
}

TEST(AnyHost, ErrorsNameTheDeviceItIs) {
  const auto far = create<MDArray<int, Emulated, rank<1>>>("far", 8);
  const auto launched_on = [&](const AnyHost& host) {
    return message_of<WrongDevice>([&] { parallel_for("mine", on(host), 8, [=](int i) { far(i) = i; }); });
  };

  expect_parts(launched_on(Serial{}), {"Serial", "mine", "far"});
  expect_parts(launched_on(Threads{}), {"Threads", "mine", "far"});
  expect_parts(
      message_of<KernelError>([] { parallel_for(on(AnyHost(Serial{})), teams(2, 5000), [](auto) {}); }),
      {"Serial", "5000"});
}

TEST(AnyHost, ViewsOfAllHostsConvertIntoEachOther) {
  const auto x = create<MDArray<double, AnyHost, rank<1>>>("x", 3, on(AnyHost(Serial{})));
  const MDArray<double, Threads, rank<1>> as_threads = x;
  const MDArray<double, AnyHost, rank<1>> back = as_threads;

  back(1) = 2;

  EXPECT_EQ(x(1), 2);
  EXPECT_TRUE(x == back);
}

}  // namespace
