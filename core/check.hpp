// Checks of a checked build: a kernel or the host uses an index outside its array, or an assertion fails
// (core/assert.hpp).
//
// Nothing traps. In a kernel the first failed check is logged in the launch's CheckRecord, and the kernel
// goes on (a bad access goes to a dummy element); the next wait throws it as OutOfBounds, AssertionFailed or
// NeverWritten, with the kernel's name. On the host, outside kernels, it is thrown at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// An access outside an array, or the index of an element that was not written.
struct BadAccess {
  const void* data = nullptr;
  std::size_t bytes = 0;  // from `data` to the end of the view; 0 where not all its rows are resident
  int count = 0;          // indices given
  int rank = 0;
  index_t index[max_rank] = {};
  index_t begin[max_rank] = {};
  index_t end[max_rank] = {};
  index_t resident_begin = 0;
  index_t resident_end = 0;
  bool is_over = false;  // by a copy of a host view that has ended
  bool is_read = false;  // where columns are declared: by a view for reading
  // What a device's box of a grid declared in the dimensions after the first, in `columns` of them.
  static constexpr int most_columns = 2;
  int columns = 0;
  index_t columns_begin[most_columns] = {};
  index_t columns_end[most_columns] = {};
};

/// An assertion that failed. Copies, as the literals of a kernel lie in the memory of its device.
struct FailedAssertion {
  static constexpr int most = 160;  // with the final null
  char condition[most] = {};
  char text[most] = {};
  char file[most] = {};
  int line = 0;

  STRATA_FUNCTION void set_text(const char* its_text) { keep_beginning(text, its_text); }
  STRATA_FUNCTION void set(const char* its_condition, const char* its_text, const char* its_file,
                           int its_line) {
    keep_beginning(condition, its_condition);
    set_text(its_text);
    int length = 0;
    while (its_file[length] != 0) ++length;
    keep_beginning(file, its_file + (length < most ? 0 : length - most + 1));  // its end identifies the file
    line = its_line;
  }

 private:
  STRATA_FUNCTION static void keep_beginning(char* to, const char* from) {
    int k = 0;
    for (; k < most - 1 && from[k] != 0; ++k) to[k] = from[k];
    to[k] = 0;
  }
};

/// What failed.
enum class FailedCheck : unsigned char {
  Access,     // an access outside an array
  Assertion,  // of the kernel
  Unwritten,  // an element of an array that was declared out has no value: `access` has the index,
              // `assertion.text` the array's label
};

/// The failed check of one launch. Filled by the first thread that finds one.
struct CheckRecord {
  int state = 0;  // 0 none, 1 being written, 2 complete
  FailedCheck kind = FailedCheck::Access;
  std::uint64_t launch = 0;  // the number of the launch, where a device numbers them; written first
  BadAccess access;
  FailedAssertion assertion;
};

/// The record of the kernel that the calling thread runs; null outside kernels.
inline constinit thread_local CheckRecord* current_check = nullptr;

class CheckScope {
 public:
  explicit CheckScope(CheckRecord* record) : previous_(current_check) { current_check = record; }
  ~CheckScope() { current_check = previous_; }
  CheckScope(const CheckScope&) = delete;
  CheckScope& operator=(const CheckScope&) = delete;

 private:
  CheckRecord* previous_;
};

/// A kernel may write any value to smaller elements: a mark alone does not show that they were not written.
inline constexpr int least_marked_bytes = 4;
/// Notes which small elements of an array in a piece of memory a kernel has reached by a view: a byte each.
struct ElementNote {
  const char* begin;  // as views hold addresses
  const char* end;
  int element_bytes;
  unsigned char* reached;  // null: nothing is noted

  /// Notes the element at `address`.
  template <class Space>
  STRATA_FUNCTION void reach(const char* address) const {
    if (address < begin || address >= end) return;
    unsigned char* const byte = Space::resolve(reached + (address - begin) / element_bytes);
#if defined(__CUDA_ARCH__)
    *byte = 1;  // all threads write the same value
#else
    __atomic_store_n(byte, static_cast<unsigned char>(1), __ATOMIC_RELAXED);
#endif
  }
};
/// The notes of the work item that the calling thread runs, and of the items that called it.
struct ElementNotes {
  static constexpr int most = 8;  // further arrays are not noted
  const ElementNote* of[most];
  int count;
  const ElementNotes* before;
};
inline constinit thread_local const ElementNotes* current_notes = nullptr;

/// Logs the bad access `found` in the current record; without a record throws OutOfBounds.
void report_bad_access(const BadAccess& found);
/// Logs a failed assertion in the current record; without a record throws AssertionFailed.
void report_assertion(const char* condition, const char* text, const char* file, int line);
/// Logs that element `found.index` of the array `label` was not written; in kernels only.
void report_unwritten(const BadAccess& found, const char* label);

#if defined(__CUDACC__)
// The record of the launch of the thread block.
static __shared__ CheckRecord* block_check;
static __shared__ std::uint64_t block_launch;
// The notes of its kernel, which all work items have.
static __shared__ ElementNote block_notes[ElementNotes::most];
static __shared__ int block_note_count;

/// Whether the launch `launch` may work. After a failed check later launches may not; all blocks of the
/// launch that failed do, as they wait for each other's values.
inline __device__ bool may_work(const CheckRecord* record, std::uint64_t launch) {
  const std::uint64_t failed = *static_cast<const volatile std::uint64_t*>(&record->launch);
  return failed == 0 || failed == launch;
}
/// The record of the thread block if nothing is logged in it yet, for the calling thread to fill; else null.
inline __device__ CheckRecord* claim_record_on_device() {
  CheckRecord* const record = block_check;
  if (!may_work(record, block_launch)) return nullptr;
  *static_cast<volatile std::uint64_t*>(&record->launch) = block_launch;  // the only one at work
  // At device scope, as not all hosts support system-wide atomics; the host clears the record between kernels
  // only.
  return atomicCAS(&record->state, 0, 1) == 0 ? record : nullptr;
}
inline __device__ void complete_record_on_device(CheckRecord* record) {
  __threadfence_system();
  *static_cast<volatile int*>(&record->state) = 2;
  __threadfence_system();  // before the result that the host may wait for
}

/// Logs the bad access in the record of the thread block.
inline __device__ void report_bad_access_on_device(const BadAccess& found) {
  CheckRecord* const record = claim_record_on_device();
  if (record == nullptr) return;
  record->kind = FailedCheck::Access;
  record->access = found;
  complete_record_on_device(record);
}
/// Logs a failed assertion there. Not inlined, as it is called rarely, from many places.
inline __device__ __noinline__ void report_assertion_on_device(const char* condition, const char* text,
                                                               const char* file, int line) {
  CheckRecord* const record = claim_record_on_device();
  if (record == nullptr) return;
  record->kind = FailedCheck::Assertion;
  record->assertion.set(condition, text, file, line);
  complete_record_on_device(record);
}
/// Logs an element that was not written there.
inline __device__ __noinline__ void report_unwritten_on_device(const BadAccess& found, const char* label) {
  CheckRecord* const record = claim_record_on_device();
  if (record == nullptr) return;
  record->kind = FailedCheck::Unwritten;
  record->access = found;
  record->assertion.set_text(label);
  complete_record_on_device(record);
}
#endif

/// A kernel reaches the element that views hold at `data`.
template <class Space>
STRATA_FUNCTION void note_element([[maybe_unused]] const void* data) {
  const char* const address = static_cast<const char*>(data);
#if defined(__CUDA_ARCH__)
  for (int k = 0; k < block_note_count; ++k) block_notes[k].reach<Space>(address);
#else
  for (const ElementNotes* notes = current_notes; notes != nullptr; notes = notes->before)
    for (int k = 0; k < notes->count; ++k) notes->of[k]->reach<Space>(address);
#endif
}

/// Throws OutOfBounds, AssertionFailed or NeverWritten if `record` holds a failed check; `label` and
/// `kernel_type` name the kernel.
void throw_failed_check(const CheckRecord& record, const char* label, const char* kernel_type,
                        const char* tag_type);

}  // namespace strata::inline STRATA_ABI::detail
