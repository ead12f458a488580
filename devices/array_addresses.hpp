// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Where the arrays of a kernel lie that are separate (algorithms/separate_arrays.hpp), in the order in which
/// it holds them.
struct ArrayAddresses {
  static constexpr int most = 8;
  void* at[most] = {};
};

/// What the elements of an item have, as bits, in the same order; 0 for arrays of which that is not asked.
struct ElementBits {
  std::uint64_t of[ArrayAddresses::most] = {};
};

}  // namespace strata::inline STRATA_ABI::detail
