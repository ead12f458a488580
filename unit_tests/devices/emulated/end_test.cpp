// The end of a program that used Emulated: what finalize(), exit(), exit() inside a kernel and fork() do.
// Each statement runs in a process of its own.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <unistd.h>

#include <strata/devices/emulated/platform.hpp>

#include "devices/emulated/fixture.hpp"

namespace {

using namespace emulated_testing;

class EmulatedEndDeathTest : public EmulatedTest {};

TEST_F(EmulatedEndDeathTest, ProcessEndsAfterTheWorkOfAllQueuesIsDone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(
      {
        {
          const Queue<Emulated> queue;
          parallel_for(on(queue), 1, [](index_t) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            std::fputs("kernel done\n", stderr);
          });
        }
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "kernel done");
}

TEST_F(EmulatedEndDeathTest, FinalizeWaitsPrintsErrorsAndMakesNewWorkAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(
      {
        static Array kept = create<Array>("kept", 10);
        const Queue<Emulated> queue;
        parallel_for(on(queue), 10, with(Throwing{"never taken"}, kept));
        finalize();
        int errors = 0;
        const auto refused = [&errors](auto action) {
          try {
            action();
          } catch (const RuntimeEnded&) {
            ++errors;
          }
        };
        refused([&] { parallel_for(on(queue), 10, with(SetAll{1}, kept)); });
        refused([&] { deep_copy(kept, 1); });
        refused([&] { (void)create<Array>("new", 1); });
        refused([&] { Queue<Emulated>{}; });
        queue.wait();
        queue.record().wait();
        wait(Emulated{});
        std::exit(errors);  // and `kept` is freed after that
      },
      ::testing::ExitedWithCode(4), "nobody waited for: never taken");
}

TEST_F(EmulatedEndDeathTest, ErrorOfAQueueWhoseHandleIsGoneIsPrinted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(
      {
        const auto x = create<Array>("x", 1);
        {
          const Queue<Emulated> queue;
          parallel_for(on(queue), 1, with(Throwing{"left alone"}, x));
        }
        wait(Emulated{});
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "nobody waited for: left alone");
}

// Every way to be told, and none: what is printed is printed once, with label and device.
enum class Told { Nobody, ByQueue, ByOtherQueue, ByEvent, ByInstance };

// A launch fails, and a second queue waits for it; then the program hears of it in one way, or ends.
[[noreturn]] void fail_and_end(Told told, bool keep_queue) {
  std::exit(main_guard(0, nullptr, [&] {
    const auto x = create<Array>("x", 1, on(Emulated{1}));
    auto queue = std::make_unique<Queue<Emulated>>(Emulated{1});
    const Queue<Emulated> other(Emulated{1});
    parallel_for("step", on(*queue), 1, with(Throwing{"boom"}, x));
    const Event event = queue->record();
    other.wait_for(event);
    try {
      if (told == Told::ByQueue) queue->wait();
      if (!keep_queue) queue.reset();
      if (told == Told::ByOtherQueue) other.wait();
      if (told == Told::ByEvent) event.wait();
      if (told == Told::ByInstance) wait(Emulated{1});
    } catch (const std::exception& error) {
      std::fprintf(stderr, "caught %s\n", error.what());
    }
  }));
}

TEST_F(EmulatedEndDeathTest, ErrorThatNobodyWaitedForIsPrintedOnceAndGivesTheStatusOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  for (const bool keep_queue : {true, false})
    EXPECT_EXIT(fail_and_end(Told::Nobody, keep_queue), ::testing::ExitedWithCode(1),
                "^strata: error: \"step\" on Emulated\\{1\\} failed, which nobody waited for: boom\n$");
}

TEST_F(EmulatedEndDeathTest, ErrorThatSomebodyWaitedForIsNotPrinted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  for (const Told told : {Told::ByQueue, Told::ByOtherQueue, Told::ByEvent, Told::ByInstance})
    for (const bool keep_queue : {true, false})
      EXPECT_EXIT(fail_and_end(told, keep_queue), ::testing::ExitedWithCode(0), "^caught boom\n$")
          << static_cast<int>(told) << keep_queue;
}

TEST_F(EmulatedEndDeathTest, ExitInsideAKernelDoesNotHang) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(
      {
        parallel_for(on(Emulated{}), 1, [](index_t) { std::exit(7); });
        wait(Emulated{});
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(EmulatedEndDeathTest, ChildOfForkEndsAndIsToldThatItCannotLaunch) {
  GTEST_FLAG_SET(death_test_style, "fast");  // forks here, with the threads of the parent missing
  const auto x = create<Array>("x", 10);
  parallel_for(10, with(SetAll{1}, x));
  wait(Emulated{});
  // What its threads are still to free is a leak of the child, to sanitizers.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));

  EXPECT_EXIT(
      {
        const std::string text = message_of<Error>([&] { parallel_for(10, with(SetAll{2}, x)); });
        std::fputs(text.c_str(), stderr);
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "a child of fork\\(\\)");
}

// A thread of the parent may hold any lock when the child begins.
TEST_F(EmulatedEndDeathTest, ChildOfForkIsToldSoWhateverTheParentHasLocked) {
  GTEST_FLAG_SET(death_test_style, "fast");
  const Queue<Emulated> queue, other;
  const Event event = queue.record(), unfinished = [&] {
    parallel_for(on(other), 1, [](index_t) {});
    return other.record();
  }();
  const std::lock_guard held(detail::Platform::get().mutex);
  const std::function<void()> actions[] = {[&] { queue.wait(); }, [&] { static_cast<void>(queue.record()); },
                                           [&] { queue.wait_for(unfinished); }, [&] { event.wait(); },
                                           [&] { parallel_for(on(queue), 1, [](index_t) {}); }};

  for (const auto& action : actions)
    EXPECT_EXIT(
        {
          alarm(20);
          std::fputs(message_of<Error>(action).c_str(), stderr);
          _exit(0);
        },
        ::testing::ExitedWithCode(0), "a child of fork\\(\\)")
        << &action - actions;
}

}  // namespace
