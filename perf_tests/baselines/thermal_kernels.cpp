// SPDX-License-Identifier: Apache-2.0
#include "baselines/thermal_kernels.hpp"

#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "common/thermal_formula.hpp"

namespace perf {

namespace {

using Size = std::ptrdiff_t;
constexpr int lanes = 8;

template <class T>
using Lanes [[gnu::vector_size(lanes * sizeof(T))]] = T;

// Where value `value` of element e is, of `count` values an element.
Size at(Size e, int count, int value) { return e / lanes * (count * lanes) + value * lanes + e % lanes; }

// Tiles of 8 elements at a time in vectors; the values after the last element are computed from node 0.
template <class T>
void contributions(const ThermalArrays<T>& a, Size begin, Size end) {
  using Vector = Lanes<T>;
  for (Size tile = begin; tile < end; ++tile) {
    Lanes<double> x[3][8];
    Vector conductivity, source;
    for (int l = 0; l < lanes; ++l) {
      const Size e = tile * lanes + l < a.elements ? tile * lanes + l : a.elements - 1;
      for (int c = 0; c < 8; ++c)
        for (int d = 0; d < 3; ++d)
          x[d][corner_bits(c)][l] = a.coordinates[3 * static_cast<Size>(a.element_nodes[at(e, 8, c)]) + d];
      conductivity[l] = a.materials[3 * a.blocks[e]];
      source[l] = a.materials[3 * a.blocks[e] + 2];
    }
    T* const matrix = a.matrix + tile * 64 * lanes;
    T* const vector = a.vector + tile * 8 * lanes;
    const auto store = [](T* to, const Vector& value) {
      for (int l = 0; l < lanes; ++l) to[l] = value[l];
    };
    thermal_element<T>(
        x, conductivity, source,
        [](const Lanes<double>& from, Vector& to) { to = __builtin_convertvector(from, Vector); },
        [&](int i, int j, const Vector& value) {
          store(matrix + (8 * corner_bits(i) + corner_bits(j)) * lanes, value);
          if (i != j) store(matrix + (8 * corner_bits(j) + corner_bits(i)) * lanes, value);
        },
        [&](int i, const Vector& value) { store(vector + corner_bits(i) * lanes, value); });
  }
}

// One element: its 64 coefficients and 8 loads.
template <class T>
void compute(const ThermalArrays<T>& a, Size e, T (&matrix)[8][8], T (&vector)[8]) {
  double x[3][8];
  for (int c = 0; c < 8; ++c)
    for (int d = 0; d < 3; ++d)
      x[d][corner_bits(c)] = a.coordinates[3 * static_cast<Size>(a.element_nodes[at(e, 8, c)]) + d];
  const T* const material = a.materials + 3 * a.blocks[e];
  thermal_element<T>(
      x, material[0], material[2], [](double from, T& to) { to = static_cast<T>(from); },
      [&](int i, int j, T value) {
        matrix[corner_bits(i)][corner_bits(j)] = value;
        matrix[corner_bits(j)][corner_bits(i)] = value;
      },
      [&](int i, T value) { vector[corner_bits(i)] = value; });
}

Size place(std::uint64_t slots, int j) { return static_cast<Size>(slots >> (8 * j) & 255); }

template <class T>
void fill(const ThermalArrays<T>& a, Size begin, Size end) {
  for (Size n = begin; n < end; ++n) {
    T* const row = a.values + a.row_map[n];
    for (Size k = 0; k < a.row_map[n + 1] - a.row_map[n]; ++k) row[k] = 0;
    T load = 0;
    for (int k = a.offsets[n]; k < a.offsets[n + 1]; ++k) {
      const Size e = a.corners[k] >> 3;
      const int c = a.corners[k] & 7;
      const std::uint64_t slots = a.slots[at(e, 8, c)];
      const T* const own = a.matrix + at(e, 64, 8 * c);
      load += a.vector[at(e, 8, c)];
      for (int j = 0; j < 8; ++j) row[place(slots, j)] += own[j * lanes];
    }
    a.b[n] = load;
  }
}
// Sums on the stack, written at the end.
template <class T>
void fill_apart(const ThermalArrays<T>& a, Size begin, Size end) {
  for (Size n = begin; n < end; ++n) {
    T row[256];
    const Size length = a.row_map[n + 1] - a.row_map[n];
    for (Size k = 0; k < length; ++k) row[k] = 0;
    T load = 0;
    for (int k = a.offsets[n]; k < a.offsets[n + 1]; ++k) {
      const Size e = a.corners[k] >> 3;
      const int c = a.corners[k] & 7;
      const std::uint64_t slots = a.slots[at(e, 8, c)];
      const T* const own = a.matrix + at(e, 64, 8 * c);
      load += a.vector[at(e, 8, c)];
      T sums[8];
      for (int j = 0; j < 8; ++j) sums[j] = row[place(slots, j)] + own[j * lanes];
      for (int j = 0; j < 8; ++j) row[place(slots, j)] = sums[j];
    }
    for (Size k = 0; k < length; ++k) a.values[a.row_map[n] + k] = row[k];
    a.b[n] = load;
  }
}

template <class T>
void add_atomically(T& to, T value) {
  std::atomic_ref<T>(to).fetch_add(value, std::memory_order_relaxed);
}
template <class T>
void scatter(const ThermalArrays<T>& a, Size begin, Size end) {
  for (Size e = begin; e < end; ++e) {
    T matrix[8][8], vector[8];
    compute(a, e, matrix, vector);
    for (int c = 0; c < 8; ++c) {
      const std::int32_t node = a.element_nodes[at(e, 8, c)];
      const std::uint64_t slots = a.slots[at(e, 8, c)];
      add_atomically(a.b[node], vector[c]);
      for (int j = 0; j < 8; ++j) add_atomically(a.values[a.row_map[node] + place(slots, j)], matrix[c][j]);
    }
  }
}

template <class T>
void fused(const ThermalArrays<T>& a, Size begin, Size end) {
  for (Size n = begin; n < end; ++n) {
    T* const row = a.values + a.row_map[n];
    for (Size k = 0; k < a.row_map[n + 1] - a.row_map[n]; ++k) row[k] = 0;
    T load = 0;
    for (int k = a.offsets[n]; k < a.offsets[n + 1]; ++k) {
      const Size e = a.corners[k] >> 3;
      const int c = a.corners[k] & 7;
      T matrix[8][8], vector[8];
      compute(a, e, matrix, vector);
      load += vector[c];
      for (int j = 0; j < 8; ++j) row[place(a.slots[at(e, 8, c)], j)] += matrix[c][j];
    }
    a.b[n] = load;
  }
}

template <class T>
void product(const ThermalArrays<T>& a, Size begin, Size end) {
  for (Size n = begin; n < end; ++n) {
    T sum = 0;
    for (Size k = a.row_map[n]; k < a.row_map[n + 1]; ++k) sum += a.values[k] * a.p[a.columns[k]];
    a.q[n] = sum;
  }
}
template <class T>
void product_simd(const ThermalArrays<T>& a, Size begin, Size end) {
  for (Size n = begin; n < end; ++n) {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Size k = a.row_map[n]; k < a.row_map[n + 1]; ++k) sum += a.values[k] * a.p[a.columns[k]];
    a.q[n] = sum;
  }
}

template <class T>
struct Sums {
  T first, second;
};
template <class T>
Sums<T> dot(const ThermalArrays<T>& a, Size begin, Size end) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Size i = begin; i < end; ++i) sum += a.p[i] * a.q[i];
  return {sum, 0};
}
template <class T>
Sums<T> update(const ThermalArrays<T>& a, Size begin, Size end) {
  const T alpha = a.scalars[alpha_scalar];
  const T *const p = a.p, *const q = a.q, *const d = a.d;
  T* __restrict const x = a.x;
  T* __restrict const r = a.r;
  T rz = 0, rr = 0;
#pragma omp simd reduction(+ : rz, rr)
  for (Size i = begin; i < end; ++i) {
    const T own = r[i] - alpha * q[i];
    x[i] += alpha * p[i];
    r[i] = own;
    rz += own * d[i] * own;
    rr += own * own;
  }
  return {rz, rr};
}
template <class T>
void direction(const ThermalArrays<T>& a, Size begin, Size end) {
  const T beta = a.scalars[beta_scalar];
  const T *const r = a.r, *const d = a.d;
  T* __restrict const p = a.p;
#pragma omp simd
  for (Size i = begin; i < end; ++i) p[i] = d[i] * r[i] + beta * p[i];
}

// As above, but x takes its step with the direction.
template <class T>
Sums<T> residual(const ThermalArrays<T>& a, Size begin, Size end) {
  const T alpha = a.scalars[alpha_scalar];
  const T *const q = a.q, *const d = a.d;
  T* __restrict const r = a.r;
  T rz = 0, rr = 0;
#pragma omp simd reduction(+ : rz, rr)
  for (Size i = begin; i < end; ++i) {
    const T own = r[i] - alpha * q[i];
    r[i] = own;
    rz += own * d[i] * own;
    rr += own * own;
  }
  return {rz, rr};
}
template <class T>
void step_and_direction(const ThermalArrays<T>& a, Size begin, Size end) {
  const T alpha = a.scalars[alpha_scalar], beta = a.scalars[beta_scalar];
  const T *const r = a.r, *const d = a.d;
  T* __restrict const x = a.x;
  T* __restrict const p = a.p;
#pragma omp simd
  for (Size i = begin; i < end; ++i) {
    x[i] += alpha * p[i];
    p[i] = d[i] * r[i] + beta * p[i];
  }
}

template <class T>
using Part = void (*)(const ThermalArrays<T>&, Size, Size);
template <class T>
using SumPart = Sums<T> (*)(const ThermalArrays<T>&, Size, Size);

template <class T>
Competitor loop(const char* name, HostPlace place, const ThermalArrays<T>& a, Size items, Part<T> part) {
  return {name, [=] { split(place, items, [&](Size begin, Size end) { part(a, begin, end); }); }};
}
template <class T>
Competitor sums(HostPlace place, const ThermalArrays<T>& a, SumPart<T> part, int to, int count) {
  return {"simd", [=] {
            const int team = place.team->size();
            std::vector<Sums<T>> of(static_cast<std::size_t>(team));
            const auto cut = [&](int worker) { return a.nodes * worker / team; };
            place.team->run([&](int worker) {
              of[static_cast<std::size_t>(worker)] = part(a, cut(worker), cut(worker + 1));
            });
            Sums<T> all{0, 0};
            for (const Sums<T>& one : of) all = {all.first + one.first, all.second + one.second};
            a.scalars[to] = all.first;
            if (count > 1) a.scalars[to + 1] = all.second;
          }};
}

template <class T>
Sweep once(HostPlace place, ThermalKernel kernel, const ThermalArrays<T>& a) {
  switch (kernel) {
    case ThermalKernel::Contributions:
      return {loop<T>("vectors of 8 elements", place, a, (a.elements + lanes - 1) / lanes, contributions<T>)};
    case ThermalKernel::Fill:
      return {loop<T>("in place", place, a, a.nodes, fill<T>),
              loop<T>("sums on the stack", place, a, a.nodes, fill_apart<T>)};
    case ThermalKernel::Scatter:
      return {{"loop", [=] {
                 split(place, a.entries, [&](Size begin, Size end) {
                   for (Size k = begin; k < end; ++k) a.values[k] = 0;
                 });
                 for (Size n = 0; n < a.nodes; ++n) a.b[n] = 0;
                 split(place, a.elements, [&](Size begin, Size end) { scatter(a, begin, end); });
               }}};
    case ThermalKernel::Fused:
      return {loop<T>("loop", place, a, a.nodes, fused<T>)};
    case ThermalKernel::Product:
      return {loop<T>("loop", place, a, a.nodes, product<T>),
              loop<T>("simd within a row", place, a, a.nodes, product_simd<T>)};
    case ThermalKernel::Dot:
      return {sums<T>(place, a, dot<T>, dot_scalar, 1)};
    case ThermalKernel::Update:
      return {sums<T>(place, a, update<T>, sums_scalar, 2)};
    case ThermalKernel::Direction:
      return {loop<T>("simd", place, a, a.nodes, direction<T>)};
    case ThermalKernel::Iteration: {
      const auto dots = once(place, ThermalKernel::Dot, a).front().run;
      const std::pair<const char*, std::vector<std::function<void()>>> rests[] = {
          {", x with r",
           {once(place, ThermalKernel::Update, a).front().run,
            once(place, ThermalKernel::Direction, a).front().run}},
          {", x with p",
           {sums<T>(place, a, residual<T>, sums_scalar, 2).run,
            loop<T>("", place, a, a.nodes, step_and_direction<T>).run}}};
      Sweep iterations;
      for (const Competitor& product : once(place, ThermalKernel::Product, a))
        for (const auto& [how, steps] : rests)
          iterations.push_back({product.name + how, [run = product.run, dots, steps = steps] {
                                  run(), dots();
                                  for (const auto& step : steps) step();
                                }});
      return iterations;
    }
  }
  return {};
}

}  // namespace

template <class T>
Sweep thermal_by_hand(HostPlace place, ThermalKernel kernel, const ThermalArrays<T>& arrays, int times) {
  Sweep sweep = once(place, kernel, arrays);
  for (Competitor& competitor : sweep)
    competitor.run = [run = competitor.run, times] {
      for (int k = 0; k < times; ++k) run();
    };
  return sweep;
}
template Sweep thermal_by_hand(HostPlace, ThermalKernel, const ThermalArrays<float>&, int);
template Sweep thermal_by_hand(HostPlace, ThermalKernel, const ThermalArrays<double>&, int);

}  // namespace perf
