// The uniform-gradient hexahedron of Flanagan and Belytschko (Int. J. Numer. Meth. Eng. 17, 1981): the
// operator B of an element with nodes 0-3 around the bottom and 4-7 around the top, from its coordinates x(3,
// 8). B is bilinear in pairs of coordinates: B_x = f(y, z), B_y = f(z, x), B_z = f(x, y). As in the Kokkos
// Array paper (section 4.1): 24 reads, 318 operations, 24 writes; like there the factor 1/12 is left to the
// user, so that the sum over nodes of B_i x_j is 12 V for i = j, else 0. No Strata header.
//
// Coordinates are read just before they are used (the paper's figure 9).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/perf_function.hpp"

namespace perf {

// f(y, z) of 8 nodes, handed to put(node, value).
template <class T, class Put>
STRATA_PERF_FUNCTION inline void hex_gradient_component(const T (&y)[8], const T (&z)[8], const Put& put) {
  const T r42 = z[3] - z[1], r52 = z[4] - z[1], r54 = z[4] - z[3];
  const T r63 = z[5] - z[2], r83 = z[7] - z[2], r86 = z[7] - z[5];
  const T r31 = z[2] - z[0], r61 = z[5] - z[0], r74 = z[6] - z[3];
  const T r72 = z[6] - z[1], r75 = z[6] - z[4], r81 = z[7] - z[0];
  const T t1 = r63 + r54, t2 = r61 + r74, t3 = r72 + r81;
  const T t4 = r86 + r42, t5 = r83 + r52, t6 = r75 + r31;
  put(0, y[1] * t1 - y[2] * r42 - y[3] * t5 + y[4] * t4 + y[5] * r52 - y[7] * r54);
  put(1, y[2] * t2 + y[3] * r31 - y[0] * t1 - y[5] * t6 + y[6] * r63 - y[4] * r61);
  put(2, y[3] * t3 + y[0] * r42 - y[1] * t2 - y[6] * t4 + y[7] * r74 - y[5] * r72);
  put(3, y[0] * t5 - y[1] * r31 - y[2] * t3 + y[7] * t6 + y[4] * r81 - y[6] * r83);
  put(4, y[5] * t3 + y[6] * r86 - y[7] * t2 - y[0] * t4 - y[3] * r81 + y[1] * r61);
  put(5, y[6] * t5 - y[4] * t3 - y[7] * r75 + y[1] * t6 - y[0] * r52 + y[2] * r72);
  put(6, y[7] * t1 - y[5] * t5 - y[4] * r86 + y[2] * t4 - y[1] * r63 + y[3] * r83);
  put(7, y[4] * t2 - y[6] * t1 + y[5] * r75 - y[3] * t6 - y[2] * r74 + y[0] * r54);
}

/// get(d, node) reads a coordinate, put(d, node, value) writes a gradient.
template <class T, class Get, class Put>
STRATA_PERF_FUNCTION inline void hex_gradient(const Get& get, const Put& put) {
  T x[8], y[8], z[8];
  for (int k = 0; k < 8; ++k) z[k] = get(2, k);
  for (int k = 0; k < 8; ++k) y[k] = get(1, k);
  hex_gradient_component(y, z, [&](int k, T value) { put(0, k, value); });
  for (int k = 0; k < 8; ++k) x[k] = get(0, k);
  hex_gradient_component(z, x, [&](int k, T value) { put(1, k, value); });
  hex_gradient_component(x, y, [&](int k, T value) { put(2, k, value); });
}

}  // namespace perf
