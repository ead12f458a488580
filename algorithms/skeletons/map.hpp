// map: every element of an output becomes a function of the elements of inputs that belong to it.
//
//   struct Axpy {
//     double a;
//     STRATA_FUNCTION double operator()(double x, double y) const { return a * x + y; }
//   };
//   map(on(device), Axpy{2}, z, x, y);                      // z(i) = 2 x(i) + y(i)
//   map(across(devices), Axpy{2}, inout(y), x);             // in place: f gets the old y(i) first
//   map(where, SineAndCosine{}, outputs(s, c), angle);      // returns results(sine, cosine)
//   map(where, Ramp{}, x);                                  // f(i), for a matrix f(i, j)
//
// map_array (map_array.hpp) is the same with operands that are read anywhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/skeletons/operands.hpp>

namespace strata::inline STRATA_ABI {
namespace skeletons {

/// Calls f for all indices of `y`: an array of rank 1 to 6, inout(array) or outputs(...). All inputs have its
/// shape; one that is an output, too, is given once, as inout. Returns as launch does, and throws what it
/// throws; ShapeMismatch, which names both arrays, where shapes differ.
template <Place Where, class F, class Y, class... X>
void map(const Where& where, const F& f, const Y& y, const X&... x) {
  static_assert((... && (detail::OperandTraits<X>::input == detail::Given::Element)),
                "strata: map: inputs are coherent arrays; those that are read anywhere are for map_array");
  detail::map_all(detail::label_of(where, "map"), where, f, y, x...);
}

}  // namespace skeletons
}  // namespace strata::inline STRATA_ABI
