// What sequences refuse, and what is left after a failure.
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>

#include "algorithms/streaming/stream_kernels.hpp"

namespace {

using namespace strata;
using stream_test::message_of;

struct Grow {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i) + 0.5 * y(i); }
};
struct Shift {
  double by;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += by; }
};

TEST(SequenceErrors, SayWhatIsWrong) {
  const CoherentArray<double, rank<1>> x("x", 100), y("y", 100);
  {
    Sequence steps("mine", on(Serial{}));
    EXPECT_NE(message_of<AccessConflict>([&] {
                steps.loop("l", 100, Grow{}, in(x, halo(1, 1)), out(x));
              }).find("\"x\" is declared twice in loop \"l\""),
              std::string::npos);
    EXPECT_NE(message_of<ShapeMismatch>([&] { steps.loop("l", 101, Shift{1}, inout(x)); }).find("101"),
              std::string::npos);
    EXPECT_NE(message_of<ShapeMismatch>([&] {
                steps.loop("l", 100, Grow{}, in(x, fixed(Box({0}, {101}))), inout(y));
              }).find("sequence \"mine\": loop \"l\""),
              std::string::npos);
  }
  {
    Sequence steps("mine", on(Serial{}));
    steps.temporary(y);
    steps.loop("make", 100, stream_test::Copy{}, in(x), out(y));
    steps.loop("use", 100, Grow{}, in(y), inout(x));
    EXPECT_THROW(steps.run(-1), Error);
    EXPECT_THROW(steps.begin_with(2), Error);
    steps.begin_with(1);
    EXPECT_NE(message_of<Error>([&] { steps.run(1); }).find("\"y\" is temporary, but a run that begins with"),
              std::string::npos);
    steps.begin_with(0);
    steps.run(1);
    EXPECT_NE(message_of<Error>([&] { steps.loop("late", 100, Shift{1}, inout(x)); }).find("after a run"),
              std::string::npos);
  }
}
TEST(SequenceErrors, AreThoseOfEveryPlaceWhereRunsAndDeclarationsCannotBe) {
  const CoherentArray<double, rank<1>> x("x", 100), y("y", 100);
  const auto refused_by = [&](auto&& steps) {
    steps.loop("one", 100, Shift{1}, inout(x));
    steps.loop("two", 100, Shift{1}, inout(x));
    EXPECT_NE(message_of<Error>([&] { steps.run(2'000'000'000); }).find("than a run can have"),
              std::string::npos);
    EXPECT_NE(message_of<Error>([&] { steps.run(-1); }).find("give 0 or more"), std::string::npos);
    EXPECT_THROW(steps.run_loops(-1), Error);
    steps.run(1);
    EXPECT_NE(message_of<Error>([&] { steps.loop("late", 100, Shift{1}, inout(x)); }).find("after a run"),
              std::string::npos);
    EXPECT_NE(message_of<Error>([&] { steps.temporary(y); }).find("after a run"), std::string::npos);
  };

  refused_by(Sequence("mine", on(Serial{})));
  refused_by(Sequence("mine", across(Serial{}, Threads{})));

  EXPECT_EQ(x.read()(99), 4);
}
TEST(SequenceErrors, OfTemporariesThatAreReadFirstAreThoseOfEveryPlace) {
  const CoherentArray<double, rank<1>> x("x", 100), y("y", 100), sum("sum", 100);
  const auto refused_by = [&](auto&& steps) {
    steps.temporary(y);
    steps.loop("use", 100, Grow{}, in(y), inout(x));
    steps.loop("make", 100, stream_test::Copy{}, in(x), out(y));
    for (int attempt = 0; attempt < 2; ++attempt) {
      const std::string text = message_of<Error>([&] { steps.run(1); });
      EXPECT_NE(text.find("\"mine\""), std::string::npos) << text;
      EXPECT_NE(text.find("\"y\" is temporary, but a"), std::string::npos) << text;
    }
    steps.begin_with(1);
    steps.run(1);
  };

  refused_by(Sequence("mine", on(Serial{})));
  refused_by(Sequence("mine", across(Serial{}, Threads{})));
  refused_by(Sequence("mine", across(Emulated{0}, Emulated{1})));
  refused_by(Sequence("mine", streamed(Emulated{0}, 1 << 20)));
}
TEST(SequenceErrors, NameASequenceByItsPlaceWhereItHasNoLabel) {
  const auto message = [](const auto& where) { return message_of<Error>([&] { Sequence(where).run(-1); }); };

  EXPECT_NE(message(on(Serial{}).named("mine")).find("sequence \"mine\""), std::string::npos);
  EXPECT_NE(message(across(Serial{}, Threads{}).named("mine")).find("sequence \"mine\""), std::string::npos);
  EXPECT_NE(message(on(Serial{})).find("sequence \"sequence\""), std::string::npos);
}

#if defined(STRATA_CHECKED) && STRATA_CHECKED
struct CopyAllButOne {
  STRATA_FUNCTION void operator()(index_t i, auto x, auto y) const {
    if (i != 5) y(i) = x(i);
  }
};
TEST(SequenceErrors, ElementsThatALoopDeclaresOutAndLeavesOutAreFound) {
  const CoherentArray<double, rank<1>> x("x", 100), y("y", 100), z("z", 100, uninitialized);
  Sequence steps("mine", on(Serial{}));
  steps.loop("leaves one out", 100, CopyAllButOne{}, in(x), out(y));

  const std::string text = message_of<NeverWritten>([&] { steps.run(2); });

  EXPECT_NE(text.find("leaves one out"), std::string::npos) << text;
  EXPECT_NE(text.find("\"y\""), std::string::npos) << text;
  Sequence reads("mine", on(Serial{}));
  reads.loop("reads", 100, Grow{}, in(z), inout(x));
  EXPECT_NE(message_of<NeverWritten>([&] { reads.run(1); }).find("\"z\" is read"), std::string::npos);
}
#endif

struct Throws {
  int when;
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    x(i) += 1;
    if (when == 1 && i == 30) throw std::runtime_error("no more");
  }
};
TEST(SequenceErrors, OfAKernelOfAHostAreThrownByTheRunWhichBeginsAnew) {
  const CoherentArray<double, rank<1>> x("x", 100), y("y", 100);
  Sequence steps("mine", on(Serial{}));
  steps.loop("first", 100, Shift{1}, inout(y));
  steps.loop("throws", 100, by_step([](int step) { return Throws{step}; }), inout(x));

  EXPECT_EQ(message_of<std::runtime_error>([&] { steps.run(3); }), "no more");
  for (const auto* array : {&x, &y}) {
    EXPECT_THROW(stream_test::values(*array), DataLost);
    const auto anew = array->write();
    for (index_t i = 0; i < 100; ++i) anew(i) = 0;
  }
  steps.run(1);

  EXPECT_EQ(stream_test::values(y)[0], stream_test::values(x)[0]);
}

// Emulated devices on which one thing fails after the other; what the sequence leaves is told, or is right.
class SequenceFailures : public ::testing::Test {
 protected:
  void TearDown() override {
    emulated::clear_faults();
    EXPECT_NO_THROW(wait(Emulated{0}));
  }
};
TEST_F(SequenceFailures, OfKernelsCopiesAndMemoryAreErrorsAndTheNextRunIsRight) {
  const index_t n = 200;
  for (const emulated::Fault fault :
       {emulated::Fault::Kernel, emulated::Fault::Copy, emulated::Fault::Allocation}) {
    int k = 0;
    for (bool failed = true; failed && k < 100;) {
      SCOPED_TRACE(++k);
      const CoherentArray<double, rank<1>> x("x", n), y("y", n);
      Sequence steps("steps", on(Emulated{0}));
      steps.loop("grow", n, Grow{}, in(x), inout(y));
      steps.loop("shift", n, Shift{1}, inout(x));
      failed = false;
      emulated::fail(fault, k);
      try {
        steps.run(2);
        steps.run(3);
        EXPECT_EQ(stream_test::values(x), std::vector<double>(n, 5));
        emulated::clear_faults();
      } catch (const Error&) {
        failed = true;
      }
      for (const auto* array : {&x, &y}) {
        try {
          static_cast<void>(stream_test::values(*array));
        } catch (const Error&) {
          EXPECT_TRUE(failed);
        }
        const auto anew = array->write();
        for (index_t i = 0; i < n; ++i) anew(i) = 0;
      }
      steps.run(3);
      EXPECT_EQ(stream_test::values(x), std::vector<double>(n, 3));
      EXPECT_EQ(stream_test::values(y), std::vector<double>(n, 0 + 1 * 0.5 * 0 + 1 + 2 - 0.5));
    }
    EXPECT_GT(k, 1);
    EXPECT_LT(k, 100);
  }
}

// Of resident arrays and of slices: what a failed copy may have spoiled is named, all else is as before.
TEST_F(SequenceFailures, OfCopiesNameWhatSlicesAndResidentLoopsHaveWritten) {
  const index_t n = 400;
  int named = 0;
  for (int k = 1; k < 100; ++k) {
    SCOPED_TRACE(k);
    const CoherentArray<double, rank<1>> x("x", n), y("y", n), own("own", n);
    for (const auto* array : {&x, &y, &own}) {
      const auto first = array->write();
      for (index_t i = 0; i < n; ++i) first(i) = 8;
    }
    Sequence steps("steps", streamed(on(Emulated{0}), 1 << 12).chunk(50));
    steps.loop("sliced", n, Grow{}, resident(in(x)), inout(y));
    steps.loop("resident", n, Grow{}, in(y), resident(inout(own)));
    emulated::fail(emulated::Fault::Copy, k);
    std::string told;
    try {
      steps.run(1);
    } catch (const Error& error) {
      told = error.what();
    }
    const auto expect = [&](const auto& array, double one, const std::string& name) {
      if (told.find(name) != std::string::npos) return;
      std::vector<double> seen;
      try {
        seen = stream_test::values(array);
      } catch (const DataLost& error) {
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
        return;
      } catch (const Error&) {  // the copy to the host, which is done again
        seen = stream_test::values(array);
      }
      EXPECT_EQ(seen, std::vector<double>(n, one)) << told;
    };
    const bool is_done = told.empty();
    expect(y, is_done ? 8 + 4 : 8, "\"y\"");
    expect(own, is_done ? 12 + 4 : 8, "\"own\"");
    named += told.find("\"y\"") != std::string::npos && told.find("\"own\"") != std::string::npos;
    emulated::clear_faults();
    if (is_done) break;
    ASSERT_LT(k, 99);
  }
  EXPECT_GE(named, 1);
}

struct Launches : Listener {
  int graphs = 0, kernels = 0;
  Launches() { add_listener(*this); }
  ~Launches() override { remove_listener(*this); }
  void on_event(const HookEvent& event) override {
    graphs += event.kind == EventKind::BeginGraph;
    kernels += event.kind == EventKind::BeginFor;
  }
};
TEST_F(SequenceFailures, WhereTheDeviceHasNoRoomForAGraphLoopsAreLaunchedOneByOne) {
  const index_t n = 200;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  Sequence steps("steps", on(Emulated{0}));
  steps.loop("grow", n, Grow{}, in(x), inout(y));
  steps.loop("shift", n, Shift{1}, inout(x));
  steps.run(1);
  {
    const Launches launches;
    emulated::fail(emulated::Fault::Allocation, 2);  // the second loop of the graph
    steps.run(3);
    steps.run(2);  // not tried again: the arrays lie where they lay
    EXPECT_EQ(launches.graphs, 0);
    EXPECT_EQ(launches.kernels, 2 * 5);
  }
  const Launches launches;

  steps.release();
  steps.run(3);

  EXPECT_EQ(launches.graphs, 3);
  double expected_x = 0, expected_y = 0;
  for (int k = 0; k < 9; ++k) expected_y = expected_x + 0.5 * expected_y, expected_x += 1;
  EXPECT_EQ(stream_test::values(x), std::vector<double>(n, expected_x));
  EXPECT_EQ(stream_test::values(y), std::vector<double>(n, expected_y));
}

// Other arrays take the memory between runs, so that graphs are recorded again.
TEST_F(SequenceFailures, MemoryThatMovesBetweenRunsIsNone) {
  const index_t n = 1000, bytes = n * 8;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n), other("other", n);
  coherent::set_budget(Emulated{0}, 2 * bytes + 512);
  Sequence steps("steps", on(Emulated{0}));
  steps.loop("grow", n, Grow{}, in(x), inout(y));
  steps.loop("shift", n, Shift{1}, inout(x));
  double expected_x = 0, expected_y = 0;

  for (int run = 0; run < 5; ++run) {
    steps.run(3);
    for (int k = 0; k < 3; ++k) expected_y = expected_x + 0.5 * expected_y, expected_x += 1;
    launch(on(Emulated{0}), n, Shift{1}, inout(other));
  }

  EXPECT_GT((x.counters() + y.counters()).device_to_host.count, 0u);
  EXPECT_EQ(stream_test::values(x), std::vector<double>(n, expected_x));
  EXPECT_EQ(stream_test::values(y), std::vector<double>(n, expected_y));
  EXPECT_EQ(stream_test::values(other), std::vector<double>(n, 5));
  const CoherentArray<double, rank<1>> large("large", 4 * n);
  Sequence too_large("too large", on(Emulated{0}));
  too_large.loop("shift", 4 * n, Shift{1}, inout(large));
  EXPECT_THROW(too_large.run(1), OutOfMemory);
  coherent::set_budget(Emulated{0}, index_t{1} << 60);
}

}  // namespace
