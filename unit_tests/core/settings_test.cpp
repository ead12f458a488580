// Settings: where values come from, which comes first, and what errors say. Options of the command line are
// in settings_options_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
#include <strata/core/settings.hpp>

#include "settings_fixture.hpp"

namespace {

using namespace settings_testing;
using strata::set_setting;
using strata::Settings;
using strata::settings;
using strata::SettingSource;
using strata::update_settings;

TEST_F(SettingsTest, HaveTheirDefaultsWhereNobodyDecides) {
  const Settings& now = settings();

  EXPECT_EQ(now.threads, 0);
  EXPECT_TRUE(now.pin);
  EXPECT_EQ(now.spin_us, 50);
  EXPECT_EQ(now.device, "default");
  EXPECT_EQ(now.emulated_count, 2);
  EXPECT_EQ(now.emulated_capacity, strata::index_t{8} << 30);
  EXPECT_EQ(now.emulated_threads, 2);
  EXPECT_EQ(now.emulated_host_bandwidth, 50);
  EXPECT_EQ(now.emulated_peer_bandwidth, 200);
  EXPECT_EQ(now.emulated_memory_bandwidth, 2000);
  EXPECT_EQ(now.emulated_copy_latency_us, 10);
  EXPECT_EQ(now.emulated_launch_latency_us, 5);
  EXPECT_EQ(now.emulated_managed_page, 64 << 10);
  EXPECT_EQ(now.emulated_fault_latency_us, 20);
  EXPECT_EQ(now.cuda_allocator, "slabs");
  EXPECT_FALSE(now.print_config);
  for (const strata::SettingDescription& setting : strata::describe_settings())
    EXPECT_EQ(setting.source, SettingSource::BuiltIn) << setting.name;
}

TEST_F(SettingsTest, EveryDefaultIsAllowedAndReadsBackAsPrinted) {
  for (const strata::SettingDescription& setting : strata::describe_settings())
    EXPECT_NO_THROW(set_setting(setting.name, setting.initial)) << setting.name;

  EXPECT_EQ(settings(), Settings{});
}

// ---- Environment ----

TEST_F(SettingsTest, AreReadFromTheEnvironmentInEveryType) {
  set_variable("STRATA_THREADS", "3");
  set_variable("STRATA_PIN", "off");
  set_variable("STRATA_DEVICE", "serial");
  set_variable("STRATA_EMULATED_CAPACITY", "64MiB");
  set_variable("STRATA_EMULATED_HOST_BANDWIDTH", "12.5");

  EXPECT_EQ(settings().threads, 3);
  EXPECT_FALSE(settings().pin);
  EXPECT_EQ(settings().device, "serial");
  EXPECT_EQ(settings().emulated_capacity, strata::index_t{64} << 20);
  EXPECT_EQ(settings().emulated_host_bandwidth, 12.5);
  EXPECT_EQ(description("threads").source, SettingSource::Environment);
  EXPECT_EQ(description("spin_us").source, SettingSource::BuiltIn);
}

TEST_F(SettingsTest, ReadTheEnvironmentOnceAtTheirFirstUse) {
  set_variable("STRATA_THREADS", "3");
  const int first = settings().threads;
  set_variable("STRATA_THREADS", "4");

  EXPECT_EQ(first, 3);
  EXPECT_EQ(settings().threads, 3);
}

TEST_F(SettingsTest, AnEmptyVariableCountsAsUnset) {
  set_variable("STRATA_THREADS", "");

  EXPECT_EQ(settings().threads, 0);
  EXPECT_EQ(description("threads").source, SettingSource::BuiltIn);
}

TEST_F(SettingsTest, AnUnreadableVariableIsAnErrorAtEveryUseUntilItIsMended) {
  set_variable("STRATA_EMULATED_COUNT", "17");
  const std::string expected =
      "the setting emulated_count cannot be \"17\" (from the environment variable STRATA_EMULATED_COUNT); "
      "expected "
      "an integer from 1 to 16";

  EXPECT_EQ(message_of<strata::SettingError>([] { settings(); }), expected);
  EXPECT_EQ(message_of<strata::SettingError>([] { set_setting("threads", "1"); }), expected);
  set_variable("STRATA_EMULATED_COUNT", "16");
  EXPECT_EQ(settings().emulated_count, 16);
}

TEST_F(SettingsTest, AnUnknownVariableIsWarnedOfOnceWithTheNearestName) {
  static int runs = 0;  // a warning comes once in a process, the test may come again
  const std::string variable = "STRATA_THRED_" + std::to_string(++runs);
  set_variable(variable, "4");
  ::testing::internal::CaptureStderr();

  settings();
  strata::detail::forget_settings();
  settings();

  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "strata: warning: the environment variable " + variable +
                " is not a setting of Strata and is ignored; the nearest one is STRATA_THREADS\n");
  EXPECT_EQ(settings().threads, 0);
}

// Linear algebra reads it itself.
TEST_F(SettingsTest, TheVariableOfTheHostsBlasIsNotWarnedOf) {
  set_variable("STRATA_HOST_BLAS", "libblas.so.3");
  ::testing::internal::CaptureStderr();
  settings();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// ---- Values and the program ----

TEST_F(SettingsTest, ATruthValueIsWrittenInFourWays) {
  for (const char* word : {"true", "1", "on", "yes"}) {
    set_setting(&Settings::pin, false);
    set_setting("pin", word);
    EXPECT_TRUE(settings().pin) << word;
  }
  for (const char* word : {"false", "0", "off", "no"}) {
    set_setting(&Settings::pin, true);
    set_setting("pin", word);
    EXPECT_FALSE(settings().pin) << word;
  }
}

TEST_F(SettingsTest, NumbersAreReadWholeAndWithinTheirRange) {
  for (const char* text : {"", " 1", "1 ", "1.5", "0x10", "-1", "65537", "99999999999"})
    EXPECT_THROW(set_setting("threads", text), strata::SettingError) << text;
  for (const char* text : {"", "nan", "inf", "1e400", "-0.1", "5us"})
    EXPECT_THROW(set_setting("emulated_copy_latency_us", text), strata::SettingError) << text;
  for (const char* text : {"0", "-1", "0B", "8388608TiB"})
    EXPECT_THROW(set_setting("emulated_capacity", text), strata::SettingError) << text;

  EXPECT_EQ(settings(), Settings{});
}

TEST_F(SettingsTest, AreSetByNameByFieldAndTogether) {
  set_setting("emulated-count", "5");
  set_setting(&Settings::emulated_capacity, 123456789);
  set_setting(&Settings::device, "emulated");
  Settings wanted = settings();
  wanted.spin_us = 7;
  wanted.emulated_peer_bandwidth = 0;

  update_settings(wanted);

  EXPECT_EQ(settings(), wanted);
  EXPECT_EQ(settings().emulated_count, 5);
  EXPECT_EQ(description("emulated_capacity").value, "123456789 B");
  EXPECT_EQ(description("spin_us").source, SettingSource::Program);
  EXPECT_EQ(description("threads").source, SettingSource::BuiltIn);
}

TEST_F(SettingsTest, ValuesThatAreNotAllowedAreErrorsWithoutEffect) {
  Settings wanted;
  wanted.threads = 3;
  wanted.emulated_count = 0;

  EXPECT_EQ(
      message_of<strata::SettingError>([&] { update_settings(wanted); }),
      "the setting emulated_count cannot be \"0\" (from update_settings); expected an integer from 1 to 16");
  EXPECT_EQ(message_of<strata::SettingError>([] { set_setting(&Settings::threads, -4); }),
            "the setting threads cannot be \"-4\" (from set_setting); expected an integer from 0 to 65536");
  EXPECT_THROW(set_setting(&Settings::emulated_copy_latency_us, std::nan("")), strata::SettingError);
  EXPECT_THROW(set_setting(&Settings::device, ""), strata::SettingError);
  EXPECT_EQ(message_of<strata::SettingError>([] { set_setting("thread", "4"); }),
            "there is no setting \"thread\"; the nearest one is threads (--strata-help lists all)");
  EXPECT_EQ(settings(), Settings{});
}

TEST_F(SettingsTest, TheProgramComesBeforeTheCommandLineBeforeTheEnvironment) {
  set_variable("STRATA_THREADS", "1");
  set_variable("STRATA_SPIN_US", "1");
  set_variable("STRATA_EMULATED_COUNT", "1");
  set_setting(&Settings::threads, 3);
  CommandLine line({"--strata-threads=2", "--strata-spin-us=2"});

  line.parse();

  EXPECT_EQ(settings().threads, 3);
  EXPECT_EQ(settings().spin_us, 2);
  EXPECT_EQ(settings().emulated_count, 1);
  set_setting(&Settings::spin_us, 3);
  EXPECT_EQ(settings().spin_us, 3);
}

TEST_F(SettingsTest, TheProgramDecidesEvenWhereItSetsTheDefault) {
  set_setting(&Settings::threads, 0);

  CommandLine({"--strata-threads=2"}).parse();

  EXPECT_EQ(settings().threads, 0);
}

TEST_F(SettingsTest, AReferenceStaysAsItWasWhenSettingsChange) {
  const Settings& before = settings();

  for (int threads = 1; threads <= 1000; ++threads) set_setting(&Settings::threads, threads);

  EXPECT_EQ(before.threads, 0);
  EXPECT_EQ(settings().threads, 1000);
}

TEST_F(SettingsTest, ThreadsThatReadWhileOthersWriteSeeWholeSnapshots) {
  constexpr int changes = 2000;
  set_setting(&Settings::spin_us, 0);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int n = 1; n <= changes; ++n) {
      Settings wanted = settings();
      wanted.threads = wanted.spin_us = n;
      update_settings(wanted);
    }
    done = true;
  });
  int torn = 0;
  while (!done) {
    const Settings& now = settings();
    torn += now.threads != now.spin_us;
  }
  writer.join();

  EXPECT_EQ(settings().threads, changes);
  EXPECT_EQ(torn, 0);
}

}  // namespace
