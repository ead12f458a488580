// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/recording.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/joint_call.hpp>

namespace strata::inline STRATA_ABI::detail {

JointCall::JointCall(const char* label, std::vector<Ref<CoherentState>> arrays, std::vector<Place> places,
                     std::vector<JointLaunch> launches)
    : label_(label),
      arrays_(std::move(arrays)),
      places_(std::move(places)),
      launches_(std::move(launches)),
      written_(arrays_.size(), false) {
  for (const JointLaunch& launch : launches_)
    for (const JointPart& part : launch)
      for (const JointUse& use : part.uses)
        if (writes(use.mode)) written_[static_cast<std::size_t>(use.array)] = true;
}

bool JointCall::run(const Launch& launch) {
  require_running("a launch");
  if (current_recording != nullptr) return false;
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    check_file_use(*arrays_[a], written_[a]);
    if (written_[a]) mark_file_incomplete(*arrays_[a]);
  }
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  coherence.drop_leftovers();
  if (!can_run() || !find_plan()) return false;
  const Place& first =
      places_[static_cast<std::size_t>(plan_.queues[static_cast<std::size_t>(plan_.first_kernels)].number)];
  const profiling::EventScope scope([&] {
    return HookEvent{.kind = EventKind::BeginGraph,
                     .label = label_.c_str(),
                     .device = first.device->device_name(),
                     .instance = first.device->index(),
                     .queue = first.queue->id(),
                     .items = static_cast<std::int64_t>(plan_.operations.size())};
  });
  const profiling::QuietWork quiet;  // as of a graph: its parts are not reported to listeners
  enqueue_all(launch);
  return true;
}

char* JointCall::base(int launch, int number, int use_number) const {
  const JointPart& part = launches_[static_cast<std::size_t>(launch)][static_cast<std::size_t>(number)];
  const JointUse& use = part.uses[static_cast<std::size_t>(use_number)];
  CoherentState& used = array(use.array);
  return use.region.empty() ? used.main.base : used.instance(part.memory).base();
}

// ---- before

// What it cannot wait for or report itself.
bool JointCall::can_run() const {
  const Coherence& coherence = Coherence::get();
  return !coherence.tracker.failed() && coherence.room_waiters.empty() &&
         std::all_of(arrays_.begin(), arrays_.end(), [](const Ref<CoherentState>& used) {
           return !used->failure.error && used->host_uses.empty();
         });
}

// Where others have used the arrays, they are mostly as planned again after one step. If they were not the
// last time either, they are to be planned as they are.
bool JointCall::find_plan() {
  const bool is_first_time = is_planned_ && !was_outdated_;
  was_outdated_ = false;
  if (is_current()) return true;
  was_outdated_ = is_first_time;
  return !is_first_time && make_plan();
}

// Whether the plan is one for arrays as they are. Others may have used them, and left them so.
bool JointCall::is_current() {
  if (!is_planned_) return false;
  bool is_same = !state_numbers_.empty();
  for (std::size_t a = 0; a < arrays_.size() && is_same; ++a)
    is_same = arrays_[a]->state_number() == state_numbers_[a];
  if (is_same) return true;
  for (std::size_t a = 0; a < arrays_.size(); ++a)
    if (!arrays_[a]->directory.same_as(plan_.before[a])) return false;
  if (!has_all_memory()) return false;
  note_state();
  return true;
}

bool JointCall::has_all_memory() const {
  const auto has_rows = [&](const JointPart& part, const JointUse& use) {
    CoherentState& used = array(use.array);
    const ResidentRows there = used.instance(part.memory).rows();
    return std::all_of(use.region.begin(), use.region.end(), [&](const Box& box) {
      const ResidentRows rows = used.shape.rows_of(box);
      return there.begin <= rows.begin && rows.end <= there.end;
    });
  };
  for (const JointLaunch& launch : launches_)
    for (const JointPart& part : launch)
      for (const JointUse& use : part.uses)
        if (!has_rows(part, use)) return false;
  return true;
}

void JointCall::note_state() {
  state_numbers_.clear();
  for (const Ref<CoherentState>& used : arrays_) state_numbers_.push_back(used->state_number());
}

bool JointCall::make_plan() {
  Coherence& coherence = Coherence::get();
  is_planned_ = false;
  std::vector<Directory> directories;
  std::vector<index_t> element_bytes;
  for (const Ref<CoherentState>& used : arrays_) {
    if (used->mode != MemoryMode::Smart && used->mode != MemoryMode::Pinned) return false;
    directories.push_back(used->directory);
    element_bytes.push_back(used->shape.element_bytes);
  }
  for (JointLaunch& launch : launches_)
    for (JointPart& part : launch)
      part.memory = coherence.memory_of(*places_[static_cast<std::size_t>(part.queue)].device);
  if (!has_all_memory()) return false;
  plan_ = plan_jointly(launches_, directories, element_bytes, coherence.memories.links());
  if (plan_.first_kernels < 0) return false;
  queues_.clear();
  for (const JointQueue& queue : plan_.queues) queues_.push_back(&queue_of(queue));
  comes_back_ = true;
  for (std::size_t a = 0; a < arrays_.size(); ++a)
    comes_back_ = comes_back_ && plan_.after[a].same_as(plan_.before[a]);
  note_state();
  is_planned_ = true;
  return true;
}

QueueState& JointCall::queue_of(const JointQueue& queue) const {
  if (queue.kind == JointQueue::Kind::Kernels) return *places_[static_cast<std::size_t>(queue.number)].queue;
  DeviceMemory& memory = Coherence::get().memories[queue.number];
  return queue.kind == JointQueue::Kind::Upload     ? *memory.upload
         : queue.kind == JointQueue::Kind::Download ? *memory.download
                                                    : *memory.peer;
}

// ---- a run

void JointCall::enqueue_all(const Launch& launch) {
  begin();
  try {
    for (std::size_t k = 0; k < plan_.operations.size(); ++k) enqueue(k, launch);
    note(end());
  } catch (...) {
    give_up();
    throw;
  }
}

// All of its queues wait for the work that it comes after.
void JointCall::begin() {
  after_.clear();
  needs_.clear();
  events_.assign(plan_.operations.size(), {});
  all_events_.clear();
  ends_.assign(queues_.size(), {});
  WorkList before;
  for (const JointPlan::Touched& touched : plan_.touched) {
    const WorkOrder& order = array(touched.array).order(touched.memory);
    for (const Box& box : touched.written) order.before_write(box, before);
    for (const Box& box : touched.read) order.before_read(box, needs_);
  }
  for (const Work work : needs_) before.add(work);
  for (QueueState* const queue : queues_) {
    WorkList open = before;
    Coherence::get().tracker.wait_for(*queue, open);
    for (const Work work : open) after_.add(work);
  }
}

void JointCall::enqueue(std::size_t number, const Launch& launch) {
  const JointOperation& operation = plan_.operations[number];
  QueueState& queue = queue_of(operation.queue);
  for (const int before : operation.after) queue.wait_for(events_[static_cast<std::size_t>(before)]);
  if (operation.kind == JointOperation::Kind::Copy)
    Coherence::get().enqueue_copy(queue, array(operation.array), operation.box, operation.from, operation.to);
  else launch(operation.launch, operation.part, operation.kind);
  Ref<EventState>& end = ends_[static_cast<std::size_t>(operation.queue)];
  end = {};
  if (!operation.is_awaited) return;
  end = events_[number] = queue.record();
  all_events_.push_back(end);
}

// The queue of the first kernel waits for the others. An event after the last operation of a queue would be
// one of no work, of which nobody could say whether it began.
Work JointCall::end() {
  WorkTracker& tracker = Coherence::get().tracker;
  QueueState& first = queue_of(plan_.first_kernels);
  WorkList after = after_;
  NeededWorks needs = needs_;
  const auto end_of = [&](std::size_t number) {
    Ref<EventState>& end = ends_[number];
    if (!end) all_events_.push_back(end = queues_[number]->record());
    return end;
  };
  static_cast<void>(end_of(static_cast<std::size_t>(plan_.first_kernels)));
  for (std::size_t k = 0; k < queues_.size(); ++k) {
    QueueState* const queue = queues_[k];
    if (queue == &first) continue;
    const Ref<EventState> event = end_of(k);
    const Work part = tracker.add(*queue, event, after_, needs_);
    after.add(part);
    needs.add(part);
    first.wait_for(event);
  }
  return tracker.add(first, first.record(), after, needs, std::move(all_events_));
}

// All that it reads and writes, it reads and writes by `work`.
void JointCall::note(Work work) {
  Coherence& coherence = Coherence::get();
  for (const JointPlan::Touched& touched : plan_.touched) {
    WorkOrder& order = array(touched.array).order(touched.memory);
    for (const Box& box : touched.read) order.read(box, work);
    for (const Box& box : touched.written) order.written(box, work);
    if (touched.memory != host_memory)
      coherence.memories[touched.memory].residency.used(array(touched.array).number);
  }
  for (const JointPlan::Change& change : plan_.changes) {
    CoherentState& changed = array(change.array);
    if (change.is_copy) changed.log_copy(change.memory, change.box, work);
    else changed.log_kernel(change.memory, change.box, work);
    if (comes_back_) continue;
    if (change.is_copy) changed.directory.copied(change.memory, change.box);
    else changed.directory.written(change.memory, change.box);
  }
  if (!comes_back_) state_numbers_.clear();
  for (const Ref<CoherentState>& used : arrays_) used->settle_some(coherence.tracker);
}

// What was enqueued comes before all that is enqueued later, and what it was to write is nowhere.
void JointCall::give_up() {
  Coherence& coherence = Coherence::get();
  try {
    const Work work = end();
    for (const JointPlan::Touched& touched : plan_.touched) {
      WorkOrder& order = array(touched.array).order(touched.memory);
      for (const auto* const region : {&touched.read, &touched.written})
        for (const Box& box : *region) order.written(box, work);
    }
  } catch (...) {
    coherence.tracker.set_failed();
  }
  coherence.tracker.forget_idle();  // as the end of a launch does that failed
  std::vector<std::string> lost(arrays_.size());
  for (const JointPlan::Change& change : plan_.changes) {
    CoherentState& changed = array(change.array);
    std::string& text = lost[static_cast<std::size_t>(change.array)];
    for (const Box& box : changed.directory.only_in(change.memory, change.box))
      text += (text.empty() ? "" : ", ") + to_string(box);
    changed.directory.dropped(change.memory, change.box);
    changed.log_drop(change.memory, change.box);
  }
  state_numbers_.clear();
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    arrays_[a]->settle(coherence.tracker);
    // What came before has failed, too: whoever recovers finds out what there is.
    if (coherence.tracker.failed() && !arrays_[a]->is_settled()) continue;
    if (!lost[a].empty())
      arrays_[a]->add_failure(std::make_exception_ptr(DataLost(
          "a run of the sequence \"" + label_ + "\" failed while it may have written " + lost[a] + " of \"" +
          arrays_[a]->label + "\", whose values were nowhere else. Write them anew before they are read")));
  }
}

}  // namespace strata::inline STRATA_ABI::detail
