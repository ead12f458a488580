// JointCall: several launches over coherent arrays on several devices, planned once as one list of copies and
// kernels (plan/joint_plan.hpp), and enqueued in one call as often as the arrays are as the plan found them.
//
//   JointCall call("label", arrays, places, launches);
//   if (!call.run(launch)) { ... each launch by itself ... }
//
// A run holds the lock from its begin to its end, as a launch on a device does. To other calls all of it is
// one piece of work, which ends when all queues are done with their parts.
//
// Devices must be asynchronous; the launches must have been done one by one before, so that errors in them
// have been found. One thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <strata/core/function.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/plan/joint_plan.hpp>

namespace strata::inline STRATA_ABI::detail {

class JointCall {
 public:
  /// Where kernels run: JointPart::queue counts these. Both outlive the call.
  struct Place {
    DeviceInstance* device;
    QueueState* queue;
  };
  /// Enqueues the kernel of a part of a launch: all its work items, those that go first, or the rest.
  using Launch = Function<void(int launch, int part, JointOperation::Kind items)>;

  /// JointUse::array counts `arrays`; the memories of parts are those of their places.
  JointCall(const char* label, std::vector<Ref<CoherentState>> arrays, std::vector<Place> places,
            std::vector<JointLaunch> launches);

  /// Enqueues all. Returns false, with nothing done, where more than the plan is needed (memory that arrays
  /// lack, a wait for another thread, a failure to be reported), and the first time that the arrays are not
  /// as planned: a launch or a step by itself may leave them so. Throws what `launch` throws, and errors of
  /// queues; then what was to be written is undefined, and where no other copy exists its next use throws
  /// DataLost.
  bool run(const Launch& launch);
  /// During a run: where the first element of an array is, or would be, of a use of a part of a launch.
  char* base(int launch, int part, int use) const;

 private:
  bool can_run() const;
  bool find_plan();
  bool is_current();
  bool make_plan();
  bool has_all_memory() const;
  void note_state();

  void enqueue_all(const Launch& launch);
  void begin();
  void enqueue(std::size_t number, const Launch& launch);
  Work end();
  void note(Work work);
  void give_up();

  CoherentState& array(int number) const { return *arrays_[static_cast<std::size_t>(number)]; }
  QueueState& queue_of(const JointQueue& queue) const;
  QueueState& queue_of(int number) const { return *queues_[static_cast<std::size_t>(number)]; }

  const std::string label_;
  const std::vector<Ref<CoherentState>> arrays_;
  const std::vector<Place> places_;
  std::vector<JointLaunch> launches_;
  std::vector<bool> written_;  // of the arrays

  bool is_planned_ = false;
  bool was_outdated_ = false;  // at the last run that was asked for
  JointPlan plan_;
  bool comes_back_ = false;          // it leaves all values where it found them
  std::vector<QueueState*> queues_;  // of the plan
  // Of the arrays, the last time all was as planned; empty: not known.
  std::vector<std::uint64_t> state_numbers_;

  // During a run: the work that it waits for, which of that wrote the values it reads, and the events in the
  // run.
  WorkList after_;
  NeededWorks needs_;
  std::vector<Ref<EventState>> events_;  // of operations that others wait for
  std::vector<Ref<EventState>> all_events_;
  std::vector<Ref<EventState>> ends_;  // of each queue: the event of its last operation, where it has one
};

}  // namespace strata::inline STRATA_ABI::detail
