// Do kernels over boxes reach what memory gives on a GPU, by default and marching? Copies, transpositions and
// stencils in a cube, and one in a square, and sums to the host, against plain CUDA whose threads have a
// point or walk over some.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/boxes.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "common/contest.hpp"

namespace {

using namespace perf;
using strata::index_t;

// Small integers: sums of them are exact.
template <class T>
STRATA_FUNCTION T number_at(index_t i, index_t j, index_t k) {
  return static_cast<T>(i % 13 + 3 * (j % 11) + 7 * (k % 17));
}
template <class T>
struct Numbers {
  STRATA_FUNCTION void operator()(auto i, auto j, auto k, auto u) const {
    u(i, j, k) = number_at<T>(i, j, k);
  }
  STRATA_FUNCTION void operator()(auto i, auto j, auto u) const { u(i, j) = number_at<T>(i, j, 0); }
};

template <class Formula, class T>
struct Point {
  STRATA_FUNCTION static T of(index_t x, index_t y, index_t z) {
    return Formula::template of<T>([&](int i, int j, int k) { return number_at<T>(x + i, y + j, z + k); });
  }
  STRATA_FUNCTION void operator()(auto x, auto y, auto z, auto u, auto v) const {
    v(x, y, z) = Formula::template of<T>([&](int i, int j, int k) { return u(x + i, y + j, z + k); });
  }
};
template <class T>
struct Transposed {
  STRATA_FUNCTION static T of(index_t x, index_t y, index_t z) { return number_at<T>(y, x, z); }
  STRATA_FUNCTION void operator()(auto x, auto y, auto z, auto u, auto v) const { v(x, y, z) = u(y, x, z); }
};
template <class T>
struct PlanePoint {
  STRATA_FUNCTION static T of(index_t x, index_t y, index_t) {
    return five_points<T>([&](int i, int j) { return number_at<T>(x + i, y + j, 0); });
  }
  STRATA_FUNCTION void operator()(auto x, auto y, auto u, auto v) const {
    v(x, y) = five_points<T>([&](int i, int j) { return u(x + i, y + j); });
  }
};

// Counts the points that are not as the kernel says.
template <class K, class T>
struct CountWrong {
  STRATA_FUNCTION void operator()(index_t x, index_t y, index_t z, auto v, std::int64_t& wrong) const {
    count(v(x, y, z), K::of(x, y, z), wrong);
  }
  STRATA_FUNCTION void operator()(index_t x, index_t y, auto v, std::int64_t& wrong) const {
    count(v(x, y), K::of(x, y, 0), wrong);
  }
  STRATA_FUNCTION static void count(T value, T expected, std::int64_t& wrong) {
    const T error = value < expected ? expected - value : value - expected;
    if (!(error <= T(1e-5) * expected)) ++wrong;
  }
};

template <class T, class D, class Array, class Range>
struct Setting {
  Contest<D>& contest;
  Array u, v;
  Range points;
  index_t n;
  double bytes;

  template <class K>
  void measure(const std::string& name, const K& kernel, const Sweep& baseline) const {
    const auto one = [&](const std::string& what, const auto& range) {
      contest.measure({.name = what,
                       .n = n,
                       .bytes = bytes,
                       .run =
                           [&] {
                             strata::launch(strata::on(D{}), range, kernel, strata::in(u), strata::out(v));
                             strata::wait(D{});
                           },
                       .baseline = baseline,
                       .correct =
                           [&] {
                             std::int64_t wrong = 0;
                             strata::parallel_reduce(points, strata::with(CountWrong<K, T>{}, v),
                                                     strata::Sum(wrong));
                             return wrong == 0;
                           },
                       .clear = [&] { strata::deep_copy(v, T(-1)); }});
    };
    one(name, points);
    one(name + ", marching", strata::marching(points));
  }
};

// ---- sums over the points that are not on the surface, to the host

template <class Formula>
struct AddPoint {
  template <class T>
  STRATA_FUNCTION void operator()(auto x, auto y, auto z, auto u, T& sum) const {
    sum += Formula::template of<T>([&](int i, int j, int k) { return u(x + i, y + j, z + k); });
  }
};
// The same over the numbers of the points, in whole numbers.
template <class Formula>
struct AddExact {
  index_t inner;
  STRATA_FUNCTION void operator()(index_t p, std::int64_t& sum) const {
    const index_t x = 1 + p % inner, y = 1 + p / inner % inner, z = 1 + p / inner / inner;
    sum += Formula::template of<std::int64_t>(
        [&](int i, int j, int k) { return number_at<std::int64_t>(x + i, y + j, z + k); });
  }
};

template <class Formula, class D, class Array>
void measure_sum(Contest<D>& contest, const std::string& name, const Array& u) {
  using T = typename Array::value_type;
  const index_t m = u.extent(0), inner = m - 2;
  const auto points = strata::mdrange({1, 1, 1}, {m - 1, m - 1, m - 1});
  std::int64_t exact = 0;
  strata::parallel_reduce(strata::on(D{}), inner * inner * inner, AddExact<Formula>{inner},
                          strata::Sum(exact));
  const double expected = static_cast<double>(exact), tolerance = sizeof(T) == 8 ? 0 : 1e-5;
  T sum = 0;
  contest.measure(
      {.name = name,
       .n = m,
       .bytes = static_cast<double>(sizeof(T)) * static_cast<double>(inner * inner * inner),
       .run =
           [&] { strata::parallel_reduce(points, strata::with(AddPoint<Formula>{}, u), strata::Sum(sum)); },
       .baseline = box_sum_by_hand<Formula>(contest.place(), BoxSum<T>{u.data(), m, &sum}),
       .correct = [&] { return std::abs(static_cast<double>(sum) - expected) <= tolerance * expected; },
       .clear = [&] { sum = T(-1); }});
}
// The formulas are symmetric, so that both layouts have the same baseline.
template <class T, class D, class Layout>
void measure_sums(Contest<D>& contest, const std::string& where, index_t m) {
  const auto u = strata::create<strata::MDArrayIn<Layout, T, D, strata::rank<3>>>("u", m, m, m);
  strata::parallel_for(strata::mdrange({m, m, m}), strata::with(Numbers<T>{}, u));
  measure_sum<CopyPoint>(contest, "sum" + where, u);
  measure_sum<SquaredResidual>(contest, "squared residuals" + where, u);
}

template <class T, class D>
void measure(const Options& options, Report& report, const char* type) {
  {
    using Array = strata::MDArray<T, D, strata::rank<3>>;
    const index_t m = options.n > 0 ? options.n : 512, inner = m - 2 * box_margin;
    const double bytes = 2.0 * sizeof(T) * static_cast<double>(inner * inner * inner);
    Contest<D> contest(options, report, type, bytes);
    const Setting setting = [&] {
      const auto points = strata::mdrange({box_margin, box_margin, box_margin},
                                          {m - box_margin, m - box_margin, m - box_margin});
      return Setting<T, D, Array, decltype(points)>{
          contest, strata::create<Array>("u", m, m, m), strata::create<Array>("v", m, m, m), points, m,
          bytes};
    }();
    strata::parallel_for(strata::mdrange({m, m, m}), strata::with(Numbers<T>{}, setting.u));
    strata::wait(D{});
    const BoxArrays<T> arrays{setting.u.data(), setting.v.data(), m};
    const auto stencil = [&](auto formula) {
      using Formula = decltype(formula);
      setting.measure(Formula::name, Point<Formula, T>{}, box_by_hand<Formula>(contest.place(), arrays));
    };
    stencil(CopyPoint{});
    stencil(Points27{});
    stencil(Points25{});
    setting.measure("transposition", Transposed<T>{}, transposition_by_hand(contest.place(), arrays));
    measure_sums<T, D, strata::LayoutLeft>(contest, "", m);
    measure_sums<T, D, strata::LayoutRight>(contest, ", last index fastest", m);
  }
  using Array = strata::MDArray<T, D, strata::rank<2>>;
  const index_t m = options.n > 0 ? options.n : 12288;
  const double bytes = 2.0 * sizeof(T) * static_cast<double>((m - 2) * (m - 2));
  Contest<D> contest(options, report, type, bytes);
  const auto points = strata::mdrange({1, 1}, {m - 1, m - 1});
  const Setting<T, D, Array, decltype(points)> setting{
      contest, strata::create<Array>("u", m, m), strata::create<Array>("v", m, m), points, m, bytes};
  strata::parallel_for(strata::mdrange({m, m}), strata::with(Numbers<T>{}, setting.u));
  strata::wait(D{});
  setting.measure("5 points of a square", PlanePoint<T>{},
                  plane_by_hand(contest.place(), BoxArrays<T>{setting.u.data(), setting.v.data(), m}));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "Kernels over boxes on a GPU: copies, transpositions, stencils and sums.");
  Report report(
      "boxes",
      "plain CUDA, the best of six shapes of block with 1, 4 and 8 points a thread (of sums nine with 8, 32 "
      "and 128); transpositions also through shared memory");
  for_each_type(options, [&]([[maybe_unused]] auto zero, [[maybe_unused]] const char* type) {
    for_each_real_device(options, [&](auto device) {
      using D = decltype(device);
      if constexpr (is_gpu<D>) measure<decltype(zero), D>(options, report, type);
      else if (options.device == D::name) std::printf("left out: %s; this is about GPUs\n", D::name);
    });
  });
  report.note(
      "n is the edge of the cube or square; a point counts as one value read and one written, of sums as one "
      "read");
  return report.finish(options);
}
