// What the tests of parallel_for share: kernels that show which indices they are called with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "arrays.hpp"

namespace parallel_for_tests {

using namespace strata;
using namespace strata_tests;

// Adds i + 1000 at x(i - first + margin): wrong, missing and repeated calls all show.
inline constexpr index_t margin = 16;
inline constexpr index_t thousand = 1000;

template <class D, class Index>
struct CountCalls {
  using device_type = D;
  Vector<index_t, D> x;
  index_t first;

  STRATA_FUNCTION void operator()(Index i) const {
    x(static_cast<index_t>(i) - first + margin) += static_cast<index_t>(i) + thousand;
  }
};

template <class D>
struct CountCallsByAuto {
  using device_type = D;
  Vector<index_t, D> x;
  index_t first;

  STRATA_FUNCTION void operator()(auto i) const { x(index_t(i) - first + margin) += index_t(i) + thousand; }
};

inline void expect_called_once_each(const std::vector<index_t>& calls, index_t first, index_t last,
                                    const std::string& what) {
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const index_t i = static_cast<index_t>(k) - margin + first;
    ASSERT_EQ(calls[k], i >= first && i < last ? i + thousand : 0) << what << ", index " << i;
  }
}

}  // namespace parallel_for_tests
