// Does a stencil over a multi-dimensional range reach what the memory gives? Seven points in a cube, by
// default and marching along the slowest index, against loops by hand and plain CUDA in both ways.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/stencil7.hpp"

#include <cmath>

#include "common/contest.hpp"
#include "kokkos/kokkos_cases.hpp"

namespace {

using namespace perf;
using strata::index_t;

template <class T>
struct Numbers {
  STRATA_FUNCTION static T u(index_t i, index_t j, index_t k) {
    return static_cast<T>(i % 13 + 3 * (j % 11) + 7 * (k % 17));
  }
  STRATA_FUNCTION void operator()(auto i, auto j, auto k, auto view) const {
    view(i, j, k) = u(index_t(i), index_t(j), index_t(k));
  }
};

template <class T>
struct Stencil7 {
  T a, b;
  STRATA_FUNCTION void operator()(auto i, auto j, auto k, auto u, auto v) const {
    v(i, j, k) = a * u(i, j, k) + b * (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) +
                                       u(i, j, k - 1) + u(i, j, k + 1));
  }
};

template <class T, class D>
void measure(const Options& options, Report& report, const char* type) {
  using Array = strata::MDArray<T, D, strata::rank<3>>;
  const index_t m = size_for<D>(options, 256, 512), inner = m - 2;
  constexpr T a = 2, b = 0.5;
  const auto u = strata::create<Array>("u", m, m, m), v = strata::create<Array>("v", m, m, m);
  strata::parallel_for(strata::mdrange({m, m, m}), strata::with(Numbers<T>{}, u));
  strata::wait(D{});
  const double bytes = 2.0 * sizeof(T) * static_cast<double>(inner * inner * inner);
  Contest<D> contest(options, report, type, bytes);
  const StencilArrays<T> arrays{u.data(), v.data(), m, a, b};

  const auto expected = [m](index_t i, index_t j, index_t k) {
    if (i % (m - 1) == 0 || j % (m - 1) == 0 || k % (m - 1) == 0) return T(-1);
    const auto at = [&](index_t x, index_t y, index_t z) { return Numbers<T>::u(x, y, z); };
    return a * at(i, j, k) + b * (at(i - 1, j, k) + at(i + 1, j, k) + at(i, j - 1, k) + at(i, j + 1, k) +
                                  at(i, j, k - 1) + at(i, j, k + 1));
  };
  const auto one = [&](const char* name, auto range, Sweep baseline, Sweep kokkos) {
    contest.measure(
        {.name = name,
         .n = m,
         .bytes = bytes,
         .run =
             [&] {
               strata::launch(strata::on(D{}), range, Stencil7<T>{a, b}, strata::in(u), strata::out(v));
               strata::wait(D{});
             },
         .baseline = std::move(baseline),
         .others = {std::move(kokkos)},
         .correct =
             [&] {
               return rows_hold(v, 2, [&](const auto& host, index_t at, index_t i) {
                 bool holds = true;
                 for (index_t j = 0; j < m; ++j)
                   for (index_t k = 0; k < m; ++k) holds = holds && host(at, j, k) == expected(i, j, k);
                 return holds;
               });
             },
         .clear = [&] { strata::deep_copy(v, T(-1)); }});
  };
  const auto points = strata::mdrange({1, 1, 1}, {m - 1, m - 1, m - 1});
  one("default", points, stencil7_by_hand(contest.place(), arrays),
      kokkos_stencil7(kokkos_place<D>(), arrays));
  // Hosts ignore the hint.
  if constexpr (!is_machine<D>)
    one("marching", strata::marching(points), stencil7_marching(contest.place(), arrays), {});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "A stencil of seven points in a cube of n x n x n points, over mdrange.");
  Report report("stencil7",
                "the fastest of the loops or kernels by hand on the same arrays, marching where it marches");
  for_each_type(options, [&](auto zero, const char* type) {
    for_each_real_device(
        options, [&](auto device) { measure<decltype(zero), decltype(device)>(options, report, type); });
  });
  report.note("n is the cube's edge; a point counts as one value read and one written");
  return report.finish(options);
}
