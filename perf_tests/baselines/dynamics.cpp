// SPDX-License-Identifier: Apache-2.0
#include "baselines/dynamics.hpp"

#include <algorithm>
#include <mutex>

namespace perf {

namespace {

constexpr int tile = 8;

// What the threads of a run do: a loop over their part of the elements or nodes.
template <class T>
using Part = void (*)(const DynamicsFields<T>&, std::ptrdiff_t, std::ptrdiff_t);

// The lanes of a tile are what a loop can vectorise.
template <bool Simd, class T, class F>
void elements(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end, const F& one) {
  if constexpr (Simd) {
    std::ptrdiff_t e = begin;
    for (; e + tile <= end; e += tile) {
#pragma omp simd
      for (int lane = 0; lane < tile; ++lane) one(f, e + lane);
    }
    for (; e < end; ++e) one(f, e);
  } else {
    for (std::ptrdiff_t e = begin; e < end; ++e) one(f, e);
  }
}

template <bool Simd, class T>
void gradient(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end) {
  elements<Simd>(f, begin, end, [](const auto& a, std::ptrdiff_t e) { dynamics_gradient<tile>(a, e); });
}
template <bool Simd, class T>
void rotation(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end) {
  elements<Simd>(f, begin, end, [](const auto& a, std::ptrdiff_t e) { dynamics_rotation<tile>(a, e); });
}
template <bool Simd, class T>
void force(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end) {
  elements<Simd>(f, begin, end, [](const auto& a, std::ptrdiff_t e) { dynamics_force<tile>(a, e); });
}
template <bool Simd, class T>
void fused(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end) {
  elements<Simd>(f, begin, end, [](const auto& a, std::ptrdiff_t e) { dynamics_fused<tile>(a, e); });
}
template <class T>
void nodes(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end) {
  for (std::ptrdiff_t n = begin; n < end; ++n) dynamics_node<tile>(f, n);
}

template <class T>
void least_step(const HostPlace& place, const DynamicsFields<T>& f) {
  std::mutex mutex;
  T least = T(1e30);
  split(place, f.elements, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    T mine = T(1e30);
#pragma omp simd reduction(min : mine)
    for (std::ptrdiff_t e = begin; e < end; ++e) {
      const T dt = f.stable_dt[e] > 0 ? f.stable_dt[e] : T(-1);
      mine = dt < mine ? dt : mine;
    }
    const std::lock_guard lock(mutex);
    least = std::min(least, mine);
  });
  dynamics_next_step(*f.clock, static_cast<double>(least));
}

template <bool Simd, class T>
void run(const HostPlace& place, DynamicsWork work, const DynamicsFields<T>& f) {
  const auto over = [&](std::ptrdiff_t n, Part<T> part) {
    split(place, n, [&](std::ptrdiff_t begin, std::ptrdiff_t end) { part(f, begin, end); });
  };
  const bool three = work == DynamicsWork::StepOfThree, step = three || work == DynamicsWork::StepOfFused;
  if (three || work == DynamicsWork::Gradient) over(f.elements, &gradient<Simd, T>);
  if (three || work == DynamicsWork::Rotation) over(f.elements, &rotation<Simd, T>);
  if (three || work == DynamicsWork::Force) over(f.elements, &force<Simd, T>);
  if (work == DynamicsWork::StepOfFused || work == DynamicsWork::Fused) over(f.elements, &fused<Simd, T>);
  if (step || work == DynamicsWork::LeastStep) least_step(place, f);
  if (step || work == DynamicsWork::Nodes) over(f.nodes, &nodes<T>);
}

}  // namespace

template <class T>
Sweep dynamics_by_hand(HostPlace place, DynamicsWork work, const DynamicsFields<T>& fields, int times) {
  const auto repeat = [=](const auto& once) {
    return [=] {
      for (int k = 0; k < times; ++k) once();
    };
  };
  return {{"loop", repeat([=] { run<false>(place, work, fields); })},
          {"simd over the elements of a tile", repeat([=] { run<true>(place, work, fields); })}};
}
template Sweep dynamics_by_hand(HostPlace, DynamicsWork, const DynamicsFields<float>&, int);
template Sweep dynamics_by_hand(HostPlace, DynamicsWork, const DynamicsFields<double>&, int);

}  // namespace perf
