// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <strata/core/profiling/counters.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/profiling/json_text.hpp>
#include <strata/core/profiling/observers.hpp>

namespace strata::inline STRATA_ABI {

namespace {

class Counting final : public Listener {
 public:
  void on_event(const HookEvent& event) override {
    const std::lock_guard lock(mutex_);
    count(event);
  }
  void reset();
  Counters now() const;

 private:
  using Kinds = std::pair<std::string_view, std::string_view>;  // static names

  void count(const HookEvent& event);
  static void add(KernelCount& kernels, const HookEvent& event) {
    ++kernels.calls;
    kernels.items += static_cast<std::uint64_t>(event.items);
  }
  void add_copy(std::string_view source, const HookEvent& event);
  MemoryCount& memory(SpaceId space) { return memories_[{space.kind, space.instance}]; }

  mutable std::mutex mutex_;  // of those who read meanwhile
  Counters totals_;           // but for copies and memories
  std::map<Kinds, CopyCount> copies_;
  std::map<std::pair<std::string_view, int>, MemoryCount> memories_;
};

void Counting::reset() {
  const std::lock_guard lock(mutex_);
  totals_ = {};
  copies_.clear();
  memories_.clear();
  visit_allocations(
      [](void* context, const AllocationInfo& info) {
        MemoryCount& held = static_cast<Counting*>(context)->memory(info.space);
        held.live_bytes += info.bytes;
        held.peak_bytes = held.live_bytes;
      },
      this);
}

void Counting::add_copy(std::string_view source, const HookEvent& event) {
  CopyCount& copies = copies_[{source, event.destination.kind}];
  ++copies.calls;
  copies.bytes += event.bytes;
}

void Counting::count(const HookEvent& event) {
  switch (event.kind) {
    case EventKind::BeginFor:
      return add(totals_.parallel_for, event);
    case EventKind::BeginReduce:
      return add(totals_.parallel_reduce, event);
    case EventKind::BeginScan:
      return add(totals_.parallel_scan, event);
    case EventKind::BeginGraph:
      return add(totals_.graph, event);
    case EventKind::BeginFence:
      ++totals_.fences;
      return;
    case EventKind::BeginCopy:
      return add_copy(event.source_data ? event.source.kind : "", event);
    case EventKind::BeginInitialize:
      return add_copy("", event);
    case EventKind::Allocate: {
      MemoryCount& held = memory(event.destination);
      ++held.allocations;
      held.allocated_bytes += event.bytes;
      held.live_bytes += event.bytes;
      held.peak_bytes = std::max(held.peak_bytes, held.live_bytes);
      return;
    }
    case EventKind::Deallocate: {
      MemoryCount& held = memory(event.destination);
      ++held.frees;
      held.freed_bytes += event.bytes;
      held.live_bytes -= std::min<std::uint64_t>(held.live_bytes, event.bytes);
      return;
    }
    default:
      return;
  }
}

Counters Counting::now() const {
  const std::lock_guard lock(mutex_);
  Counters result = totals_;
  for (auto [kinds, copies] : copies_) {
    copies.source = kinds.first;
    copies.destination = kinds.second;
    result.copies.push_back(copies);
  }
  for (auto [space, held] : memories_) {
    held.kind = space.first;
    held.instance = space.second;
    result.memories.push_back(held);
  }
  return result;
}

struct Control {
  std::mutex mutex;
  Counting counting;
  bool active = false;
};
// Never destroyed: arrays may be freed to the very end of the process.
Control& control() {
  static auto* const instance = new Control;
  return *instance;
}

std::string field(const char* name, std::uint64_t value) {
  return detail::profiling::json_quoted(name) + ": " + std::to_string(value);
}
std::string field(const char* name, const std::string& value) {
  return detail::profiling::json_quoted(name) + ": " + detail::profiling::json_quoted(value);
}
std::string field(const char* name, const KernelCount& value) {
  return detail::profiling::json_quoted(name) + ": {" + field("calls", value.calls) + ", " +
         field("items", value.items) + "}";
}
std::string text_of(const CopyCount& c) {
  return "{" + field("source", c.source) + ", " + field("destination", c.destination) + ", " +
         field("calls", c.calls) + ", " + field("bytes", c.bytes) + "}";
}
std::string text_of(const MemoryCount& m) {
  return "{" + field("kind", m.kind) + ", " + field("instance", static_cast<std::uint64_t>(m.instance)) +
         ", " + field("allocations", m.allocations) + ", " + field("allocated_bytes", m.allocated_bytes) +
         ", " + field("frees", m.frees) + ", " + field("freed_bytes", m.freed_bytes) + ", " +
         field("live_bytes", m.live_bytes) + ", " + field("peak_bytes", m.peak_bytes) + "}";
}
template <class T>
std::string list(const char* name, const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "\n    " : ",\n    ") + text_of(value);
  return detail::profiling::json_quoted(name) + ": [" + text + "]";
}

}  // namespace

void start_counting() {
  detail::profiling::start_observers();
  Control& all = control();
  const std::lock_guard lock(all.mutex);
  if (std::exchange(all.active, true)) return;
  all.counting.reset();
  add_listener(all.counting);
}

void stop_counting() {
  Control& all = control();
  const std::lock_guard lock(all.mutex);
  if (std::exchange(all.active, false)) remove_listener(all.counting);
}

Counters counters() { return control().counting.now(); }

std::string counters_json() {
  const Counters c = counters();
  return "{\n  " + field("parallel_for", c.parallel_for) + ",\n  " +
         field("parallel_reduce", c.parallel_reduce) + ",\n  " + field("parallel_scan", c.parallel_scan) +
         ",\n  " + field("graph", c.graph) + ",\n  " + field("fences", c.fences) + ",\n  " +
         list("copies", c.copies) + ",\n  " + list("memories", c.memories) + "\n}\n";
}

}  // namespace strata::inline STRATA_ABI
