// parallel_for: which indices a kernel is called with, in all the ways a kernel and a range can be written.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "parallel_for_suite.hpp"

namespace {

using namespace parallel_for_tests;

template <class D>
class ParallelFor : public ::testing::Test {};
TYPED_TEST_SUITE(ParallelFor, TestDevices, DeviceName);

template <class D, class Kernel>
void expect_kernel_covers_sizes(const char* what) {
  for (const index_t n : loop_sizes) {
    const auto x = create<Vector<index_t, D>>("x", n + 2 * margin);

    parallel_for(n, Kernel{x, 0});

    expect_called_once_each(values_of(x), 0, n, what + std::string(", n = ") + std::to_string(n));
  }
}

TYPED_TEST(ParallelFor, CallsFunctorsThatTakeIntegersOncePerIndex) {
  expect_kernel_covers_sizes<TypeParam, CountCalls<TypeParam, int>>("int");
  expect_kernel_covers_sizes<TypeParam, CountCalls<TypeParam, index_t>>("index_t");
  expect_kernel_covers_sizes<TypeParam, CountCalls<TypeParam, std::size_t>>("size_t");
  expect_kernel_covers_sizes<TypeParam, CountCalls<TypeParam, typename TypeParam::size_type>>("size_type");
}

TYPED_TEST(ParallelFor, CallsFunctorsThatTakeTheDevicesIndexTypeOncePerIndex) {
  expect_kernel_covers_sizes<TypeParam, CountCalls<TypeParam, typename TypeParam::index_type>>("index_type");
}

TYPED_TEST(ParallelFor, CallsFunctorsThatTakeAnyIndexOncePerIndex) {
  expect_kernel_covers_sizes<TypeParam, CountCallsByAuto<TypeParam>>("auto");
}

TYPED_TEST(ParallelFor, CoversRangesWithOffsetsChunksAndSchedules) {
  using D = TypeParam;
  const Range ranges[] = {range(5, 12),
                          range(1, 8),
                          range(3, 4),
                          range(-700, -3),
                          range(-5, 12),
                          range(-8, 0),
                          range(-513, 513),
                          range(7, 1021),
                          range(0, 1021).chunk(1),
                          range(3, 1021).chunk(5),
                          range(-9, 600).chunk(64),
                          range(0, 100).chunk(1000),
                          range(1, 1021).dynamic(),
                          range(-77, 901).dynamic(3),
                          range(0, 9).dynamic(100)};
  for (const Range& r : ranges) {
    const auto x = create<Vector<index_t, D>>("x", r.size() + 2 * margin);
    const auto y = create<Vector<index_t, D>>("y", r.size() + 2 * margin);

    parallel_for(r, CountCalls<D, int>{x, r.first});
    parallel_for(r, CountCallsByAuto<D>{y, r.first});

    const std::string what = "range " + std::to_string(r.first) + " to " + std::to_string(r.last) +
                             ", chunk " + std::to_string(r.chunk_size);
    expect_called_once_each(values_of(x), r.first, r.last, what);
    expect_called_once_each(values_of(y), r.first, r.last, what + ", auto");
  }
}

TYPED_TEST(ParallelFor, CallsNothingForEmptyRanges) {
  using D = TypeParam;
  for (const Range& r :
       {range(0), range(5, 5), range(7, 3), range(-3, -9), range(-4), range(9, 2).dynamic()}) {
    const auto x = create<Vector<index_t, D>>("x", 2 * margin);

    parallel_for(r, CountCallsByAuto<D>{x, r.first});
    parallel_for(-7, CountCalls<D, int>{x, r.first});

    expect_called_once_each(values_of(x), r.first, r.first, "empty");
  }
}

TYPED_TEST(ParallelFor, TakesNumbersOfAnyIntegerType) {
  using D = TypeParam;
  const auto x = create<Vector<index_t, D>>("x", 9 + 2 * margin);

  parallel_for(static_cast<short>(9), CountCallsByAuto<D>{x, 0});
  parallel_for(9U, CountCallsByAuto<D>{x, 0});
  parallel_for(std::size_t{9}, CountCallsByAuto<D>{x, 0});

  for (auto calls = values_of(x); const index_t i : {0, 4, 8})
    EXPECT_EQ(calls[static_cast<std::size_t>(i + margin)], 3 * (i + thousand));
}

struct Axpy {
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};

// Three views of different element types and ranks, one of constant elements.
struct Convert {
  STRATA_FUNCTION void operator()(auto i, const auto& in, const auto& out, auto factor) const {
    for (int k = 0; k < 3; ++k) out(i, k) = static_cast<float>(in(i)) * *factor + static_cast<float>(k);
  }
};

TYPED_TEST(ParallelFor, CallsKernelsWithTheViewsOfWith) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<double, D>(n, [](index_t i) { return i; });
    const auto y = make_vector<double, D>(n, [](index_t i) { return 3 * i + 1; });

    parallel_for(n, with(Axpy{2}, x, y));

    const auto result = values_of(y);
    for (index_t i = 0; i < n; ++i)
      ASSERT_EQ(result[static_cast<std::size_t>(i)], static_cast<double>(5 * i + 1)) << "n = " << n;
  }
}

TYPED_TEST(ParallelFor, CallsKernelsWithViewsOfDifferentTypesAndRanks) {
  using D = TypeParam;
  constexpr index_t n = 77;
  const auto in = make_vector<int, D>(n, [](index_t i) { return i; });
  const auto out = create<MDArray<float, D, 3>>("out", n);
  const auto factor = create<Value<float, D>>("factor");
  deep_copy(factor, 0.5F);
  const Vector<const int, D> constant = in;

  parallel_for("convert", n, with(Convert{}, constant, out, factor));

  wait(D{});
  const auto result = on_host(out);
  for (index_t i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) ASSERT_EQ(result(i, k), static_cast<float>(i) * 0.5F + static_cast<float>(k));
}

TYPED_TEST(ParallelFor, CallsLambdasOnADevice) {
  using D = TypeParam;
  const auto x = create<Vector<index_t, D>>("x", 513);
  const auto y = create<Vector<index_t, D>>("y", 513);

  parallel_for(on(D{}), 513, [=] STRATA_FUNCTION(int i) { x(i) = 7 * i; });
  parallel_for(on(D{}), range(2, 513), [=] STRATA_FUNCTION(index_t i) { y(i) = i + 1; });

  const auto xs = values_of(x), ys = values_of(y);
  for (int i = 0; i < 513; ++i) {
    ASSERT_EQ(xs[static_cast<std::size_t>(i)], 7 * i);
    ASSERT_EQ(ys[static_cast<std::size_t>(i)], i < 2 ? 0 : i + 1);
  }
}

struct Double {};
struct Increment {};

template <class D>
struct TwoOperators {
  using device_type = D;
  Vector<int, D> x;

  STRATA_FUNCTION void operator()(Double, int i) const { x(i) *= 2; }
  STRATA_FUNCTION void operator()(Increment, auto i) const { x(i) += 1; }
};

struct TwoOperatorsOfViews {
  STRATA_FUNCTION void operator()(Double, int i, auto x) const { x(i) *= 2; }
  STRATA_FUNCTION void operator()(Increment, auto i, auto x) const { x(i) += 1; }
};

TYPED_TEST(ParallelFor, ChoosesAnOperatorByWorkTag) {
  using D = TypeParam;
  const auto x = make_vector<int, D>(100, [](index_t i) { return i; });
  const auto y = make_vector<int, D>(100, [](index_t i) { return i; });

  parallel_for(tagged<Increment>(100), TwoOperators<D>{x});
  parallel_for(tagged<Double>(range(50, 100)), TwoOperators<D>{x});
  parallel_for("tag", tagged<Increment>(100), with(TwoOperatorsOfViews{}, y));
  parallel_for(tagged<Double>(range(50, 100).dynamic()), with(TwoOperatorsOfViews{}, y));

  const auto xs = values_of(x), ys = values_of(y);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(xs[static_cast<std::size_t>(i)], (i + 1) * (i < 50 ? 1 : 2));
    ASSERT_EQ(ys[static_cast<std::size_t>(i)], (i + 1) * (i < 50 ? 1 : 2));
  }
}

template <class D, int Bytes>
struct LargeFunctor {
  using device_type = D;
  Vector<std::int64_t, D> x;
  std::int64_t table[Bytes / 8];

  STRATA_FUNCTION void operator()(auto i) const { x(i) = table[index_t(i) % (Bytes / 8)] + index_t(i); }
};

template <class D, int Bytes>
void expect_large_functor_runs() {
  constexpr index_t n = 2053;
  const auto x = create<Vector<std::int64_t, D>>("x", n);
  LargeFunctor<D, Bytes> functor{x, {}};
  for (int k = 0; k < Bytes / 8; ++k) functor.table[k] = 1000000 + 17 * k;

  parallel_for(n, functor);
  for (std::int64_t& t : functor.table) t = -1;  // the launch has its own copy

  const auto result = values_of(x);
  for (index_t i = 0; i < n; ++i)
    ASSERT_EQ(result[static_cast<std::size_t>(i)], 1000000 + 17 * (i % (Bytes / 8)) + i) << Bytes << " bytes";
}

TYPED_TEST(ParallelFor, RunsCopiesOfFunctorsOfAnySize) {
  expect_large_functor_runs<TypeParam, 8>();
  expect_large_functor_runs<TypeParam, 992>();
  expect_large_functor_runs<TypeParam, 3072>();
  expect_large_functor_runs<TypeParam, 10240>();
}

}  // namespace
