// What the tests of settings share: an environment of their own, and command lines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/core/settings.hpp>

#include "messages.hpp"

namespace settings_testing {

using strata_tests::message_of;

// Every test begins without STRATA_ variables and without values set before; the environment is put back.
class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (char** entry = environ; *entry != nullptr; ++entry)
      if (const std::string text = *entry; text.starts_with("STRATA_")) saved_.push_back(text);
    for (const std::string& text : saved_) unsetenv(text.substr(0, text.find('=')).c_str());
    strata::detail::forget_settings();
  }

  void TearDown() override {
    for (const std::string& variable : variables_) unsetenv(variable.c_str());
    for (const std::string& text : saved_)
      setenv(text.substr(0, text.find('=')).c_str(), text.substr(text.find('=') + 1).c_str(), 1);
    strata::detail::forget_settings();
  }

  void set_variable(const std::string& variable, const std::string& value) {
    variables_.push_back(variable);
    setenv(variable.c_str(), value.c_str(), 1);
  }

 private:
  std::vector<std::string> saved_;
  std::vector<std::string> variables_;
};

// A command line as main gets it.
struct CommandLine {
  explicit CommandLine(std::vector<std::string> arguments) : words(std::move(arguments)) {
    words.insert(words.begin(), "program");
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    count = static_cast<int>(words.size());
  }

  bool parse() { return strata::parse_settings(count, pointers.data()); }

  // What is left, joined; the name of the program and the final null are checked on the way.
  std::string rest() const {
    EXPECT_STREQ(pointers[0], "program");
    EXPECT_EQ(pointers[count], nullptr);
    std::string text;
    for (int i = 1; i < count; ++i) text += (i > 1 ? " " : "") + std::string(pointers[i]);
    return text;
  }

  std::vector<std::string> words;
  std::vector<char*> pointers;
  int count;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline strata::SettingDescription description(const std::string& name) {
  for (const strata::SettingDescription& setting : strata::describe_settings())
    if (setting.name == name) return setting;
  ADD_FAILURE() << "no setting " << name;
  return {};
}

}  // namespace settings_testing
