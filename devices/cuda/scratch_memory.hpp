// The scratch memory of a queue, or of a branch of a graph, as long as it lives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/devices/cuda/launch/launch.hpp>

namespace strata::inline STRATA_ABI::detail {

struct CudaScratchMemory {
  void* partials = nullptr;
  std::size_t bytes = 0;
  // Words that are 0 between launches: a counter, and from first_slot on the slots, on lines of their own.
  unsigned long long* zeros = nullptr;
  std::size_t num_zeros = 0;

  static constexpr std::size_t first_slot = 16;
  bool holds_slots(std::size_t slots) const { return zeros != nullptr && first_slot + slots <= num_zeros; }
  /// As many zeros as should be taken for so many slots.
  static std::size_t zeros_for(std::size_t slots) {
    return std::max(first_slot + slots + slots / 4, std::size_t{2048});
  }
  CudaScratch scratch() const { return {partials, reinterpret_cast<unsigned*>(zeros), zeros + first_slot}; }
};

}  // namespace strata::inline STRATA_ABI::detail
