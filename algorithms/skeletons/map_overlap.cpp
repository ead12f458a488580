// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/algorithms/skeletons/map_overlap.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

void fail_overlap(const char* label, int dimension, index_t reach, index_t extent) {
  throw ShapeMismatch("map_overlap: an overlap of " + std::to_string(reach) +
                      " elements was asked for in dimension " + std::to_string(dimension) + " of \"" + label +
                      "\", whose extent is " + std::to_string(extent) +
                      "; give one that is not negative and, with edge::cyclic, at most the extent");
}

}  // namespace strata::inline STRATA_ABI::detail
