// Checked builds: reductions and scans in which a check fails end, throw where they are waited for, and leave
// nothing behind that spoils the next launch. Large enough that blocks of a GPU begin after the bad access.
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/check.hpp>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

constexpr index_t many = 4'000'000;

// Reads behind the end of x in the middle of the range.
struct SumOf {
  index_t bad;
  STRATA_FUNCTION void operator()(auto i, auto x, std::int64_t& sum) const {
    sum += x(index_t(i) == bad ? x.end(0) : index_t(i));
  }
};
struct PrefixOf {
  index_t bad;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, std::int64_t& sum, bool final) const {
    sum += x(index_t(i) == bad ? x.end(0) : index_t(i));
    if (final) y(i) = sum;
  }
};

template <class D>
class CheckRecovery : public ::testing::Test {
 protected:
  void SetUp() override {
    if constexpr (!checked_build) GTEST_SKIP() << "accesses are checked in checked builds only";
  }
};
TYPED_TEST_SUITE(CheckRecovery, TestDevices, DeviceName);

TYPED_TEST(CheckRecovery, AReductionAfterOneWithABadAccessIsRight) {
  using D = TypeParam;
  const auto x = make_vector<std::int64_t, D>(many, [](index_t i) { return i % 7; });
  std::int64_t sum = 0, expected = 0;
  for (index_t i = 0; i < many; ++i) expected += i % 7;
  for (const index_t n : {index_t{700}, index_t{40000}, many}) {
    EXPECT_THROW(parallel_reduce(n, with(SumOf{n / 2}, x), Sum(sum)), OutOfBounds) << n;

    parallel_reduce(many, with(SumOf{-1}, x), Sum(sum));
    EXPECT_EQ(sum, expected) << "after " << n << " items";
  }
}

TYPED_TEST(CheckRecovery, AScanAfterOneWithABadAccessIsRight) {
  using D = TypeParam;
  const auto x = make_vector<std::int64_t, D>(many, [](index_t i) { return i % 5; });
  const auto y = create<Vector<std::int64_t, D>>("y", many);
  std::int64_t total = 0;
  for (const index_t n : {index_t{700}, index_t{40000}, many}) {
    EXPECT_THROW(parallel_scan(n, with(PrefixOf{n / 2}, x, y), Sum(total)), OutOfBounds) << n;

    parallel_scan(many, with(PrefixOf{-1}, x, y), Sum(total));
    EXPECT_EQ(total, many / 5 * 10) << "after " << n << " items";
    const auto host = on_host(y);
    EXPECT_EQ(host(many / 2 - 1), many / 10 * 10) << "after " << n << " items";
  }
}

}  // namespace
