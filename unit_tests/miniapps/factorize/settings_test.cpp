// The options of strata-factorize.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include <strata/miniapps/factorize/settings.hpp>

#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata::factorize;
using miniapp::UsageError;
using strata_tests::expect_parts;
using strata_tests::message_of;

FactorizeRequest parsed(const std::vector<const char*>& given) {
  FactorizeSettings settings;
  miniapp::Options options("strata-factorize", "");
  declare(options, settings);
  std::vector<const char*> line{"strata-factorize"};
  line.insert(line.end(), given.begin(), given.end());
  EXPECT_TRUE(options.parse(static_cast<int>(line.size()), line.data()));
  return request_of(settings);
}
std::string error_of(const std::vector<const char*>& given) {
  return message_of<UsageError>([&] { parsed(given); });
}

TEST(FactorizeSettings, TheOperationStandsFirstOrIsAnOption) {
  EXPECT_EQ(parsed({"syrk"}).operation, Operation::Syrk);
  EXPECT_EQ(parsed({"--order", "7", "--operation", "lu-nopivot"}).operation, Operation::LuNoPivot);
  expect_parts(error_of({}), {"cholesky, lu, lu-nopivot, gemm, syrk, trsm"});
  expect_parts(error_of({"qr"}), {"qr"});
}

TEST(FactorizeSettings, WhatIsNotGivenSuitsTheOperation) {
  EXPECT_EQ(parsed({"cholesky"}).input, "spd");
  EXPECT_EQ(parsed({"lu"}).input, "random");
  EXPECT_EQ(parsed({"lu-nopivot"}).input, "spd");
  const FactorizeRequest request = parsed({"gemm"});
  EXPECT_EQ(request.order, 1024);
  EXPECT_TRUE(request.is_double);
  EXPECT_EQ(request.tile, 0);
  EXPECT_EQ(request.scheduler, "data-aware");
  EXPECT_TRUE(request.home.empty());
}

TEST(FactorizeSettings, BytesAndHomesAreUnderstood) {
  const FactorizeRequest request =
      parsed({"cholesky", "-L", "2000MiB", "--home", "file:/a folder", "--host-memory", "1GiB"});
  EXPECT_EQ(request.memory_limit, index_t{2000} << 20);
  EXPECT_EQ(request.home, "file");
  EXPECT_EQ(request.folder, "/a folder");
  EXPECT_EQ(request.host_memory, index_t{1} << 30);
  EXPECT_EQ(parsed({"cholesky", "--home", "pinned"}).home, "pinned");
}

// The second matrix of a product is generated.
TEST(FactorizeSettings, TheSeedOfAProductWithAFileIsThatOfTheOtherFactor) {
  EXPECT_EQ(parsed({"gemm", "--input", "a.mtx", "--seed", "5"}).seed, 5);
}

TEST(FactorizeSettings, ATriangularSystemIsLowerFromTheLeftUnlessSomethingElseIsGiven) {
  const FactorizeRequest plain = parsed({"trsm"});
  EXPECT_EQ(plain.input, "spd");
  EXPECT_EQ(plain.rhs, 0);
  EXPECT_FALSE(plain.system.from_right || plain.system.upper || plain.system.transpose ||
               plain.system.unit_diagonal);
  const FactorizeRequest other = parsed(
      {"trsm", "--side", "right", "--triangle", "upper", "--transpose", "--unit-diagonal", "--rhs", "5"});
  EXPECT_TRUE(other.system.from_right && other.system.upper && other.system.transpose &&
              other.system.unit_diagonal);
  EXPECT_EQ(other.rhs, 5);
  EXPECT_EQ(parsed({"trsm", "--input", "a.mtx", "--seed", "5"}).seed, 5);  // of B
}

TEST(FactorizeSettings, WhatMakesNoSenseIsRefused) {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{"cholesky", "-n", "0"}, "--order 0"},
      {{"cholesky", "-n", "-1"}, "--order -1"},
      {{"cholesky", "-b", "-1"}, "--tile -1"},
      {{"cholesky", "--devices", "0"}, "--devices 0"},
      {{"cholesky", "--queues", "0"}, "--queues 0"},
      {{"cholesky", "--window", "0"}, "--window 0"},
      {{"cholesky", "--trials", "0"}, "--trials 0"},
      {{"cholesky", "--home", "disk"}, "memory, pinned or file:FOLDER"},
      {{"cholesky", "--home", "file:"}, "name of a folder"},
      {{"cholesky", "--host-memory", "1GiB"}, "--home file:FOLDER"},
      {{"cholesky", "--overwrite"}, "--home file:FOLDER"},
      {{"cholesky", "--home", "file:x", "--host-memory", "much"}, "--host-memory"},
      {{"cholesky", "--home", "file:x", "--host-memory", "0"}, "some memory is needed"},
      {{"cholesky", "--memory-limit", "0"}, "--memory-limit"},
      {{"cholesky", "--tf32"}, "--type float"},
      {{"cholesky", "--input", "random"}, "take --input spd, or lu"},
      {{"cholesky", "--input", "thermal", "--order", "5"}, "has its own"},
      {{"cholesky", "--input", "a.mtx", "--order", "5"}, "has its own"},
      {{"cholesky", "--input", "thermal", "--seed", "5"}, "--seed"},
      {{"lu", "--input", "a.mtx", "--seed", "5"}, "--seed is for matrices that are generated, not for"},
      {{"cholesky", "--mesh", "box:2x2x2"}, "--mesh is for --input thermal"},
      {{"cholesky", "--scheduler", "fifo"}, "data-aware"},
      {{"lu", "--side", "right"}, "--side is for trsm: leave it out of lu, or take the operation trsm"},
      {{"gemm", "--side", "left"}, "--side is for trsm"},
      {{"syrk", "--triangle", "lower"}, "--triangle is for trsm: leave it out of syrk"},
      {{"gemm", "--transpose"}, "--transpose is for trsm"},
      {{"cholesky", "--unit-diagonal"}, "--unit-diagonal is for trsm"},
      {{"lu-nopivot", "--rhs", "3"}, "--rhs is for trsm"},
      {{"trsm", "--rhs", "-1"}, "--rhs -1"},
      {{"trsm", "--side", "up"}, "left, right"},
      {{"trsm", "--triangle", "both"}, "lower, upper"},
      {{"trsm", "--input", "random"}, "take --input spd"},
      {{"cholesky", "--type", "half"}, "double, float"},
  };
  for (const auto& [given, part] : cases) expect_parts(error_of(given), {part});
}

}  // namespace
