// Steps of a streamed sequence that can be done again from their begin: attempt() and accept().
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <strata/core/error.hpp>

#include "sequence_fixture.hpp"

namespace {

using namespace sequence_test;

// The arrays that the loops write, and second copies of them.
struct Copies {
  Arrays first;
  CoherentArray<Hash, rank<1>> x, state;

  explicit Copies(const Mesh& mesh)
      : first(mesh), x("x, second", mesh.nodes, uninitialized), state("state, second", mesh.elements) {}
  template <class Where>
  void declare(Sequence<Where>& steps, const Mesh& mesh) const {
    steps.temporary(first.force);
    steps.second_copy(first.x, x);
    steps.second_copy(first.state, state);
    add_loops(steps, mesh, first);
  }
  void expect_second(const InCore& expected, const std::string& what) const {
    ASSERT_EQ(stream_test::values(x), expected.x) << what;
    ASSERT_EQ(stream_test::values(state), expected.state) << what;
  }
};
InCore after(InCore from, int steps) {
  for (int step = 0; step < steps; ++step) from.elements(step), from.nodes();
  return from;
}

template <class D>
class StreamedAttempts : public ::testing::Test {};
TYPED_TEST_SUITE(StreamedAttempts, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(StreamedAttempts, KeepTheBeginUntilTheyAreAccepted) {
  unsigned seed = 40;
  for (const auto& [n, e, width] :
       {std::array<index_t, 3>{1500, 1800, 20}, {900, 2200, 3}, {300, 300, 0}, {5, 1, 2}})
    for (const int steps_per_pass : {1, 3, 9})
      for (const index_t chunk : {50, 100000}) {
        const Mesh mesh(n, e, width, ++seed);
        const Copies a(mesh);
        const InCore begin(mesh), third = after(begin, 3), last = after(third, 4);
        Sequence steps("steps", streamed(TypeParam{}, 1 << 22).chunk(chunk).steps_per_pass(steps_per_pass));
        a.declare(steps, mesh);
        const std::string what = std::to_string(n) + " nodes, " + std::to_string(steps_per_pass) +
                                 " steps a pass, slices of " + std::to_string(chunk) + ": ";

        const StreamReport report = steps.attempt(5);
        expect_same(a.first, begin, what + "first copy");
        a.expect_second(after(begin, 5), what + "five steps");
        EXPECT_EQ(report.passes, (4 + steps_per_pass) / steps_per_pass);
        steps.attempt(3);
        expect_same(a.first, begin, what + "first copy, again");
        a.expect_second(third, what + "three steps");
        steps.accept();
        steps.release();  // plans and memory are made anew
        steps.attempt(4);
        a.expect_second(third, what + "second copy");
        expect_same(a.first, last, what + "four more");
        steps.accept();
        steps.run(2);  // in place
        expect_same(a.first, after(last, 2), what + "in place");
        a.expect_second(third, what + "second copy of a run in place");
      }
}

// Where results of reductions take most of the budget a run has several parts, of which only the first begins
// with the first copies.
TYPED_TEST(StreamedAttempts, InSeveralParts) {
  const Mesh mesh(3000, 3000, 3, 5);
  const Copies a(mesh);
  std::vector<double> sums;
  Sequence steps("steps", streamed(TypeParam{}, 1 << 17));
  a.declare(steps, mesh);
  steps.loop_reduce("sum", mesh.elements, SumOfForces{}, each_step(Sum, sums), in(a.first.force));
  const InCore begin(mesh);
  // The plan is that of the first part.
  constexpr int count = 700;
  EXPECT_LT(steps.planned(count).steps_per_pass * steps.planned(count).passes, count);
  for (int again = 0; again < 2; ++again) {
    steps.attempt(count);
    EXPECT_EQ(sums.size(), count);
    expect_same(a.first, begin, "first copy");
    a.expect_second(after(begin, count), "second copy");
  }
}

struct FailsAt {
  index_t item;
  void operator()(index_t i, auto x) const {
    if (i == item) throw Error("no");
    x(i) += 1;
  }
};
TEST(StreamedAttemptErrors, LeaveTheFirstCopies) {
  const index_t n = 4000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  stream_test::fill(x);
  const auto before = stream_test::values(x);
  Sequence steps("mine", streamed(Serial{}, 1 << 14).chunk(200));
  steps.second_copy(x, y);
  steps.loop("fails", n, FailsAt{3000}, inout(x));
  const std::string text = message_of<DataLost>([&] { steps.attempt(2); });
  EXPECT_NE(text.find("now the values of \"y\""), std::string::npos) << text;
  EXPECT_EQ(stream_test::values(x), before);
  EXPECT_NE(message_of<Error>([&] { steps.accept(); }).find("follows an attempt()"), std::string::npos);
}

struct AddOne {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += 1; }
};
struct StoreTwice {
  STRATA_FUNCTION void operator()(auto i, auto x, auto twice) const { twice(i) = x(i) + x(i); }
};
TEST(StreamedAttempt, OfNoStepsChangesNothing) {
  const index_t n = 100;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n), twice("twice", n);
  stream_test::fill(x);
  const auto begin = stream_test::values(x);
  Sequence steps("mine", streamed(Serial{}, 1 << 20));
  steps.second_copy(x, y);
  steps.loop("twice", n, StoreTwice{}, in(x), out(twice));  // written only: needs no second copy
  steps.loop("add", n, AddOne{}, inout(x));
  steps.attempt(10);
  steps.attempt(0);  // those ten were not the right ones
  steps.accept();
  EXPECT_EQ(stream_test::values(x), begin);
  EXPECT_THROW(steps.accept(), Error);
  steps.attempt(1);
  steps.accept();
  EXPECT_EQ(stream_test::values(x), begin);
  for (index_t i = 0; i < n; ++i) {
    ASSERT_EQ(y(i), begin[static_cast<std::size_t>(i)] + 1);
    ASSERT_EQ(twice(i), 2 * begin[static_cast<std::size_t>(i)]);
  }
}

TEST(StreamedAttemptErrors, SayWhatIsWrong) {
  const index_t n = 100;
  using Array = CoherentArray<double, rank<1>>;
  const Array x("x", n), y("y", n), other("other", n), longer("longer", n + 1);
  const auto where = streamed(Serial{}, 1 << 20);
  const auto expect_refused = [&](const auto& declare, const char* words) {
    Sequence steps("mine", where);
    std::string text;
    try {
      declare(steps);
      steps.loop("add", n, AddOne{}, inout(x));
      steps.attempt(1);
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_NE(text.find(words), std::string::npos) << text << ", not " << words;
  };
  expect_refused([&](auto& s) { s.second_copy(x, longer); }, "\"longer\" has not the extents of \"x\"");
  expect_refused([&](auto& s) { s.second_copy(x, x); }, "its own second copy; make another array");
  expect_refused([&](auto& s) { s.second_copy(x, y), s.second_copy(other, y); }, "is in another pair");
  expect_refused([&](auto& s) { s.second_copy(other, y); }, "no loop writes all of its rows");
  expect_refused(
      [&](auto& s) {
        s.loop("part", range(1, n), AddOne{}, inout(other));
        s.second_copy(other, y);
      },
      "no loop writes all of its rows");
  expect_refused(
      [&](auto& s) {
        s.second_copy(x, y);
        s.loop("both", n, AddOne{}, inout(y));
      },
      "\"y\" is declared as a second copy, and for a loop");
  expect_refused(
      [&](auto& s) {
        s.loop("one", n, AddOne{}, inout(y));
        s.loop("two", n, AddOne{}, inout(other));
        s.begin_with(1);
      },
      "begin_with(0)");
  expect_refused([](auto&) {}, "\"x\" is declared to be read and written, without a second copy");
  expect_refused(
      [&](auto& s) {
        s.second_copy(x, y);
        s.loop("resident", n, AddOne{}, resident(inout(other)));
      },
      "loop \"resident\" reads and writes \"other\", which is resident");
  {
    Sequence steps("mine", where);
    steps.second_copy(x, y);
    steps.loop("add", n, AddOne{}, inout(x));
    steps.attempt(1);
    EXPECT_THROW(steps.second_copy(other, longer), Error);
    steps.run(1);  // what the attempt left is old now
    EXPECT_THROW(steps.accept(), Error);
  }
  Sequence steps("mine", where);
  EXPECT_THROW(steps.second_copy(Array(), y), Error);
}

}  // namespace
