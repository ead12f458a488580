// Random programs of several threads, in which copies, kernels and allocations fail, kernels also when they
// have written a part: at any time each array is what the program makes of it as far as it was done, or
// exactly the boxes are lost that errors name. Launches and sequences on one device, over several and through
// slices, with arrays that stay resident and loops of teams; arrays of each thread, arrays that all read, and
// one that they use in turns; beside them a thread that shares nothing but the queues of the devices.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <thread>
#include <vector>

#include "algorithms/sequence/bystander.hpp"
#include "algorithms/sequence/failing_program.hpp"

namespace {

using namespace sequence_testing;

class FailingPrograms : public CoherentTest {
 protected:
  void SetUp() override {
    // There elements that a kernel left out, as it failed, are errors besides.
    if constexpr (checked_build) GTEST_SKIP() << "checked builds report more than what failed";
    CoherentTest::SetUp();
  }
  // The values, when all errors are thrown that are to be thrown.
  static Values at_last(const Numbers& array) {
    for (int k = 0; k < 100; ++k) try {
        return coherent_testing::values(array);
      } catch (const Error&) {
      }
    return coherent_testing::values(array);
  }
  static void run(int programs, index_t most_threads) {
    run(programs, most_threads, Random(), std::vector<Random>(static_cast<std::size_t>(most_threads) + 1));
  }
  static void run(int programs, index_t most_threads, Random random, std::vector<Random> of_threads) {
    // Where the seed is given, all have that one.
    for (std::size_t t = 0; t < of_threads.size(); ++t)
      for (std::size_t skipped = 1000 * t; skipped > 0; --skipped) of_threads[t](0, 1);
    for (int k = 0; k < programs && !HasFailure(); ++k) {
      SCOPED_TRACE("program " + std::to_string(k));
      const int devices = static_cast<int>(random(1, 3));
      if (k % 20 == 0) {
        leave_nothing();
        const double peers[] = {0, 20e9, 395e9};
        emulated::configure(machine(3, peers[random(0, 2)]));
      }
      {
        Shared shared(random, devices, random(1, 60));
        std::vector<std::thread> threads;
        const index_t count = random(1, most_threads);
        for (index_t t = 0; t < count; ++t)
          threads.emplace_back([&, t] {
            FailingProgram(of_threads[static_cast<std::size_t>(t)], shared, static_cast<int>(t)).run();
          });
        if (most_threads > 1 && random(0, 1) == 0)
          threads.emplace_back([&] { Bystander(of_threads.back(), devices).run(); });
        for (std::thread& thread : threads) thread.join();
        emulated::clear_faults();
        items_until_failure = 0;
        take_errors();
        for (const Shared::ReadOnly& all : shared.read_only) EXPECT_EQ(at_last(all.array), all.values);
        EXPECT_EQ(at_last(shared.in_turns.array), shared.in_turns.now());
      }
      take_errors();
      for (int d = 0; d < devices; ++d) coherent::set_budget(Emulated{d}, no_budget);
    }
  }
};
TEST_F(FailingPrograms, LoseNothingButWhatTheirErrorsName) { run(strata_tests::trials(120), 1); }
TEST_F(FailingPrograms, LoseNothingButWhatTheirErrorsNameSlow) { run(10000, 1); }
// A resident array did not come to its device, the slices went through it all the same, and the error named
// nothing that they had written.
TEST_F(FailingPrograms, WhoseResidentArrayDidNotComeNameWhatTheyWrote) {
  const Random one(1721399405);
  run(strata_tests::trials(120), 1, one, {one, one});
}
TEST_F(FailingPrograms, OfSeveralThreadsLoseNothingButWhatTheirErrorsName) {
  run(strata_tests::trials(120), 3);
}
TEST_F(FailingPrograms, OfSeveralThreadsLoseNothingButWhatTheirErrorsNameSlow) { run(10000, 3); }

}  // namespace
