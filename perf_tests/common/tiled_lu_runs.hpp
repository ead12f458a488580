// LU factors of strata_tiled_linear, with pivots and without: in core by cuSOLVER, resident, and under a
// budget.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <strata/algorithms/linear/tiled/tiled_lu.hpp>

#include "common/tiled_runs.hpp"

namespace perf {

template <class D, class T, strata::linear::Pivoting Pivots>
class LuRuns : TiledRuns<D, T> {
  using Base = TiledRuns<D, T>;
  using Base::all_, Base::evict, Base::linear_, Base::n_, Base::options_, Base::report_, Base::tile_,
      Base::tiled_;
  using typename Base::index_t;
  using typename Base::Matrix;
  static constexpr bool pivots = Pivots == strata::linear::Pivoting::Partial;
  using Values = std::conditional_t<pivots, ScatteredMatrix, KnownMatrix>;

 public:
  LuRuns(const Options& options, const TiledOptions& tiled, Report& report, const char* type)
      : Base(options, tiled, report, type),
        a_("a", n_, n_, tile_, strata::uninitialized, fast_memory<D>),
        bytes_(Base::bytes_of(a_)) {}

  void run() {
    if constexpr (is_gpu<D> || is_machine<D>)
      if (Base::has_library())  // what it factors is the transpose
        in_core_ = this->template run_in_core<Values>(name(), operations(), [&](T* a, int* integers) {
          return strata::detail::GetrfCall{n_, n_, a, n_, pivots ? integers + 1 : nullptr, integers};
        });
    // A panel, its copies of rows and inverses of tiles are beside it.
    const bool fits = 1.2 * static_cast<double>(bytes_) < 0.8 * static_cast<double>(all_);
    if (is_machine<D> || fits) run_tiled("all resident", tiled_.schedulers.front(), all_, true);
    if constexpr (!is_machine<D>) {
      const index_t panel = pivots ? n_ * tile_ * static_cast<index_t>(sizeof(T)) : 0;
      const index_t least = panel + 4 * this->tile_bytes();
      const index_t budget = tiled_.budget > 0 ? tiled_.budget : std::max(bytes_ / 4, least);
      for (const std::string& scheduler : tiled_.schedulers) run_tiled(scheduler, scheduler, budget, false);
      this->set_budget(all_);
      report_.note(this->title() + "the matrix of " + name() + " has " + strata::string_from_bytes(bytes_) +
                   " in tiles of " + std::to_string(tile_) + ", of which the device holds " +
                   strata::string_from_bytes(budget));
    }
  }

 private:
  static std::string name() { return pivots ? "lu_pivoted" : "lu"; }
  double operations() const {
    const double n = static_cast<double>(n_);
    return 2 * n * n * n / 3;
  }

  void run_tiled(const std::string& how, const std::string& scheduler, index_t budget, bool stays) {
    const std::string title = name() + ", " + how;
    this->set_budget(budget);
    strata::linear::LuOptions options;
    static_cast<strata::linear::TiledOptions&>(options) = linear_;
    options.pivoting = Pivots;
    options.run.scheduler = scheduler;
    options.run.on_host = !stays;
    std::vector<double> seconds;
    strata::TaskReport report;
    double residual = 0;
    for (int rep = 0; rep < options_.reps_or(3); ++rep) {
      Base::template fill<Values>(a_);
      if (!stays) evict(a_);
      const auto factors = strata::linear::lu(a_, strata::on(D{}), options);
      report = factors.report;
      seconds.push_back(report.seconds);
      if (rep == 0) residual = residual_of(factors);
    }
    // Elements of U of scattered numbers grow by about n^(2/3) / 4, beside those of A.
    const double n = static_cast<double>(n_), growth = pivots ? 4 + std::pow(n, 2.0 / 3) / 4 : 4;
    const double allowed = growth * std::sqrt(n) * std::numeric_limits<T>::epsilon() +
                           (tiled_.tf32 && sizeof(T) == 4 ? 0.01 : 0);
    report_.check(residual < allowed,
                  title + " on " + D::name + ": the residual " + std::to_string(residual));
    this->add(title, statistics(seconds), operations(), 0, in_core_);
    if (stays) return;
    this->add_bytes(title + ": to devices", report.bytes_to_devices, none);
    this->add_bytes(title + ": from devices", report.bytes_from_devices, none);
    evict(a_);
  }

  // The largest component of A v - P^T L U v, over the largest of A v and 1.
  double residual_of(const strata::linear::LuFactors<T>& factors) const {
    const Matrix v("v", n_, 1, tile_), w("w", n_, 1, tile_);
    v.fill([](index_t i, index_t) { return vector_entry(i); });
    strata::TaskGraph graph("residual");
    for (index_t i = 0; i < a_.tile_rows(); ++i)
      for (index_t j = 0; j < a_.tile_columns(); ++j)
        graph.call("entries", EntriesTimes<Values>{i * tile_, j * tile_}, in(v.tile(j, 0)),
                   inout(w.tile(i, 0)));
    graph.run(strata::on(D{}));
    strata::linear::product(factors, v, strata::on(D{}), linear_);
    double most = 0, of_w = 1;
    std::vector<double> values(static_cast<std::size_t>(n_));
    w.read([&](index_t i, index_t, T value) {
      values[static_cast<std::size_t>(i)] = static_cast<double>(value);
      of_w = std::max(of_w, std::abs(static_cast<double>(value)));
    });
    v.read([&](index_t i, index_t, T value) {
      const double apart = std::abs(values[static_cast<std::size_t>(i)] - static_cast<double>(value));
      most = std::isnan(apart) || apart > most ? apart : most;
    });
    return most / of_w;
  }

  const Matrix a_;
  const index_t bytes_;
  double in_core_ = 0;
};

}  // namespace perf
