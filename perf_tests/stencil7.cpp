// Does a stencil over a multi-dimensional range reach what the memory gives? Seven points in a cube, by
// default and marching along the slowest index, against loops by hand and plain CUDA in both ways.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/stencil7.hpp"

#include <cstdint>

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

// Counts the points that are not as they should be; -1 on the surface, where nothing is written.
template <class T>
struct CountWrong {
  T a, b;
  index_t m;
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto v, std::int64_t& wrong) const {
    const auto u = [](index_t x, index_t y, index_t z) { return Numbers<T>::u(x, y, z); };
    const bool inside = i > 0 && j > 0 && k > 0 && i < m - 1 && j < m - 1 && k < m - 1;
    const T expected = inside ? a * u(i, j, k) + b * (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) +
                                                      u(i, j + 1, k) + u(i, j, k - 1) + u(i, j, k + 1))
                              : T(-1);
    if (v(i, j, k) != expected) ++wrong;
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

  // The first, the middle and the last planes, where v is: there are many kernels by hand.
  const auto is_right = [&] {
    std::int64_t wrong = 0;
    for (const index_t plane : {index_t{0}, index_t{1}, m / 2, m - 2, m - 1}) {
      std::int64_t wrong_there = 0;
      strata::parallel_reduce(strata::mdrange({0, 0, plane}, {m, m, plane + 1}),
                              strata::with(CountWrong<T>{a, b, m}, v), strata::Sum(wrong_there));
      wrong += wrong_there;
    }
    return wrong == 0;
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
         .correct = is_right,
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
  Report report(
      "stencil7",
      "the fastest of the loops or kernels by hand on the same arrays; on a GPU some of them march");
  for_each_type(options, [&](auto zero, const char* type) {
    for_each_real_device(
        options, [&](auto device) { measure<decltype(zero), decltype(device)>(options, report, type); });
  });
  report.note("n is the cube's edge; a point counts as one value read and one written");
  return report.finish(options);
}
