// map_array: map with operands that a function reads anywhere within their declared regions.
//
//   struct RowTimesVector {
//     template <class A, class V>
//     STRATA_FUNCTION double operator()(index_t i, const A& a, const V& v) const {
//       double sum = 0;
//       for (index_t j = 0; j < v.extent(0); ++j) sum += a(i, j) * v(j);
//       return sum;
//     }
//   };
//   map_array(where, RowTimesVector{}, y, in(a), in(v, everything));   // y = A v
//   map_array(where, Force{}, inout(bodies), in(positions, everything));  // elements beside arrays
//
// in(a) is row i of a (the left-most index), in(a, columns) column i, in(v, everything) everything, in(x,
// halo(l, r)) and in(x, rows(f)) the rows so declared: a device gets that part of the array and no more.
// Views are indexed by the array's own indices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/skeletons/operands.hpp>

namespace strata::inline STRATA_ABI {
namespace skeletons {

/// As map; the function gets a view of an operand in(array, region) in place of an element. Such arrays have
/// any rank and shape, and may not be outputs.
template <Place Where, class F, class Y, class... X>
void map_array(const Where& where, const F& f, const Y& y, const X&... x) {
  detail::map_all(detail::label_of(where, "map_array"), where, f, y, x...);
}

}  // namespace skeletons
}  // namespace strata::inline STRATA_ABI
