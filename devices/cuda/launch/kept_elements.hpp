// What a kernel finds in registers: one that is called twice for an item, as that of a scan, in the second
// call; that of a reduction what was loaded before the items before it wrote.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>
#include <strata/devices/array_addresses.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The elements that items of a thread have at some time before the kernel is called for them, where arrays
/// are separate. Until then nothing changes those that they read: a compiler that is told so takes these from
/// registers. Others may change, as where an item writes the next one's: they are not loaded, as nothing
/// depends on them. `Opaque`: that may happen between, where a compiler that knew the values could find that
/// what it is told is wrong.
template <int Items, bool Opaque>
class KeptOfItems {
 public:
  template <class Body>
  __device__ void keep(int number, const Body& body, index_t i) {
    of_[number] = body.template bits_at<Opaque>(i);
  }
  template <class Body>
  __device__ void assume_unchanged(int number, const Body& body, index_t i) const {
    const ElementBits now = body.template bits_at<false>(i);
#pragma unroll
    for (int line = 0; line < ArrayAddresses::most; ++line)
      __builtin_assume(now.of[line] == of_[number].of[line]);
  }

 private:
  ElementBits of_[Items];
};
struct NothingKept {};

}  // namespace strata::inline STRATA_ABI::detail
