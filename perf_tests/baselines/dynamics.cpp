// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__)
// Vectors that are wider than the registers of the processor are passed among functions of this file only. Of
// its own gathers g++ 12 says that they read what is not initialised.
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include "baselines/dynamics.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace perf {

namespace {

constexpr int tile = 8;

// The numbers of a tile side by side (an extension of g++ and clang++).
template <class T>
struct VectorOf;
template <>
struct VectorOf<double> {
  using type [[gnu::vector_size(tile * sizeof(double))]] = double;
};
template <>
struct VectorOf<float> {
  using type [[gnu::vector_size(tile * sizeof(float))]] = float;
};
template <>
struct VectorOf<std::int32_t> {
  using type [[gnu::vector_size(tile * sizeof(std::int32_t))]] = std::int32_t;
};
template <class T>
using Vector = typename VectorOf<T>::type;

}  // namespace

template <class T>
struct VectorNumbers {
  using One = T;
  using Index = Vector<std::int32_t>;
  using Wide = Vector<double>;

  template <class U>
  static Vector<U> gathered(const U* from, const Index& i) {
#if defined(__AVX2__)
    const auto index = reinterpret_cast<const __m256i&>(i);
    if constexpr (sizeof(U) == 4) {
      return reinterpret_cast<Vector<U>>(_mm256_i32gather_ps(from, index, 4));
    } else {
#if defined(__AVX512F__)
      return reinterpret_cast<Vector<U>>(_mm512_i32gather_pd(index, from, 8));
#else
      Vector<U> result;
      auto* const halves = reinterpret_cast<__m256d*>(&result);
      halves[0] = _mm256_i32gather_pd(from, _mm256_castsi256_si128(index), 8);
      halves[1] = _mm256_i32gather_pd(from, _mm256_extracti128_si256(index, 1), 8);
      return result;
#endif
    }
#else
    Vector<U> result;
    for (int lane = 0; lane < tile; ++lane) result[lane] = from[i[lane]];
    return result;
#endif
  }
  static Vector<T> narrow(const Wide& x) { return __builtin_convertvector(x, Vector<T>); }
  static Wide widen(const Vector<T>& x) { return __builtin_convertvector(x, Wide); }
  static Vector<T> root(const Vector<T>& x) {
    Vector<T> result;
#pragma omp simd
    for (int lane = 0; lane < tile; ++lane) result[lane] = std::sqrt(x[lane]);
    return result;
  }
  static Vector<T> magnitude(const Vector<T>& x) { return x < 0 ? -x : x; }
};
template <>
struct Numbers<Vector<double>> : VectorNumbers<double> {};
template <>
struct Numbers<Vector<float>> : VectorNumbers<float> {};

namespace {

// The element arrays of tiles as arrays of vectors.
template <class T>
DynamicsFields<Vector<T>> as_vectors(const DynamicsFields<T>& f) {
  const auto of = [](T* data) { return reinterpret_cast<Vector<T>*>(data); };
  DynamicsFields<Vector<T>> v{};
  v.elements = f.elements / tile, v.nodes = f.nodes;
  v.coordinates = f.coordinates, v.displacement = f.displacement, v.velocity = f.velocity;
  v.element_nodes = reinterpret_cast<const Vector<std::int32_t>*>(f.element_nodes);
  v.hourglass_work = reinterpret_cast<Vector<double>*>(f.hourglass_work);
  v.element_mass = of(f.element_mass), v.rotation = of(f.rotation), v.stretch = of(f.stretch);
  v.stress = of(f.stress), v.hourglass = of(f.hourglass), v.element_force = of(f.element_force);
  v.stable_dt = of(f.stable_dt), v.velocity_gradient = of(f.velocity_gradient);
  v.mode_rates = of(f.mode_rates), v.rate = of(f.rate);
  v.clock = f.clock, v.material = f.material;
  return v;
}

// Element by element; a loop over the lanes of a tile, which a compiler can vectorise; or vectors, each of
// them a tile.
enum class Lanes { One, Loop, Vectors };

// What the threads of a run do: a loop over their part of the elements or nodes. Parts begin with a tile.
template <class T>
using Part = void (*)(const DynamicsFields<T>&, std::ptrdiff_t, std::ptrdiff_t);

// one.template operator()<Tile>(fields, e), where e is an element or a tile
template <Lanes How, class T, class F>
void elements(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end, const F& one) {
  std::ptrdiff_t e = begin;
  if constexpr (How == Lanes::Loop) {
    for (; e + tile <= end; e += tile) {
#pragma omp simd
      for (int lane = 0; lane < tile; ++lane) one.template operator()<tile>(f, e + lane);
    }
  } else if constexpr (How == Lanes::Vectors) {
    const auto vectors = as_vectors(f);
    for (; e + tile <= end; e += tile) one.template operator()<1>(vectors, e / tile);
  }
  for (; e < end; ++e) one.template operator()<tile>(f, e);
}

template <Lanes How, class T>
void gradient(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end) {
  elements<How>(f, begin, end,
                []<int Tile>(const auto& a, std::ptrdiff_t e) { dynamics_gradient<Tile>(a, e); });
}
template <Lanes How, class T>
void rotation(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end) {
  elements<How>(f, begin, end,
                []<int Tile>(const auto& a, std::ptrdiff_t e) { dynamics_rotation<Tile>(a, e); });
}
template <Lanes How, class T>
void force(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end) {
  elements<How>(f, begin, end, []<int Tile>(const auto& a, std::ptrdiff_t e) { dynamics_force<Tile>(a, e); });
}
template <Lanes How, class T>
void fused(const DynamicsFields<T>& f, std::ptrdiff_t begin, std::ptrdiff_t end) {
  elements<How>(f, begin, end, []<int Tile>(const auto& a, std::ptrdiff_t e) { dynamics_fused<Tile>(a, e); });
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

template <Lanes How, class T>
void run(const HostPlace& place, DynamicsWork work, const DynamicsFields<T>& f) {
  const auto over = [&](std::ptrdiff_t n, Part<T> part) {
    split(place, n, [&](std::ptrdiff_t begin, std::ptrdiff_t end) { part(f, begin, end); });
  };
  const bool three = work == DynamicsWork::StepOfThree, step = three || work == DynamicsWork::StepOfFused;
  if (three || work == DynamicsWork::Gradient) over(f.elements, &gradient<How, T>);
  if (three || work == DynamicsWork::Rotation) over(f.elements, &rotation<How, T>);
  if (three || work == DynamicsWork::Force) over(f.elements, &force<How, T>);
  if (work == DynamicsWork::StepOfFused || work == DynamicsWork::Fused) over(f.elements, &fused<How, T>);
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
  return {{"loop", repeat([=] { run<Lanes::One>(place, work, fields); })},
          {"simd over the elements of a tile", repeat([=] { run<Lanes::Loop>(place, work, fields); })},
          {"vectors of 8 elements", repeat([=] { run<Lanes::Vectors>(place, work, fields); })}};
}
template Sweep dynamics_by_hand(HostPlace, DynamicsWork, const DynamicsFields<float>&, int);
template Sweep dynamics_by_hand(HostPlace, DynamicsWork, const DynamicsFields<double>&, int);

}  // namespace perf
