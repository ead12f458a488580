// CoherentState: all that is known of one coherent array. Its handles share it; the lock of Coherence guards
// it.
#pragma once

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
#include <strata/views/coherent/directory.hpp>
#include <strata/views/coherent/exact_storage.hpp>
#include <strata/views/coherent/instance.hpp>
#include <strata/views/coherent/transfer_counters.hpp>
#include <strata/views/coherent/work_order.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

class WorkTracker;

/// A use of the host's memory under way: a host view that is alive, or a kernel that a host runs.
struct HostUse {
  ArrayPart part;
  bool writes;
  std::thread::id thread;
  const char* what;  // "a host view", or the kernel
  std::uint64_t number;
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
  /// Why values are not what was to be written, until who uses the array next has been told: threads but the
  /// one that was.
  struct Failure {
    std::exception_ptr error;
    std::thread::id told;
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
  void log_restored(const std::vector<Directory::Part>& parts);
  /// Carries over to the settled state what has ended.
  void settle(WorkTracker& tracker);
  std::size_t log_size() const { return log_.size(); }

  /// After work failed: the directory becomes that of what was done. Returns the boxes whose values are lost;
  /// `taken_back`: whether anything else is not as it was to be written.
  template <class OutcomeOf>
  std::vector<Box> rebuild(const OutcomeOf& outcome_of, bool& taken_back);

 private:
  struct Change {
    enum class Kind : unsigned char { Copied, Written, Moved, Dropped, Set } kind;
    MemoryId memory;
    Box box;
    Work work;
    MemorySet memories;  // of Set
  };
  static void apply(const Change& change, Directory& directory);
  void lose(const Change& change, std::vector<Box>& lost) {
    for (const Box& box : settled_.only_in(change.memory, change.box)) lost.push_back(box);
    settled_.dropped(change.memory, change.box);
  }

  Directory settled_;
  std::deque<Change> log_;
  std::vector<Instance> instances_;                 // of devices' memories, from 1
  std::vector<std::unique_ptr<WorkOrder>> orders_;  // of all memories
};

template <class OutcomeOf>
std::vector<Box> CoherentState::rebuild(const OutcomeOf& outcome_of, bool& taken_back) {
  std::vector<Box> lost;
  taken_back = false;
  for (const Change& change : log_) {
    const int outcome = outcome_of(change.work);
    taken_back = taken_back || (outcome != 0 && change.kind == Change::Kind::Written);
    switch (outcome) {
      case 0:  // done
        // What was given up was out of date by work that may have failed since: then it was needed.
        if (change.kind == Change::Kind::Dropped) lose(change, lost);
        else apply(change, settled_);
        break;
      case 1:  // failed: what it was to write may be in part
        if (change.kind == Change::Kind::Written || change.kind == Change::Kind::Moved) lose(change, lost);
        break;
      case 2:  // dropped: it did not begin
        if (change.kind == Change::Kind::Moved) lose(change, lost);
        break;
      default:  // spoiled: it wrote wrong values
        lose(change, lost);
        break;
    }
  }
  log_.clear();
  directory = settled_;
  orders_.clear();
  // What was written anew since is not lost.
  std::vector<Box> still_lost;
  for (const Box& box : lost)
    for (const Box& part : settled_.never_written(box)) still_lost.push_back(part);
  merge(still_lost);
  return still_lost;
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
