// Sequences of loops over arrays that go through a device in slices: the same bits as in core.
// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/streaming/fixed_row.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"
#include "sequence_fixture.hpp"

namespace {

using namespace sequence_test;

struct CopyRow {
  STRATA_FUNCTION void operator()(auto i, auto from, auto to) const { to(i) = from(i); }
};

template <class D>
class StreamedSequences : public ::testing::Test {};
TYPED_TEST_SUITE(StreamedSequences, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(StreamedSequences, ElementsAndNodesAsInCore) {
  unsigned seed = 1;
  for (const auto& [n, e, width] :
       {std::array<index_t, 3>{3000, 2500, 40}, {2000, 5000, 3}, {700, 700, 0}, {5, 1, 2}})
    for (const int steps_per_pass : {1, 2, 7})
      for (const index_t chunk : {1, 60, 500, 100000}) {
        if (e / chunk > 100) continue;
        const Mesh mesh(n, e, width, ++seed);
        const Arrays a(mesh);
        InCore expected(mesh);
        Sequence steps("steps", streamed(TypeParam{}, 1 << 22).chunk(chunk).steps_per_pass(steps_per_pass));
        steps.temporary(a.force);
        add_loops(steps, mesh, a);
        const StreamReport report = steps.run(5);
        for (int step = 0; step < 5; ++step) expected.elements(step), expected.nodes();
        const std::string what = std::to_string(n) + " nodes, " + std::to_string(steps_per_pass) +
                                 " steps a pass, slices of " + std::to_string(chunk);
        expect_same(a, expected, what);
        // Each row comes and goes once a pass; what is temporary never.
        const index_t passes = (4 + steps_per_pass) / steps_per_pass;
        EXPECT_EQ(report.passes, passes) << what;
        const index_t touching = static_cast<index_t>(mesh.touching.size());
        const index_t comes = 8 * n + 8 * e + 4 * (n + 1) + 4 * touching;
        EXPECT_EQ(report.bytes_to_host, passes * (8 * n + 8 * e)) << what;
        // Rows of corners are whole tiles of 8.
        EXPECT_GE(report.bytes_to_device, passes * (comes + 12 * e)) << what;
        EXPECT_LE(report.bytes_to_device, passes * (comes + 12 * (e + 7))) << what;
      }
}

// Every choice of arrays that stay; what slices of them would bring does not come.
TYPED_TEST(StreamedSequences, ResidentArraysStayOnTheDevice) {
  const Mesh mesh(1100, 900, 15, 12);
  for (unsigned chosen = 0; chosen < 16; ++chosen) {
    const Arrays a(mesh);
    InCore expected(mesh);
    const auto chosen_or_not = [&](unsigned bit, const auto& access, const auto& call) {
      if ((chosen >> bit & 1) != 0) call(resident(access));
      else call(access);
    };
    Sequence steps("steps", streamed(TypeParam{}, 1 << 20).chunk(130).steps_per_pass(1 + chosen % 3));
    steps.temporary(a.force);
    chosen_or_not(0, in(a.corners), [&](const auto& corners) {
      chosen_or_not(1, inout(a.state), [&](const auto& state) {
        steps.loop("elements", mesh.elements,
                   by_step([](int step) { return Elements{static_cast<Hash>(step)}; }), corners,
                   in(a.x, mesh.nodes_of()), state, out(a.force));
      });
    });
    chosen_or_not(2, in(a.offsets, halo(0, 1)), [&](const auto& offsets) {
      chosen_or_not(3, in(a.touching, everything), [&](const auto& touching) {
        steps.loop("nodes", mesh.nodes, Nodes{}, offsets, touching, in(a.force, mesh.elements_of()),
                   inout(a.x));
      });
    });
    StreamReport report;
    for (const int count : {3, 2, 4}) {
      report = steps.run(count);
      for (int step = 0; step < count; ++step) expected.elements(step), expected.nodes();
      if (count == 2) steps.release();
    }
    const std::string what = "resident: " + std::to_string(chosen);
    expect_same(a, expected, what);
    const index_t states = (chosen >> 1 & 1) != 0 ? 0 : 8 * mesh.elements;
    EXPECT_EQ(report.bytes_to_host, report.passes * (8 * mesh.nodes + states)) << what;
  }
}

// What an array that stays gets of a loop, and which programs have no meaning.
TYPED_TEST(StreamedSequences, ResidentResultsAndMistakes) {
  const Mesh mesh(400, 300, 7, 2);
  const Arrays a(mesh);
  launch(on(TypeParam{}), mesh.elements, CopyRow{}, in(a.state), out(a.force));  // checked builds look at it
  const CoherentArray<Hash, rank<1>> copy("copy", mesh.elements, uninitialized);
  Sequence steps("steps", streamed(TypeParam{}, 1 << 18).chunk(40));
  steps.loop("copy", mesh.elements, CopyRow{}, in(a.state), resident(out(copy)));
  EXPECT_EQ(steps.run(1).bytes_to_host, 0);
  EXPECT_EQ(stream_test::values(copy), stream_test::values(a.state));

  const auto add = [&](auto& sequence, const auto& first, const auto& second) {
    sequence.loop("write", mesh.elements, CopyRow{}, in(a.state), first);
    sequence.loop("read", mesh.elements, CopyRow{}, second, out(a.force));
  };
  Sequence late("late", streamed(TypeParam{}, 1 << 18));
  add(late, resident(out(copy)), resident(in(copy)));
  const std::string after = message_of<AccessConflict>([&] { late.run(1); });
  EXPECT_NE(after.find("loop \"write\" writes \"copy\", which is resident, and loop \"read\""),
            std::string::npos)
      << after;
  late.run_loops(1);  // in runs of their own
  late.run_loops(1);
  EXPECT_EQ(stream_test::values(a.force), stream_test::values(a.state));
  Sequence both("both", streamed(TypeParam{}, 1 << 18));
  add(both, out(copy), resident(in(copy)));
  const std::string twice = message_of<AccessConflict>([&] {
    both.run_loops(1);
    both.run_loops(1);
  });
  EXPECT_NE(twice.find("\"copy\" is resident in loop \"read\", and goes through the device in slices"),
            std::string::npos)
      << twice;
}

struct AddNeighbour {
  STRATA_FUNCTION void operator()(auto i, auto table, auto x, auto y) const {
    x(i) = table(i) + x(i + 1 < x.extent(0) ? i + 1 : i);
    y(i) = x(i);
  }
};
TYPED_TEST(StreamedSequences, ResidentArraysOfSeveralStepsAreWrittenByTheirOwnRows) {
  const CoherentArray<Hash, rank<1>> table("table", 500), x("x", 500), y("y", 500);
  Sequence steps("steps", streamed(TypeParam{}, 1 << 17).chunk(50).steps_per_pass(2));
  steps.loop("add", 500, AddNeighbour{}, in(table), resident(inout(x, everything)), out(y));
  const std::string text = message_of<AccessConflict>([&] { steps.run(2); });
  EXPECT_NE(text.find("writes \"x\", which is resident, and is done more than once in a run"),
            std::string::npos)
      << text;
  EXPECT_EQ(message_of<AccessConflict>([&] {
              Sequence dry("steps", streamed(TypeParam{}, 1 << 17).dry_run());
              dry.loop("add", 500, AddNeighbour{}, in(table), resident(inout(x, everything)), out(y));
              dry.run(2);
            }),
            text);
  steps.run(1);
}

// Each thread keeps what the other one takes in slices.
TYPED_TEST(StreamedSequences, ThreadsWhoseResidentArraysAreEachOthersDoNotWaitForEver) {
  const index_t n = 3000;
  const CoherentArray<Hash, rank<1>> a("a", n), b("b", n), c("c", n);
  const auto copy = [&](const auto& from, const auto& to) {
    for (int k = 0; k < 20; ++k) {
      Sequence steps("copy", streamed(TypeParam{}, 1 << 16).chunk(300));
      steps.loop("copy", n, CopyRow{}, resident(in(from)), inout(to));
      steps.run(1);
    }
  };
  std::thread one([&] { copy(a, b); }), two([&] { copy(b, a); });
  for (int k = 0; k < 20; ++k)
    launch(streamed(TypeParam{}, 1 << 16).chunk(300), n, CopyRow{}, in(c), inout(k % 2 == 0 ? a : b));
  one.join(), two.join();
  EXPECT_EQ(stream_test::values(a), stream_test::values(b));
}

// Arrays of several times the least that a GPU's buffer has, in more than one pass. Within a budget of few
// granules an array the model may take windows, which need no whole granules: there are more of them here.
TYPED_TEST(StreamedSequences, BuffersWrapRoundWhereTheDeviceCan) {
  const Mesh mesh(300000, 400000, 60, 9);
  InCore expected(mesh);
  for (int step = 0; step < 5; ++step) expected.elements(step), expected.nodes();
  const bool wraps = TypeParam{}.backend().repeat_granule() > 0;
  index_t slices = 0;
  for (const int pieces : {1, 2, 3}) {
    if (pieces > 1 && !wraps) continue;
    if (pieces == 2 && strata_tests::is_sanitized) continue;
    const Arrays a(mesh);
    const index_t granules = 64 * static_cast<index_t>(TypeParam{}.backend().repeat_granule());
    auto where = streamed(TypeParam{}, (64 << 20) + granules).chunk(9000).steps_per_pass(2);
    where.options.pieces = pieces;
    Sequence steps("steps", where);
    steps.temporary(a.force);
    add_loops(steps, mesh, a);

    const StreamReport report = steps.run(5);

    expect_same(a, expected, std::to_string(pieces) + " pieces");
    EXPECT_EQ(report.explain().find("wrap round") != std::string::npos, wraps) << report.explain();
    EXPECT_EQ(report.explain().find("pieces") != std::string::npos, pieces > 1) << report.explain();
    EXPECT_EQ(report.bytes_moved == 0, wraps);
    if (pieces == 1) slices = report.slices;
    EXPECT_EQ(report.slices, slices);
  }
}

TYPED_TEST(StreamedSequences, RunsThatEndAndBeginWithinAStep) {
  const Mesh mesh(1500, 1800, 20, 3);
  const Arrays a(mesh);
  InCore expected(mesh);
  Sequence steps("steps", streamed(TypeParam{}, 1 << 20).chunk(160));
  add_loops(steps, mesh, a);
  // Elements; then nodes and elements, as where something is to be known of all elements before nodes move.
  steps.run_loops(1);
  expected.elements(0);
  expect_same(a, expected, "elements");
  for (int again = 0; again < 3; ++again) {
    steps.run(4);
    for (int step = 0; step < 4; ++step) expected.nodes(), expected.elements(step + 1);
    expect_same(a, expected, "again");
  }
  steps.run_loops(1);
  expected.nodes();
  expect_same(a, expected, "nodes");
  steps.release();
  steps.begin_with(1);
  steps.run_loops(1);
  expected.nodes();
  expect_same(a, expected, "nodes again");
}

TYPED_TEST(StreamedSequences, ResultsOfEachStepAsInCore) {
  const Mesh mesh(20000, 30000, 50, 4);
  const Arrays a(mesh);
  InCore expected(mesh);
  std::vector<double> sums;
  std::vector<Hash> least;
  Sequence steps("steps", streamed(TypeParam{}, 1 << 19));
  steps.temporary(a.force);
  steps.loop("elements", mesh.elements, Elements{0}, in(a.corners), in(a.x, mesh.nodes_of()), inout(a.state),
             out(a.force));
  steps.loop_reduce("sum", mesh.elements, SumOfForces{}, each_step(Sum, sums), in(a.force));
  steps.loop_reduce("least", mesh.elements, LeastForce{}, least, in(a.force));
  steps.loop("nodes", mesh.nodes, Nodes{}, in(a.offsets, halo(0, 1)), in(a.touching, mesh.touching_of()),
             in(a.force, mesh.elements_of()), inout(a.x));
  const StreamReport report = steps.run(6);
  EXPECT_GT(report.slices, 3);
  EXPECT_LE(report.device_bytes, 1 << 19);
  std::vector<double> in_core;
  for (int step = 0; step < 6; ++step) {
    expected.elements(0);
    const CoherentArray<Hash, rank<1>> force("force", mesh.elements);
    {
      const auto all = force.write();
      for (index_t e = 0; e < mesh.elements; ++e) all(e) = expected.force[Mesh::at(e)];
    }
    double sum = 0;
    launch_reduce(on(TypeParam{}), mesh.elements, SumOfForces{}, Sum(sum), in(force));
    in_core.push_back(sum);
    expected.nodes();
  }
  expect_same(a, expected, "with results");
  EXPECT_EQ(sums, in_core);
  EXPECT_EQ(least, expected.least);
}

// Results of all steps would take more than the budget: the run is done in parts.
TYPED_TEST(StreamedSequences, ManyStepsWithResults) {
  const Mesh mesh(3000, 4000, 10, 6);
  const Arrays a(mesh);
  InCore expected(mesh);
  std::vector<Hash> least;
  Sequence steps("steps", streamed(TypeParam{}, 60000).chunk(256).steps_per_pass(2));
  steps.temporary(a.force);
  add_loops(steps, mesh, a);
  steps.loop_reduce("least", mesh.elements, LeastForce{}, least, in(a.force));
  for (const int count : {90, 3}) {
    const StreamReport report = steps.run(count);
    EXPECT_LE(report.device_bytes, 60000);
    EXPECT_EQ(report.passes, (count + 1) / 2);
    for (int step = 0; step < count; ++step) expected.elements(step), expected.nodes();
    expect_same(a, expected, std::to_string(count) + " steps");
    EXPECT_EQ(least, expected.least);
    expected.least.clear();
  }
}

// Smaller budgets make smaller slices, and more results of them.
TEST(StreamedSequenceBudgets, AreEnoughOrNot) {
  const Mesh mesh(3000, 4000, 10, 7);
  int done = 0;
  for (index_t budget = 2000; budget < 60000; budget += budget / (strata_tests::is_sanitized ? 2 : 8)) {
    const Arrays a(mesh);
    InCore expected(mesh);
    std::vector<Hash> least;
    Sequence steps("steps", streamed(Serial{}, budget));
    steps.temporary(a.force);
    add_loops(steps, mesh, a);
    steps.loop_reduce("least", mesh.elements, LeastForce{}, least, in(a.force));
    try {
      EXPECT_LE(steps.run(12).device_bytes, budget);
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(std::string(error.what()).find("budget of -"), std::string::npos) << error.what();
      EXPECT_LT(budget, 20000) << error.what();
      continue;
    }
    ++done;
    for (int step = 0; step < 12; ++step) expected.elements(step), expected.nodes();
    expect_same(a, expected, std::to_string(budget) + " bytes");
    EXPECT_EQ(least, expected.least) << budget;
  }
  EXPECT_GT(done, strata_tests::is_sanitized ? 2 : 8);
  EXPECT_THROW(static_cast<void>(streamed(Serial{}, 1000).chunk(-1)), Error);
  EXPECT_THROW(static_cast<void>(streamed(Serial{}, 1000).slots(-2)), Error);
  EXPECT_THROW(static_cast<void>(streamed(Serial{}, 1000).steps_per_pass(-1)), Error);
}

struct Axes {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    static_assert(decltype(x)::extents_type::static_extent(1) == 3 &&
                  decltype(y)::extents_type::static_extent(2) == 4);
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < 4; ++k) y(i, r, k) += x(i, r) * (k + 1);
  }
};
TYPED_TEST(StreamedSequences, RowsOfExtentsThatAreKnown) {
  const index_t n = 1003;
  const CoherentArray<double, rank<2>> x("x", n, 3);
  const CoherentArray<double, rank<3>> y("y", n, 3, 4);
  {
    const auto all = x.write();
    for (index_t i = 0; i < n; ++i)
      for (index_t r = 0; r < 3; ++r) all(i, r) = static_cast<double>(10 * i + r);
  }
  Sequence steps("steps", streamed(TypeParam{}, 1 << 20).chunk(64));
  steps.loop("axes", n, Axes{}, fixed_row<3>(in(x)), fixed_row<3, 4>(inout(y)));
  steps.run(3);
  const auto got = y.read();
  for (index_t i = 0; i < n; ++i)
    for (index_t r = 0; r < 3; ++r)
      for (index_t k = 0; k < 4; ++k)
        ASSERT_EQ(got(i, r, k), 3 * static_cast<double>((10 * i + r) * (k + 1))) << i;
  EXPECT_THROW(static_cast<void>(fixed_row<4>(in(x))), ShapeMismatch);
}

struct Twice {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = 2 * x(i); }
};
struct AddTo {
  STRATA_FUNCTION void operator()(auto i, auto y, auto z) const { z(i) += y(i - 1) + y(i + 1); }
};
// The first loop leaves the rows at the ends alone, which the second one reads.
TYPED_TEST(StreamedSequences, RowsThatALoopLeavesOutKeepTheirValues) {
  const index_t n = 500;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n), z("z", n);
  {
    const auto all_x = x.write(), all_y = y.write();
    for (index_t i = 0; i < n; ++i) all_x(i) = static_cast<double>(i), all_y(i) = 1000;
  }
  Sequence steps("steps", streamed(TypeParam{}, 1 << 20).chunk(32));
  steps.loop("twice", range(1, n - 1), Twice{}, in(x), out(y));
  steps.loop("add", range(1, n - 1), AddTo{}, in(y, halo(1, 1)), inout(z));
  steps.run(2);
  const auto got = stream_test::values(z);
  const auto at = [&](index_t i) { return i == 0 || i == n - 1 ? 1000.0 : 2.0 * static_cast<double>(i); };
  for (index_t i = 1; i < n - 1; ++i) ASSERT_EQ(got[Mesh::at(i)], 2 * (at(i - 1) + at(i + 1))) << i;
  EXPECT_EQ(got[0], 0);
  EXPECT_EQ(stream_test::values(y)[0], 1000);
}

// Two loops over parts of the rows, which leave elements out, with a table of any length.
struct LookUp {
  int how;
  STRATA_FUNCTION void operator()(auto i, const auto& x, const auto& table, const auto& y) const {
    if (!stream_test::Leaves{how}(i, y(i))) y(i) = 0.5 * x(i) + table(index_t(i) % table.extent(0));
  }
};
struct Mean {
  STRATA_FUNCTION void operator()(auto i, const auto& y, const auto& x) const {
    x(i) = 0.25 * y(i - 1) + 0.5 * y(i) + 0.25 * y(i + 1);
  }
};
TYPED_TEST(StreamedSequences, TablesOfAnyLengthAndWhatLoopsLeaveOut) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](index_t low, index_t high) {
      return low + static_cast<index_t>(random() % static_cast<unsigned long>(high - low + 1));
    };
    const index_t n = pick(3, 700), entries = pick(1, 2 * n), begin = pick(1, n - 2),
                  end = pick(begin, n - 1);
    const int how = static_cast<int>(pick(0, 3)), count = static_cast<int>(pick(1, 6));
    const CoherentArray<double, rank<1>> table("table", entries), z("z", n), w("w", n);
    for (const auto* array : {&table, &z, &w}) stream_test::fill(*array);
    for (int step = 0; step < count; ++step) {
      launch(on(TypeParam{}), range(begin, n), LookUp{how}, in(z), in(table, everything), inout(w));
      launch(on(TypeParam{}), range(1, end), Mean{}, in(w, halo(1, 1)), out(z));
    }
    const auto expect_at = [&](const auto& where, const char* what) {
      const CoherentArray<double, rank<1>> x("x", n), y("y", n);
      for (const auto* array : {&x, &y}) stream_test::fill(*array);
      Sequence steps("steps", where);
      steps.loop("look up", range(begin, n), LookUp{how}, in(x), in(table, everything), inout(y));
      steps.loop("mean", range(1, end), Mean{}, in(y, halo(1, 1)), out(x));
      const int first = static_cast<int>(seed) % (count + 1);
      steps.run(first);
      steps.run(count - first);
      ASSERT_EQ(stream_test::values(x), stream_test::values(z)) << what << ", seed " << seed;
      ASSERT_EQ(stream_test::values(y), stream_test::values(w)) << what << ", seed " << seed;
    };
    expect_at(streamed(TypeParam{}, 1 << 16).chunk(pick(8, 90)), "streamed");
    expect_at(on(TypeParam{}), "on a device");
    std::vector<TypeParam> devices{TypeParam{}};
    if constexpr (strata_tests::is_asynchronous<TypeParam>)
      if (TypeParam::count() > 1) devices.push_back(TypeParam{1});
    expect_at(across(devices), "across devices");
  }
}

// ---- what is refused

TEST(StreamedSequenceErrors, SayWhatIsWrong) {
  const Mesh mesh(100, 100, 3, 5);
  const Arrays a(mesh);
  const auto where = streamed(Serial{}, 1 << 20);
  {
    Sequence steps("mine", where);
    EXPECT_NE(message_of<AccessConflict>([&] {
                steps.loop("l", mesh.nodes, Twice{}, in(a.x, halo(1, 1)), out(a.x));
              }).find("\"x\" is declared twice in loop \"l\""),
              std::string::npos);
    EXPECT_NE(message_of<ShapeMismatch>([&] {
                steps.loop("l", 101, Twice{}, in(a.x), out(a.state));
              }).find("work items [0, 101), \"x\" 100 rows"),
              std::string::npos);
  }
  {
    Sequence steps("mine", where);
    steps.loop("whole", mesh.nodes, Twice{}, in(a.x, everything), out(a.state));
    EXPECT_NE(message_of<AccessConflict>([&] {
                steps.loop("rows", mesh.nodes, Twice{}, in(a.state), out(a.x));
              }).find("as a whole in another"),
              std::string::npos);
  }
  {
    Sequence steps("mine", where);
    steps.temporary(a.force);
    add_loops(steps, mesh, a);
    steps.begin_with(1);
    EXPECT_NE(message_of<Error>([&] { steps.run(1); }).find("\"force\" is temporary"), std::string::npos);
    EXPECT_THROW(steps.begin_with(2), Error);
    EXPECT_THROW(steps.run(-1), Error);
    EXPECT_EQ(steps.run(0).passes, 0);
  }
  {
    Sequence steps("mine", where.chunk(8));
    steps.loop("falls", mesh.nodes, Twice{}, in(a.x, rows([](ResidentRows r) {
                                                  return ResidentRows{99 - r.end, 100 - r.begin};
                                                })),
               out(a.state));
    steps.loop("then", mesh.nodes, Twice{}, in(a.state), out(a.x));
    EXPECT_NE(message_of<Error>([&] { steps.run(2); }).find("begin earlier for later work items"),
              std::string::npos);
  }
  {
    Sequence steps("mine", streamed(Serial{}, 2000));
    add_loops(steps, mesh, a);
    EXPECT_NE(message_of<OutOfMemory>([&] { steps.run(2); }).find("does not hold"), std::string::npos);
  }
  EXPECT_NE(message_of<Error>([&] {
              const Sequence steps("mine", where.scheduler(StreamScheduler::Overlap));
            }).find("\"mine\": scheduler(overlap) is for streamed_iterate"),
            std::string::npos);
}
// Results of steps take room, too, which the message tells apart.
TEST(StreamedSequenceErrors, ABudgetForSlicesButNotForResults) {
  const Mesh mesh(3000, 3000, 3, 5);
  const Arrays a(mesh);
  std::vector<double> sums;
  const auto run = [&](index_t budget) {
    Sequence steps("mine", streamed(Serial{}, budget));
    add_loops(steps, mesh, a);
    steps.loop_reduce("sum", mesh.elements, SumOfForces{}, each_step(Sum, sums), in(a.force));
    steps.run(5);
  };
  index_t budget = 4096;
  std::string last;
  for (bool fits = false; !fits; budget += 1024) {
    ASSERT_LE(budget, 1 << 18);
    try {
      run(budget);
      fits = true;
    } catch (const OutOfMemory& error) {
      last = error.what();
    }
  }
  EXPECT_NE(last.find("results of its reductions take"), std::string::npos) << last;
}

}  // namespace
