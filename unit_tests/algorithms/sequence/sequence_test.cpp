// Sequences on one device, recorded as graphs, and over several: the values of single launches, in the same
// bits. What fails: sequence_errors_test.cpp. Those that are streamed: streaming/streamed_sequence_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <vector>

#include <strata/algorithms/team.hpp>
#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>

#include "algorithms/streaming/sequence_fixture.hpp"

namespace {

using namespace sequence_test;

template <class D>
class Sequences : public ::testing::Test {};
TYPED_TEST_SUITE(Sequences, strata_tests::TestDevices, strata_tests::DeviceName);

// What was launched, by itself or by a graph.
struct Launches : Listener {
  int graphs = 0, kernels = 0;
  Launches() { add_listener(*this); }
  ~Launches() override { remove_listener(*this); }
  void on_event(const HookEvent& event) override {
    graphs += event.kind == EventKind::BeginGraph;
    kernels += event.kind == EventKind::BeginFor || event.kind == EventKind::BeginReduce;
  }
};

// All of D that there are, at most three.
template <class D>
Across<D> all_of() {
  std::vector<D> devices;
  if constexpr (strata_tests::is_asynchronous<D>)
    for (int k = 0; k < std::min(D::count(), 3); ++k) devices.push_back(D{k});
  else devices.push_back(D{});
  return across(devices);
}

struct Grow {  // y = x + y / 2, of which the bits depend on the order
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i) + 0.5 * y(i); }
};
struct Spread {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    y(i) = 0.3 * x(i - 1) + 0.5 * x(i) + 0.1 * x(i + 1);
  }
};
struct Shift {
  double by;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += by; }
};
struct AddValue {
  STRATA_FUNCTION void operator()(auto i, auto value, auto x) const { x(i) += 1e-3 * value(); }
};
struct RowSums {
  STRATA_FUNCTION void operator()(const auto& member, auto x, auto y) const {
    const index_t i = member.league_rank();
    double sum;
    parallel_reduce(
        team_vector_range(member, x.extent(1)), [&](index_t j, double& s) { s += x(i, j); }, sum);
    single(per_team(member), [&] { y(i) = sum; });
  }
};
struct SetRows {
  STRATA_FUNCTION void operator()(auto i, auto y, auto x) const {
    for (index_t j = 0; j < x.extent(1); ++j)
      x(i, j) = 0.01 * y(i) + static_cast<double>(i) - static_cast<double>(j);
  }
};
struct Sum1 {
  using value_type = double;
  STRATA_FUNCTION static void init(double& v) { v = 0; }
  STRATA_FUNCTION static void join(double& v, const double& o) { v += o; }
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
struct Accumulate {
  STRATA_FUNCTION void operator()(double& value, auto into) const { into() = 0.5 * into() + value; }
};

template <class Where>
void expect_elements_and_nodes(const Where& where, const char* what) {
  for (const int runs : {1, 3}) {
    const Mesh mesh(1500, 1100, 9, 4);
    const Arrays a(mesh);
    InCore expected(mesh);
    Sequence steps("steps", where);
    if (runs == 3) steps.temporary(a.force);
    add_loops(steps, mesh, a);

    for (int run = 0; run < runs; ++run) {
      steps.run(5);
      for (int step = 0; step < 5; ++step) expected.elements(step), expected.nodes();
    }
    if (runs == 1) {
      steps.run_loops(1);
      expected.elements(0);
      steps.run_loops(2);  // begins within step 0
      expected.nodes(), expected.elements(1);
    }

    expect_same(a, expected, what);
  }
}
TYPED_TEST(Sequences, OfElementsAndNodesHaveTheValuesOfTheirLoops) {
  expect_elements_and_nodes(on(TypeParam{}), "on a device");
  expect_elements_and_nodes(on(Queue<TypeParam>(TypeParam{})), "on a queue");
  expect_elements_and_nodes(all_of<TypeParam>(), "across");
}

// The loops, and the same as single launches.
struct Fields {
  index_t n;
  CoherentArray<double, rank<1>> x{"x", n}, y{"y", n};
  CoherentArray<double, rank<0>> sum{"sum"}, decayed{"decayed"};
  explicit Fields(index_t size) : n(size) { stream_test::fill(x), stream_test::fill(y); }
};
template <class Where>
void declare(Sequence<Where>& steps, const Fields& f, std::vector<double>& sums) {
  steps.loop("grow", f.n, Grow{}, in(f.x), inout(f.y));
  steps.loop_reduce("sum", f.n, Sum1{}, f.sum, in(f.y));
  steps.loop("spread", range(1, f.n - 1), Spread{}, in(f.y, halo(1, 1)), out(f.x));
  steps.loop_reduce("decay", f.n, Sum1{}, finalize(Accumulate{}, inout(f.decayed, everything)), in(f.x));
  steps.loop_reduce("sums", f.n, Sum1{}, sums, in(f.x));
  steps.loop("shift", f.n, by_step([](int step) { return Shift{0.25 * step}; }), inout(f.x));
  steps.loop("add sum", f.n, AddValue{}, in(f.sum, everything), inout(f.x));
  steps.loop("add decayed", f.n, AddValue{}, in(f.decayed, everything), inout(f.x));
}
template <class Where>
void launch_step(const Where& where, const Fields& f, std::vector<double>& sums, int step) {
  launch(where, f.n, Grow{}, in(f.x), inout(f.y));
  launch_reduce(where, f.n, Sum1{}, f.sum, in(f.y));
  launch(where, range(1, f.n - 1), Spread{}, in(f.y, halo(1, 1)), out(f.x));
  launch_reduce(where, f.n, Sum1{}, finalize(Accumulate{}, inout(f.decayed, everything)), in(f.x));
  launch_reduce(where, f.n, Sum1{}, sums.emplace_back(), in(f.x));
  launch(where, f.n, Shift{0.25 * step}, inout(f.x));
  launch(where, f.n, AddValue{}, in(f.sum, everything), inout(f.x));
  launch(where, f.n, AddValue{}, in(f.decayed, everything), inout(f.x));
}
template <class Where>
void expect_bits_of_launches(const Where& where) {
  for (const index_t n : {3, 700, 5000}) {
    const Fields together(n), singly(n);
    std::vector<double> sums, expected;
    Sequence steps("steps", where);
    declare(steps, together, sums);

    for (const int count : {4, 1, 3}) {
      steps.run(count);
      expected.clear();
      for (int step = 0; step < count; ++step) launch_step(where, singly, expected, step);

      EXPECT_EQ(sums, expected);
    }
    EXPECT_EQ(stream_test::values(together.x), stream_test::values(singly.x)) << n;
    EXPECT_EQ(stream_test::values(together.y), stream_test::values(singly.y)) << n;
    EXPECT_EQ(together.decayed.read()(), singly.decayed.read()()) << n;
  }
}
TYPED_TEST(Sequences, WithReductionsHaveTheBitsOfSingleLaunches) {
  expect_bits_of_launches(on(TypeParam{}));
  expect_bits_of_launches(all_of<TypeParam>());
}

TYPED_TEST(Sequences, AreOneGraphLaunchAStepAndOneForManySteps) {
  const index_t n = 600;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  Sequence steps("steps", on(TypeParam{}));
  steps.loop("grow", n, Grow{}, in(x), inout(y));
  steps.loop("shift", n, Shift{1}, inout(x));
  steps.run(2);  // records
  Launches launches;

  steps.run(1);
  EXPECT_EQ(launches.graphs, 1);
  steps.run(3);
  EXPECT_EQ(launches.graphs, 1 + 3);
  steps.run(64);  // four times 16 steps
  EXPECT_EQ(launches.graphs, 1 + 3 + 4);
  EXPECT_EQ(launches.kernels, 0);
  steps.release();
  steps.run(1);
  EXPECT_EQ(launches.kernels, 2) << "a single step is not worth a graph";

  double expected_x = 0, expected_y = 0;
  for (int k = 0; k < 2 + 1 + 3 + 64 + 1; ++k) expected_y = expected_x + 0.5 * expected_y, expected_x += 1;
  EXPECT_EQ(stream_test::values(x)[7], expected_x);
  EXPECT_EQ(stream_test::values(y)[7], expected_y);
}

TYPED_TEST(Sequences, HaveLoopsOfTeamsOnOneDevice) {
  const index_t n = 37, columns = 50;
  const CoherentArray<double, rank<2>> x("x", n, columns);
  const CoherentArray<double, rank<1>> y("y", n);
  Sequence steps("steps", on(TypeParam{}));
  steps.loop("rows", n, SetRows{}, in(y), out(x, everything));
  steps.loop("sums", teams(n), RowSums{}, in(x, everything), out(y, everything));
  const auto at = [](index_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> expected(at(n), 0.0);
  for (const int count : {1, 2, 40}) {
    steps.run(count);
    for (int k = 0; k < count; ++k)
      for (index_t i = 0; i < n; ++i) {
        double sum = 0;
        for (index_t j = 0; j < columns; ++j)
          sum += 0.01 * expected[at(i)] + static_cast<double>(i) - static_cast<double>(j);
        expected[at(i)] = sum;
      }
    const std::vector<double> found = stream_test::values(y);
    for (index_t i = 0; i < n; ++i)
      EXPECT_NEAR(found[at(i)], expected[at(i)], 1e-9 * std::abs(expected[at(i)])) << count;
  }
}

TYPED_TEST(Sequences, GoOnWhereOthersHaveUsedTheirArraysBetweenRuns) {
  const index_t n = 600;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  Sequence steps("steps", on(TypeParam{}));
  steps.loop("grow", n, Grow{}, in(x), inout(y));
  steps.loop("shift", n, Shift{1}, inout(x));
  double expected_x = 0, expected_y = 0;

  for (int run = 0; run < 4; ++run) {
    steps.run(3);
    for (int k = 0; k < 3; ++k) expected_y = expected_x + 0.5 * expected_y, expected_x += 1;
    {
      const auto view = x.read_write();
      for (index_t i = 0; i < n; ++i) view(i) += 2;
    }
    launch(all_of<TypeParam>(), n, Shift{3}, inout(y));
    expected_x += 2, expected_y += 3;
  }

  EXPECT_EQ(stream_test::values(x), std::vector<double>(n, expected_x));
  EXPECT_EQ(stream_test::values(y), std::vector<double>(n, expected_y));
}

TYPED_TEST(Sequences, CopyWhatTheyReadBeforeTheyWriteIt) {
  const index_t n = 1000;
  const CoherentArray<double, rank<1>> x("x", n), made("made", n), temporary("temporary", n), part("part", n);
  for (const auto* array : {&x, &made, &temporary, &part}) stream_test::fill(*array);
  const auto expected = stream_test::values(x);
  Sequence steps("steps", on(TypeParam{}));
  steps.temporary(temporary);
  steps.loop("make", n, stream_test::Copy{}, in(x), out(made));
  steps.loop("make more", n, stream_test::Copy{}, in(made), out(temporary));
  steps.loop("make a part", 400, stream_test::Copy{}, in(temporary), out(part));
  steps.loop("all", n, stream_test::Axpy{0}, in(part), inout(made));

  steps.run(3);

  if constexpr (strata_tests::is_asynchronous<TypeParam>) {
    EXPECT_EQ(x.counters().host_to_device.bytes, 8u * 1000);
    EXPECT_EQ(made.counters().host_to_device.bytes, 0u);
    EXPECT_EQ(temporary.counters().host_to_device.bytes, 0u);
    EXPECT_EQ(part.counters().host_to_device.bytes, 8u * 600) << "the rows that are only read";
  }
  EXPECT_EQ(stream_test::values(made), expected);
  EXPECT_EQ(stream_test::values(part), expected);
}

TYPED_TEST(Sequences, WithoutWorkOrStepsDoNothing) {
  const CoherentArray<double, rank<1>> x("x", 10), none("none", 0);
  std::vector<double> sums{1, 2};
  Sequence steps("steps", on(TypeParam{}));
  EXPECT_NO_THROW(steps.run(3));
  steps.loop("none", 0, Shift{1}, inout(none));
  steps.loop_reduce("sum", 0, Sum1{}, sums, in(none));
  steps.loop("some", range(2, 4), Shift{1}, inout(x));

  steps.run(0);
  EXPECT_EQ(sums, (std::vector<double>{1, 2}));
  steps.run(2);
  EXPECT_EQ(sums, (std::vector<double>{0, 0}));
  steps.run_loops(1);
  EXPECT_TRUE(sums.empty()) << "the loop was not done";
  EXPECT_EQ(stream_test::values(x), (std::vector<double>{0, 0, 2, 2, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
