// Random boxes, which need not begin at 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/box.hpp>

#include "core/random.hpp"

namespace strata_tests {

/// Not empty, unless `domain` has an empty dimension.
inline strata::Box random_part(Random& random, const strata::Box& domain) {
  strata::Box box = domain;
  for (int d = 0; d < domain.rank(); ++d) {
    const strata::index_t lower = random(domain.lower(d), domain.upper(d) - 1);
    box = box.with_bounds(d, lower, random(lower + 1, domain.upper(d)));
  }
  return box;
}
/// 1 to `longest` indices in each dimension.
inline strata::Box random_domain(Random& random, int rank, strata::index_t longest) {
  std::vector<strata::index_t> lower, upper;
  for (int d = 0; d < rank; ++d) {
    lower.push_back(random(-4, 4));
    upper.push_back(lower.back() + random(1, longest));
  }
  return strata::Box(lower, upper);
}

}  // namespace strata_tests
