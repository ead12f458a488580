// A worker pool that makes room for other programs.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <strata/core/log.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/host/other_programs.hpp>

#include "worker_pools.hpp"

namespace {

using namespace strata_tests;
using namespace std::chrono_literals;
using strata::detail::OtherPrograms;
using strata::detail::running_threads;

int running_now() {
  std::string text;
  std::getline(std::ifstream("/proc/loadavg"), text);
  return running_threads(text.c_str());
}

// As many threads that compute as the machine has processors.
class BusyMachine {
 public:
  BusyMachine() {
    for (unsigned t = 0; t < std::thread::hardware_concurrency(); ++t)
      threads_.emplace_back([this] {
        while (!ending_) ++counts_;
      });
  }
  ~BusyMachine() {
    ending_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  bool shows() const { return running_now() >= static_cast<int>(threads_.size()); }

 private:
  std::atomic<bool> ending_{false};
  std::atomic<unsigned> counts_{0};
  std::vector<std::thread> threads_;
};

TEST(OtherPrograms, TheCountOfRunningThreadsIsTheNumberBeforeTheSlash) {
  EXPECT_EQ(running_threads("1.97 1.40 2.15 4/121 10271\n"), 4);
  EXPECT_EQ(running_threads("0.00 0.01 0.05 128/4021 1"), 128);
  EXPECT_EQ(running_threads("4/1"), 4);
  EXPECT_EQ(running_threads("/"), -1);
  EXPECT_EQ(running_threads(""), -1);
}

TEST(OtherPrograms, ThreadsThatComputeTakeProcessorsAfterAFewLooks) {
  OtherPrograms others;
  const BusyMachine busy;
  std::this_thread::sleep_for(20ms);
  if (!busy.shows()) GTEST_SKIP() << "the system does not say how many threads run";
  const int before = others.room_for(100, 0);

  int after = before;
  for (const auto end = std::chrono::steady_clock::now() + 10s;
       after > 1 && std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(2ms))
    after = others.room_for(100, 0);

  EXPECT_EQ(before, 100);  // one look is not enough
  EXPECT_EQ(after, 1);
  std::this_thread::sleep_for(250ms);
  EXPECT_EQ(others.room_for(100, 0), 100);  // counted anew
}

TEST(OtherPrograms, TheTeamItselfIsNoOther) {
  OtherPrograms others;
  const BusyMachine busy;  // as if its threads, and those of all other programs, were the team's

  for (int look = 0; look < 10; ++look) {
    EXPECT_EQ(others.room_for(7, 1'000'000), 7);
    std::this_thread::sleep_for(11ms);
  }
}

TEST(SharedProcessors, ACallerRunsWhatASleepingWorkerHasNotBegun) {
  WorkerPool pool({.workers = 2, .spin_us = 0, .shares_processors = true});
  int alone = 0;

  for (int repeat = 0; repeat < 1000; ++repeat) {
    std::atomic<int> mine{0};
    pool.run({0, 2, 1}, erase([&, caller = std::this_thread::get_id()](index_t begin, index_t, int worker) {
               EXPECT_EQ(worker, begin);
               EXPECT_EQ(WorkerPool::current_worker(), worker);
               mine += std::this_thread::get_id() == caller;
             }));
    alone += mine == 2;
  }

  EXPECT_GT(alone, 0);
}

TEST(SharedProcessors, OnABusyMachineTheCallerRunsAlone) {
  WorkerPool pool({.workers = 2, .shares_processors = true});
  const BusyMachine busy;
  std::this_thread::sleep_for(20ms);
  if (!busy.shows()) GTEST_SKIP() << "the system does not say how many threads run";
  int said = 0;
  strata::set_setting("log", "info");
  strata::set_log_function(
      [](strata::LogLevel, const char* text, void* count) {
        if (std::string(text).find("use 1 of 2 threads now") != std::string::npos)
          ++*static_cast<int*>(count);
      },
      &said);

  bool is_alone = false;
  for (const auto end = std::chrono::steady_clock::now() + 10s;
       !is_alone && std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(2ms)) {
    std::atomic<int> of_others{0}, pieces{0};
    pool.run({0, 100}, erase([&, caller = std::this_thread::get_id()](index_t, index_t, int) {
               std::this_thread::sleep_for(100us);  // a worker that is awake takes part
               of_others += std::this_thread::get_id() != caller;
               ++pieces;
             }));
    is_alone = said > 0 && of_others == 0;
    EXPECT_EQ(pieces, 2);
  }
  EXPECT_EQ(pieces_of(pool, {0, 100}), (std::vector<Piece>{{0, 50, 0}, {50, 100, 1}}));  // as always
  strata::set_log_function(nullptr);
  strata::set_setting("log", "warning");

  EXPECT_TRUE(is_alone);
  EXPECT_EQ(said, 1);  // not at every launch
}

}  // namespace
