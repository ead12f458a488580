// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include <strata/core/error.hpp>
#include <strata/views/coherent/call_state.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Copies of `boxes` from one memory to another, on queues of their own: whoever asks for them has plans for
// those of kernels.
void copy_boxes(CoherentState& array, const std::vector<Box>& boxes, MemoryId from, MemoryId to) {
  std::vector<PlannedCopy> copies;
  for (const Box& box : boxes) copies.push_back({0, box, from, to, {}});
  CoherentState* const only = &array;
  Coherence::get().enqueue(copies, {&only, 1}, {.before = {}, .after_kernels = false});
}

}  // namespace

WholeCopies::~WholeCopies() {
  const std::lock_guard lock(Coherence::get().mutex);
  for (std::size_t memory = 0; memory < pinned_.size(); ++memory)
    for (const auto& [state, array] : pinned_[memory])
      Coherence::get().memories[static_cast<MemoryId>(memory)].residency.unpin(array->number);
  std::erase_if(Coherence::get().pinning_calls, [&](const auto& pinning) { return pinning.call == this; });
  Coherence::get().wake_waiting();
}

// Launches of others that lack room know for whom they wait.
void WholeCopies::announce(MemoryId memory) {
  std::vector<Coherence::PinningCall>& calls = Coherence::get().pinning_calls;
  const auto mine =
      std::find_if(calls.begin(), calls.end(), [&](const auto& pinning) { return pinning.call == this; });
  if (mine == calls.end()) calls.push_back({this, std::this_thread::get_id(), MemorySet{memory}});
  else mine->memories = mine->memories.with(memory);
}

index_t WholeCopies::bytes(const CoherentState& array) {
  const ArrayShape& shape = array.shape;
  const ArrayShape::Bytes bytes = shape.bytes_of_rows(shape.rows_of(shape.domain));
  return std::max(shape.bytes(), bytes.end - bytes.begin);
}

CopyCost WholeCopies::link(DeviceInstance* from, DeviceInstance* to) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  const MemoryId source = from == nullptr ? host_memory : coherence.memory_of(*from),
                 target = to == nullptr ? host_memory : coherence.memory_of(*to);
  const MemoryLinks& links = coherence.memories.links();
  if (!links.joins(source, target)) return {};
  const double latency = links.seconds(source, target, 0);
  return {latency, 1e6 / (links.seconds(source, target, 1e6) - latency)};
}

WholeCopies::Presence WholeCopies::presence(CoherentState& array, DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  const MemoryId memory = coherence.memory_of(device);
  const Instance& instance = array.instance(memory);
  if (!instance.has_memory()) return Presence::None;
  const Box& domain = array.shape.domain;
  const ResidentRows all = array.shape.rows_of(domain);
  const bool has_all = instance.rows().begin <= all.begin && all.end <= instance.rows().end;
  return has_all && !array.directory.lacks(memory, domain) ? Presence::Whole : Presence::Partial;
}

bool WholeCopies::host_lacks(CoherentState& array) {
  const std::lock_guard lock(Coherence::get().mutex);
  return array.directory.lacks(host_memory, array.shape.domain);
}

WholeCopies::Arrays& WholeCopies::pinned_in(MemoryId memory) {
  const std::size_t k = static_cast<std::size_t>(memory);
  if (pinned_.size() <= k) pinned_.resize(k + 1);
  return pinned_[k];
}

void WholeCopies::reserve(const Ref<CoherentState>& array, DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  const MemoryId memory = coherence.memory_of(device);
  Arrays& pinned = pinned_in(memory);
  if (pinned.count(array.get()) > 0) return;
  coherence.check_failures();
  Residency& residency = coherence.memories[memory].residency;
  residency.pin(array->number);  // it does not leave for the room that it takes itself
  try {
    if (const index_t lacking = coherence.reside(*array, memory, array->shape.rows_of(array->shape.domain));
        lacking > 0)
      coherence.fail_room(*array, memory, lacking);
    pinned.emplace(array.get(), array);
    announce(memory);
  } catch (...) {
    coherence.memories[memory].residency.unpin(array->number);
    throw;
  }
}

Ref<EventState> WholeCopies::load(const Ref<CoherentState>& array, DeviceInstance& device,
                                  DeviceInstance* source) {
  reserve(array, device);
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  const MemoryId memory = coherence.memory_of(device),
                 from = source == nullptr ? host_memory : coherence.memory_of(*source);
  std::vector<Box> boxes;
  for (const Box& missing : array->directory.missing(memory, array->shape.domain))
    array->directory.map().visit(missing, [&](const Box& box, MemorySet holders) {
      if (holders.contains(from)) boxes.push_back(box);
    });
  if (boxes.empty()) return {};
  copy_boxes(*array, boxes, from, memory);
  DeviceMemory& room = coherence.memories[memory];
  return (from == host_memory ? room.upload : room.peer)->record();
}

Ref<EventState> WholeCopies::store(CoherentState& array, DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  const MemoryId memory = coherence.memory_of(device);
  std::vector<Box> boxes;
  for (const Box& missing : array.directory.missing(host_memory, array.shape.domain))
    array.directory.map().visit(missing, [&](const Box& box, MemorySet holders) {
      if (holders.contains(memory)) boxes.push_back(box);
    });
  // Nobody waits for these copies here, nor would a kernel that waits for work.
  boxes = array.without_kernels(host_memory, std::move(boxes), false);
  if (!boxes.empty()) copy_boxes(array, boxes, memory, host_memory);
  // What the host has may be on its way only, by a copy that a launch needed.
  WorkList under_way;
  array.order(host_memory).before_read(array.shape.domain, under_way);
  QueueState& queue = *coherence.memories[memory].download;
  coherence.tracker.wait_for(queue, under_way);
  if (boxes.empty() && under_way.empty()) return {};
  return queue.record();
}

bool WholeCopies::drop(CoherentState& array, DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  const MemoryId memory = coherence.memory_of(device);
  const Box& domain = array.shape.domain;
  // Mostly nothing is under way. A copy that fails while its source is gone would lose values.
  coherence.wait_for_work(array, host_memory, domain);
  coherence.wait_for_work(array, memory, domain);
  if (pinned_in(memory).erase(&array) > 0) coherence.memories[memory].residency.unpin(array.number);
  const auto gone = array.directory.only_in(memory, domain);
  for (const Box& box : gone) array.log_discard(memory, box);
  array.give_up(memory, domain);
  array.instance(memory).drop();
  array.memory_changed();
  coherence.memories[memory].residency.dropped(array.number);
  coherence.wake_waiting();
  return !gone.empty();
}

void WholeCopies::evict(CoherentState& array, DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  coherence.check_failures();
  coherence.evict(array, coherence.memory_of(device));
}

WholeCopies::Launch WholeCopies::launched_by(const Function<void()>& f) {
  struct Scope {
    CallState::Launch launch;
    Scope() { CallState::noted_launch = &launch; }
    ~Scope() { CallState::noted_launch = nullptr; }
  } scope;
  f();
  return {scope.launch.work, scope.launch.event, scope.launch.recoveries};
}

bool WholeCopies::is_stored(CoherentState& array, DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  const MemoryId memory = coherence.memory_of(device);
  bool all = true;
  for (const Box& missing : array.directory.missing(host_memory, array.shape.domain))
    array.directory.map().visit(
        missing, [&](const Box&, MemorySet holders) { all = all && !holders.contains(memory); });
  return all;
}

bool WholeCopies::Launch::is_done() const {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  if (!event) return true;
  if (coherence.recoveries == recoveries) {
    if (coherence.tracker.ended(work)) return true;
    try {
      coherence.recover();
    } catch (...) {  // reported to the thread whose work failed; here only the state of this work counts
    }
  }
  return !coherence.tracker.any_undone(NeededWorks{work}, coherence.recoveries - recoveries);
}

void WholeCopies::note_end(QueueState& queue) {
  const std::lock_guard lock(Coherence::get().mutex);
  Coherence::get().tracker.look_at(queue);
}

std::exception_ptr WholeCopies::recover() {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  coherence.tracker.set_failed();
  try {
    coherence.recover();
  } catch (...) {
    return std::current_exception();
  }
}

std::uint64_t WholeCopies::recoveries() {
  const std::lock_guard lock(Coherence::get().mutex);
  return Coherence::get().recoveries;
}

// The error is that of a recovery, or what was lost by work that failed before.
bool WholeCopies::OtherWork::has_failed(const std::exception_ptr& error) const {
  if (calls_begun() != begun_) return false;
  if (has_recovered()) return true;
  try {
    std::rethrow_exception(error);
  } catch (const DataLost&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::uint64_t WholeCopies::losses(const CoherentState& array) {
  const std::lock_guard lock(Coherence::get().mutex);
  return array.losses;
}

void WholeCopies::add_loss(CoherentState& array) {
  const std::lock_guard lock(Coherence::get().mutex);
  ++array.losses;
}

std::vector<Box> WholeCopies::lacking(const CoherentState& array) {
  const std::lock_guard lock(Coherence::get().mutex);
  return array.directory.never_written(array.shape.domain);
}

void WholeCopies::set_reported(CoherentState& array) {
  const std::lock_guard lock(Coherence::get().mutex);
  try {
    Coherence::get().report_failure(array);
  } catch (...) {
  }
}

}  // namespace strata::inline STRATA_ABI::detail
