// What the library says of itself.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include <strata/algorithms/build_info.hpp>
#include <strata/algorithms/device_list.hpp>
#include <strata/commit.hpp>
#include <strata/version.hpp>

namespace {

using strata::BuildInfo;

TEST(BuildInfo, IsThatOfTheHeadersWhereBothAreOfOneBuild) {
  const BuildInfo& info = strata::build_info();

  EXPECT_EQ(info.version, STRATA_VERSION_STRING);
  EXPECT_EQ(info.commit, STRATA_COMMIT);
  EXPECT_EQ(info.checked, strata::checked_build);
  EXPECT_NE(info.compiler.find("++ "), std::string::npos) << info.compiler;
}

TEST(BuildInfo, NamesEveryDeviceThatIsBuiltInOnce) {
  std::size_t expected = STRATA_HAS_CUDA;

  strata::AllDevices::for_each([&](auto device) {
    int found = 0;
    for (const std::string& name : strata::build_info().backends)
      if (name == decltype(device)::name) ++found;
    EXPECT_EQ(found, 1) << decltype(device)::name;
    ++expected;
  });

  EXPECT_EQ(strata::build_info().backends.size(), expected);
}

TEST(BuildInfo, AsALineHoldsVersionCommitAndDevices) {
  const std::string line = strata::version_text();

  EXPECT_EQ(line.rfind("strata " STRATA_VERSION_STRING " (commit " STRATA_COMMIT ", ", 0), 0u) << line;
  EXPECT_NE(line.find(": Serial, Threads, "), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

}  // namespace
