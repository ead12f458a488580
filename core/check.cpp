// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <strata/core/allocation_report.hpp>
#include <strata/core/check.hpp>
#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// The label of the live allocation that holds `data`, how far into it that is, and its bytes: kernels see
// views without a record, so it is looked up. In reserved memory, where arrays grow both ways, every view
// begins anywhere: 0 and 0.
struct Owner {
  std::string name = "an unmanaged array";
  std::ptrdiff_t offset = 0;
  std::size_t bytes = 0;
};
Owner owner_of(const void* data) {
  struct Search {
    const char* data;
    Owner owner;
  } search{static_cast<const char*>(data), {}};
  visit_allocations(
      [](void* context, const AllocationInfo& info) {
        auto& s = *static_cast<Search*>(context);
        const char* begin = static_cast<const char*>(info.data);
        if (s.data < begin || s.data >= begin + (info.span ? info.span : 1)) return;
        s.owner.name = "\"" + std::string(info.label) + "\" on " + describe_space(info.space);
        if (info.span != info.bytes) return;
        s.owner.offset = s.data - begin;
        s.owner.bytes = info.bytes;
      },
      &search);
  return search.owner;
}

// Whether the view has other rows than those that its work item may touch.
bool is_part(const BadAccess& r) {
  return r.rank > 0 && (r.resident_begin != r.begin[0] || r.resident_end != r.end[0]);
}

// A view of a part of an array, a subview or an unmanaged view, has other indices than that.
std::string array_name(const BadAccess& r) {
  const Owner owner = owner_of(r.data);
  if (is_part(r) || r.columns > 0) return owner.name;
  if (owner.offset == 0 && r.bytes < owner.bytes && r.bytes > 0)
    return "a view of the first " + std::to_string(r.bytes) + " bytes of " + owner.name;
  if (owner.offset == 0) return owner.name;
  return "a view that begins " + std::to_string(owner.offset) + " bytes into " + owner.name;
}

// An index of the array, but beyond the columns that a box of a grid declared.
std::string columns_message(const BadAccess& r) {
  int d = 1;
  while (d < r.columns && r.index[d] >= r.columns_begin[d - 1] && r.index[d] < r.columns_end[d - 1]) ++d;
  const std::string dimension = "dimension " + std::to_string(d);
  const std::string text = " lies in the array, but outside of [" + std::to_string(r.columns_begin[d - 1]) +
                           ", " + std::to_string(r.columns_end[d - 1]) + ") in " + dimension +
                           ", which the launch declares for the box that this device has in the grid; ";
  if (r.is_read)
    return text + "declare what work items read there: a halo of as many neighbours in " + dimension +
           ", such as halo({1, 1}, {1, 1}), or a larger region";
  return text +
         "of an array that it writes a work item uses the elements of its own indices only: launch over "
         "the elements that are written, read neighbours from a second array, or give the grid one part "
         "along index " +
         std::to_string(d);
}

// An index of the array, but beyond the rows that a launch declared, or that a part has.
std::string rows_message(const BadAccess& r) {
  const index_t before = std::max<index_t>(r.resident_begin - r.index[0], 0);
  const index_t after = std::max<index_t>(r.index[0] - r.resident_end + 1, 0);
  return " lies in the array, but outside of rows [" + std::to_string(r.resident_begin) + ", " +
         std::to_string(r.resident_end) +
         "), which were declared of the work item or are resident here; where work items read their "
         "neighbours, declare halo(" +
         std::to_string(before) + ", " + std::to_string(after) + "), or a larger region";
}

std::string message(const BadAccess& r) {
  if (r.is_over)
    return "a copy of a view of " + owner_of(r.data).name +
           " is used after the end() of the host view that it is of, or of the function of a task that got "
           "it: "
           "others may use the array by now. Make another view, or end that one later";
  std::string text = r.data == nullptr ? "a null view was given index (" : "index (";
  for (int i = 0; i < r.count; ++i) text += (i ? ", " : "") + std::to_string(r.index[i]);
  if (r.data == nullptr) return text + "); create its array first";
  text += ") of " + array_name(r);
  bool inside = true;
  for (int i = 0; i < r.count && i < r.rank; ++i)
    inside = inside && r.index[i] >= r.begin[i] && r.index[i] < r.end[i];
  if (r.rank > 0 && (r.count > r.rank || (r.count > 0 && r.count < r.rank && inside)))
    return text + ": it has rank " + std::to_string(r.rank);
  if (inside && r.columns > 0) return text + columns_message(r);
  if (inside && is_part(r)) return text + rows_message(r);
  text += " lies outside [";
  for (int i = 0; i < r.rank; ++i) {
    text += i ? ") x [" : "";
    text += std::to_string(r.begin[i]) + ", " + std::to_string(r.end[i]);
  }
  text += ")";
  if (is_part(r))
    text += "; what is resident here, or was declared of the work item, are rows [" +
            std::to_string(r.resident_begin) + ", " + std::to_string(r.resident_end) + ")";
  return text;
}

std::string message(const FailedAssertion& a) {
  const std::string text = a.text[0] == 0 ? "" : std::string(": ") + a.text;
  return "the assertion " + std::string(a.condition) + " failed at " + a.file + ":" + std::to_string(a.line) +
         text;
}

// An element that was to be written: of a launch, which names its array, or of a step that writes all.
std::string unwritten_message(const CheckRecord& record) {
  const BadAccess& found = record.access;
  std::string text = " (";
  for (int r = 0; r < found.rank; ++r) text += (r ? ", " : "") + std::to_string(found.index[r]);
  if (record.assertion.text[0] == 0)
    return "index" + text + ") of " + owner_of(found.data).name +
           " was not written by its work item, though the access declares writes_all(): write it in all "
           "cases, or leave the declaration out, and it keeps its value";
  return "element" + text + ") of \"" + record.assertion.text +
         "\" was declared out and nobody wrote it; declare inout where some elements keep their values, or "
         "give a region of what the work items write";
}

// The record of the kernel if nothing is logged in it yet, for the calling thread to fill; else null.
CheckRecord* claim_record() {
  int none = 0;
  const bool claimed =
      __atomic_compare_exchange_n(&current_check->state, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return claimed ? current_check : nullptr;
}

}  // namespace

void report_bad_access(const BadAccess& found) {
  if (current_check == nullptr) throw OutOfBounds(message(found));
  CheckRecord* const record = claim_record();
  if (record == nullptr) return;
  record->kind = FailedCheck::Access;
  record->access = found;
  __atomic_store_n(&record->state, 2, __ATOMIC_RELEASE);
}

void report_assertion(const char* condition, const char* text, const char* file, int line) {
  if (current_check == nullptr) {
    FailedAssertion failed;
    failed.set(condition, text, file, line);
    throw AssertionFailed(message(failed));
  }
  CheckRecord* const record = claim_record();
  if (record == nullptr) return;
  record->kind = FailedCheck::Assertion;
  record->assertion.set(condition, text, file, line);
  __atomic_store_n(&record->state, 2, __ATOMIC_RELEASE);
}

void report_unwritten(const BadAccess& found, const char* label) {
  CheckRecord* const record = claim_record();
  if (record == nullptr) return;
  record->kind = FailedCheck::Unwritten;
  record->access = found;
  record->assertion.set_text(label);
  __atomic_store_n(&record->state, 2, __ATOMIC_RELEASE);
}

void throw_failed_check(const CheckRecord& record, const char* label, const char* kernel_type,
                        const char* tag_type) {
  if (__atomic_load_n(&record.state, __ATOMIC_ACQUIRE) != 2) return;
  const std::string kernel = "kernel " + std::string(kernel_name(label, kernel_type, tag_type)) + ": ";
  if (record.kind == FailedCheck::Unwritten) throw NeverWritten(kernel + unwritten_message(record));
  if (record.kind == FailedCheck::Assertion)
    throw AssertionFailed(kernel + message(record.assertion) +
                          "; the kernel went on, so do not use what it wrote");
  throw OutOfBounds(kernel + message(record.access));
}

}  // namespace strata::inline STRATA_ABI::detail
