// Contributions of many work items to the same elements, on every device.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include <strata/version.hpp>

#include "algorithms/arrays.hpp"
#include "test_devices.hpp"

namespace {

using strata::index_t;
using strata::MDArray;
using strata_tests::make_vector;
using strata_tests::mix;
using strata_tests::mixed_number;
using strata_tests::values_of;
using strata_tests::Vector;

template <class D>
class Scatter : public ::testing::Test {};
TYPED_TEST_SUITE(Scatter, strata_tests::TestDevices, strata_tests::DeviceName);

// Neighbouring items hit the same element, far ones too.
STRATA_FUNCTION constexpr index_t bin_of(index_t i, index_t bins) { return i / 3 * 7 % bins; }

template <class S>
struct AddNumbers {
  S scatter;
  index_t bins;
  STRATA_FUNCTION void operator()(auto i) const {
    scatter(bin_of(i, bins)) += static_cast<typename S::value_type>(static_cast<index_t>(i) % 5 + 1);
  }
};

template <class T>
std::vector<T> expected_sums(index_t items, index_t bins, T start) {
  std::vector<T> sums(static_cast<std::size_t>(bins), start);
  for (index_t i = 0; i < items; ++i)
    sums[static_cast<std::size_t>(bin_of(i, bins))] += static_cast<T>(i % 5 + 1);
  return sums;
}

template <class D, class T>
void expect_sums(index_t items, index_t bins) {
  const auto target = make_vector<T, D>(bins, [](index_t) { return 3; });
  const auto scatter = strata::scatter_view(target);

  strata::parallel_for(strata::on(D{}), items, AddNumbers<decltype(scatter)>{scatter, bins});
  strata::contribute(scatter);

  EXPECT_EQ(values_of(target), expected_sums(items, bins, T(3))) << items << " items, " << bins << " bins";
}

TYPED_TEST(Scatter, NoContributionIsLost) {
  for (const index_t items : {0, 1, 7, 64, 1000, 50'000})
    for (const index_t bins : {1, 2, 37, 3000}) {
      expect_sums<TypeParam, double>(items, bins);
      expect_sums<TypeParam, std::int64_t>(items, bins);
    }
  expect_sums<TypeParam, float>(20'000, 11);
  expect_sums<TypeParam, std::int32_t>(20'000, 11);
  expect_sums<TypeParam, std::uint16_t>(20'000, 37);
}

template <class S>
struct UpdateByNumbers {
  S scatter;
  index_t bins;
  STRATA_FUNCTION void operator()(auto i) const {
    scatter(bin_of(i, bins)).update(static_cast<index_t>(i) % 11);
  }
};

TYPED_TEST(Scatter, UpdatesAreThoseOfItsOperation) {
  const index_t items = 1000, bins = 37;
  const auto most = make_vector<index_t, TypeParam>(bins, [](index_t) { return 4; });
  const auto sum = make_vector<index_t, TypeParam>(bins, [](index_t) { return 4; });
  const auto by_max = strata::scatter_view<strata::ScatterMax>(most);
  const auto by_sum = strata::scatter_view(sum);
  std::vector<index_t> expected_most(static_cast<std::size_t>(bins), 4), expected_sum = expected_most;
  for (index_t i = 0; i < items; ++i) {
    const auto bin = static_cast<std::size_t>(bin_of(i, bins));
    expected_most[bin] = std::max(expected_most[bin], i % 11);
    expected_sum[bin] += i % 11;
  }

  strata::parallel_for(strata::on(TypeParam{}), items, UpdateByNumbers<decltype(by_max)>{by_max, bins});
  strata::parallel_for(strata::on(TypeParam{}), items, UpdateByNumbers<decltype(by_sum)>{by_sum, bins});
  strata::contribute(by_max);
  strata::contribute(by_sum);

  EXPECT_EQ(values_of(most), expected_most);
  EXPECT_EQ(values_of(sum), expected_sum);
}

TYPED_TEST(Scatter, AtomicModeGivesTheSameOnEveryDevice) {
  const auto target = strata::create<Vector<std::int64_t, TypeParam>>("target", 37);
  const auto scatter = strata::scatter_view<strata::ScatterSum, strata::ScatterAtomic>(target);

  strata::parallel_for(strata::on(TypeParam{}), 30'000, AddNumbers<decltype(scatter)>{scatter, 37});
  strata::contribute(scatter);

  EXPECT_EQ(values_of(target), expected_sums<std::int64_t>(30'000, 37, 0));
}

TYPED_TEST(Scatter, ContributionsGoOnAfterContribute) {
  const auto target = strata::create<Vector<std::int64_t, TypeParam>>("target", 10);
  const auto scatter = strata::scatter_view(target);
  const AddNumbers<decltype(scatter)> add{scatter, 10};

  for (int pass = 0; pass < 3; ++pass) {
    strata::parallel_for(strata::on(TypeParam{}), 1000, add);
    strata::contribute(scatter);
  }

  std::vector<std::int64_t> three = expected_sums<std::int64_t>(1000, 10, 0);
  for (auto& sum : three) sum *= 3;
  EXPECT_EQ(values_of(target), three);
}

TYPED_TEST(Scatter, ResetForgetsWhatWasContributed) {
  const auto target = make_vector<double, TypeParam>(10, [](index_t i) { return i; });
  const auto scatter = strata::scatter_view(target);
  const AddNumbers<decltype(scatter)> add{scatter, 10};

  strata::parallel_for(strata::on(TypeParam{}), 999, add);
  scatter.reset();
  strata::parallel_for(strata::on(TypeParam{}), 1000, add);
  strata::contribute(scatter);

  EXPECT_EQ(values_of(target), expected_sums<double>(1000, 10, 0));
}

template <class Low, class High, class Product>
struct Extremes {
  Low low;
  High high;
  Product product;
  STRATA_FUNCTION void operator()(index_t i) const {
    const index_t bin = i % 3;
    low(bin).min(static_cast<int>((i * 7919) % 100'003));
    high(bin).max(static_cast<double>((i * 7919) % 100'003));
    if (i % 1000 == bin) product(bin) *= 2;
  }
};

TYPED_TEST(Scatter, OtherOperationsStartFromWhatTheTargetHolds) {
  const index_t n = 20'000;
  const auto low = make_vector<int, TypeParam>(3, [](index_t i) { return i == 2 ? -5 : 1'000'000; });
  const auto high = make_vector<double, TypeParam>(3, [](index_t) { return -1.0; });
  const auto product = make_vector<float, TypeParam>(3, [](index_t) { return 0.5; });
  const auto lows = strata::scatter_view<strata::ScatterMin>(low);
  const auto highs = strata::scatter_view<strata::ScatterMax>(high);
  const auto products = strata::scatter_view<strata::ScatterProd>(product);

  strata::parallel_for(strata::on(TypeParam{}), n,
                       Extremes<decltype(lows), decltype(highs), decltype(products)>{lows, highs, products});
  strata::contribute(lows);
  strata::contribute(highs);
  strata::contribute(products);

  std::vector<int> least{1'000'000, 1'000'000, -5};
  std::vector<double> most(3, -1);
  std::vector<float> doubled(3, 0.5F);
  for (index_t i = 0; i < n; ++i) {
    const auto bin = static_cast<std::size_t>(i % 3);
    const auto number = static_cast<int>((i * 7919) % 100'003);
    if (number < least[bin]) least[bin] = number;
    if (number > most[bin]) most[bin] = number;
    if (i % 1000 == i % 3) doubled[bin] *= 2;
  }
  EXPECT_EQ(values_of(low), least);
  EXPECT_EQ(values_of(high), most);
  EXPECT_EQ(values_of(product), doubled);
}

template <class S>
struct Hexahedron {  // of a structured mesh: eight nodes a cell, three components a node
  S force;
  index_t cells;
  STRATA_FUNCTION void operator()(index_t c) const {
    for (index_t k = 0; k < 8; ++k)
      for (index_t d = 0; d < 3; ++d) force((c * 5 + k * k) % (cells / 4), d) += static_cast<double>(k - d);
  }
};

template <class V>
void expect_assembly(const V& forces, index_t cells) {
  using D = typename V::device_type;
  const auto scatter = strata::scatter_view(forces);

  strata::parallel_for(strata::on(D{}), cells, Hexahedron<decltype(scatter)>{scatter, cells});
  strata::contribute(scatter);

  std::vector<double> expected(static_cast<std::size_t>(cells / 4 * 3));
  for (index_t c = 0; c < cells; ++c)
    for (index_t k = 0; k < 8; ++k)
      for (index_t d = 0; d < 3; ++d)
        expected[static_cast<std::size_t>((c * 5 + k * k) % (cells / 4) * 3 + d)] +=
            static_cast<double>(k - d);
  strata::wait(D{});
  const auto host = strata::create<MDArray<double, strata::Serial, strata::rank<2>>>("host", cells / 4, 3);
  strata::deep_copy(host, forces);
  for (index_t n = 0; n < cells / 4; ++n)
    for (index_t d = 0; d < 3; ++d)
      ASSERT_EQ(host(n, d), expected[static_cast<std::size_t>(n * 3 + d)]) << n << ", " << d;
}

TYPED_TEST(Scatter, TargetsOfEveryLayoutAndPartsOfArrays) {
  using Plain = MDArray<double, TypeParam, strata::rank<2>>;
  using Tiled = strata::MDArrayIn<strata::LayoutTiled<8>, double, TypeParam, strata::rank<2>>;
  using Wide = MDArray<double, TypeParam, strata::rank<3>>;

  expect_assembly(strata::create<Plain>("plain", 100, 3), 400);
  expect_assembly(strata::create<Tiled>("tiled", 101, 3), 404);
  const auto whole = strata::create<Wide>("whole", 130, 2, 5);
  strata::deep_copy(whole, 7.0);
  const auto part = strata::subview(whole, strata::range(20, 121), 1, strata::range(1, 4));
  strata::deep_copy(part, 0.0);

  expect_assembly(part, 404);

  const auto host = strata_tests::on_host(whole);  // nothing around the part was touched
  for (index_t i = 0; i < 130; ++i)
    for (index_t j = 0; j < 5; ++j) {
      ASSERT_EQ(host(i, 0, j), 7);
      const bool inside = i >= 20 && i <= 120 && j >= 1 && j <= 3;
      ASSERT_TRUE(inside || host(i, 1, j) == 7);
    }
}

TYPED_TEST(Scatter, EmptyTargets) {
  const auto target = strata::create<Vector<double, TypeParam>>("target", 0);
  const auto scatter = strata::scatter_view(target);

  strata::contribute(scatter);
  scatter.reset();

  EXPECT_EQ(target.size(), 0);
}

template <class S, class Bins, class Numbers>
struct AddMixed {
  S scatter;
  Bins bins;
  Numbers numbers;
  STRATA_FUNCTION void operator()(auto i) const { scatter(bins(i)) += numbers(i); }
};

TEST(ScatterView, ThreadsGiveTheSameBitsInEveryRun) {
  using D = strata::Threads;
  const index_t n = 30'000;
  const auto bins =
      make_vector<index_t, D>(n, [](index_t i) { return mix(static_cast<std::uint64_t>(i)) % 17; });
  const auto numbers = make_vector<double, D>(n, [](index_t i) { return mixed_number(i); });
  const auto sums = [&] {
    const auto target = strata::create<Vector<double, D>>("target", 17);
    const auto scatter = strata::scatter_view(target);
    strata::parallel_for(
        strata::on(D{}), n,
        AddMixed<std::remove_const_t<decltype(scatter)>, Vector<index_t, D>, Vector<double, D>>{scatter, bins,
                                                                                                numbers});
    strata::contribute(scatter);
    return values_of(target);
  };

  const std::vector<double> first = sums();

  for (int run = 0; run < 20; ++run) EXPECT_EQ(sums(), first) << run;
}

template <class S, class Inner>
struct Outer {
  S scatter;
  STRATA_FUNCTION void operator()(index_t i) const {
    strata::parallel_for(strata::on(Inner{}), 50, AddNumbers<S>{scatter, 5});
    scatter(i % 5) += 1;
  }
};

template <class D, class Inner>
void expect_nested() {
  const auto target = strata::create<Vector<std::int64_t, D>>("target", 5);
  const auto scatter = strata::scatter_view(target);

  strata::parallel_for(strata::on(D{}), strata::range(200).dynamic(1),
                       Outer<std::remove_const_t<decltype(scatter)>, Inner>{scatter});
  strata::contribute(scatter);

  std::vector<std::int64_t> expected = expected_sums<std::int64_t>(50, 5, 0);
  for (auto& sum : expected) sum = sum * 200 + 40;
  EXPECT_EQ(values_of(target), expected);
}

// While it lives workers run their own parts only (devices/host/slices_test.cpp).
TEST(ScatterView, CopiesOfWorkersAreKnownOfWhileTheyLive) {
  ASSERT_FALSE(strata::detail::has_worker_copies());
  {
    const auto target = strata::create<Vector<double, strata::Threads>>("forces", 3);
    const auto scatter = strata::scatter_view(target);
    const auto same = scatter;
    EXPECT_EQ(strata::detail::has_worker_copies(), strata::Threads::concurrency() > 1);
  }
  EXPECT_FALSE(strata::detail::has_worker_copies());
}

TEST(ScatterView, NestedLaunchesContributeToo) {
  expect_nested<strata::Threads, strata::Threads>();
  expect_nested<strata::Threads, strata::Serial>();
#if STRATA_HAS_TBB
  expect_nested<strata::Tbb, strata::Tbb>();
  expect_nested<strata::Tbb, strata::Serial>();
#endif
}

TEST(ScatterView, AnArrayOfSerialIsAssembledOnThreads) {
  const auto target = strata::create<Vector<double, strata::Serial>>("target", 3);
  const auto scatter = strata::scatter_view(strata::on(strata::Threads{}), target);

  strata::parallel_for(strata::on(strata::Threads{}), 10'000, AddNumbers<decltype(scatter)>{scatter, 3});
  strata::contribute(scatter);

  EXPECT_EQ(values_of(target), expected_sums<double>(10'000, 3, 0));
}

template <class X>
struct AssembleAlone {
  X x;
  STRATA_FUNCTION void operator()(index_t i) const {
    const auto own = strata::subview(x, i, strata::everything);
    const auto scatter = strata::scatter_view(own);
    strata::parallel_for(strata::on(strata::Threads{}), 50, AddNumbers<decltype(scatter)>{scatter, 5});
    strata::contribute(scatter);
  }
};

TEST(ScatterView, IsMadeAndUsedInsideAKernel) {
  using Array = MDArray<double, strata::Threads, strata::rank<2>>;
  const auto x = strata::create<Array>("x", 40, 5);

  strata::parallel_for(strata::on(strata::Threads{}), strata::range(40).dynamic(1), AssembleAlone<Array>{x});

  const auto expected = expected_sums<double>(50, 5, 0);
  for (index_t i = 0; i < 40; ++i)
    for (index_t b = 0; b < 5; ++b) ASSERT_EQ(x(i, b), expected[static_cast<std::size_t>(b)]) << i;
}

TEST(ScatterView, AWorkerItHasNoCopyForIsRefused) {
  const auto target = strata::create<Vector<double, strata::Threads>>("forces", 3);
  const auto scatter = strata::scatter_view(target);
  const strata::detail::HostWorkerScope stranger(strata::Threads::concurrency());

  try {
    scatter(0) += 1;
    FAIL() << "it was taken";
  } catch (const strata::WrongDevice& error) {
    EXPECT_NE(std::string(error.what()).find("\"forces\""), std::string::npos) << error.what();
  }
}

struct alignas(16) Complex {
  double re = 0, im = 0;
  STRATA_FUNCTION friend Complex operator+(const Complex& a, const Complex& b) {
    return {a.re + b.re, a.im + b.im};
  }
};

template <class S>
struct AddComplex {
  S scatter;
  STRATA_FUNCTION void operator()(index_t i) const { scatter(i % 2) += Complex{1, static_cast<double>(i)}; }
};

TYPED_TEST(Scatter, ElementsMayBeSmallStructs) {
  const auto target = strata::create<Vector<Complex, TypeParam>>("target", 2);
  const auto scatter = strata::scatter_view(target);

  strata::parallel_for(strata::on(TypeParam{}), 10'000, AddComplex<decltype(scatter)>{scatter});
  strata::contribute(scatter);

  const auto sums = values_of(target);
  EXPECT_EQ(sums[0].re, 5000);
  EXPECT_EQ(sums[1].re, 5000);
  EXPECT_EQ(sums[0].im, 4999. * 5000);
  EXPECT_EQ(sums[1].im, 5000. * 5000);
}

TYPED_TEST(Scatter, SlicesAreRefusedWhereTheyWouldBeCopied) {
  using Array = strata::MDArrayIn<strata::LayoutTiled<8>, double, TypeParam, strata::rank<2>>;
  const auto whole = strata::create<Array>("whole", 100, 2);
  const auto slice = strata::create_slice<Array>("rows", whole.extents(), strata::ResidentRows{40, 56});

  if constexpr (std::is_same_v<typename decltype(strata::scatter_view(slice))::mode,
                               strata::ScatterDuplicated>)
    EXPECT_THROW(static_cast<void>(strata::scatter_view(slice)), strata::LayoutError);
  else EXPECT_NO_THROW(static_cast<void>(strata::scatter_view(slice)));
}

}  // namespace
