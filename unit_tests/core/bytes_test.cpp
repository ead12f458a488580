// Byte counts as literals and as text.
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>

namespace {

using strata::bytes_from_string;
using strata::index_t;
using strata::string_from_bytes;
using namespace strata::literals;

constexpr index_t largest = std::numeric_limits<index_t>::max();

static_assert(4_KiB == 4096 && 3_MiB == 3 * 1024 * 1024 && 2_GiB == index_t{1} << 31);
static_assert(8589934591_GiB == (largest >> 30) << 30);

std::string message_for(const std::string& text) {
  try {
    bytes_from_string(text);
  } catch (const strata::SettingError& error) {
    return error.what();
  }
  return "read";
}

TEST(Bytes, AreReadInEveryUnitAndAnyCase) {
  EXPECT_EQ(bytes_from_string("0"), 0);
  EXPECT_EQ(bytes_from_string("4096"), 4096);
  EXPECT_EQ(bytes_from_string("17B"), 17);
  EXPECT_EQ(bytes_from_string("64KiB"), 64_KiB);
  EXPECT_EQ(bytes_from_string("512 MiB"), 512_MiB);
  EXPECT_EQ(bytes_from_string("8gib"), 8_GiB);
  EXPECT_EQ(bytes_from_string("2TIB"), 2048_GiB);
}

TEST(Bytes, UnitsWithoutAnIArePowersOfAThousand) {
  EXPECT_EQ(bytes_from_string("1kB"), 1'000);
  EXPECT_EQ(bytes_from_string("1 MB"), 1'000'000);
  EXPECT_EQ(bytes_from_string("2.5GB"), index_t{2'500'000'000});
  EXPECT_EQ(bytes_from_string("3tb"), index_t{3'000'000'000'000});
  EXPECT_NE(message_for("9223373TB").find("more than 64 bits"), std::string::npos);
}

TEST(Bytes, FractionsOfAUnitAreReadWhenTheyAreWholeBytes) {
  EXPECT_EQ(bytes_from_string("1.5GiB"), 1536_MiB);
  EXPECT_EQ(bytes_from_string("0.25 KiB"), 256);
  EXPECT_EQ(
      message_for("0.3KiB"),
      "cannot read \"0.3KiB\" as bytes: it is not a whole number of bytes; write digits and a unit of "
      "B, KiB, MiB, GiB or TiB (powers of 1024) or of kB, MB, GB or TB (powers of 1000), such as 512MiB");
}

TEST(Bytes, AreReadExactlyUpToTheLargestIndex) {
  EXPECT_EQ(bytes_from_string("9223372036854775807"), largest);
  EXPECT_NE(message_for("9223372036854775808").find("more than 64 bits"), std::string::npos);
  EXPECT_EQ(bytes_from_string("8388607TiB"), index_t{8388607} << 40);
  EXPECT_NE(message_for("8388608TiB").find("more than 64 bits"), std::string::npos);
  EXPECT_NE(message_for("8388608.5TiB").find("more than 64 bits"), std::string::npos);
}

TEST(Bytes, TextThatIsNoByteCountIsASettingError) {
  EXPECT_NE(message_for("").find("does not begin with a digit"), std::string::npos);
  EXPECT_NE(message_for("-1").find("does not begin with a digit"), std::string::npos);
  EXPECT_NE(message_for("GiB").find("does not begin with a digit"), std::string::npos);
  EXPECT_NE(message_for("8GX").find("the unit is unknown"), std::string::npos);
  EXPECT_NE(message_for("8 GiB or so").find("the unit is unknown"), std::string::npos);
  EXPECT_NE(message_for("1.2.3GiB").find("it is not a number"), std::string::npos);
  EXPECT_NE(message_for(".").find("it is not a number"), std::string::npos);
}

TEST(Bytes, AreWrittenInTheLargestUnitTheyReach) {
  EXPECT_EQ(string_from_bytes(0), "0 B");
  EXPECT_EQ(string_from_bytes(1023), "1023 B");
  EXPECT_EQ(string_from_bytes(1_KiB), "1 KiB");
  EXPECT_EQ(string_from_bytes(8_GiB), "8 GiB");
  EXPECT_EQ(string_from_bytes(1536_MiB), "1.50 GiB");
  EXPECT_EQ(string_from_bytes(1234567890), "1.15 GiB");
  EXPECT_EQ(string_from_bytes(-2_KiB), "-2 KiB");
  EXPECT_EQ(string_from_bytes(largest), "8388608.00 TiB");
  EXPECT_EQ(string_from_bytes(1600, 1024), "1.56 KiB");
  EXPECT_EQ(string_from_bytes(1600, 1600), "1.56 KiB");
  EXPECT_EQ(string_from_bytes(1600, 1599), "1600 bytes") << "which are both 1.56 KiB";
  EXPECT_EQ(string_from_bytes(24576, 24575), "24576 bytes") << "24 KiB beside 24.00 KiB";
  EXPECT_EQ(string_from_bytes(1_MiB - 1, 1_MiB), "1048575 bytes") << "1024.00 KiB beside 1 MiB";
}

TEST(Bytes, WholeCountsOfAUnitSurviveWritingAndReading) {
  for (const index_t bytes : {index_t{1}, 1_KiB, 1023_KiB, 1_MiB, 7_GiB, 4096_GiB})
    EXPECT_EQ(bytes_from_string(string_from_bytes(bytes)), bytes);
}

}  // namespace
