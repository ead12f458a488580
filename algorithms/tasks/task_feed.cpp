#include <algorithm>
#include <chrono>
#include <cstdio>

#include <strata/algorithms/tasks/running_tasks.hpp>
#include <strata/algorithms/tasks/task_feed.hpp>
#include <strata/core/error.hpp>
#include <strata/core/log.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {
constexpr int few_tasks = 256;                     // that pay for a plan
constexpr std::chrono::microseconds a_moment(50);  // without a new one: these are all for now
constexpr std::chrono::milliseconds a_while(1);    // without any: contributions are joined
}  // namespace

void TaskFeed::begin_adding() {
  const bool waits = !runs_tasks();
  std::unique_lock lock(mutex_);
  if (waits) room_.wait(lock, [&] { return is_stopped_ || is_over_ || graph_.size() - begun_ < window_; });
  if (error_) std::rethrow_exception(error_);
  if (is_stopped_ || (waits && is_over_))
    throw Error("a task is added to \"" + graph_.label + "\" after its wait(): begin another scope for it");
  ++adding_;
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
    if (end == before && !is_over_ && (!is_idle || graph_.has_pending())) break;
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
