// SPDX-License-Identifier: Apache-2.0
#include "baselines/scan.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#if STRATA_PERF_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>
#endif

namespace perf {

namespace {

// Returns the sum, with what came before.
template <class T>
T scan_loop(const T* x, T* y, std::ptrdiff_t n, T sum) {
  for (std::ptrdiff_t i = 0; i < n; ++i) y[i] = sum += x[i];
  return sum;
}
// One dependent addition for four values.
template <class T>
T scan_by_four(const T* x, T* y, std::ptrdiff_t n, T sum) {
  std::ptrdiff_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const T two = x[i] + x[i + 1], three = two + x[i + 2], four = two + (x[i + 2] + x[i + 3]);
    y[i] = sum + x[i];
    y[i + 1] = sum + two;
    y[i + 2] = sum + three;
    y[i + 3] = sum += four;
  }
  return scan_loop(x + i, y + i, n - i, sum);
}
template <class T>
T simd_sum(const T* x, std::ptrdiff_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

template <class T>
using Scan = T (*)(const T*, T*, std::ptrdiff_t, T);

// Each thread adds up its part, then scans it. `piece` values at a time, so that the second reading may come
// out of cache.
template <class T>
void scan_by_team(PlainTeam& team, ScanArrays<T> a, std::ptrdiff_t piece, Scan<T> scan) {
  struct alignas(64) Part {
    T sum;
  };
  const int size = team.size();
  std::vector<Part> parts(static_cast<std::size_t>(size));
  T before = 0;
  for (std::ptrdiff_t begin = 0; begin < a.n; begin += piece) {
    const std::ptrdiff_t n = std::min(piece, a.n - begin);
    const auto cut = [&](int worker) { return begin + n * worker / size; };
    team.run([&](int worker) {
      parts[static_cast<std::size_t>(worker)].sum =
          simd_sum(a.x + cut(worker), cut(worker + 1) - cut(worker));
    });
    for (Part& part : parts) {
      const T sum = part.sum;
      part.sum = before;
      before += sum;
    }
    team.run([&](int worker) {
      scan(a.x + cut(worker), a.y + cut(worker), cut(worker + 1) - cut(worker),
           parts[static_cast<std::size_t>(worker)].sum);
    });
  }
}

}  // namespace

template <class T>
Sweep scan_baseline(HostPlace place, ScanArrays<T> a) {
  if (place.team->size() == 1)
    return {{"loop", [=] { scan_loop(a.x, a.y, a.n, T(0)); }},
            {"by four", [=] { scan_by_four(a.x, a.y, a.n, T(0)); }}};
  Sweep sweep;
  for (const std::ptrdiff_t piece : {a.n, std::ptrdiff_t{32768} * place.team->size()})
    for (const bool by_four : {false, true})
      sweep.push_back({std::string(by_four ? "by four" : "loop") + (piece == a.n ? "" : ", in pieces"), [=] {
                         scan_by_team(*place.team, a, piece, by_four ? &scan_by_four<T> : &scan_loop<T>);
                       }});
  return sweep;
}

template <class T>
Sweep scan_by_library([[maybe_unused]] HostPlace place, [[maybe_unused]] ScanArrays<T> a) {
#if STRATA_PERF_TBB
  if (place.team->size() == 1) return {};
  return {{"tbb::parallel_scan", [=] {
             using Block = tbb::blocked_range<std::ptrdiff_t>;
             tbb::parallel_scan(
                 Block(0, a.n, 16384), T(0),
                 [&](const Block& b, T sum, bool final) {
                   if (!final) return sum + simd_sum(a.x + b.begin(), b.end() - b.begin());
                   return scan_by_four(a.x + b.begin(), a.y + b.begin(), b.end() - b.begin(), sum);
                 },
                 [](T left, T right) { return left + right; });
           }}};
#else
  return {};
#endif
}

template Sweep scan_baseline(HostPlace, ScanArrays<double>);
template Sweep scan_baseline(HostPlace, ScanArrays<float>);
template Sweep scan_baseline(HostPlace, ScanArrays<std::int64_t>);
template Sweep scan_by_library(HostPlace, ScanArrays<double>);
template Sweep scan_by_library(HostPlace, ScanArrays<float>);
template Sweep scan_by_library(HostPlace, ScanArrays<std::int64_t>);

}  // namespace perf
