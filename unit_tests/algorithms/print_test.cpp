// Printing from kernels and from the host.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include <strata/core/print.hpp>

#include "test_devices.hpp"

namespace {

using strata::index_t;

std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

template <class D>
class Print : public ::testing::Test {};
TYPED_TEST_SUITE(Print, strata_tests::TestDevices, strata_tests::DeviceName);

struct PrintItem {
  STRATA_FUNCTION void operator()(auto i, auto x) const {
    const double value = x(i);
    strata::print("item %ld of %s is %.2f, 100%%\n", i, "x", value);
  }
};

TYPED_TEST(Print, EachItemOfAKernelPrintsALine) {
  const auto x = strata::create<strata::MDArray<double, TypeParam, strata::rank<1>>>("x", 3);
  strata::deep_copy(x, 1.5);
  strata::wait(TypeParam());

  ::testing::internal::CaptureStdout();
  strata::parallel_for(3, strata::with(PrintItem{}, x));
  strata::wait(TypeParam());
  const std::vector<std::string> lines = sorted_lines(::testing::internal::GetCapturedStdout());

  ASSERT_EQ(lines.size(), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(lines[i], "item " + std::to_string(i) + " of x is 1.50, 100%");
}

TEST(PrintOnHost, TakesWhatPrintfTakes) {
  enum Colour { Red, Green };
  const char letter = 'c';
  const float half = 0.5F;

  ::testing::internal::CaptureStdout();
  strata::print("plain\n");
  strata::print("%d %u %c %5.1f|%-4d|%*d %lld %zu %x %s\n", -3, 4U, letter, half, 7, 4, 8, index_t{1} << 40,
                sizeof(double), Green, "text");
  const std::string text = ::testing::internal::GetCapturedStdout();

  EXPECT_EQ(text, "plain\n-3 4 c   0.5|7   |   8 1099511627776 8 1 text\n");
}

}  // namespace
