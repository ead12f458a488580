#include <string>

#include <strata/core/allocation_report.hpp>
#include <strata/core/check.hpp>
#include <strata/core/error.hpp>
#include <strata/core/hooks.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// The label of the live allocation that holds `data`: kernels see views without a record, so it is looked up.
// A view that begins within the array (a subview, or an unmanaged view of a part) has other indices than
// that. In reserved memory, where arrays grow both ways, every view may begin anywhere.
std::string array_name(const void* data) {
  struct Search {
    const char* data;
    std::string name;
  } search{static_cast<const char*>(data), {}};
  visit_allocations(
      [](void* context, const AllocationInfo& info) {
        auto& s = *static_cast<Search*>(context);
        const char* begin = static_cast<const char*>(info.data);
        if (s.data >= begin && s.data < begin + (info.span ? info.span : 1)) {
          const bool whole = s.data == begin || info.span != info.bytes;
          if (!whole) s.name = "a view that begins " + std::to_string(s.data - begin) + " bytes into ";
          s.name += "\"" + std::string(info.label) + "\" on " + describe_space(info.space);
        }
      },
      &search);
  return search.name.empty() ? "an unmanaged array" : search.name;
}

std::string left_out_message(const BadAccess& r) {
  std::string text = "index (";
  for (int i = 0; i < r.rank; ++i) text += (i ? ", " : "") + std::to_string(r.index[i]);
  return text + ") of " + array_name(r.data) +
         " was not written by its work item, though the access declares writes_all(): write it in all cases, "
         "or leave the declaration out, and it keeps its value";
}

std::string message(const BadAccess& r) {
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
    text += "; what is resident here, or was declared of the work item, are rows [" +
            std::to_string(r.resident_begin) + ", " + std::to_string(r.resident_end) + ")";
  return text;
}

[[noreturn]] void throw_bad_access(const std::string& kernel, const BadAccess& r) {
  if (r.count == BadAccess::left_out) throw NeverWritten(kernel + left_out_message(r));
  throw OutOfBounds(kernel + message(r));
}

std::string message(const FailedAssertion& a) {
  const std::string text = a.text[0] == 0 ? "" : std::string(": ") + a.text;
  return "the assertion " + std::string(a.condition) + " failed at " + a.file + ":" + std::to_string(a.line) +
         text;
}

// An element that was to be written.
std::string unwritten_message(const CheckRecord& record) {
  const BadAccess& found = record.access;
  std::string text = "element (";
  for (int r = 0; r < found.rank; ++r) text += (r ? ", " : "") + std::to_string(found.index[r]);
  return text + ") of \"" + record.assertion.text +
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
  if (current_check == nullptr) throw_bad_access("", found);
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
  throw_bad_access(kernel, record.access);
}

}  // namespace strata::inline STRATA_ABI::detail
