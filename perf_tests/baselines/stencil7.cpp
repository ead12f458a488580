// SPDX-License-Identifier: Apache-2.0
#include "baselines/stencil7.hpp"

#include <algorithm>

namespace perf {

namespace {

template <class T>
void line(const StencilArrays<T>& s, std::ptrdiff_t z, std::ptrdiff_t y) {
  const std::ptrdiff_t m = s.edge, begin = (z * m + y) * m;
  const T* __restrict const u = s.u + begin;
  T* __restrict const v = s.v + begin;
#pragma omp simd
  for (std::ptrdiff_t x = 1; x < m - 1; ++x)
    v[x] = s.a * u[x] + s.b * (u[x - 1] + u[x + 1] + u[x - m] + u[x + m] + u[x - m * m] + u[x + m * m]);
}

// Planes are shared out; `tile` lines of a plane at a time, so that three planes of them stay in cache.
template <class T>
void planes(const StencilArrays<T>& s, std::ptrdiff_t tile, std::ptrdiff_t begin, std::ptrdiff_t end) {
  for (std::ptrdiff_t first = 1; first < s.edge - 1; first += tile)
    for (std::ptrdiff_t z = begin; z < end; ++z)
      for (std::ptrdiff_t y = first; y < std::min(first + tile, s.edge - 1); ++y) line(s, z, y);
}

}  // namespace

template <class T>
Sweep stencil7_by_hand(HostPlace place, StencilArrays<T> s) {
  Sweep sweep;
  for (const std::ptrdiff_t tile : {s.edge, std::ptrdiff_t{16}, std::ptrdiff_t{64}})
    sweep.push_back({tile == s.edge ? "simd" : "simd, tiles of " + std::to_string(tile) + " lines", [=] {
                       const std::ptrdiff_t inner = s.edge - 2;
                       const int team = place.team->size();
                       const auto cut = [&](int worker) { return 1 + inner * worker / team; };
                       if (team == 1) planes(s, tile, 1, 1 + inner);
                       else
                         place.team->run([&](int worker) { planes(s, tile, cut(worker), cut(worker + 1)); });
                     }});
  return sweep;
}
template Sweep stencil7_by_hand(HostPlace, StencilArrays<float>);
template Sweep stencil7_by_hand(HostPlace, StencilArrays<double>);

}  // namespace perf
