// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Where the arrays of a kernel lie that are separate (algorithms/separate_arrays.hpp), in the order in which
/// it holds them.
struct ArrayAddresses {
  static constexpr int most = 8;
  void* at[most] = {};
};

}  // namespace strata::inline STRATA_ABI::detail
