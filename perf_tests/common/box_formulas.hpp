// What strata_boxes computes for each point, by Strata and by hand: formulas over at(i, j, k), the element so
// many steps from the point. No Strata header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/perf_function.hpp"

namespace perf {

/// Points as far from the surface of the cube as the formulas reach.
inline constexpr int box_margin = 4;

struct CopyPoint {
  static constexpr const char* name = "copy";
  template <class T, class At>
  STRATA_PERF_FUNCTION static T of(const At& at) {
    return at(0, 0, 0);
  }
};
/// The neighbours across faces, edges and corners, by their distances.
struct Points27 {
  static constexpr const char* name = "27 points";
  template <class T, class At>
  STRATA_PERF_FUNCTION static T of(const At& at) {
    T sum = 0;
    for (int i = -1; i < 2; ++i)
      for (int j = -1; j < 2; ++j)
        for (int k = -1; k < 2; ++k) sum += at(i, j, k) * (T(1) / static_cast<T>(1 + i * i + j * j + k * k));
    return sum;
  }
};
/// As norms of residuals have it.
struct SquaredResidual {
  static constexpr const char* name = "squared residuals";
  template <class T, class At>
  STRATA_PERF_FUNCTION static T of(const At& at) {
    const T residual = 6 * at(0, 0, 0) - at(-1, 0, 0) - at(1, 0, 0) - at(0, -1, 0) - at(0, 1, 0) -
                       at(0, 0, -1) - at(0, 0, 1);
    return residual * residual;
  }
};
/// Four neighbours in each direction, as a difference of eighth order takes them.
struct Points25 {
  static constexpr const char* name = "25 points";
  template <class T, class At>
  STRATA_PERF_FUNCTION static T of(const At& at) {
    T sum = at(0, 0, 0);
    for (int d = 1; d <= box_margin; ++d)
      sum += (at(d, 0, 0) + at(-d, 0, 0) + at(0, d, 0) + at(0, -d, 0) + at(0, 0, d) + at(0, 0, -d)) *
             (T(1) / static_cast<T>(d));
    return sum;
  }
};

}  // namespace perf
