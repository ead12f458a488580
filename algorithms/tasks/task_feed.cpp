// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <strata/algorithms/tasks/running_tasks.hpp>
#include <strata/algorithms/tasks/task_feed.hpp>
#include <strata/core/error.hpp>
#include <strata/core/log.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/noted_wait.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {
constexpr int few_tasks = 256;                     // that pay for a plan
constexpr std::chrono::microseconds a_moment(50);  // without a new one: these are all for now
constexpr std::chrono::milliseconds a_while(1);    // without any: contributions are joined
constexpr std::chrono::milliseconds a_look(10);    // how often a task looks whether it waits in vain

// All that there are. Never destroyed: scopes may end after the end of main().
struct Feeds {
  std::mutex mutex;
  std::vector<TaskFeed*> all;
};
Feeds& feeds() {
  static auto* const all = new Feeds;
  return *all;
}
void close_all_of_thread() {
  const std::lock_guard lock(feeds().mutex);
  for (TaskFeed* const feed : feeds().all) feed->close_of_thread();
}

}  // namespace

TaskFeed::TaskFeed(TaskGraphState& graph, int window, double watchdog_seconds)
    : graph_(graph), window_(window), watchdog_seconds_(watchdog_seconds) {
  const std::lock_guard lock(feeds().mutex);
  feeds().all.push_back(this);
  set_before_waits(close_all_of_thread);
}

TaskFeed::~TaskFeed() {
  const std::lock_guard lock(feeds().mutex);
  std::erase(feeds().all, this);
}

void TaskFeed::close_of_thread() noexcept {
  if (graph_.close_of_thread()) changed();
}

void TaskFeed::begin_adding() {
  close_of_thread();  // what is ahead of this one may be that task
  const bool is_own = runs_tasks_of(graph_);
  std::unique_lock lock(mutex_);
  if (!is_own) wait_for_room(lock);
  if (error_) std::rethrow_exception(error_);
  if (is_stopped_ || (!is_own && is_over_))
    throw Error("a task is added to \"" + graph_.label + "\" after its wait(): begin another scope for it");
  ++adding_;
}

// Room comes with the end of a window, which may need arrays of the thread that waits here, or of the run
// whose task does. Then the thread's arrays are refused to the window; the task goes on without room.
void TaskFeed::wait_for_room(std::unique_lock<std::mutex>& lock) {
  const auto has_room = [&] { return is_stopped_ || is_over_ || graph_.size() - begun_ < window_; };
  const bool is_task = runs_tasks();
  while (!has_room()) {
    lock.unlock();
    NotedWait wait(acting_thread(), runner_, is_task ? NotedWait::Kind::UpToRings : NotedWait::Kind::Endless,
                   "a thread waits for room in the scope \"" + graph_.label + "\"");
    lock.lock();
    if (is_task) room_.wait_for(lock, a_look, has_room);
    else room_.wait(lock, has_room);
    lock.unlock();
    const bool waits_in_vain = wait.end();
    lock.lock();
    if (waits_in_vain) return;
  }
}

void TaskFeed::end_adding() noexcept {
  {
    const std::lock_guard lock(mutex_);
    --adding_;
    if (!is_over_) return;
  }
  filled_.notify_all();
}

void TaskFeed::changed() noexcept {
  if (graph_.closed_end() < wanted_.load()) return;
  { const std::lock_guard lock(mutex_); }  // the runner sleeps by now, or sees what was added
  filled_.notify_all();
}

void TaskFeed::end() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  filled_.notify_all();
  room_.notify_all();
}

int TaskFeed::next(int begun) {
  std::unique_lock lock(mutex_);
  const int few = std::min(window_, few_tasks);
  int end = graph_.closed_end();
  while (end - begun < few) {
    if (is_over_ && adding_ == 0) {
      graph_.close_all();
      end = graph_.closed_end();
      break;
    }
    const int before = end;
    const bool is_idle = end == begun;
    wait_for_tasks(lock, is_idle ? begun + 1 : begun + few, is_idle);
    end = graph_.closed_end();
    // Who still adds a task may wait for those that there are.
    if (end == before && !(is_over_ && adding_ == 0) && (!is_idle || graph_.has_pending())) break;
  }
  end = begun + std::min(end - begun, window_);
  begun_ = end;
  room_.notify_all();
  return end;
}

// Until there are `wanted` tasks, or all are there; where some are there already, or contributions are, not
// for long.
void TaskFeed::wait_for_tasks(std::unique_lock<std::mutex>& lock, int wanted, bool is_idle) {
  wanted_ = wanted;
  const auto is_enough = [&] { return (is_over_ && adding_ == 0) || graph_.closed_end() >= wanted; };
  if (!is_idle) filled_.wait_for(lock, a_moment, is_enough);
  else if (graph_.has_pending()) filled_.wait_for(lock, a_while, is_enough);
  else if (watchdog_seconds_ > 0)
    while (!filled_.wait_for(lock, std::chrono::duration<double>(watchdog_seconds_), is_enough))
      report_open();
  else filled_.wait(lock, is_enough);
  wanted_ = nobody_waits;
}

// A task that is open keeps those after it from running.
void TaskFeed::report_open() const {
  if (graph_.closed_end() == graph_.size()) return;  // there is nothing to run
  log_message(LogLevel::Warning,
              "\"%s\": the task \"%s\" and those after it wait until the object that launch() or call() "
              "returned for it is gone: keep a TaskHandle",
              graph_.label.c_str(), graph_.label_of_open().c_str());
}

bool TaskFeed::is_over() {
  const std::lock_guard lock(mutex_);
  return is_over_ && adding_ == 0;
}

void TaskFeed::stop(const std::exception_ptr& error) {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    error_ = error;
  }
  room_.notify_all();
}

}  // namespace strata::inline STRATA_ABI::detail
