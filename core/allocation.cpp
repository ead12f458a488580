// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include <strata/core/allocation.hpp>
#include <strata/core/allocation_report.hpp>
#include <strata/core/debugger.hpp>
#include <strata/core/profiling/hooks.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

namespace {

// Programs with arrays have the script that shows them in gdb.
[[gnu::used]] const char* const for_gdb = &debugger_script;

// The registry outlives every static view: it is never destroyed.
struct Registry {
  std::mutex mutex;
  Allocation* head = nullptr;
};

Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

void report(EventKind kind, const Allocation& record) {
  if (profiling::hooks_active())
    profiling::emit({.kind = kind,
                     .label = record.label,
                     .destination = record.space,
                     .destination_data = record.data,
                     .bytes = record.held});
}

Allocation* make_record(void* data, std::size_t bytes, std::size_t held, SpaceId space, const char* label,
                        ReleaseFunction release, void* owner) {
  const std::size_t length = label ? std::strlen(label) : 0;
  // The label follows the record: one allocation for both.
  char* const raw = static_cast<char*>(::operator new(sizeof(Allocation) + length + 1));
  char* const text = raw + sizeof(Allocation);
  if (length > 0) std::memcpy(text, label, length);
  text[length] = '\0';
  auto* const record =
      new (raw) Allocation{1, data, bytes, held, space, text, release, owner, nullptr, nullptr};
  // Before it is registered: listeners that start with this event count what lives, and then this.
  report(EventKind::Allocate, *record);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  record->next = all.head;
  if (all.head) all.head->previous = record;
  all.head = record;
  return record;
}

}  // namespace

Allocation* make_allocation(void* data, std::size_t bytes, SpaceId space, const char* label,
                            ReleaseFunction release, void* owner) {
  return make_record(data, bytes, bytes, space, label, release, owner);
}

Allocation* make_reservation(void* data, std::size_t bytes, SpaceId space, const char* label,
                             ReleaseFunction release, void* owner) {
  return make_record(data, bytes, 0, space, label, release, owner);
}

void set_held(Allocation& allocation, std::size_t held) {
  report(EventKind::Deallocate, allocation);
  {
    const std::lock_guard lock(registry().mutex);
    allocation.held = held;
  }
  report(EventKind::Allocate, allocation);
}

void destroy_allocation(Allocation* record) noexcept {
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    if (record->previous) record->previous->next = record->next;
    if (record->next) record->next->previous = record->previous;
    if (all.head == record) all.head = record->next;
  }
  report(EventKind::Deallocate, *record);
  record->release(*record);
  record->~Allocation();
  ::operator delete(record);
}

void note_capture(Capture& capture, const Allocation& allocation) {
  if (current_keeper != nullptr) current_keeper->keep(allocation);
  const bool right_kind = allocation.space.kind == capture.kind;
  if (allocation.space.shared && !right_kind) {
    if (capture.shared_instance < 0) capture.shared_instance = allocation.space.instance;
    return;
  }
  if (capture.first == nullptr) {
    capture.first = &allocation;
    if (right_kind) capture.instance = allocation.space.instance;
  }
  if (capture.wrong == nullptr && (!right_kind || allocation.space.instance != capture.instance))
    capture.wrong = &allocation;
}

std::string describe_space(SpaceId space) {
  std::string text = space.kind;
  if (text != "Host") text += "{" + std::to_string(space.instance) + "}";
  return text;
}

std::string largest_allocations(SpaceId space, int most) {
  struct Collector {
    SpaceId space;
    int left;
    std::string text;
  } collector{space, most, {}};
  visit_allocations(
      [](void* context, const AllocationInfo& info) {
        auto& c = *static_cast<Collector*>(context);
        if (!(info.space == c.space) || c.left == 0) return;
        --c.left;
        c.text += (c.text.empty() ? "\"" : ", \"") + std::string(info.label) + "\" " +
                  std::to_string(info.bytes) + " bytes";
      },
      &collector);
  return collector.text.empty() ? "no live allocations there" : "largest live allocations: " + collector.text;
}

}  // namespace detail

void visit_allocations(void (*visit)(void*, const AllocationInfo&), void* context) {
  detail::Registry& all = detail::registry();
  const std::lock_guard lock(all.mutex);
  std::vector<const detail::Allocation*> records;
  for (const detail::Allocation* a = all.head; a; a = a->next) records.push_back(a);
  std::stable_sort(records.begin(), records.end(), [](auto* a, auto* b) { return a->held > b->held; });
  for (const detail::Allocation* a : records)
    visit(context, {a->label, a->held, a->space, a->data, a->bytes});
}

AllocationTotals allocation_totals(const char* kind) {
  detail::Registry& all = detail::registry();
  const std::lock_guard lock(all.mutex);
  AllocationTotals totals{0, 0};
  for (const detail::Allocation* a = all.head; a; a = a->next) {
    if (kind != nullptr && a->space.kind != kind) continue;
    totals.bytes += a->held;
    ++totals.count;
  }
  return totals;
}

}  // namespace strata::inline STRATA_ABI
