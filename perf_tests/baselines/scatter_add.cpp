// SPDX-License-Identifier: Apache-2.0
#include "baselines/scatter_add.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

namespace perf {

namespace {

template <class T>
void add(const ScatterArrays<T>& s, T* sum, std::ptrdiff_t begin, std::ptrdiff_t end) {
  for (std::ptrdiff_t e = begin; e < end; ++e)
    for (int k = 0; k < 8; ++k) sum[s.node[e * 8 + k]] += s.value[e];
}

template <class T>
void join(T* sum, const std::vector<T>& copies, std::ptrdiff_t nodes, std::ptrdiff_t begin,
          std::ptrdiff_t end) {
  for (std::size_t first = 0; first < copies.size(); first += static_cast<std::size_t>(nodes)) {
    const T* const copy = copies.data() + first;
#pragma omp simd
    for (std::ptrdiff_t v = begin; v < end; ++v) sum[v] += copy[v];
  }
}

}  // namespace

template <class T>
Sweep scatter_duplicated(HostPlace place, ScatterArrays<T> s) {
  const int team = place.team->size();
  const auto copies = std::make_shared<std::vector<T>>(static_cast<std::size_t>(team - 1) *
                                                       static_cast<std::size_t>(s.nodes));
  return {{team == 1 ? "loop" : "a copy for each thread", [=] {
             if (team == 1) {
               std::fill(s.sum, s.sum + s.nodes, T(0));
               add(s, s.sum, 0, s.elements);
               return;
             }
             place.team->run([&](int worker) {
               T* const sum = worker == 0 ? s.sum : copies->data() + (worker - 1) * s.nodes;
               std::fill(sum, sum + s.nodes, T(0));
               add(s, sum, s.elements * worker / team, s.elements * (worker + 1) / team);
             });
             split(place, s.nodes, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
               join(s.sum, *copies, s.nodes, begin, end);
             });
           }}};
}

template <class T>
Sweep scatter_by_atomics(HostPlace place, ScatterArrays<T> s) {
  return {
      {"atomics by hand", [=] {
         split(place, s.nodes, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
           std::fill(s.sum + begin, s.sum + end, T(0));
         });
         split(place, s.elements, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
           for (std::ptrdiff_t e = begin; e < end; ++e)
             for (int k = 0; k < 8; ++k)
               std::atomic_ref<T>(s.sum[s.node[e * 8 + k]]).fetch_add(s.value[e], std::memory_order_relaxed);
         });
       }}};
}

template <class T>
Sweep gather_by_node(HostPlace place, ScatterArrays<T> s) {
  return {{"gathered by hand, sorted before", [=] {
             split(place, s.nodes, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
               for (std::ptrdiff_t v = begin; v < end; ++v) {
                 T sum = 0;
                 for (std::int32_t k = s.first[v]; k < s.first[v + 1]; ++k) sum += s.value[s.element[k]];
                 s.sum[v] = sum;
               }
             });
           }}};
}

#define STRATA_PERF_FOR(T)                                        \
  template Sweep scatter_duplicated(HostPlace, ScatterArrays<T>); \
  template Sweep scatter_by_atomics(HostPlace, ScatterArrays<T>); \
  template Sweep gather_by_node(HostPlace, ScatterArrays<T>);
STRATA_PERF_FOR(float)
STRATA_PERF_FOR(double)
#undef STRATA_PERF_FOR

}  // namespace perf
