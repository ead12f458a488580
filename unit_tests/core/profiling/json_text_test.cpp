// JSON strings: whatever bytes a label holds, a reader gets them back, or U+FFFD for what is no text.
// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <strata/core/profiling/json_text.hpp>

namespace {

using strata::detail::profiling::json_quoted;

TEST(JsonText, TextIsReadBackAsItWas) {
  for (const std::string text : {"", "plain", "\"quoted\" \\ back", "tab\tnew line\n", "π ≈ 3, 中, 🙂"})
    EXPECT_EQ(nlohmann::json::parse(json_quoted(text)), text);
  const std::string zero("a\0b", 3);
  EXPECT_EQ(nlohmann::json::parse(json_quoted(zero)), zero);
}

TEST(JsonText, BytesThatAreNoTextAreReplaced) {
  for (const std::string bytes :
       {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe4\xb8"}) {
    const std::string read = nlohmann::json::parse(json_quoted("a" + bytes + "z"));
    EXPECT_EQ(read.front(), 'a');
    EXPECT_EQ(read.back(), 'z');
    EXPECT_NE(read.find("\xef\xbf\xbd"), std::string::npos);
  }
}

TEST(JsonText, SaysWhatXmlDoesNotTake) {
  for (const char* text : {"", "plain", "\xc3\xa9t\xc3\xa9"}) {
    EXPECT_TRUE(strata::detail::profiling::is_utf8(text));
    EXPECT_FALSE(strata::detail::profiling::has_control_character(text));
  }
  EXPECT_FALSE(strata::detail::profiling::is_utf8("\xe9t\xe9"));
  for (const char* text : {"a\nb", "\x01", "\x1b[31m", "\x7f"})
    EXPECT_TRUE(strata::detail::profiling::has_control_character(text));
}

TEST(JsonText, AnyBytesGiveValidJson) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int k = 0; k < 2000; ++k) {
    std::string bytes(random() % 12, ' ');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_TRUE(nlohmann::json::accept(json_quoted(bytes)));
  }
}

}  // namespace
