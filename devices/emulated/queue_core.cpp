// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>

#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/unheard_errors.hpp>
#include <strata/devices/emulated/event.hpp>
#include <strata/devices/emulated/platform.hpp>
#include <strata/devices/emulated/queue_core.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/pause.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Of a process with queues. All work that is enqueued asks, so that a system call is too much.
constinit std::atomic<bool> is_forked_child = false;

void watch_forks() {
  static const int result =
      pthread_atfork(nullptr, nullptr, [] { is_forked_child.store(true, std::memory_order_relaxed); });
  static_cast<void>(result);
}

}  // namespace

double QueueLag::end_of(Timeline::Point point, double base) const {
  return std::max({base, waited_until, point.end + seconds});
}

QueueCore::QueueCore(int instance, std::uint64_t id, QueueId time_queue)
    : time(time_queue), instance_(instance), id_(id) {
  watch_forks();
}

QueueCore::~QueueCore() {
  // The last owner may be the thread itself, or a child of fork(), which has no such thread.
  if (thread_.joinable()) thread_.detach();
}

void QueueCore::require_same_process() const {
  if (is_forked_child.load(std::memory_order_relaxed))
    throw Error("Emulated{" + std::to_string(instance_) +
                "}: its threads and memory belong to the process that started them; a child of fork() must "
                "exec a program of its own to use emulated devices");
}

void QueueCore::enqueue(Work& work) {
  require_same_process();
  std::unique_lock lock(mutex_);
  require_thread();
  waiting_.push_back({std::move(work), ThreadKey::here(), {}});
  has_entered(lock);
}

void QueueCore::enqueue(const Ref<EmulatedEvent>& event) {
  require_same_process();
  std::unique_lock lock(mutex_);
  if (!waiting_.empty()) {
    Entry& last = waiting_.back();
    if (!last.event && last.from == ThreadKey::here()) {
      last.event = event;
      return;
    }
  }
  require_thread();
  waiting_.push_back({{{}, Kind::Event}, ThreadKey::here(), event});
  has_entered(lock);
}

// The lock is held.
void QueueCore::require_thread() {
  if (closed_) fail_ended("queued work");
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([core = shared_from_this()] { core->run_thread(); });
  } catch (const std::system_error& e) {
    throw Error("Emulated{" + std::to_string(instance_) +
                "}: cannot start the thread of a queue: " + e.what());
  }
}

void QueueCore::has_entered(std::unique_lock<std::mutex>& lock) {
  ++enqueued_;
  has_arrived_.store(true, std::memory_order_relaxed);
  lock.unlock();  // before it wakes who would wait for it
  changed_.notify_all();
}

// A moment, about as long as it would take the host to wake this thread.
void QueueCore::look_for_work(std::unique_lock<std::mutex>& lock) {
  if (!waiting_.empty() || closed_) return;
  constexpr int looks = 100;
  has_arrived_.store(false, std::memory_order_relaxed);
  lock.unlock();
  for (int k = 0; k < looks && !has_arrived_.load(std::memory_order_relaxed); ++k) pause_processor();
  lock.lock();
}

void QueueCore::run_thread() {
  bind_this_thread(inherited_processors());  // not where the thread is that enqueued the first work
  const PageCostsScope charged(&page_costs_);
  std::unique_lock lock(mutex_);
  while (true) {
    look_for_work(lock);
    changed_.wait(lock, [&] { return !waiting_.empty() || closed_; });
    if (waiting_.empty()) break;
    Entry entry = std::move(waiting_.front());
    waiting_.pop_front();
    // The order holds in a poisoned queue, too: another thread may take the error away before later work,
    // which then runs.
    std::exception_ptr lost = entry.work.kind == Kind::Compute ? poison_ : nullptr;
    const bool dropped = lost != nullptr;
    if (!dropped && entry.work.kind == Kind::Compute) try {
        since_event_.of(entry.from).began = true;
      } catch (const std::bad_alloc&) {
        lost = std::current_exception();
      }
    const double lag = begin_lag(entry.work.placed);
    lock.unlock();
    if (!lost) lost = run(entry);
    end_lag(entry.work, lag);
    entry.work = {};  // objects that the work owns are destroyed before its end is reported
    lock.lock();
    if (lost) {
      if (poison_ && !dropped) drop_error(lost);  // the first error stays
      if (!poison_ && !dropped) poison_ = lost;
      try {
        Since& since = since_event_.of(entry.from);
        since.error = lost;
        since.lost = true;
        unreported_.of(entry.from) = std::move(lost);
      } catch (const std::bad_alloc&) {  // then the next wait of any thread must do
      }
    }
    ++finished_;
    if (!asked_lags_.empty() && asked_lags_.front().first == finished_) {
      *asked_lags_.front().second = lag_;
      asked_lags_.pop_front();
    }
    // At once, under the lock: a queue is idle when its last event is complete, and the other way round.
    if (entry.event) entry.event->set(since_event(entry.from), lag_);
    changed_.notify_all();
    lock.unlock();
    entry.event = {};
    lock.lock();
  }
  const std::exception_ptr left = std::exchange(poison_, nullptr);
  unreported_.clear();
  since_event_.clear();
  lock.unlock();
  if (left) drop_error(left);
}

// Before work that has a place in virtual time; the lock is held. Returns by how much it begins later.
double QueueCore::begin_lag(const Work::Placed& placed) {
  if (!placed.on_timeline || (lag_.seconds == 0 && lag_.waited_until == 0)) return 0;
  const double ready = std::max(lag_.waited_until, placed.queue_end + lag_.seconds);
  lag_ = {std::max(ready - placed.start, 0.0)};
  return lag_.seconds;
}

// After it; the lock is not held.
void QueueCore::end_lag(const Work& work, double before) {
  const Work::Placed& placed = work.placed;
  if (!placed.on_timeline) return;
  double after = before;
  std::size_t bytes = placed.bytes;
  if (before != 0 || page_costs_.any()) {
    const PageCost cost = page_costs_.take();
    after = Platform::get().note_lag(*this, work, before, cost);
    if (placed.is_prefetch) bytes = cost.from_host + cost.from_peers + cost.to_host;
    const std::lock_guard lock(mutex_);
    lag_.seconds = after;
  }
  if (placed.reports && !(placed.is_prefetch && after == before))
    report({placed.start + before, placed.end + after}, work.label.c_str(), bytes);
}

void QueueCore::report(TimeSpan span, const char* label, std::size_t bytes) const {
  profiling::emit({.kind = EventKind::DeviceTime,
                   .label = label,
                   .device = "Emulated",
                   .instance = instance_,
                   .queue = id_,
                   .bytes = bytes,
                   .value = "virtual time",
                   .begin_seconds = span.start,
                   .end_seconds = span.end});
}

QueueLag QueueCore::lag() const {
  const std::lock_guard lock(mutex_);
  return lag_;
}

double QueueCore::with_lag(Timeline::Point point, double base) const {
  const std::lock_guard lock(mutex_);
  return lag_.end_of(point, base);
}

void QueueCore::lag_until(double moment) {
  const std::lock_guard lock(mutex_);
  lag_.waited_until = std::max(lag_.waited_until, moment);
}

void QueueCore::forget_lag() {
  const std::lock_guard lock(mutex_);
  lag_ = {};
}

std::exception_ptr QueueCore::run(Entry& entry) {
  try {
    if (entry.work.kind != Kind::Event) entry.work.run();
  } catch (...) {
    std::exception_ptr error = std::current_exception();
    try {
      hold_error(error, '"' + entry.work.label + "\" on Emulated{" + std::to_string(instance_) + "}");
    } catch (const std::bad_alloc&) {  // then it is not printed if no wait throws it
    }
    return error;
  }
  return nullptr;
}

std::exception_ptr QueueCore::wait(std::uint64_t number) {
  wait_until_finished(number);
  return take_error();
}

std::exception_ptr QueueCore::take_error() {
  const std::lock_guard lock(mutex_);
  std::exception_ptr error = std::exchange(poison_, nullptr);
  if (error) {
    error_was_reported(error);
    drop_error(error);
  }
  const ThreadKey here = ThreadKey::here();
  if (std::exception_ptr mine = unreported_.take(here); !error) error = std::move(mine);
  since_event_.take(here);
  return error;
}

void QueueCore::wait_until_finished(std::uint64_t number) {
  require_same_process();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_ >= number; });
}

bool QueueCore::idle() const {
  const std::lock_guard lock(mutex_);
  return finished_ == enqueued_;
}

std::uint64_t QueueCore::enqueued() const {
  const std::lock_guard lock(mutex_);
  return enqueued_;
}

std::uint64_t QueueCore::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

QueueCore::LastWork QueueCore::last_work() {
  const std::lock_guard lock(mutex_);
  if (finished_ == enqueued_) return {enqueued_};
  if (asked_lags_.empty() || asked_lags_.back().first != enqueued_)
    asked_lags_.emplace_back(enqueued_, std::make_shared<QueueLag>());
  return {enqueued_, asked_lags_.back().second};
}

std::exception_ptr QueueCore::poison() const {
  const std::lock_guard lock(mutex_);
  return poison_;
}

QueueCore::Since QueueCore::take_since_event(const ThreadKey& from) {
  const std::lock_guard lock(mutex_);
  return since_event(from);
}

// The lock is held.
QueueCore::Since QueueCore::since_event(const ThreadKey& from) {
  Since since = since_event_.take(from);
  if (poison_) since.error = poison_;
  return since;
}

void QueueCore::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

bool QueueCore::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void QueueCore::join() noexcept {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    thread.swap(thread_);
  }
  if (thread.joinable()) thread.join();
}

}  // namespace strata::inline STRATA_ABI::detail
