// SPDX-License-Identifier: Apache-2.0
#include "baselines/reduce.hpp"

#include <cmath>
#include <memory>
#if STRATA_PERF_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#endif

namespace perf {

namespace {

// As many sums as an accumulator has lanes: T cannot be reordered by the compiler, but by `omp simd`.
template <class T>
T simd_sum(const ReduceArrays<T>& a, std::ptrdiff_t begin, std::ptrdiff_t end) {
  T sum = 0;
  if (a.y == nullptr) {
#pragma omp simd reduction(+ : sum)
    for (std::ptrdiff_t i = begin; i < end; ++i) sum += a.x[i];
  } else {
#pragma omp simd reduction(+ : sum)
    for (std::ptrdiff_t i = begin; i < end; ++i) sum += a.x[i] * a.y[i];
  }
  return sum;
}

// Independent sums, so that additions do not wait for each other.
template <class T, bool Dot>
T unrolled_sum(const T* x, const T* y, std::ptrdiff_t n) {
  constexpr int lanes = 4 * 64 / sizeof(T);
  T sums[lanes] = {};
  std::ptrdiff_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma omp simd
    for (int l = 0; l < lanes; ++l) sums[l] += Dot ? x[i + l] * y[i + l] : x[i + l];
  }
  T sum = 0;
  for (const T part : sums) sum += part;
  for (; i < n; ++i) sum += Dot ? x[i] * y[i] : x[i];
  return sum;
}
template <class T>
T unrolled_part(const ReduceArrays<T>& a, std::ptrdiff_t begin, std::ptrdiff_t end) {
  return a.y ? unrolled_sum<T, true>(a.x + begin, a.y + begin, end - begin)
             : unrolled_sum<T, false>(a.x + begin, nullptr, end - begin);
}

template <class T>
void store(const ReduceArrays<T>& a, T sum) {
  *a.result = a.into == ReduceInto::Host ? sum : std::sqrt(sum);
}

template <class T>
using PartSum = T (*)(const ReduceArrays<T>&, std::ptrdiff_t, std::ptrdiff_t);

template <class T>
Competitor by_team(const char* name, HostPlace place, int team, ReduceArrays<T> a, PartSum<T> part_sum) {
  struct alignas(64) Part {
    T sum;
  };
  const auto parts = std::make_shared<std::vector<Part>>(static_cast<std::size_t>(team));
  return {name, [=] {
            for (int c = 0; c < a.calls; ++c) {
              if (team == 1) {
                store(a, part_sum(a, 0, a.n));
                continue;
              }
              place.team->run([&](int worker) {
                (*parts)[static_cast<std::size_t>(worker)].sum =
                    part_sum(a, a.n * worker / team, a.n * (worker + 1) / team);
              });
              T sum = 0;
              for (const Part& part : *parts) sum += part.sum;
              store(a, sum);
            }
          }};
}

}  // namespace

template <class T>
Sweep reduce_by_hand(HostPlace place, ReduceArrays<T> a) {
  const int team = place.team->size();
  Sweep sweep = {by_team<T>("simd", place, team, a, &simd_sum<T>),
                 by_team<T>("simd, unrolled", place, team, a, &unrolled_part<T>)};
  if (team > 1 && a.n <= 100000)  // other threads would come late
    sweep.push_back(by_team<T>("simd, unrolled, one thread", place, 1, a, &unrolled_part<T>));
  return sweep;
}

template <class T>
Sweep reduce_by_library([[maybe_unused]] HostPlace place, [[maybe_unused]] ReduceArrays<T> a) {
#if STRATA_PERF_TBB
  if (place.team->size() == 1) return {};
  return {{"tbb::parallel_reduce", [=] {
             for (int c = 0; c < a.calls; ++c) {
               using Block = tbb::blocked_range<std::ptrdiff_t>;
               store(a, tbb::parallel_reduce(
                            Block(0, a.n, 4096), T(0),
                            [&](const Block& b, T sum) { return sum + unrolled_part(a, b.begin(), b.end()); },
                            [](T left, T right) { return left + right; }));
             }
           }}};
#else
  return {};
#endif
}

template Sweep reduce_by_hand(HostPlace, ReduceArrays<float>);
template Sweep reduce_by_hand(HostPlace, ReduceArrays<double>);
template Sweep reduce_by_library(HostPlace, ReduceArrays<float>);
template Sweep reduce_by_library(HostPlace, ReduceArrays<double>);

}  // namespace perf
