// Elements that a launch declares out and does not write, in checked builds: before the kernel its part of
// the array is filled with a pattern (mark_unwritten), after it elements that still have the pattern are
// reported (algorithms/find_unwritten.hpp).
//
// The pattern is eight bytes that repeat from the beginning of an element: NaN as float and as double, with
// bits that no arithmetic makes, and a large negative number as an integer. An element was not written where
// all of its bytes are those: an integer of four bytes that is -3943705 is taken for such a one. Of elements
// of one and two bytes any value may be one of a kernel: they are filled with bytes of ones, and not
// reported. An element of which a kernel writes a part counts as written.
#pragma once

#include <strata/core/box.hpp>
#include <strata/core/layout_descriptor.hpp>
#include <strata/devices/backend.hpp>

namespace strata::inline STRATA_ABI::detail {

class CoherentState;

/// Byte `k` of an element that nobody wrote.
STRATA_FUNCTION constexpr unsigned char unwritten_byte(int k) {
  constexpr std::uint64_t pattern = 0xfffda6c9ffc3d2e7;  // the least byte first
  return static_cast<unsigned char>(pattern >> (8 * (k % 8)));
}
/// Elements of at least so many bytes are reported.
inline constexpr int least_unwritten_bytes = 4;

/// A box of an array in a memory. A value, for kernels.
struct UnwrittenBox {
  static constexpr int longest_label = 64;  // with the final null
  char* base;                               // where the array's first element is, or would be
  LayoutDescriptor layout;                  // of the box; never one without strides
  index_t lower[max_rank];                  // where it begins
  int element_bytes;
  char label[longest_label];  // the array's, or its beginning
};

/// `box` of the array, whose first element is, or would be, at `base`.
UnwrittenBox unwritten_box(const CoherentState& array, const Box& box, char* base);
/// Enqueues the fill of the box, which lies in memory of `device`.
void mark_unwritten(const UnwrittenBox& box, DeviceInstance& device, SpaceId space, QueueState& queue);

}  // namespace strata::inline STRATA_ABI::detail
