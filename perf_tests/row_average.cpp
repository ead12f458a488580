// Is the first functor of the Kokkos Array paper (figure 6) as fast as memory? Means over the last index of
// an array of rank 3: as it stands there, with arrays whose rank is known at run time and an int for an
// index, and as a kernel over views of fixed rank, against plain loops and plain CUDA over the same arrays.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/row_average.hpp"

#include <cmath>

#include "common/contest.hpp"
#include "kokkos/kokkos_cases.hpp"

namespace {

using namespace perf;
using strata::index_t;

constexpr int rows = 8, row_length = 8;

// Small even numbers; the mean of a row of 8 consecutive ones is exact.
template <class T>
struct Numbers {
  STRATA_FUNCTION static T x(index_t i, int j, int k) { return static_cast<T>(i % 1021 + 8 * j + k); }
  static T mean(index_t i, int j) { return x(i, j, 0) + T(row_length - 1) / 2; }
  STRATA_FUNCTION void operator()(index_t i, auto view) const {
    for (int j = 0; j < rows; ++j)
      for (int k = 0; k < row_length; ++k) view(i, j, k) = x(i, j, k);
  }
};

template <class T, class Device>
struct Figure6 {
  using device_type = Device;
  using Array = strata::MDArray<T, Device>;
  Array x, y;
  int n1, n2;

  STRATA_FUNCTION void operator()(int i) const {
    for (int j = 0; j < n1; ++j) {
      T sum = 0;
      for (int k = 0; k < n2; ++k) sum += x(i, j, k);
      y(i, j) = sum / static_cast<T>(n2);
    }
  }
};

// As the kernels by hand have it. (Not for an average an item: threads walk over several, which then are
// 32 loads in one piece.)
#ifdef __CUDA_ARCH__
#define STRATA_PERF_UNROLL_8 _Pragma("unroll 8")
#else
#define STRATA_PERF_UNROLL_8
#endif

struct RowAverage {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    using T = typename decltype(y)::value_type;
    const int n1 = static_cast<int>(x.extent(1)), n2 = static_cast<int>(x.extent(2));
    for (int j = 0; j < n1; ++j) {
      T sum = 0;
      STRATA_PERF_UNROLL_8
      for (int k = 0; k < n2; ++k) sum += x(i, j, k);
      y(i, j) = sum / static_cast<T>(n2);
    }
  }
};

// An average an item, over a range of two dimensions.
struct OneAverage {
  STRATA_FUNCTION void operator()(auto i, auto j, auto x, auto y) const {
    using T = typename decltype(y)::value_type;
    const int n2 = static_cast<int>(x.extent(2));
    T sum = 0;
    for (int k = 0; k < n2; ++k) sum += x(i, j, k);
    y(i, j) = sum / static_cast<T>(n2);
  }
};

template <class T, class D>
void measure(const Options& options, Report& report, const char* type) {
  const index_t n = size_for<D>(options, index_t{1} << 18, index_t{1} << 21);
  using Array = typename Figure6<T, D>::Array;
  const auto ranked_x = strata::create<Array>("x", n, rows, row_length),
             ranked_y = strata::create<Array>("y", n, rows);
  // The same memory, the rank known to the compiler.
  const typename strata::MDArray<T, D, strata::rank<3>>::unmanaged_type x(ranked_x.data(), n, rows,
                                                                          row_length);
  const typename strata::MDArray<T, D, strata::rank<2>>::unmanaged_type y(ranked_y.data(), n, rows);
  strata::parallel_for(n, strata::with(Numbers<T>{}, x));
  strata::wait(D{});
  const double bytes = static_cast<double>(n) * rows * (row_length + 1) * sizeof(T);
  Contest<D> contest(options, report, type, bytes);
  const RowAverageArrays<T> arrays{x.data(), y.data(), n, rows, row_length};

  const auto one = [&](const char* name, std::function<void()> launch, Sweep baseline) {
    contest.measure({.name = name,
                     .n = n,
                     .bytes = bytes,
                     .run =
                         [&] {
                           launch();
                           strata::wait(D{});
                         },
                     .baseline = std::move(baseline),
                     .others = {kokkos_row_average(kokkos_place<D>(), arrays)},
                     .correct =
                         [&] {
                           return rows_hold(y, 1024, [](const auto& host, index_t at, index_t i) {
                             bool holds = true;
                             for (int j = 0; j < rows; ++j)
                               holds = holds && std::abs(host(at, j) - Numbers<T>::mean(i, j)) <= T(1e-3);
                             return holds;
                           });
                         },
                     .clear = [&] { strata::deep_copy(y, T(-1)); }});
  };
  const Figure6<T, D> functor{ranked_x, ranked_y, rows, row_length};
  const auto rows_by_hand = [&] { return row_average_by_hand(contest.place(), arrays); };
  using strata::in, strata::out;
  one(
      "figure 6", [&] { strata::parallel_for(n, functor); }, rows_by_hand());
  one(
      "fixed rank", [&] { strata::launch(strata::on(D{}), n, RowAverage{}, in(x), out(y)); }, rows_by_hand());
  one(
      "fixed rank, an average an item",
      [&] {
        strata::launch(strata::on(D{}), strata::mdrange({n, rows}), OneAverage{}, in(x), out(y));
      },
      one_average_by_hand(contest.place(), arrays));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "Averages of rows, the functor of figure 6.");
  Report report("row_average", "the fastest of the loops or kernels by hand on the same arrays");
  for_each_type(options, [&](auto zero, const char* type) {
    for_each_real_device(
        options, [&](auto device) { measure<decltype(zero), decltype(device)>(options, report, type); });
  });
  report.note("n items of 8 rows of 8 values: 64 read and 8 written for each");
  return report.finish(options);
}
