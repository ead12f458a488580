// The Cholesky factor of strata_tiled_linear: in core by cuSOLVER, resident, and under a budget beside the
// simulation of its schedule.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>

#include "common/planned_runs.hpp"
#include "common/tiled_runs.hpp"

namespace perf {

/// y += L x or L^T x for the lower triangle of a tile.
struct LowerTimesKernel {
  bool transpose;
  STRATA_FUNCTION void operator()(strata::index_t i, auto l, auto x, auto y) const {
    auto sum = y(i, 0);
    const strata::index_t begin = transpose ? i : 0, end = transpose ? l.extent(0) : i + 1;
    for (strata::index_t k = begin; k < end; ++k) sum += (transpose ? l(k, i) : l(i, k)) * x(k, 0);
    y(i, 0) = sum;
  }
};
struct LowerTimes {
  bool transpose;
  template <class D>
  void operator()(const strata::Queue<D>& queue, const auto& l, const auto& x, const auto& y) const {
    strata::parallel_for(on(queue), l.extent(0), strata::with(LowerTimesKernel{transpose}, l, x, y));
  }
};

template <class D, class T>
class CholeskyRuns : TiledRuns<D, T> {
  using Base = TiledRuns<D, T>;
  using Base::all_, Base::device, Base::evict, Base::fill, Base::linear_, Base::n_, Base::options_,
      Base::report_, Base::tile_, Base::tiled_, Base::type_;
  using typename Base::Copies;
  using typename Base::index_t;
  using typename Base::Matrix;

 public:
  CholeskyRuns(const Options& options, const TiledOptions& tiled, Report& report, const char* type)
      : Base(options, tiled, report, type),
        a_(Matrix::symmetric("a", n_, tile_, strata::uninitialized, fast_memory<D>)),
        bytes_(Base::bytes_of(a_)) {}

  void run() {
    measure_tiles();
    if constexpr (is_gpu<D> || is_machine<D>)
      if (Base::has_library())
        in_core_ = this->template run_in_core<KnownMatrix>("cholesky", operations(), [&](T* a, int* info) {
          return strata::detail::PotrfCall{n_, a, n_, info};
        });
    const bool fits = static_cast<double>(bytes_) < 0.8 * static_cast<double>(all_);
    if (is_machine<D> || fits) run_tiled("cholesky, all resident", tiled_.schedulers.front(), all_, true);
    if constexpr (!is_machine<D>) {
      const index_t least = 3 * this->tile_bytes();
      const index_t budget = tiled_.budget > 0 ? tiled_.budget : std::max(bytes_ / 4, least);
      for (const std::string& scheduler : tiled_.schedulers)
        run_tiled("cholesky, " + scheduler, scheduler, budget, false);
      strata::coherent::set_budget(D{}, all_);
      report_.note(this->title() + "the matrix has " + strata::string_from_bytes(bytes_) + " in tiles of " +
                   std::to_string(tile_) + ", of which the device holds " +
                   strata::string_from_bytes(budget));
    }
  }

 private:
  double operations() const {
    const double n = static_cast<double>(n_);
    return n * n * n / 3;
  }
  // What tasks take one at a time, on a small matrix; the first run loads libraries, on all queues.
  void measure_tiles() {
    const Matrix small = Matrix::symmetric("small", 4 * tile_, tile_, fast_memory<D>);
    strata::linear::TiledOptions options = linear_;
    for (int rep = 0; rep < 3; ++rep) {
      fill(small);
      if (rep > 0) {
        options.run.costs = &costs_;
        options.run.queues = 1;
      }
      strata::linear::cholesky(small, strata::on(D{}), options);
    }
    const strata::CoherentArray<int, strata::rank<1>> state("state", tile_ + 1);
    const index_t tile = Copies::bytes(*small.tile(0, 0).state()), states = Copies::bytes(*state.state());
    const double b = static_cast<double>(tile_);
    std::string text;
    const auto rate = [&](const char* kernel, index_t bytes, double work) {
      const double seconds = costs_.seconds(device().device_name(), kernel, bytes);
      if (seconds > 0)
        text += std::string(text.empty() ? "" : ", ") + kernel + " " + fixed(work / seconds / 1e12, 3);
    };
    rate("gemm", 3 * tile, 2 * b * b * b);
    rate("syrk", 2 * tile, b * b * b);
    rate("trsm", 2 * tile, b * b * b);
    rate("potrf", tile + states, b * b * b / 3);
    report_.note(this->title() + "TFLOP/s of tiles of " + std::to_string(tile_) + ", one at a time: " + text);
    evict(small);
  }

  void run_tiled(const std::string& name, const std::string& scheduler, index_t budget, bool stays) {
    this->set_budget(budget);
    PlannedRuns planned(scheduler);
    linear_.run.on_host = !stays;
    std::vector<double> seconds;
    strata::TaskReport report;
    for (int rep = 0; rep < options_.reps_or(3); ++rep) {
      fill(a_);
      if (!stays) evict(a_);
      strata::TaskCosts costs = costs_;  // without those of this run, whose tasks share the device
      linear_.run.costs = &costs;
      linear_.run.make_scheduler = planned.maker();
      report = strata::linear::cholesky(a_, strata::on(D{}), linear_);
      seconds.push_back(report.seconds);
    }
    const double residual = residual_of_factor();
    // Sums round at random; factors in TF32 have errors of 2^-11.
    const double rounding = 4 * std::sqrt(static_cast<double>(n_)) * std::numeric_limits<T>::epsilon();
    const double allowed = rounding + (tiled_.tf32 && sizeof(T) == 4 ? 0.01 : 0);
    report_.check(residual < allowed, name + " on " + D::name + ": the residual " + std::to_string(residual));
    const Statistics time = statistics(seconds);
    const strata::tasks::Simulation simulated =
        stays ? strata::tasks::Simulation() : planned.simulate(device(), budget);
    this->add(name, time, operations(), simulated.seconds, in_core_);
    if (stays) return;
    const auto megabytes = [](index_t bytes) { return static_cast<double>(bytes) / 1e6; };
    this->add_bytes(name + ": to devices", report.bytes_to_devices, megabytes(simulated.traffic.to_devices));
    this->add_bytes(name + ": from devices", report.bytes_from_devices,
                    megabytes(simulated.traffic.from_devices));
    evict(a_);
  }

  // The largest component of A v - L L^T v, over the largest that a row of |A| |v| can have.
  double residual_of_factor() const {
    const Matrix v("v", n_, 1, tile_), w("w", n_, 1, tile_), u("u", n_, 1, tile_);
    v.fill([](index_t i, index_t) { return vector_entry(i); });
    multiply_by_factor(v, w, true);
    multiply_by_factor(w, u, false);
    double dot = 0, most = 0;
    for (index_t i = 0; i < n_; ++i) dot += scattered(i) * vector_entry(i);
    u.read([&](index_t i, index_t, T value) {
      const double apart =
          std::abs(scattered(i) * dot + KnownMatrix::shift * vector_entry(i) - static_cast<double>(value));
      most = std::isnan(apart) || apart > most ? apart : most;
    });
    return most / (static_cast<double>(n_) / 4 + KnownMatrix::shift);
  }
  // y = L x or L^T x
  void multiply_by_factor(const Matrix& x, const Matrix& y, bool transpose) const {
    strata::TaskGraph graph("residual");
    const strata::detail::TileGemm<T> product{{linear_.backend, false}, 1, 1, transpose, false};
    for (index_t i = 0; i < a_.tile_rows(); ++i)
      for (index_t j = 0; j <= i; ++j) {
        const index_t from = transpose ? i : j, to = transpose ? j : i;
        if (i == j)
          graph.call("diagonal", LowerTimes{transpose}, in(a_.tile(i, j)), in(x.tile(from, 0)),
                     inout(y.tile(to, 0)));
        else graph.call("product", product, in(a_.tile(i, j)), in(x.tile(from, 0)), inout(y.tile(to, 0)));
      }
    graph.run(strata::on(D{}));
  }

  const Matrix a_;
  const index_t bytes_;
  double in_core_ = 0;
  strata::TaskCosts costs_;  // of tiles, one at a time
};

}  // namespace perf
