// TaskFeed: between the threads that add tasks to a scope and the one that runs them.
//
//   adding   begin_adding() ... tasks are added ... end_adding(), and changed() where an open one was closed
//   running  while (int end = feed.next(begun); end > begun) { run tasks [begun, end); begun = end; }
//
// While a window of tasks runs, the next one gathers: at most so many tasks that whoever adds one more waits.
// A window begins when enough tasks have come that planning them pays, or when none comes for a moment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include <strata/algorithms/tasks/task_graph_state.hpp>

namespace strata::inline STRATA_ABI::detail {

class TaskFeed {
 public:
  /// `watchdog_seconds` as TaskRunOptions has them.
  TaskFeed(TaskGraphState& graph, int window, double watchdog_seconds);
  ~TaskFeed();
  TaskFeed(const TaskFeed&) = delete;
  TaskFeed& operator=(const TaskFeed&) = delete;
  /// The calling thread is the one that runs the tasks; before any is added.
  void set_runner() { runner_ = std::this_thread::get_id(); }

  /// The last task of the thread may begin. Waits while too many tasks are ahead; threads that run tasks of
  /// this scope do not, and those that run others not where these wait for this scope. Throws what ended the
  /// run, and Error after end().
  void begin_adding();
  void end_adding() noexcept;
  /// Tasks may have become ready to run.
  void changed() noexcept;
  /// The last task of the calling thread may begin.
  void close_of_thread() noexcept;
  /// No thread adds tasks any more but those that run some.
  void end();

  /// Up to where tasks are to run now; `begun`: none came, and either all have come, or contributions wait to
  /// be joined.
  int next(int begun);
  bool is_over();
  /// Nothing is run any more, because of `error` or as all is done.
  void stop(const std::exception_ptr& error);

 private:
  void wait_for_room(std::unique_lock<std::mutex>& lock);
  void wait_for_tasks(std::unique_lock<std::mutex>& lock, int wanted, bool is_idle);
  void report_open() const;

  static constexpr int nobody_waits = std::numeric_limits<int>::max();

  TaskGraphState& graph_;
  const int window_;
  const double watchdog_seconds_;
  std::thread::id runner_;
  std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::atomic<int> wanted_ = nobody_waits;  // the runner sleeps until there are so many tasks
  int begun_ = 0;                           // tasks that run or have run
  int adding_ = 0;                          // threads between begin_adding() and end_adding()
  bool is_over_ = false, is_stopped_ = false;
  std::exception_ptr error_;
};

}  // namespace strata::inline STRATA_ABI::detail
