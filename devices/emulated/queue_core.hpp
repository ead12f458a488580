// QueueCore: the work of one queue of an emulated instance, and the thread that does it, one piece after the
// other. Private to this folder.
//
// Lifetime: shared by the queue's handle, its thread and the platform, so that work goes on when the handle
// has gone. The thread starts with the first work and ends after close(), when all work is done.
// Errors: work that throws poisons the core: later work is dropped until a wait() throws the error.
// A thread whose own work failed or was dropped gets the error from its next wait, even if the wait of
// another thread has thrown it, so that no thread reads results that were never computed. An error that no
// wait has thrown by the end of the queue's thread is printed (core/unheard_errors.hpp). No lock is held
// while work runs or is destroyed.
//
// Virtual time: work has its place when it is enqueued. What faults of managed memory and prefetches cost is
// known when it has run; the queue then *lags*: its work ends that much later than where it was placed. The
// lag is what the end of one piece adds to the start of the next, less what that would have waited for in any
// case: the host, an event, or its engine. It goes from queue to queue with events, and to the host's clock
// with waits; so times do not depend on how far the queue had come when work was enqueued. Places do not know
// of it, also where it is known by then: while a kernel waits for pages, its engine may run the kernel of
// another queue.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <strata/core/ref.hpp>
#include <strata/devices/emulated/by_thread.hpp>
#include <strata/devices/emulated/call_counts.hpp>
#include <strata/devices/emulated/page_costs.hpp>
#include <strata/devices/emulated/timeline.hpp>

namespace strata::inline STRATA_ABI::detail {

class EmulatedEvent;

/// How far a queue lags.
struct QueueLag {
  double seconds = 0;       // of the last work done
  double waited_until = 0;  // of events, since then

  /// The time of `point`, of that work, and of `base`, which is not before it.
  double end_of(Timeline::Point point, double base) const;
};

class QueueCore : public std::enable_shared_from_this<QueueCore> {
 public:
  /// Wait: only waits for another queue. Event: only completes an event. Both run in a poisoned queue, too.
  enum class Kind : unsigned char { Compute, Wait, Event };
  struct Work {
    std::function<void()> run;
    Kind kind = Kind::Compute;
    std::string label = {};  // of the work, for errors
    struct Placed {
      bool on_timeline = false;
      double queue_end = 0;  // the end of the work before it in the queue
      double start = 0, end = 0;
      std::size_t first_entry = 0, last_entry = 0;  // in the trace
      bool is_prefetch = false;
      bool reports = false;   // to listeners, when it is done
      std::size_t bytes = 0;  // for them
    } placed = {};
  };

  /// `time` is the queue of the timeline; 0 is the id of default queues.
  QueueCore(int instance, std::uint64_t id, QueueId time);
  ~QueueCore();

  /// Throws Error in a child of fork(), whose copies of locks may be held for ever by threads that it does
  /// not have: before any of them is taken.
  void require_same_process() const;

  int instance() const { return instance_; }
  std::uint64_t id() const { return id_; }
  QueueId time;  // guarded by Platform::mutex
  AskedEvents asked_events;

  /// Takes `work` over, unless it throws: RuntimeEnded after close(), Error if the system gives no thread or
  /// in a child of fork(). Callers that hold a lock keep `work` beyond it, since destroying a kernel may free
  /// arrays.
  void enqueue(Work& work);
  /// The event completes together with the last work, at once, if that is the calling thread's and has not
  /// begun, and otherwise as a piece of work of its own. Throws as for work.
  void enqueue(const Ref<EmulatedEvent>& event);
  /// Blocks until the first `number` pieces of work are done; returns and clears the error, if there is one
  /// for the calling thread. Throws Error in a child of fork(), which has no thread for the work.
  std::exception_ptr wait(std::uint64_t number);
  /// Blocks until the first `number` pieces of work are done or dropped.
  void wait_until_finished(std::uint64_t number);
  /// Returns and clears the error as wait() does, without waiting.
  std::exception_ptr take_error();

  bool idle() const;
  /// Numbers of work enqueued, and done or dropped.
  std::uint64_t enqueued() const;
  std::uint64_t finished() const;
  /// The number of the last work enqueued, and how far the queue lags after it: known when it is done, and
  /// null where that is so now.
  struct LastWork {
    std::uint64_t number = 0;
    std::shared_ptr<const QueueLag> lag = {};
  };
  LastWork last_work();
  /// The error that poisons the queue.
  std::exception_ptr poison() const;
  /// How a thread's work since its last event or wait ended. A wait of another thread between two pieces of
  /// it clears the error, so that the later one runs.
  struct Since {
    std::exception_ptr error;
    bool lost = false;   // whether a piece failed or was dropped
    bool began = false;  // whether one did more than to wait for another queue
  };
  /// For an event of thread `from`: that, with the error of the queue where it has one.
  Since take_since_event(const ThreadKey& from);

  /// The time of `point`, and of `base`, which is not before it, with the lag of the work done so far.
  double with_lag(Timeline::Point point, double base) const;
  /// The lag of the work done so far.
  QueueLag lag() const;
  /// In the queue's thread: the next work begins no sooner than `moment`.
  void lag_until(double moment);
  /// With a clock of its own, as after reset_time(); the queue is idle.
  void forget_lag();

  /// Reports the time of work to the listeners.
  void report(TimeSpan span, const char* label, std::size_t bytes) const;

  /// No work will follow: the thread ends when it is done.
  void close() noexcept;
  bool closed() const;
  /// After close(): waits for the end of the thread.
  void join() noexcept;

 private:
  struct Entry {
    Work work;
    ThreadKey from;
    Ref<EmulatedEvent> event;  // complete with it; or null
  };
  void require_thread();
  void has_entered(std::unique_lock<std::mutex>& lock);
  void run_thread();
  void look_for_work(std::unique_lock<std::mutex>& lock);
  double begin_lag(const Work::Placed& placed);
  void end_lag(const Work& work, double before);
  std::exception_ptr run(Entry& entry);
  Since since_event(const ThreadKey& from);

  const int instance_;
  const std::uint64_t id_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> waiting_;
  std::uint64_t enqueued_ = 0;
  std::uint64_t finished_ = 0;
  std::exception_ptr poison_;
  ByThread<std::exception_ptr> unreported_;  // of threads that lost work
  ByThread<Since> since_event_;
  std::atomic<bool> has_arrived_ = false;  // work, since look_for_work() began
  QueueLag lag_;
  PageCosts page_costs_;  // of the work under way
  // Who asked for the lag after which work that is not done, in order.
  std::deque<std::pair<std::uint64_t, std::shared_ptr<QueueLag>>> asked_lags_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace strata::inline STRATA_ABI::detail
