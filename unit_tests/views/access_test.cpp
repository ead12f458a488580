// Atomic and read-only access on every device.
// SPDX-License-Identifier: Apache-2.0
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::index_t;
using strata::MDArray;
using strata::RankExtents;
using strata::View;
using strata_tests::on_host;

template <class D, class T>
using Atomic = View<T, D, RankExtents<1>, typename D::layout, strata::AtomicAccess>;
template <class D, class T>
using ReadOnly = View<const T, D, RankExtents<1>, typename D::layout, strata::ReadOnlyAccess>;
template <class D, class T>
using Plain = MDArray<T, D, strata::rank<1>>;

template <class D>
class Access : public ::testing::Test {};
TYPED_TEST_SUITE(Access, strata_tests::TestDevices, strata_tests::DeviceName);

struct Histogram {
  STRATA_FUNCTION void operator()(index_t i, auto bins) const { bins((i * 7919) % 10) += 1; }
};

template <class D, class T>
void expect_histogram() {
  const auto bins = create<Plain<D, T>>("bins", 10);

  strata::parallel_for(strata::range(100'000).dynamic(64), strata::with(Histogram{}, Atomic<D, T>(bins)));

  const auto host = on_host(bins);
  for (int b = 0; b < 10; ++b) EXPECT_EQ(host(b), T{10'000}) << b;
}

TYPED_TEST(Access, NoUpdateOfAHistogramIsLost) {
  expect_histogram<TypeParam, std::int32_t>();
  expect_histogram<TypeParam, std::uint64_t>();
  expect_histogram<TypeParam, float>();
  expect_histogram<TypeParam, double>();
  expect_histogram<TypeParam, std::int16_t>();
}

struct Extremes {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    x(0).min(static_cast<int>(i));
    x(1).max(static_cast<int>(i));
    x(2) |= 1 << (i % 20);
    x(3) ^= 1;
    x(4)--;
    ++x(5);
  }
};

TYPED_TEST(Access, OtherAtomicUpdatesAreNotLostEither) {
  const auto x = create<Plain<TypeParam, int>>("x", 6);
  strata::deep_copy(x, 500);
  strata::deep_copy(strata::subview(x, strata::range(2, 4)), 0);

  strata::parallel_for(strata::range(10, 1001), strata::with(Extremes{}, Atomic<TypeParam, int>(x)));

  const auto host = on_host(x);
  EXPECT_EQ(host(0), 10);
  EXPECT_EQ(host(1), 1000);
  EXPECT_EQ(host(2), (1 << 20) - 1);
  EXPECT_EQ(host(3), 1);
  EXPECT_EQ(host(4), 500 - 991);
  EXPECT_EQ(host(5), 500 + 991);
}

struct Gather {
  STRATA_FUNCTION void operator()(index_t i, auto table, auto out) const { out(i) = table((i * 3) % 8); }
};

TYPED_TEST(Access, ReadOnlyViewsReadByValue) {
  const auto table = create<Plain<TypeParam, double>>("table", 8),
             out = create<Plain<TypeParam, double>>("out", 40);
  const auto host_table = strata::create_mirror_view(table);
  for (int i = 0; i < 8; ++i) host_table(i) = i * i;
  strata::deep_copy(table, host_table);

  strata::parallel_for(40, strata::with(Gather{}, ReadOnly<TypeParam, double>(table), out));

  const auto host = on_host(out);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(host(i), ((i * 3) % 8) * ((i * 3) % 8));
  static_assert(std::is_same_v<typename ReadOnly<TypeParam, double>::reference, double>);
}

TEST(AtomicReference, UpdatesReturnWhatTheOperatorsOfIntegersReturn) {
  int value = 5;
  const strata::AtomicReference<int> a(&value);

  EXPECT_EQ(a++, 5);
  EXPECT_EQ(++a, 7);
  EXPECT_EQ(a--, 7);
  EXPECT_EQ(--a, 5);
  EXPECT_EQ(a += 3, 8);
  EXPECT_EQ(a -= 1, 7);
  EXPECT_EQ(a *= 2, 14);
  EXPECT_EQ(a &= 6, 6);
  EXPECT_EQ(a = 9, 9);
  EXPECT_EQ(a.min(4), 4);
  EXPECT_EQ(a.max(6), 6);
  EXPECT_EQ(value, 6);
}

}  // namespace
