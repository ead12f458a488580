// The labelled allocations of `Emulated`, in a form that a signal handler can read: to find the array of a
// faulting address.
//
// Writers take a lock among themselves and may be any thread. A reader takes none: entries lie in chunks that
// are never freed or moved, and an entry is seen whole or not at all, unless it is reused during the very
// look.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The shape of an allocation, for messages. With rank 0 or 1, or where the strides do not
/// lead back to an index (tiles), elements are counted from the start of the allocation.
struct AllocationShape {
  std::size_t element_bytes = 0;  // 0: the message gives bytes only
  int rank = 0;
  index_t extents[max_rank] = {};
  index_t strides[max_rank] = {};  // in elements, all positive
};

/// Names the `bytes` at `address`, which a view holds. Copies `label`, cut to 63 characters. Up to 262144
/// allocations at a time are listed; faults in further ones are explained without a label.
void register_allocation(const void* address, std::size_t bytes, const char* label,
                         const AllocationShape& shape = {});
/// Marks the allocation at `address` as freed; the last 256 are remembered, to explain a use after free. Does
/// nothing if it is not listed.
void unregister_allocation(const void* address);
/// Forgets all allocations, freed ones too, in the `bytes` at `base`, where memory ends.
void forget_allocations(std::uintptr_t base, std::size_t bytes);

struct ListedAllocation {
  enum class State : std::uint8_t { Unused, Live, Freed };

  std::atomic<State> state{State::Unused};
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  std::uint64_t serial = 0;  // of the registration
  char label[64] = {};
  AllocationShape shape;
};

/// The live allocation that holds `address`; otherwise the last freed one that did; otherwise null. Safe in a
/// signal handler; looks at every entry.
const ListedAllocation* find_allocation(std::uintptr_t address, bool& live);

}  // namespace strata::inline STRATA_ABI::detail
