// SPDX-License-Identifier: Apache-2.0
#include "baselines/row_average.hpp"

namespace perf {

namespace {

template <class T>
void loop(const RowAverageArrays<T>& a, std::ptrdiff_t begin, std::ptrdiff_t end) {
  for (std::ptrdiff_t row = begin * a.n1; row < end * a.n1; ++row) {
    T sum = 0;
    for (int k = 0; k < a.n2; ++k) sum += a.x[row * a.n2 + k];
    a.y[row] = sum / static_cast<T>(a.n2);
  }
}
template <class T>
void simd_within(const RowAverageArrays<T>& a, std::ptrdiff_t begin, std::ptrdiff_t end) {
  const T scale = T(1) / static_cast<T>(a.n2);
  for (std::ptrdiff_t row = begin * a.n1; row < end * a.n1; ++row) {
    const T* const x = a.x + row * a.n2;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int k = 0; k < a.n2; ++k) sum += x[k];
    a.y[row] = sum * scale;
  }
}
template <class T>
void simd_across(const RowAverageArrays<T>& a, std::ptrdiff_t begin, std::ptrdiff_t end) {
  const T scale = T(1) / static_cast<T>(a.n2);
#pragma omp simd
  for (std::ptrdiff_t row = begin * a.n1; row < end * a.n1; ++row) {
    T sum = 0;
    for (int k = 0; k < a.n2; ++k) sum += a.x[row * a.n2 + k];
    a.y[row] = sum * scale;
  }
}

}  // namespace

template <class T>
Sweep row_average_by_hand(HostPlace place, RowAverageArrays<T> a) {
  using Part = void (*)(const RowAverageArrays<T>&, std::ptrdiff_t, std::ptrdiff_t);
  const auto by = [&](const char* name, Part part) {
    return Competitor{
        name,
        [=] { split(place, a.n, [&](std::ptrdiff_t begin, std::ptrdiff_t end) { part(a, begin, end); }); }};
  };
  return {by("loop", &loop<T>), by("simd within a row", &simd_within<T>),
          by("simd across rows", &simd_across<T>)};
}
template Sweep row_average_by_hand(HostPlace, RowAverageArrays<float>);
template Sweep row_average_by_hand(HostPlace, RowAverageArrays<double>);

template <class T>
Sweep one_average_by_hand(HostPlace place, RowAverageArrays<T> a) {
  return row_average_by_hand(place, a);
}
template Sweep one_average_by_hand(HostPlace, RowAverageArrays<float>);
template Sweep one_average_by_hand(HostPlace, RowAverageArrays<double>);

}  // namespace perf
