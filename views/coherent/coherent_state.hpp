// CoherentState: all that is known of one coherent array. Its handles share it; the lock of Coherence guards
// it.
#pragma once

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/access_region.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>
#include <strata/views/coherent/exact_storage.hpp>
#include <strata/views/coherent/instance.hpp>
#include <strata/views/coherent/plan/directory.hpp>
#include <strata/views/coherent/plan/work_order.hpp>
#include <strata/views/coherent/transfer_counters.hpp>
#include <strata/views/coherent/work_tracker.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// A use that the lock does not cover: a host view that is alive, a kernel that a host runs, or one of a
/// launch that waits for its result.
struct HostUse {
  ArrayPart part;
  bool writes;
  std::thread::id thread;
  const char* what;  // "a host view", or the kernel
  std::uint64_t number;
  MemoryId memory = host_memory;  // in which it is; of a device's, no byte may move meanwhile
};

class CoherentState : public RefCounted {
 public:
  /// The memory of the host that holds all of the array.
  struct Main {
    char* base;             // of the first element
    AllocationRef storage;  // keeps it, or empty
    DeviceInstance* device;
    SpaceId space;
  };

  CoherentState(const char* label, const ArrayShape& shape, const Main& main, MemorySet current,
                coherent::Protocol protocol);
  /// Registers and forgets itself with Coherence.
  ~CoherentState() override;

  const std::string label;
  const ArrayShape shape;
  const Main main;
  const coherent::Protocol protocol;
  int number = -1;  // of all arrays, as Residency has it

  /// Where the values are going to be once all that is enqueued is done.
  Directory directory;
  TransferCounters counters;
  std::vector<HostUse> host_uses;
  Ref<PinnedMemory> pinned;  // the host's memory, since it was streamed
  /// Why values are not what was to be written, until who uses the array next has been told: threads but
  /// those that were.
  struct Failure {
    std::exception_ptr error;
    std::vector<std::thread::id> told;
    bool is_told_to(std::thread::id thread) const {
      return std::find(told.begin(), told.end(), thread) != told.end();
    }
  } failure;
  /// Of Protocol::Exact only.
  std::unique_ptr<ExactStorage> exact;

  Instance& instance(MemoryId device);
  WorkOrder& order(MemoryId memory);
  std::size_t instances() const { return instances_.size(); }

  /// Notes what `work` is going to change: `copied`, `written` and `dropped` as the directory has them. The
  /// number 0: it is done.
  void log_copy(MemoryId memory, const Box& box, Work work);
  void log_kernel(MemoryId memory, const Box& box, Work work);
  void log_move(MemoryId memory, const Box& box, Work work);
  void log_drop(MemoryId memory, const Box& box);
  /// Carries over to the settled state what has ended.
  void settle(WorkTracker& tracker);
  std::size_t log_size() const { return log_.size(); }

  /// After work failed: the directory becomes that of what was done. Returns the boxes whose values are lost;
  /// `taken_back`: whether anything else is not as it was to be written.
  std::vector<Box> rebuild(const WorkTracker::Recovery& recovery, bool& taken_back);

 private:
  struct Change {
    enum class Kind : unsigned char { Copied, Written, Moved, Dropped } kind;
    MemoryId memory;
    Box box;
    Work work;
  };
  static void apply(const Change& change, Directory& directory);
  void lose(const Change& change, std::vector<Box>& lost);

  Directory settled_;
  std::deque<Change> log_;
  std::vector<Instance> instances_;                 // of devices' memories, from 1
  std::vector<std::unique_ptr<WorkOrder>> orders_;  // of all memories
};

/// Whether its copies are parts of one instance a memory, and not blocks of their own.
inline bool by_regions(const CoherentState& array) { return array.protocol != coherent::Protocol::Exact; }

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
