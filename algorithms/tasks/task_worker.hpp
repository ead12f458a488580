// TaskWorker: a thread that runs tasks of a host device, one after the other, while the executor's thread
// goes on; or several threads, for works that mostly wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <strata/algorithms/tasks/running_tasks.hpp>
#include <strata/core/config.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

/// What workers have done, for the thread that waits for it.
class TaskMailbox {
 public:
  struct Ended {
    int number;                // of the work
    std::exception_ptr error;  // null: it went well
    double seconds;            // that it took
    bool is_of_others;         // the error: the work found it, and was not begun
  };
  void put(Ended ended) {
    {
      const std::lock_guard lock(mutex_);
      ended_.push_back(std::move(ended));
      num_ended_ = ended_.size();
    }
    filled_.notify_one();
  }
  /// Takes one; false: there is none. Sleeps for one, at most `microseconds`.
  bool take(Ended& ended, int microseconds) {
    if (microseconds == 0 && num_ended_ == 0) return false;
    std::unique_lock lock(mutex_);
    if (microseconds > 0)
      filled_.wait_for(lock, std::chrono::microseconds(microseconds), [&] { return !ended_.empty(); });
    if (ended_.empty()) return false;
    ended = std::move(ended_.front());
    ended_.pop_front();
    num_ended_ = ended_.size();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Ended> ended_;
  std::atomic<std::size_t> num_ended_ = 0;
};

class TaskWorker {
 public:
  /// Acts for the calling thread, and runs some of `tasks`. Works begin in the order in which they come.
  TaskWorker(TaskMailbox& mailbox, const TaskGraphState& tasks, int threads = 1)
      : mailbox_(mailbox), tasks_(tasks) {
    for (int k = 0; k < threads; ++k)
      threads_.emplace_back(
          [this, caller = acting_thread(), number = acting_thread_number()] { work(caller, number); });
  }
  ~TaskWorker() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void begin(int number, std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      works_.push_back({number, std::move(work)});
    }
    changed_.notify_one();
  }

 private:
  struct Work {
    int number;
    std::function<void()> run;
  };

  void work(std::thread::id caller, std::uint64_t number) {
    const ActingFor acting(caller, number);
    const RunsTasks running(tasks_);
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return is_over_ || !works_.empty(); });
      if (works_.empty()) return;
      const Work next = std::move(works_.front());
      works_.pop_front();
      lock.unlock();
      std::exception_ptr error;
      const WholeCopies::OtherWork other;
      const auto start = std::chrono::steady_clock::now();
      try {
        next.run();
      } catch (...) {
        error = std::current_exception();
      }
      mailbox_.put({next.number, error,
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                    error && other.has_failed(error)});
      lock.lock();
    }
  }

  TaskMailbox& mailbox_;
  const TaskGraphState& tasks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> works_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace strata::inline STRATA_ABI::detail
