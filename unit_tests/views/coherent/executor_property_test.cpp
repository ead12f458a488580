// Random programs on the executor: no launch and no access of the host ever meets an old value, and failures
// lose nothing but what the error names.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>
#include <vector>

#include "views/coherent/executor_program.hpp"

namespace {

using namespace coherent_testing;

class CoherentPrograms : public CoherentTest {
 protected:
  void TearDown() override {
    for (int i = 0; i < emulated::config().count; ++i) coherent::set_budget(Emulated{i}, no_budget);
    CoherentTest::TearDown();
  }
  static void run_one(Random& random, const ProgramOptions& options) {
    switch (random(0, 4)) {
      case 0:
        return Program<CoherentArray<Number, rank<1>>>(random, options).run();
      case 1:
        return Program<CoherentArray<Number, rank<2>>>(random, options).run();
      case 2:
        return Program<CoherentArray<Number, rank<2>, LayoutLeft>>(random, options).run();
      case 3:
        return Program<CoherentArray<Number, rank<3>, LayoutRight>>(random, options).run();
      default:
        return Program<CoherentArray<Number, rank<4>>>(random, options).run();
    }
  }
  static void run(Random& random, int programs) {
    for (int k = 0; k < programs && !HasFailure(); ++k) {
      constexpr int programs_on_a_machine = 50;
      if (k % programs_on_a_machine == 0) {
        leave_nothing();
        const double peers[] = {0, 20e9, 395e9};
        emulated::Config config = machine(static_cast<int>(random(1, 8)), peers[random(0, 2)]);
        config.bytes_reached_at_host = random(0, 2) * 2000;
        emulated::configure(config);
      }
      const bool failures = random(0, 1) == 0;
      run_one(random, {.devices = static_cast<int>(random(1, std::min(4, emulated::config().count))),
                       .failures = failures,
                       .budgets = random(0, 1) == 0,
                       .holes = !failures});
      EXPECT_FALSE(HasFailure()) << "in program " << k;
    }
  }
};

TEST_F(CoherentPrograms, NeverMeetAnOldValue) {
  Random random;
  run(random, strata_tests::trials(700));
}
TEST_F(CoherentPrograms, NeverMeetAnOldValueSlow) {
  Random random;
  run(random, 100000);
}

// Each fits a device, and all together do not: pages that were used long ago go back to the host.
TEST_F(CoherentPrograms, OfManagedArraysBeyondTheRoomOfADeviceNeverMeetAnOldValue) {
  leave_nothing();
  emulated::Config config = machine(3);
  config.managed_page = 4096;
  config.capacity = 2 * config.managed_page;
  config.bytes_reached_at_host = 1000;
  emulated::configure(config);
  coherent::reset_counters();
  Random random;
  for (int k = 0; k < strata_tests::trials(60) && !HasFailure(); ++k) {
    run_one(random, {.devices = 3, .failures = k % 2 == 0, .budgets = true, .managed = true});
    EXPECT_FALSE(HasFailure()) << "in program " << k;
  }
  EXPECT_GT(coherent::counters().prefetched_to_devices.count, 0U);
}

// Calls f(number) on threads of their own.
template <class F>
void on_threads(int count, const F& f) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([&f, t] { f(t); });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CoherentPrograms, OfSeveralThreadsShareNothingButTheDevices) {
  std::vector<Random> random(4);

  on_threads(4, [&](int t) {
    for (int k = 0; k < 30 && !HasFailure(); ++k)
      run_one(random[static_cast<std::size_t>(t)], {.devices = 4, .failures = false, .budgets = true});
  });
}

// Budgets, or memories, that hold what any launch needs, and far from what all threads use: none finds no
// room.
template <class Array>
void run_in_little_room(index_t elements_of_the_largest, bool by_budget) {
  constexpr int threads = 8, devices = 2;
  constexpr index_t arrays_of_a_launch = 2;
  // With room to grow.
  const index_t room =
      2 * arrays_of_a_launch * elements_of_the_largest * static_cast<index_t>(sizeof(Number));
  emulated::Config config = machine(devices);
  if (!by_budget) config.capacity = room;
  emulated::configure(config);
  for (int i = 0; by_budget && i < devices; ++i) coherent::set_budget(Emulated{i}, room);
  std::vector<Random> random(threads);

  on_threads(threads, [&](int t) {
    for (int k = 0; k < 15 && !testing::Test::HasFailure(); ++k)
      Program<Array>(random[static_cast<std::size_t>(t)],
                     {.devices = devices, .failures = false, .budgets = false, .streams = false})
          .run();
  });
}
TEST_F(CoherentPrograms, OfSeveralThreadsWaitForRoomWhereEachFitsAlone) {
  for (const bool by_budget : {true, false}) {
    SCOPED_TRACE(by_budget ? "budgets" : "capacities");
    leave_nothing();
    run_in_little_room<CoherentArray<Number, rank<1>>>(70, by_budget);
    leave_nothing();
    run_in_little_room<CoherentArray<Number, rank<2>>>(24 * 7, by_budget);
    leave_nothing();
    run_in_little_room<CoherentArray<Number, rank<3>, LayoutRight>>(10 * 3 * 3, by_budget);
  }
}

// An error may be another thread's; that of a thread's own arrays is told to it whoever met it first.
TEST_F(CoherentPrograms, OfSeveralThreadsAreToldOfTheirFailures) {
  std::vector<Random> random(3);

  on_threads(3, [&](int t) {
    for (int k = 0; k < 30 && !HasFailure(); ++k)
      run_one(random[static_cast<std::size_t>(t)],
              {.devices = 4, .failures = true, .budgets = false, .alone = false});
  });

  emulated::clear_faults();
  take_errors();
}

// All add, so that the order does not matter; whole arrays, so that what is added twice or lost shows. A
// launch takes one array, or two in either order.
TEST_F(CoherentPrograms, OfSeveralThreadsShareArrays) {
  using Numbers = CoherentArray<Number, rank<1>>;
  constexpr int threads = 4, steps = 60;
  constexpr index_t n = 300, count = 3;
  for (const bool little_room : {false, true}) {
    leave_nothing();
    // For two arrays with room to grow, so that a launch fits, and others have to wait for it.
    for (int i = 0; little_room && i < 4; ++i)
      coherent::set_budget(Emulated{i}, 4 * n * static_cast<index_t>(sizeof(Number)));
    const Numbers arrays[count] = {Numbers("x", n), Numbers("y", n), Numbers("z", n)};
    std::vector<Random> random(threads);
    std::vector<std::vector<Number>> added(threads, std::vector<Number>(count * n, 0));

    on_threads(threads, [&](int t) {
      Random& rand = random[static_cast<std::size_t>(t)];
      for (int step = 0; step < steps; ++step) {
        const index_t which = rand(0, count - 1), other = (which + rand(1, count - 1)) % count,
                      begin = rand(0, n - 1), end = rand(begin + 1, n);
        const Numbers &x = arrays[which], &y = arrays[other];
        const Number salt = static_cast<Number>(rand(1, 1000));
        const Rewrite<1> add{salt, true};
        const AddToBoth add_to_both{salt, 3 * salt};
        const auto some_device = [&] { return Emulated{static_cast<int>(rand(0, 3))}; };
        bool both = false;
        switch (rand(0, 6)) {
          case 0:
            launch(on(some_device()), range(begin, end), add, inout(x));
            break;
          case 1:
            launch(across(Emulated{2}, Emulated{0}), range(begin, end), add, inout(x));
            break;
          case 2:
            launch(across(Emulated{1}, Threads{}, Emulated{3}), range(begin, end), add, inout(x));
            break;
          case 3: {
            const auto view = x.read_write(line(begin, end));
            for (index_t i = begin; i < end; ++i) view(i) += salt;
            break;
          }
          case 4:
            launch(on(some_device()), range(begin, end), add_to_both, inout(x), inout(y));
            both = true;
            break;
          case 5:
            launch(across(Emulated{1}, Threads{}, Emulated{3}), range(begin, end), add_to_both, inout(x),
                   inout(y));
            both = true;
            break;
          default: {
            x.prefetch(line(begin, end), some_device());
            const auto view = x.read(line(begin, end));  // others may read it, too
            continue;
          }
        }
        std::vector<Number>& mine = added[static_cast<std::size_t>(t)];
        for (index_t i = begin; i < end; ++i) {
          mine[static_cast<std::size_t>(which * n + i)] += salt;
          if (both) mine[static_cast<std::size_t>(other * n + i)] += 3 * salt;
        }
      }
    });

    for (index_t which = 0; which < count; ++which) {
      const auto view = arrays[which].read();
      index_t wrong = 0;
      for (index_t i = 0; i < n; ++i) {
        Number expected = 0;
        for (const auto& one : added) expected += one[static_cast<std::size_t>(which * n + i)];
        wrong += view(i) != expected;
      }
      EXPECT_EQ(wrong, 0) << "of " << arrays[which].label() << (little_room ? " in little room" : "");
    }
  }
}

}  // namespace
