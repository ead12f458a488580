// A matrix whose products are known without multiplying, for factors by Strata and by libraries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/core/config.hpp>

namespace perf {

/// Numbers in [-1, 1) in no order.
STRATA_FUNCTION constexpr double scattered(strata::index_t i) {
  std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return static_cast<double>(x >> 40) / (1 << 23) - 1;
}
inline double vector_entry(strata::index_t i) { return scattered(i + (strata::index_t{1} << 40)); }

/// s s^T + shift I: its products are known, it is positive definite, and full.
struct KnownMatrix {
  static constexpr double shift = 2;
  STRATA_FUNCTION constexpr double operator()(strata::index_t i, strata::index_t j) const {
    return scattered(i) * scattered(j) + (i == j ? shift : 0);
  }
};

}  // namespace perf
