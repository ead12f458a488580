// launch, launch_reduce and launch_scan: kernels over arrays whose use is declared.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <type_traits>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class Launch : public ::testing::Test {};
TYPED_TEST_SUITE(Launch, TestDevices, DeviceName);

struct Axpy {
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    static_assert(std::is_const_v<typename decltype(x)::element_type>, "`in` gives views of const elements");
    static_assert(!std::is_const_v<typename decltype(y)::element_type>);
    y(i) += a * x(i);
  }
};

TYPED_TEST(Launch, CallsTheKernelWithAnIndexAndTheDeclaredViews) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<double, D>(n, [](index_t i) { return i; });
    const auto y = make_vector<double, D>(n, [](index_t i) { return 2 * i; });

    launch(on(D{}), n, Axpy{3}, in(x), inout(y));

    const auto result = values_of(y);
    for (index_t i = 0; i < n; ++i)
      ASSERT_EQ(result[static_cast<std::size_t>(i)], static_cast<double>(5 * i));
  }
}

struct Shift {
  STRATA_FUNCTION void operator()(int i, auto x, auto y) const { y(i) = x(i) + 1; }
};

TYPED_TEST(Launch, TakesRangesQueuesAndViewsOfConstElements) {
  using D = TypeParam;
  const auto x = make_vector<int, D>(1021, [](index_t i) { return i; });
  const auto y = create<Vector<int, D>>("y", 1021);
  const Queue<D> queue;
  const Vector<const int, D> constant = x;

  launch(on(queue), range(5, 900).chunk(10), Shift{}, in(constant), out(y));
  queue.wait();

  const auto result = values_of(y);
  for (int i = 0; i < 1021; ++i)
    ASSERT_EQ(result[static_cast<std::size_t>(i)], i >= 5 && i < 900 ? i + 1 : 0);
}

struct Five {
  STRATA_FUNCTION void operator()(auto i, auto j, auto x) const { x(i, j) = 5; }
};

TYPED_TEST(Launch, OutOfAViewKeepsWhatTheRangeLeavesOut) {
  using D = TypeParam;
  const auto x = create<MDArray<int, D, rank<2>>>("x", 8, 9);

  launch(on(D{}), mdrange({1, 2}, {7, 8}), Five{}, out(x));

  const auto mirror = create_mirror(x);
  deep_copy(mirror, x);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 9; ++j)
      ASSERT_EQ(mirror(i, j), i >= 1 && i < 7 && j >= 2 && j < 8 ? 5 : 0) << i << ", " << j;
}

struct Transposed {
  STRATA_FUNCTION void operator()(auto i, auto j, auto x, auto y) const { y(j, i) = x(i, j); }
};
struct Negate {};
struct TaggedNegate {
  STRATA_FUNCTION void operator()(Negate, auto i, auto x) const { x(i) = -x(i); }
};

TYPED_TEST(Launch, TakesMultiDimensionalRangesAndTags) {
  using D = TypeParam;
  const auto x = create<MDArray<int, D, rank<2>>>("x", 9, 14);
  const auto y = create<MDArray<int, D, rank<2>>>("y", 14, 9);
  const auto z = make_vector<int, D>(50, [](index_t i) { return i; });
  const auto fill = create_mirror(x);
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 14; ++j) fill(i, j) = 100 * i + j;
  deep_copy(x, fill);

  launch(on(D{}), mdrange({0, 0}, {9, 14}, {4, 4}), Transposed{}, in(x), out(y));
  launch(on(D{}), tagged<Negate>(50), TaggedNegate{}, inout(z));

  wait(D{});
  const auto result = on_host(y);
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 14; ++j) ASSERT_EQ(result(j, i), 100 * i + j);
  for (int i = 0; const int v : values_of(z)) ASSERT_EQ(v, -i++);
}

// The paper's functors hold their views; a factory makes them of the views that a launch is given.
template <class X, class Y>
struct PaperAxpy {
  using device_type = typename Y::device_type;
  X x;
  Y y;
  double a;
  STRATA_FUNCTION void operator()(int i) const { y(i) += a * x(i); }
};
struct MakeAxpy {
  double a;
  template <class X, class Y>
  PaperAxpy<X, Y> operator()(const X& x, const Y& y) const {
    static_assert(std::is_const_v<typename X::element_type>);
    return {x, y, a};
  }
};

TYPED_TEST(Launch, RunsWhatAFactoryMakesOfTheViews) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(1021, [](index_t i) { return i; });
  const auto y = make_vector<double, D>(1021, [](index_t i) { return i; });

  launch(on(D{}), 1021, MakeAxpy{2}, in(x), inout(y));
  launch(
      on(D{}), range(1000, 1021),
      [](const auto& from, const auto& to) {
        return PaperAxpy<std::remove_cvref_t<decltype(from)>, std::remove_cvref_t<decltype(to)>>{from, to, 1};
      },
      in(x), inout(y));

  const auto result = values_of(y);
  for (int i = 0; i < 1021; ++i) ASSERT_EQ(result[static_cast<std::size_t>(i)], i < 1000 ? 3 * i : 4 * i);
}

struct DotProduct {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, double& sum) const { sum += x(i) * y(i); }
};
struct DotFunctor : DotProduct {
  using value_type = double;
  STRATA_FUNCTION static void init(double& v) { v = 0; }
  STRATA_FUNCTION static void join(double& v, const double& o) { v += o; }
};
template <class D>
struct StoreTwice {
  Value<double, D> first, second;
  STRATA_FUNCTION void operator()(const double& sum) const {
    *first = sum;
    *second = -sum;
  }
};

TYPED_TEST(Launch, ReducesIntoReducersVariablesValuesAndFinalizeFunctors) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<double, D>(n, [](index_t i) { return i % 10; });
    const auto y = make_vector<double, D>(n, [](index_t i) { return i % 3; });
    const auto a = create<Value<double, D>>("a"), b = create<Value<double, D>>("b"),
               c = create<Value<double, D>>("c");
    double by_name = -1, by_functor = -1, expected = 0;
    for (index_t i = 0; i < n; ++i) expected += static_cast<double>((i % 10) * (i % 3));

    launch_reduce(on(D{}), n, DotProduct{}, Sum(by_name), in(x), in(y));
    launch_reduce(on(D{}), n, DotFunctor{}, by_functor, in(x), in(y));
    launch_reduce(on(D{}), n, DotFunctor{}, a, in(x), in(y));
    launch_reduce(on(D{}), n, DotFunctor{}, finalize(StoreTwice<D>{b, c}), in(x), in(y));

    ASSERT_EQ(by_name, expected);
    ASSERT_EQ(by_functor, expected);
    ASSERT_EQ(value_of(a), expected);
    ASSERT_EQ(value_of(b), expected);
    ASSERT_EQ(value_of(c), -expected);
  }
}

struct StoreInto {
  STRATA_FUNCTION void operator()(double& sum, auto first, auto second) const {
    first() = sum;
    second() += sum;
  }
};

TYPED_TEST(Launch, FinalizeFunctorsTakeDeclaredViewsOrNone) {
  using D = TypeParam;
  const auto x = make_vector<double, D>(100, [](index_t i) { return i; });
  const auto a = create<Value<double, D>>("a"), b = create<Value<double, D>>("b"),
             c = create<Value<double, D>>("c"), d = create<Value<double, D>>("d");

  for (int time = 0; time < 2; ++time)
    launch_reduce(on(D{}), 100, DotFunctor{}, finalize(StoreInto{}, out(a), inout(b)), in(x), in(x));
  parallel_reduce(100, with(DotFunctor{}, x, x), finalize(StoreTwice<D>{c, d}));

  ASSERT_EQ(value_of(a), 328350);
  ASSERT_EQ(value_of(b), 2 * 328350);
  ASSERT_EQ(value_of(c), 328350);
}

struct Prefix {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, int& sum, bool final) const {
    if (final) y(i) = sum;
    sum += x(i);
  }
};

TYPED_TEST(Launch, ScansDeclaredViews) {
  using D = TypeParam;
  for (const index_t n : loop_sizes) {
    const auto x = make_vector<int, D>(n, [](index_t i) { return i % 10; });
    const auto y = create<Vector<int, D>>("y", n);
    int total = -1;

    launch_scan(on(D{}), n, Prefix{}, Sum(total), in(x), out(y));

    std::vector<int> expected;
    int sum = 0;
    for (index_t i = 0; i < n; sum += static_cast<int>(i++ % 10)) expected.push_back(sum);
    ASSERT_EQ(total, sum);
    ASSERT_EQ(values_of(y), expected);
  }
}

// The labels of kernels, in order.
class KernelLabels : public Listener {
 public:
  KernelLabels() { add_listener(*this); }
  ~KernelLabels() override { remove_listener(*this); }
  void on_event(const HookEvent& event) override {
    if (event.kind == EventKind::BeginFor || event.kind == EventKind::BeginReduce ||
        event.kind == EventKind::BeginScan)
      labels.push_back(event.label);
  }
  std::vector<std::string> labels;
};
struct Clear {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = 0; }
};
struct Add {
  STRATA_FUNCTION void operator()(auto i, auto x, int& sum) const { sum += x(i); }
};

TYPED_TEST(Launch, LabelsOfPlacesNameTheirKernels) {
  using D = TypeParam;
  const auto x = make_vector<int, D>(10, [](index_t) { return 1; });
  const Queue<D> queue;
  const auto place = on(queue).named("mine");
  int sum = 0;
  KernelLabels seen;

  launch(place, 10, Clear{}, out(x));
  launch_reduce(place, 10, Add{}, Sum(sum), in(x));
  launch_scan(place, 10, Prefix{}, Sum(sum), in(x), out(x));
  inclusive_scan(place, x, x);
  exclusive_scan(on(queue), x, x);
  parallel_for(place, 10, with(Clear{}, x));
  parallel_for("its own", place, 10, with(Clear{}, x));

  const std::vector<std::string> expected{"mine",           "mine", "mine",   "mine",
                                          "exclusive_scan", "mine", "its own"};
  EXPECT_EQ(seen.labels, expected);
  queue.wait();
}
TYPED_TEST(Launch, ScansOfViewsRunOnAQueue) {
  using D = TypeParam;
  const auto x = make_vector<int, D>(2000, [](index_t i) { return i % 7; }),
             y = make_vector<int, D>(2000, [](index_t) { return 0; }),
             z = make_vector<int, D>(2000, [](index_t) { return 0; });
  const Queue<D> queue;

  inclusive_scan(on(queue), x, y);
  exclusive_scan(on(queue), x, z, 5);
  queue.wait();

  std::vector<int> inclusive, exclusive;
  int sum = 0;
  for (int i = 0; i < 2000; ++i) {
    exclusive.push_back(5 + sum);
    inclusive.push_back(sum += i % 7);
  }
  EXPECT_EQ(values_of(y), inclusive);
  EXPECT_EQ(values_of(z), exclusive);
}

}  // namespace
