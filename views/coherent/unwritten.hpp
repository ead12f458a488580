// Elements that a launch declares out and does not write, in checked builds: before the kernel its part of
// the array is filled with a pattern (mark_unwritten), after it elements that still have the pattern are
// reported (algorithms/find_unwritten.hpp).
//
// The pattern is eight bytes that repeat from the beginning of an element: NaN as float and as double, with
// bits that no arithmetic makes, and a large negative number as an integer. An element was not written where
// all of its bytes are those: an integer of four bytes that is -3943705 is taken for such a one. An element
// of which a kernel writes a part counts as written.
//
// In elements of less than four bytes a kernel may write any pattern. So views note which elements it reaches
// (ElementNote): an element was not written where it has the pattern and was not reached. If an element that
// was not reached has another value, the kernel writes through addresses, not through views: then nothing is
// reported for the array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/box.hpp>
#include <strata/core/check.hpp>
#include <strata/core/layout_descriptor.hpp>
#include <strata/devices/backend.hpp>

namespace strata::inline STRATA_ABI::detail {

class CoherentState;

/// Byte `k` of an element that was not written.
STRATA_FUNCTION constexpr unsigned char unwritten_byte(int k) {
  constexpr std::uint64_t pattern = 0xfffda6c9ffc3d2e7;  // the least byte first
  return static_cast<unsigned char>(pattern >> (8 * (k % 8)));
}

/// A box of an array in a memory. A value, for kernels.
struct UnwrittenBox {
  static constexpr int longest_label = 64;  // with the final null
  const CoherentState* array;
  char* base;               // where the array's first element is, or would be
  LayoutDescriptor layout;  // of the box; never one without strides
  index_t lower[max_rank];  // where it begins
  int element_bytes;
  char label[longest_label];  // the array's, or its beginning
};

/// `box` of the array, whose first element is, or would be, at `base`.
UnwrittenBox unwritten_box(const CoherentState& array, const Box& box, char* base);
/// Enqueues the fill of the box, which lies in memory of `device`.
void mark_unwritten(const UnwrittenBox& box, DeviceInstance& device, SpaceId space, QueueState& queue);

/// The note of an array.
struct NoteOfArray {
  const CoherentState* array;
  ElementNote note;
  mutable bool is_bound = false;  // by a kernel: otherwise reached elements are not noted
};
/// Adds notes to those that kernels which the calling thread binds carry, until the end of this.
class NotesInForce {
 public:
  explicit NotesInForce(const std::vector<NoteOfArray>& notes);
  ~NotesInForce();
  NotesInForce(const NotesInForce&) = delete;
  NotesInForce& operator=(const NotesInForce&) = delete;

 private:
  friend ElementNote note_in_force(const CoherentState& array);
  const std::vector<NoteOfArray>& notes_;
  const NotesInForce* before_;
};
/// That of the array, or one that notes nothing.
ElementNote note_in_force(const CoherentState& array);

}  // namespace strata::inline STRATA_ABI::detail
