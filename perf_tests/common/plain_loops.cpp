// SPDX-License-Identifier: Apache-2.0
#include "common/plain_loops.hpp"

#include "common/hex_formula.hpp"

namespace perf {

template <class T>
void plain_triad(T* __restrict a, const T* __restrict b, const T* __restrict c, T s, std::ptrdiff_t n) {
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
}

template <class T>
void plain_scale(T* __restrict a, const T* __restrict b, T s, std::ptrdiff_t n) {
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < n; ++i) a[i] = s * b[i];
}

template <class T>
T plain_dot(const T* x, const T* y, std::ptrdiff_t n) {
  // Four sums, as one would wait for its own additions.
  T a = 0, b = 0, c = 0, d = 0;
  const std::ptrdiff_t whole = n / 32 * 32;
  for (std::ptrdiff_t i = 0; i < whole; i += 32) {
#pragma omp simd reduction(+ : a, b, c, d)
    for (int l = 0; l < 8; ++l) {
      a += x[i + l] * y[i + l];
      b += x[i + 8 + l] * y[i + 8 + l];
      c += x[i + 16 + l] * y[i + 16 + l];
      d += x[i + 24 + l] * y[i + 24 + l];
    }
  }
  for (std::ptrdiff_t i = whole; i < n; ++i) a += x[i] * y[i];
  return (a + b) + (c + d);
}

template <class T>
void plain_axpy(T* __restrict y, const T* __restrict x, T s, std::ptrdiff_t n) {
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < n; ++i) y[i] += s * x[i];
}

template <class T>
void plain_transpose(T* __restrict y, const T* __restrict x, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  // Blocks that fit in cache with both their sides.
  constexpr std::ptrdiff_t block = 32;
  for (std::ptrdiff_t r0 = 0; r0 < rows; r0 += block)
    for (std::ptrdiff_t c0 = 0; c0 < columns; c0 += block)
      for (std::ptrdiff_t c = c0; c < c0 + block && c < columns; ++c)
        for (std::ptrdiff_t r = r0; r < r0 + block && r < rows; ++r) y[c * rows + r] = x[r * columns + c];
}

namespace {

constexpr int lanes = 8;
constexpr int tile_size = 3 * 8 * lanes;

template <class T>
[[gnu::always_inline]] inline void tile_gradients(T* gradient, const T* coordinate) {
#pragma omp simd
  for (int l = 0; l < lanes; ++l)
    hex_gradient<T>([&](int d, int k) { return coordinate[(d * 8 + k) * lanes + l]; },
                    [&](int d, int k, T value) { gradient[(d * 8 + k) * lanes + l] = value; });
}

}  // namespace

template <class T>
[[gnu::flatten]] void plain_hex_gradient(T* __restrict gradients, const T* __restrict coordinates,
                                         std::ptrdiff_t tiles) {
  for (std::ptrdiff_t t = 0; t < tiles; ++t)
    tile_gradients(gradients + t * tile_size, coordinates + t * tile_size);
}

template <class T>
[[gnu::flatten]] void plain_hex_gradient_prefetching(T* __restrict gradients, const T* __restrict coordinates,
                                                     std::ptrdiff_t tiles, int ahead) {
  for (std::ptrdiff_t t = 0; t < tiles; ++t) {
    const T* const next = coordinates + (t + ahead < tiles ? t + ahead : t) * tile_size;
    for (std::size_t e = 0; e < tile_size; e += 64 / sizeof(T)) __builtin_prefetch(next + e);
    tile_gradients(gradients + t * tile_size, coordinates + t * tile_size);
  }
}

#define STRATA_PERF_FOR(T)                                                     \
  template void plain_triad(T*, const T*, const T*, T, std::ptrdiff_t);        \
  template void plain_scale(T*, const T*, T, std::ptrdiff_t);                  \
  template T plain_dot(const T*, const T*, std::ptrdiff_t);                    \
  template void plain_axpy(T*, const T*, T, std::ptrdiff_t);                   \
  template void plain_transpose(T*, const T*, std::ptrdiff_t, std::ptrdiff_t); \
  template void plain_hex_gradient(T*, const T*, std::ptrdiff_t);              \
  template void plain_hex_gradient_prefetching(T*, const T*, std::ptrdiff_t, int);
STRATA_PERF_FOR(float)
STRATA_PERF_FOR(double)
#undef STRATA_PERF_FOR

}  // namespace perf
