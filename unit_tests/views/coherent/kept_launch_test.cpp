// Launches that come again: that they are not planned again where nothing has changed, and that they are
// where something has.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <strata/views/coherent/coherence.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;

class KeptLaunches : public CoherentTest {
 protected:
  static std::uint64_t kept() {
    auto& coherence = detail::Coherence::get();
    const std::lock_guard lock(coherence.mutex);
    return coherence.kept_launches;
  }
  // How many of the launches of `program` were not planned.
  template <class Program>
  static std::uint64_t kept_in(const Program& program) {
    const std::uint64_t before = kept();
    program();
    return kept() - before;
  }
};

TEST_F(KeptLaunches, ALaunchThatComesAgainIsNotPlannedAgain) {
  const Numbers x("x", 100);

  EXPECT_EQ(kept_in([&] {
              for (int k = 0; k < 5; ++k) launch(on(Emulated{}), 100, AddTo{1}, inout(x));
            }),
            4U);

  EXPECT_EQ(values(x), std::vector<std::int64_t>(100, 5));
  EXPECT_EQ(x.counters().host_to_device.count, 1U);
}

TEST_F(KeptLaunches, LaunchesThatComeInTurnsAreKept) {
  const Numbers x("x", 100), y("y", 100);
  const auto both_ways = [&] {
    launch(on(Emulated{}), 100, Copy{}, in(x), out(y));
    launch(on(Emulated{}), 100, AddTo{1}, inout(y));
    launch(on(Emulated{}), 100, Copy{}, in(y), out(x));
  };

  both_ways();
  both_ways();  // in the first round x was the host's, too

  EXPECT_EQ(kept_in(both_ways), 3U);
  EXPECT_EQ(values(x), std::vector<std::int64_t>(100, 3));
}

TEST_F(KeptLaunches, FortyThatComeInTurnsAreKept) {
  const Numbers x("x", 100);
  const auto in_turns = [&] {
    for (index_t n = 1; n <= 40; ++n) launch(on(Emulated{}), n, AddTo{1}, inout(x));
  };
  in_turns();
  in_turns();  // in the first round more and more of x was the device's alone

  EXPECT_EQ(kept_in(in_turns), 40U);

  EXPECT_EQ(x(0), 120);
  EXPECT_EQ(x(39), 3);
}

TEST_F(KeptLaunches, AmongMoreThanAreKeptThoseThatComeOftenStay) {
  const Numbers x("x", 1000);
  const auto often = [&] { launch(on(Emulated{}), 1000, AddTo{1}, inout(x)); };
  often();
  often();

  EXPECT_EQ(kept_in([&] {
              for (index_t n = 1; n <= 300; ++n) {
                launch(on(Emulated{}), n, AddTo{1}, inout(x));
                often();
              }
            }),
            300U);

  EXPECT_EQ(x(0), 602);
  EXPECT_EQ(x(999), 302);
}

// Several threads launch on one queue and ask for the state of work, so that work ends while others join it.
TEST_F(KeptLaunches, OfSeveralThreadsOnOneQueueAreNotLost) {
  const Numbers x("x", 100);
  const Queue<Emulated> queue(Emulated{0});
  constexpr int threads = 3, launches = 200;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int k = 0; k < launches; ++k) {
        launch(on(queue), 100, AddTo{1}, inout(x));
        auto& coherence = detail::Coherence::get();
        const std::lock_guard lock(coherence.mutex);
        if (k % (t + 1) == 0) coherence.tracker.forget_idle();
      }
    });
  for (std::thread& thread : all) thread.join();

  EXPECT_EQ(values(x), std::vector<std::int64_t>(100, threads * launches));
}

TEST_F(KeptLaunches, OfSeveralDevicesHostsAndResultsAreKept) {
  const Numbers x("x", 100);
  const auto everywhere = across(Emulated{0}, Threads{}, Emulated{1});
  std::int64_t sum = 0;
  const auto program = [&] {
    launch(everywhere, 100, AddTo{1}, inout(x));
    launch(everywhere, 100, AddTo{1}, inout(x));
  };
  program();
  EXPECT_EQ(kept_in(program), 2U);

  const auto add_up = [&] {
    launch_reduce(
        on(Emulated{2}), 100, [](index_t i, auto v, std::int64_t& s) { s += v(i); }, Sum(sum), in(x));
  };
  add_up();
  EXPECT_EQ(kept_in(add_up), 1U);
  EXPECT_EQ(sum, 400);
}

TEST_F(KeptLaunches, OtherRegionsModesAndDevicesAreOtherLaunches) {
  const Numbers x("x", 100);
  launch(on(Emulated{}), 100, AddTo{1}, inout(x));

  EXPECT_EQ(kept_in([&] {
              launch(on(Emulated{}), 50, AddTo{1}, inout(x));
              launch(on(Emulated{}), 100, ReadOnly{}, in(x));
              launch(on(Emulated{1}), 100, AddTo{1}, inout(x));
              launch(on(Emulated{}), 100, AddTo{1}, inout(x));
            }),
            0U);

  EXPECT_EQ(x(0), 4);
  EXPECT_EQ(x(99), 3);
}

TEST_F(KeptLaunches, AfterTheHostWroteALaunchIsPlanned) {
  const Numbers x("x", 100);
  const auto add = [&] { launch(on(Emulated{}), 100, AddTo{1}, inout(x)); };
  add();
  add();
  x.write(line(7, 8))(7) = 40;

  EXPECT_EQ(kept_in(add), 0U);
  EXPECT_EQ(kept_in(add), 1U);

  EXPECT_EQ(x(7), 42);
  EXPECT_EQ(x(8), 4);
}

TEST_F(KeptLaunches, AsLongAsTheHostHasAViewALaunchIsNotKept) {
  const Numbers x("x", 100);
  const auto read = [&] { launch(on(Emulated{}), 100, ReadOnly{}, in(x)); };
  read();
  read();
  const auto view = x.read();

  EXPECT_EQ(kept_in(read), 0U);
}

TEST_F(KeptLaunches, AfterAnEvictionALaunchIsPlanned) {
  coherent::set_budget(Emulated{}, 1000);
  const Numbers x("x", 100), y("y", 100);
  const auto add_to_x = [&] { launch(on(Emulated{}), 100, AddTo{1}, inout(x)); };
  add_to_x();
  add_to_x();
  launch(on(Emulated{}), 100, AddTo{1}, inout(y));  // in place of x

  EXPECT_EQ(kept_in(add_to_x), 0U);

  EXPECT_EQ(values(x), std::vector<std::int64_t>(100, 3));
  EXPECT_EQ(values(y), std::vector<std::int64_t>(100, 1));
}

TEST_F(KeptLaunches, AKeptLaunchUsesItsArrays) {
  coherent::set_budget(Emulated{}, 1700);
  const Numbers x("x", 100), y("y", 100), z("z", 100);
  const auto add_to = [&](const Numbers& a) { launch(on(Emulated{}), 100, AddTo{1}, inout(a)); };
  add_to(x);
  add_to(y);
  ASSERT_EQ(kept_in([&] { add_to(x); }), 1U);

  add_to(z);  // y was not used for longest

  EXPECT_TRUE(has(x.explain(), "Emulated"));
  EXPECT_FALSE(has(y.explain(), "Emulated"));
}

TEST_F(KeptLaunches, AfterAFailureALaunchIsPlanned) {
  const Numbers x("x", 100);
  const auto add = [&] { launch(on(Emulated{}).named("add"), 100, AddTo{1}, inout(x)); };
  add();
  add();
  x.flush();
  add();
  emulated::fail(emulated::Fault::Kernel, 1);
  ASSERT_EQ(kept_in(add), 1U);  // it fails when it runs
  EXPECT_THROW(x.flush(), Error);

  x.write().view();
  for (index_t i = 0; i < 100; ++i) x(i) = 10;
  EXPECT_EQ(kept_in(add), 0U);

  EXPECT_EQ(values(x), std::vector<std::int64_t>(100, 11));
}

// A launch that fails in the call gives up what it claimed, also where it did not claim it anew.
struct FailingSum {
  STRATA_FUNCTION void operator()(index_t, auto, std::int64_t&) const {}
};
TEST_F(KeptLaunches, OneThatFailsInTheCallLosesWhatItMayHaveWritten) {
  const Numbers x("x", 100);
  std::int64_t sum = 0;
  const auto run = [&] { launch_reduce(on(Emulated{}).named("sum"), 100, FailingSum{}, Sum(sum), inout(x)); };
  run();
  run();
  emulated::fail(emulated::Fault::Kernel, 1);

  EXPECT_EQ(kept_in([&] { EXPECT_THROW(run(), Error); }), 1U);

  EXPECT_TRUE(has(message_of<Error>([&] { x.flush(); }), "\"x\""));
  x.write().view();
  EXPECT_NO_THROW(x.flush());
}

TEST_F(KeptLaunches, AnArrayInThePlaceOfOneThatIsGoneIsAnother) {
  for (int k = 0; k < 3; ++k) {
    const Numbers x("x", 100);

    EXPECT_EQ(kept_in([&] { launch(on(Emulated{}), 100, AddTo{k}, inout(x)); }), 0U);

    EXPECT_EQ(values(x), std::vector<std::int64_t>(100, k));
  }
}

}  // namespace
