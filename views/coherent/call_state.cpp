// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/device_name.hpp>
#include <strata/devices/recording.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/call_state.hpp>
#include <strata/views/coherent/file_storage.hpp>
#include <strata/views/coherent/task_function.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

bool overlap(const ArrayPart& a, const ArrayPart& b, Box& where) {
  bool found = false;
  a.visit([&](const Box& x) {
    b.visit([&](const Box& y) {
      if (found) return;
      where = intersect(x, y);
      found = !where.empty();
    });
  });
  return found;
}

// The state of the calling thread's last call, which its next one uses.
// Plain data, which may be used to the very end of a thread.
constinit thread_local CallState* unused_call_state = nullptr;
constinit thread_local bool keeps_no_state = false;  // the thread ends
struct UnusedCallStateEnd {
  ~UnusedCallStateEnd() {
    keeps_no_state = true;
    delete std::exchange(unused_call_state, nullptr);
  }
};

}  // namespace

CallState& CallState::begin_call(const char* label, const char* kernel_type, const char* tag_type) {
  static thread_local const UnusedCallStateEnd end;
  static_cast<void>(&end);
  CallState* state = std::exchange(unused_call_state, nullptr);
  if (state == nullptr) state = new CallState;
  state->label_ = label;
  state->kernel_type_ = kernel_type;
  state->tag_type_ = tag_type;
  return *state;
}

void CallState::end_call() {
  release();
  if (lock_.owns_lock()) lock_.unlock();
  if (keeps_no_state || unused_call_state != nullptr) {
    delete this;
    return;
  }
  parts_.clear();
  uses_.clear();
  hash_ = recoveries_ = ticket_ = 0;
  kept_ = nullptr;
  copies_explicit_ = is_one_of_several_ = shares_rows_ = out_of_turn_ = false;
  unused_call_state = this;
}

void CallState::add_part(DeviceInstance& device, QueueState& queue, bool waits) {
  const bool is_host = device.host_accessible();
  if (is_host && device.space().shared)
    throw WrongDevice(
        std::string("launch of ") + name() + " over coherent arrays on " + device.device_name() +
        ": its kernels run on a GPU; launch on Cuda, and create the arrays in MemoryMode::Pinned or "
        "MemoryMode::Managed");
  Part& part = parts_.emplace_back();
  part.device = &device;
  part.queue = &queue;
  part.is_host = is_host;
  part.unlocked = is_host || waits;
  part.first_use = static_cast<int>(uses_.size());
  hash(&device, part.unlocked);
}

void CallState::add_use(CoherentState& array, AccessMode mode, ArrayPart&& region, bool by_items) {
  check_file_use(array, writes(mode));
  if (writes(mode)) mark_file_incomplete(array);
  Use& use = uses_.emplace_back();
  use.array = &array;
  use.mode = mode;
  use.region = std::move(region);
  use.by_items = by_items;
  ++parts_.back().uses;
  hash(&array, static_cast<index_t>(mode));
  if (const Box& box = use.region.first; box.rank() > 0) hash(nullptr, box.lower(0) ^ (box.upper(0) << 20));
}

// It is no launch that is repeated as one whose parts are apart.
void CallState::shares_rows() {
  shares_rows_ = true;
  hash(nullptr, 1);
}

void CallState::begins_at(const std::vector<ArrayPart>& regions) {
  std::size_t k = 0;
  for_uses(parts_.back(), [&](Use& use) { use.home = regions[k++]; });
}

const char* CallState::name() const { return kernel_name(label_, kernel_type_, tag_type_); }

// ---- before

void CallState::require_may_launch() const {
  require_running("a launch");
  require_no_task_function("a launch over coherent arrays");
  if (current_recording != nullptr)
    throw Error(
        std::string("the launch of ") + name() +
        " over coherent arrays cannot be recorded: what it copies depends on where values are; record "
        "launches over plain views");
}

void CallState::check() {
  require_may_launch();
  const std::lock_guard lock(Coherence::get().mutex);
  check_conflicts();
  find_memories();
  for (const Part& part : parts_)
    for_uses(part, [&](const Use& use) {
      check_written(part, use);
      check_current(part, use);
    });
}

void CallState::prepare() {
  require_may_launch();
  lock_.lock();
  Coherence& coherence = Coherence::get();
  coherence.drop_leftovers();
  if (!use_kept()) {
    check_conflicts();
    find_memories();
    find_room();
    for (Part& part : parts_) for_uses(part, [&](Use& use) { check_written(part, use); });
    plan_reads();
    recoveries_ = coherence.recoveries;
    claim();
  }
  for (Part& part : parts_)
    if (part.unlocked) mark_host_uses(part);
  if (keeps_pins()) announce_pins();
}

// Other threads see what the call keeps pinned while it does not hold the lock.
void CallState::announce_pins() {
  MemorySet memories;
  for (const Part& part : parts_)
    for_uses(part, [&](const Use& use) {
      if (use.pinned) memories = memories.with(use.memory);
      memories = memories | use.holders;
    });
  if (!memories.empty())
    Coherence::get().pinning_calls.push_back({this, std::this_thread::get_id(), memories});
}

// Where each part has its arrays.
void CallState::find_memories() {
  for (Part& part : parts_) {
    if (part.is_host) continue;
    part.memory = Coherence::get().memory_of(*part.device);
    for_uses(part, [&](Use& use) {
      const CoherentState& array = *use.array;
      use.memory = array.is_shared() ? host_memory : part.memory;
      if (array.is_shared() && part.device->address_in_kernels(array.main.base, array.main.space) == nullptr)
        throw WrongDevice(std::string("launch of ") + name() + " on " + part.device->device_name() + ": \"" +
                          array.label + "\" is in the memory mode " + to_string(array.mode) +
                          ", in memory that kernels there do not reach; create it with main_in(" +
                          part.device->device_name() + "{...}), or as smart");
    });
  }
}

void CallState::check_conflicts() const {
  for (std::size_t p = 0; p < parts_.size(); ++p)
    for (int k = 0; k < parts_[p].uses; ++k) {
      const Use& x = uses_[static_cast<std::size_t>(parts_[p].first_use + k)];
      for (std::size_t q = p; q < (shares_rows_ ? p + 1 : parts_.size()); ++q)
        for (int l = q == p ? k + 1 : 0; l < parts_[q].uses; ++l) {
          const Use& y = uses_[static_cast<std::size_t>(parts_[q].first_use + l)];
          if (x.array != y.array || (!writes(x.mode) && !writes(y.mode))) continue;
          if (Box where; overlap(x.region, y.region, where)) fail_conflict(parts_[p], x, parts_[q], y);
        }
    }
}

void CallState::fail_conflict(const Part& a, const Use& x, const Part& b, const Use& y) const {
  const auto verb = [](AccessMode mode) {
    return mode == AccessMode::In ? " reads " : mode == AccessMode::Out ? " writes " : " reads and writes ";
  };
  const std::string array = "\"" + x.array->label + "\"";
  std::string text = std::string("launch of ") + name() + ": ";
  if (&a == &b)
    throw AccessConflict(text + array + " is declared twice: one use" + verb(x.mode) +
                         to_string(x.region.first) + ", the other" + verb(y.mode) +
                         to_string(y.region.first) +
                         "; declare it once, as inout, or give the kernel a second array");
  throw AccessConflict(
      text + name_of(*a.device) + verb(x.mode) + to_string(x.region.first) + " of " + array + " and " +
      name_of(*b.device) + verb(y.mode) + to_string(y.region.first) +
      " of it; devices may not write what another one uses: declare smaller regions, or write "
      "to a second array");
}

void CallState::check_written([[maybe_unused]] const Part& part, [[maybe_unused]] const Use& use) const {
  if constexpr (checked_build) {
    if (!reads(use.mode)) return;
    use.region.visit([&](const Box& box) {
      const std::vector<Box> missing = use.array->directory.never_written(box);
      if (!missing.empty())
        throw NeverWritten(std::string("launch of ") + name() + " on " + part.device->device_name() + ": \"" +
                           use.array->label + "\" is read at " + to_string(missing.front()) +
                           ", which nobody has written; write it first, or declare it out");
    });
  }
}

// Nothing is copied to an explicit array's launch.
void CallState::check_current(const Part& part, const Use& use) const {
  if (!use.array->is_explicit() || copies_explicit_ || !reads(use.mode)) return;
  use.region.visit([&](const Box& box) {
    const std::vector<Box> missing = use.array->directory.missing(use.memory, box);
    if (missing.empty()) return;
    const std::string place = Coherence::get().memories.name(use.memory);
    throw NotCurrent(
        std::string("launch of ") + name() + ": \"" + use.array->label + "\" is read at " +
        to_string(missing.front()) + " on " + part.device->device_name() + ", but " + place +
        " does not have its current values, and its memory mode is " + to_string(use.array->mode) +
        (use.memory == host_memory ? "; call flush() before" : "; call prefetch(box, device) before"));
  });
}

void CallState::plan_reads() {
  Coherence& coherence = Coherence::get();
  CopyPlanner& plan = coherence.new_plan();
  read_.clear();
  for (const Part& part : parts_)
    for_uses(part, [&](const Use& use) {
      check_current(part, use);
      const bool whole = copies_whole(use) && !part.is_host;
      if (!whole && !reads(use.mode)) return;
      const CoherentState& array = *use.array;
      const auto known = std::find(read_.begin(), read_.end(), use.array);
      const int number = static_cast<int>(known - read_.begin());
      if (known == read_.end()) read_.push_back(use.array);
      const auto read = [&](const Box& box) {
        plan.read(number, array.directory, array.shape.element_bytes, use.memory, box);
      };
      if (whole) read(array.shape.domain);
      else use.region.visit(read);
    });
  if (plan.copies().empty()) return;
  lines_.clear();
  for (const Part& part : parts_)
    if (!part.is_host && &part.queue->instance() == part.device &&
        coherence.tracker.has_only_copies(*part.queue))
      lines_.push_back({part.memory, part.queue, !copies_explicit_});
  coherence.enqueue(plan.copies(), read_, {.before = lines_});
}

void CallState::claim() {
  for (Part& part : parts_)
    for_uses(part, [&](Use& use) {
      if (!writes(use.mode)) return;
      use.claimed = true;
      Directory& directory = use.array->directory;
      // What others have is needed where the kernel fails: its memory may not be given up meanwhile.
      MemorySet holders;
      use.region.visit([&](const Box& box) {
        if (part.unlocked)
          directory.map().visit(box, [&](const Box&, MemorySet memories) { holders = holders | memories; });
        directory.written(use.memory, box);
      });
      use.holders = holders.without(host_memory);
      use.holders.visit([&](MemoryId m) { Coherence::get().memories[m].residency.pin(use.array->number); });
    });
}

void CallState::mark_host_uses(Part& part) {
  static std::uint64_t numbers = 0;  // under the lock
  part.host_use = ++numbers;
  for_uses(part, [&](Use& use) {
    if (!use.region.empty())
      use.array->host_uses.push_back({use.region, writes(use.mode), std::this_thread::get_id(),
                                      part.is_host ? "a kernel on a host" : "a launch with a result",
                                      part.host_use, use.memory, false, true});
  });
}

void CallState::end_host_uses(Part& part) {
  for_uses(part, [&](Use& use) {
    std::erase_if(use.array->host_uses, [&](const HostUse& mark) { return mark.number == part.host_use; });
  });
  part.host_use = 0;
  Coherence::get().wake_waiting();
}

}  // namespace strata::inline STRATA_ABI::detail
