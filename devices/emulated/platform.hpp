// The machine behind Emulated: its instances, their memory, queues and virtual time. Private to this folder.
//
// Locks, in the order in which they may be taken: Platform::instances_mutex, Platform::mutex (configuration,
// timeline, faults, queue list), then the mutex of one QueueCore. No lock is held while a kernel, a copy or a
// hook runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <strata/devices/backend.hpp>
#include <strata/devices/emulated/control.hpp>
#include <strata/devices/emulated/memory.hpp>
#include <strata/devices/emulated/timeline.hpp>
#include <strata/devices/host_drivers.hpp>
#include <strata/devices/worker_pool.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The work of one queue and the thread that does it. Shared by the queue's handle, its thread, and freed
/// blocks that wait for its work; the thread ends once the handle is gone and the work done.
class QueueCore {
 public:
  /// One piece of work. Pieces marked `always` run in a poisoned queue too: they pass the error on.
  struct Work {
    std::function<void()> run;
    bool always = false;
  };

  ~QueueCore();

  void enqueue(Work work);
  /// Blocks until all work enqueued so far is done, and takes the error away, if there is one.
  std::exception_ptr wait();
  bool idle() const;
  /// Numbers of work enqueued, and done or dropped.
  std::uint64_t enqueued() const;
  std::uint64_t finished() const;
  void wait_until_finished(std::uint64_t number);
  /// The error that poisons the queue; called by its own work.
  std::exception_ptr poison() const;
  /// No work will follow: the thread ends when it is done. Joins it if `join`.
  void close(bool join);

 private:
  void run_thread();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  std::uint64_t enqueued_ = 0;
  std::uint64_t finished_ = 0;
  std::exception_ptr poison_;
  bool closed_ = false;
  std::thread thread_;  // started by the first work
  std::weak_ptr<QueueCore> self_;

  friend std::shared_ptr<QueueCore> make_core();
};

/// A core that knows itself.
std::shared_ptr<QueueCore> make_core();

class EmulatedInstance;

class EmulatedQueue final : public QueueState {
 public:
  EmulatedQueue(EmulatedInstance& instance, std::uint64_t id);
  ~EmulatedQueue() override;

  DeviceInstance& instance() override;
  std::uint64_t id() const override { return id_; }
  void wait() override;
  bool idle() const override { return core_->idle(); }
  Ref<EventState> record() override;
  void wait_for(const Ref<EventState>& event) override;
  void copy(const CopySide& destination, const CopySide& source, std::size_t element_bytes) override;
  void fill(const CopySide& destination, const void* value, std::size_t element_bytes) override;

  /// Enqueues a kernel of `items` work items.
  void launch(const char* label, index_t items, std::function<void()> run);

  const std::shared_ptr<QueueCore>& core() const { return core_; }

 private:
  int place(const CopySide& side) const;
  char* address(const CopySide& side) const;

  EmulatedInstance& instance_;
  std::uint64_t id_;
  std::shared_ptr<QueueCore> core_;
  QueueId time_;
};

class EmulatedInstance final : public DeviceInstance {
 public:
  explicit EmulatedInstance(int index);

  const char* device_name() const override { return "Emulated"; }
  int index() const override { return index_; }
  SpaceId space() const override;
  bool host_accessible() const override { return false; }
  Allocation* allocate(const AllocationRequest& request) override;
  QueueState& default_queue() override { return *default_queue_; }
  Ref<QueueState> create_queue() override;
  void wait_all() override;
  std::size_t capacity() const override;
  std::size_t used() const override;

  EmulatedQueue& queue() { return *default_queue_; }
  /// The threads that run this instance's kernels, each in the instance's memory.
  Runner runner();
  /// Frees `address`, now or when all work that is enqueued by now is done.
  void release(void* address) noexcept;
  /// Frees what waits for work that is done by now.
  void reclaim();
  void stop();

 private:
  struct Quarantined {
    void* address;
    std::vector<std::pair<std::shared_ptr<QueueCore>, std::uint64_t>> until;
  };

  int index_;
  Ref<EmulatedQueue> default_queue_;
  std::mutex pool_mutex_;
  std::unique_ptr<WorkerPool> pool_;
  std::mutex quarantine_mutex_;
  std::vector<Quarantined> quarantine_;
};

/// All of it; made by the first use, never destroyed.
class Platform {
 public:
  static Platform& get();

  std::mutex mutex;
  std::mutex instances_mutex;  // taken before `mutex`; guards `instances`
  emulated::Config config;
  std::unique_ptr<EmulatedMemory> memory;
  Timeline timeline;
  std::vector<std::unique_ptr<EmulatedInstance>> instances;
  std::vector<EmulatedQueue*> queues;
  int faults[3] = {0, 0, 0};  // operations until the next failure; 0: none

  /// Throws NoSuchDevice.
  EmulatedInstance& instance(int index);
  void build(const emulated::Config& wanted);
  /// Counts an operation down; true if it is the one to fail.
  bool fails(emulated::Fault what);
  std::vector<std::shared_ptr<QueueCore>> cores();

 private:
  Platform();
};

}  // namespace strata::inline STRATA_ABI::detail
