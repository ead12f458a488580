#include <string>

#include <strata/core/allocation_report.hpp>
#include <strata/core/check.hpp>
#include <strata/core/error.hpp>
#include <strata/core/hooks.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// The label of the live allocation that holds `data`: kernels see views without a record, so it is looked up.
std::string array_name(const void* data) {
  struct Search {
    const char* data;
    std::string name;
  } search{static_cast<const char*>(data), {}};
  visit_allocations(
      [](void* context, const AllocationInfo& info) {
        auto& s = *static_cast<Search*>(context);
        const char* begin = static_cast<const char*>(info.data);
        if (s.data >= begin && s.data < begin + (info.bytes ? info.bytes : 1))
          s.name = "\"" + std::string(info.label) + "\" on " + describe_space(info.space);
      },
      &search);
  return search.name.empty() ? "an unmanaged array" : search.name;
}

std::string message(const CheckRecord& r) {
  std::string text = r.data == nullptr ? "a null view was given index (" : "index (";
  for (int i = 0; i < r.count; ++i) text += (i ? ", " : "") + std::to_string(r.index[i]);
  if (r.data == nullptr) return text + "); create its array first";
  text += ") of " + array_name(r.data);
  bool inside = true;
  for (int i = 0; i < r.count && i < r.rank; ++i)
    inside = inside && r.index[i] >= r.begin[i] && r.index[i] < r.end[i];
  if (r.rank > 0 && (r.count > r.rank || (r.count > 0 && r.count < r.rank && inside)))
    return text + ": it has rank " + std::to_string(r.rank);
  text += " lies outside [";
  for (int i = 0; i < r.rank; ++i) {
    text += i ? ") x [" : "";
    text += std::to_string(r.begin[i]) + ", " + std::to_string(r.end[i]);
  }
  text += ")";
  if (r.rank > 0 && (r.resident_begin != r.begin[0] || r.resident_end != r.end[0]))
    text += "; resident here are rows [" + std::to_string(r.resident_begin) + ", " +
            std::to_string(r.resident_end) + ")";
  return text;
}

}  // namespace

void report_bad_access(const CheckRecord& found) {
  CheckRecord* const record = current_check;
  if (record == nullptr) throw OutOfBounds(message(found));
  int none = 0;
  if (!__atomic_compare_exchange_n(&record->state, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return;
  record->data = found.data;
  record->count = found.count;
  record->rank = found.rank;
  for (int i = 0; i < max_rank; ++i) {
    record->index[i] = found.index[i];
    record->begin[i] = found.begin[i];
    record->end[i] = found.end[i];
  }
  record->resident_begin = found.resident_begin;
  record->resident_end = found.resident_end;
  __atomic_store_n(&record->state, 2, __ATOMIC_RELEASE);
}

void throw_bad_access(const CheckRecord& record, const char* label, const char* kernel_type) {
  if (__atomic_load_n(&record.state, __ATOMIC_ACQUIRE) != 2) return;
  throw OutOfBounds(
      "kernel " +
      std::string(kernel_name({.kind = EventKind::Mark, .label = label, .kernel_type = kernel_type})) + ": " +
      message(record));
}

}  // namespace strata::inline STRATA_ABI::detail
