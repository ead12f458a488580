// The log: what is said at which level, and to whom.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
#include <strata/core/log.hpp>
#include <strata/core/settings.hpp>

#include "settings_fixture.hpp"

namespace {

using namespace strata;

using Messages = std::vector<std::pair<LogLevel, std::string>>;

void keep(LogLevel level, const char* text, void* context) {
  static_cast<Messages*>(context)->emplace_back(level, text);
}

class Log : public settings_testing::SettingsTest {
 protected:
  void TearDown() override {
    set_log_function(nullptr);
    SettingsTest::TearDown();
    settings();  // the level is that of the environment again
  }
  // The levels that are said.
  static std::string said() {
    Messages messages;
    set_log_function(keep, &messages);
    for (const LogLevel level : {LogLevel::Error, LogLevel::Warning, LogLevel::Info, LogLevel::Debug})
      detail::log_message(level, "text");
    set_log_function(nullptr);
    std::string levels;
    for (const auto& [level, text] : messages) levels += std::string(to_string(level)) + " ";
    return levels;
  }
};

TEST_F(Log, SaysErrorsAndWarningsUnlessAsked) {
  settings();

  EXPECT_EQ(said(), "error warning ");
}

TEST_F(Log, SaysWhatTheSettingAllows) {
  set_variable("STRATA_LOG", "info");
  settings();
  EXPECT_EQ(said(), "error warning info ");

  set_setting("log", "error");
  EXPECT_EQ(said(), "error ");

  set_setting("log", "debug");
  EXPECT_EQ(said(), "error warning info debug ");
}

TEST_F(Log, OtherWordsAreRefused) {
  const std::string message = settings_testing::message_of<SettingError>([] { set_setting("log", "loud"); });

  EXPECT_NE(message.find("error, warning, info, debug"), std::string::npos) << message;
}

TEST_F(Log, GoesToStderrInLinesThatNameTheLevel) {
  testing::internal::CaptureStderr();
  detail::log_message(LogLevel::Warning, "%d of %s", 3, "\"x\"");
  detail::log_message(LogLevel::Error, "lost");

  EXPECT_EQ(testing::internal::GetCapturedStderr(), "strata: warning: 3 of \"x\"\nstrata: error: lost\n");
}

TEST_F(Log, FunctionOfTheProgramGetsTextOfAnyLengthAndStderrNothing) {
  Messages messages;
  const std::string text(5000, 'x');

  testing::internal::CaptureStderr();
  set_log_function(keep, &messages);
  detail::log_message(LogLevel::Warning, "%s", text.c_str());
  set_log_function(nullptr);

  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].second, text);
}

TEST_F(Log, ExistingWarningsGoThroughIt) {
  Messages messages;
  set_variable("STRATA_NO_SUCH_SETTING_OF_LOG", "1");

  set_log_function(keep, &messages);
  settings();
  set_log_function(nullptr);

  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].first, LogLevel::Warning);
  EXPECT_NE(messages[0].second.find("STRATA_NO_SUCH_SETTING_OF_LOG is not a setting"), std::string::npos);
}

TEST_F(Log, SettingsThatChangeAreSaidAtDebug) {
  Messages messages;
  set_setting("log", "debug");

  set_log_function(keep, &messages);
  set_setting("spin_us", "77");
  set_log_function(nullptr);

  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], std::pair(LogLevel::Debug, std::string("the setting spin_us is 77")));
}

TEST_F(Log, ThreadsMayUseItWhileItsFunctionChanges) {
  int count = 0;
  const LogFunction add = [](LogLevel, const char*, void* context) {
    __atomic_add_fetch(static_cast<int*>(context), 1, __ATOMIC_RELAXED);
  };
  set_log_function(add, &count);

  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([] {
      for (int n = 0; n < 1000; ++n) detail::log_message(LogLevel::Error, "%d", n);
    });
  for (int n = 0; n < 100; ++n) set_log_function(add, &count);
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(count, 4000);
}

}  // namespace
