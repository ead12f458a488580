// Hand-written loops on raw pointers, without a Strata header: what the machine and the compiler can do.
// For T = float and double. No non-temporal stores anywhere.
//
// Bytes are counted as in STREAM, by what the program asks for: 24 an element of a triad in double. A store
// to a line that is not in cache also reads it first, so memory moves 32; of a copy 24 for 16.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace perf {

/// a = b + s * c
template <class T>
void plain_triad(T* a, const T* b, const T* c, T s, std::ptrdiff_t n);
/// a = s * b: one stream in, one out, as the kernels that write as much as they read.
template <class T>
void plain_scale(T* a, const T* b, T s, std::ptrdiff_t n);
/// The sum of x * y.
template <class T>
T plain_dot(const T* x, const T* y, std::ptrdiff_t n);
/// y += s * x
template <class T>
void plain_axpy(T* y, const T* x, T s, std::ptrdiff_t n);
/// y(c, r) = x(r, c); both row by row.
template <class T>
void plain_transpose(T* y, const T* x, std::ptrdiff_t rows, std::ptrdiff_t columns);

/// Hexahedral gradients of `tiles` tiles of 8 elements, each coordinate (or gradient) of the 8 side by side:
/// the loop over the lanes of a tile vectorises.
template <class T>
void plain_hex_gradient(T* gradients, const T* coordinates, std::ptrdiff_t tiles);
/// The same, with the coordinates of a tile fetched `ahead` tiles earlier.
template <class T>
void plain_hex_gradient_prefetching(T* gradients, const T* coordinates, std::ptrdiff_t tiles, int ahead);

}  // namespace perf
