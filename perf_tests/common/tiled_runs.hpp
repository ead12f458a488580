// What the cases of strata_tiled_linear share: its options, matrices that are known, and runs under a budget.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <strata/algorithms/linear/tiled/tiled_options.hpp>
#include <strata/views/coherent/whole_copies.hpp>

#include "common/contest.hpp"
#include "common/known_matrix.hpp"
#include "common/planned_runs.hpp"
#include "common/streaming_cases.hpp"

namespace perf {

/// Of the command line.
struct TiledOptions {
  strata::index_t tile = 0;         ///< 0: by device
  strata::index_t budget = 0;       ///< bytes; 0: a quarter of the matrix
  strata::index_t host_memory = 0;  ///< of `files`: bytes of them that the host may hold; 0: a quarter
  std::string folder;               ///< of `files`: where they are made, and removed; empty: TMPDIR or /tmp
  std::vector<std::string> schedulers = {"data-aware"};
  std::vector<std::string> cases = {"cholesky"};
  bool tf32 = false;

  bool has_case(const char* name) const {
    for (const std::string& asked : cases)
      if (asked == name) return true;
    return false;
  }
};

/// Numbers in no order, of which a factor needs pivots.
struct ScatteredMatrix {
  STRATA_FUNCTION constexpr double operator()(strata::index_t i, strata::index_t j) const {
    return scattered((i << 20) + j);
  }
};

template <class T, class Matrix>
struct FillKernel {
  strata::index_t row, column;
  STRATA_FUNCTION void operator()(strata::index_t i, strata::index_t j, auto tile) const {
    tile(i, j) = static_cast<T>(Matrix()(row + i, column + j));
  }
};
template <class T, class Matrix = KnownMatrix>
struct FillTile {
  strata::index_t row, column;
  template <class D>
  void operator()(const strata::Queue<D>& queue, const auto& tile) const {
    strata::parallel_for(on(queue), strata::mdrange({tile.extent(0), tile.extent(1)}),
                         strata::with(FillKernel<T, Matrix>{row, column}, tile));
  }
};
/// y += the tile of Matrix that begins at (row, column), times x; over its rows.
template <class Matrix>
struct EntriesTimesKernel {
  strata::index_t row, column;
  STRATA_FUNCTION void operator()(strata::index_t i, auto x, auto y) const {
    auto sum = y(i, 0);
    for (strata::index_t k = 0; k < x.extent(0); ++k) {
      using T = std::remove_cvref_t<decltype(x(k, 0))>;
      sum += static_cast<T>(Matrix()(row + i, column + k)) * x(k, 0);
    }
    y(i, 0) = sum;
  }
};
template <class Matrix>
struct EntriesTimes {
  strata::index_t row, column;
  template <class D>
  void operator()(const strata::Queue<D>& queue, const auto& x, const auto& y) const {
    strata::parallel_for(on(queue), y.extent(0), strata::with(EntriesTimesKernel<Matrix>{row, column}, x, y));
  }
};

/// Sizes, budgets and reporting of cases on one device with elements of one type.
template <class D, class T>
class TiledRuns {
 protected:
  using index_t = strata::index_t;
  using Matrix = strata::TiledMatrix<T>;
  using Copies = strata::detail::WholeCopies;

  TiledRuns(const Options& options, const TiledOptions& tiled, Report& report, const char* type)
      : options_(options),
        tiled_(tiled),
        report_(report),
        type_(type),
        n_(options.n > 0   ? options.n
           : is_gpu<D>     ? 23040
           : is_machine<D> ? 1536
                           : 256),
        tile_(tiled.tile > 0  ? tiled.tile
              : is_gpu<D>     ? 1920
              : is_machine<D> ? 256
                              : 32) {
    linear_.tf32 = tiled.tf32;
    if (is_machine<D> && !strata::linear::has_host_blas()) linear_.backend = strata::linear::Backend::Strata;
    if constexpr (!is_machine<D>) all_ = strata::detail::budget_of(device());
  }

  static strata::detail::DeviceInstance& device() { return D{}.backend(); }
  /// Of a tile of full size.
  index_t tile_bytes() const { return tile_ * tile_ * static_cast<index_t>(sizeof(T)); }
  template <class F>
  static void visit(const Matrix& a, const F& f) {
    for (index_t i = 0; i < a.tile_rows(); ++i)
      for (index_t j = 0; j < (a.is_symmetric() ? i + 1 : a.tile_columns()); ++j) f(i, j, a.tile(i, j));
  }
  static index_t bytes_of(const Matrix& a) {
    index_t bytes = 0;
    visit(a, [&](index_t, index_t, const auto& tile) { bytes += Copies::bytes(*tile.state()); });
    return bytes;
  }
  /// The host gets the values, and the device its room back.
  static void evict(const Matrix& a) {
    if constexpr (!is_machine<D>)
      visit(a, [](index_t, index_t, const auto& tile) {
        tile.flush();
        Copies::evict(*tile.state(), device());
      });
  }
  template <class Values = KnownMatrix>
  static void fill(const Matrix& a) {
    strata::TaskGraph graph("fill");
    visit(a, [&](index_t i, index_t j, const auto& tile) {
      graph.call("fill", FillTile<T, Values>{i * a.tile_order(), j * a.tile_order()}, out(tile));
    });
    graph.run(strata::on(D{}));
  }
  /// The library alone does a whole matrix: cuSOLVER on a GPU, on hosts what strata::linear::host_blas_name()
  /// says. `call` is for the data and integers that it is given.
  template <class Values, class MakeCall>
  double run_in_core(const std::string& name, double operations, const MakeCall& make_call) {
    using namespace strata;
    const std::string library = is_gpu<D> ? "cuSOLVER" : linear::host_blas_name();
    try {
      const auto whole = create<MDArrayIn<LayoutRight, T, D, rank<2>>>("whole matrix", n_, n_, uninitialized);
      const auto integers = create<MDArrayIn<LayoutRight, int, D, rank<1>>>("integers", n_ + 1);
      const Queue<D> queue{D{}};
      const auto call = make_call(whole.data(), integers.data());
      std::vector<double> seconds;
      for (int rep = 0; rep <= options_.reps_or(3); ++rep) {
        FillTile<T, Values>{0, 0}(queue, whole);
        queue.wait();
        const double begin = now();
        if constexpr (is_machine<D>) strata::detail::host_library_run(sizeof(T) == 8, call);
        else strata::detail::run_library<T>("in core", {linear::Backend::Vendor, false}, queue, call);
        queue.wait();
        if (rep > 0) seconds.push_back(now() - begin);
      }
      report_.check(create_mirror_and_copy(integers)(0) == 0, library + " in core: " + name);
      const Statistics time = statistics(seconds);
      add(library + " in core: " + name, time, operations, 0, 0);
      return time.median;
    } catch (const Error& error) {
      report_.note(title() + library + " cannot do all of the matrix: " + error.what());
      return 0;
    }
  }
  /// Whether there is such a library.
  static bool has_library() { return is_gpu<D> || (is_machine<D> && strata::linear::has_host_blas()); }
  void set_budget(index_t bytes) const {
    if constexpr (!is_machine<D>) strata::coherent::set_budget(D{}, bytes);
  }
  /// `operations` of the case, in `time`; `seconds` of the simulation and of the baseline, 0 where there is
  /// none.
  void add(const std::string& name, const Statistics& time, double operations, double simulated,
           double baseline) {
    report_.add({name, D::name, n_, type_, time, operations / time.median / 1e9, "GFLOP/s",
                 simulated > 0 ? operations / simulated / 1e9 : none,
                 baseline > 0 ? baseline / time.median : none});
  }
  void add_bytes(const std::string& name, index_t moved, double of_simulation) {
    report_.add({name, D::name, n_, type_, {}, static_cast<double>(moved) / 1e6, "MB", of_simulation, none});
  }
  /// What a run takes beside what nothing can hide in its simulation: computing, or copies over the host's
  /// link.
  void add_beside_limit(const std::string& name, const Statistics& time, const PlannedSimulation& simulated) {
    report_.add({name + ": over max(compute, link) of its simulation", D::name, n_, type_, time,
                 time.median / simulated.limit_seconds, "x", none, none});
  }
  std::string title() const { return std::string(D::name) + ", " + type_ + ": "; }

  const Options& options_;
  const TiledOptions& tiled_;
  Report& report_;
  const char* type_;
  const index_t n_, tile_;
  strata::linear::TiledOptions linear_;
  index_t all_ = 0;
};

}  // namespace perf
