// A Cholesky factor by a device alone, by the host alone, and by both together, in turn: the host is to be no
// hindrance.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>

#include "common/tiled_factor_residual.hpp"
#include "common/tiled_runs.hpp"

namespace perf {

template <class D, class T>
class SharedRuns : TiledRuns<D, T> {
  using Base = TiledRuns<D, T>;
  using Base::all_, Base::evict, Base::fill, Base::linear_, Base::n_, Base::options_, Base::report_,
      Base::tile_, Base::tiled_;
  using typename Base::index_t;
  using typename Base::Matrix;

 public:
  SharedRuns(const Options& options, const TiledOptions& tiled, Report& report, const char* type)
      : Base(options, tiled, report, type),
        a_(Matrix::symmetric("a", n_, tile_, strata::uninitialized, fast_memory<D>)),
        bytes_(Base::bytes_of(a_)) {}

  void run() {
    if (is_gpu<D> && !strata::linear::has_host_blas()) {
      report_.note(this->title() + "the host has no BLAS: the GPU is alone");
      return;
    }
    const index_t budget = tiled_.budget > 0 ? tiled_.budget : std::max(bytes_ / 4, 3 * this->tile_bytes());
    this->set_budget(budget);
    linear_.run.on_host = true;
    const auto device = strata::on(D{});
    const auto host = strata::on(strata::Threads{});
    const auto both = strata::across(D{}, strata::Threads{});
    Runs alone, of_host, together;
    // Rounds, so that clocks that change are those of all. The first loads libraries; of both it is that of a
    // user who has measured nothing.
    for (int rep = 0; rep <= options_.reps_or(3); ++rep) {
      one(device, alone, rep);
      one(both, together, rep);
    }
    constexpr index_t large = 20480;  // a host would take minutes
    for (int rep = 0; n_ <= large && rep <= std::min(options_.reps_or(3), 2); ++rep) one(host, of_host, rep);
    double best = statistics(alone.seconds).median;
    if (!of_host.seconds.empty()) best = std::min(best, statistics(of_host.seconds).median);
    add_runs("cholesky, device alone", alone, 0);
    if (!of_host.seconds.empty()) add_runs("cholesky, host alone", of_host, 0);
    add_runs("cholesky, device and host, nothing measured before", first_of(together), best);
    add_runs("cholesky, device and host", together, best);
    report_.note(this->title() +
                 "tasks of device and host: " + std::to_string(together.report.devices[0].tasks) + " and " +
                 std::to_string(together.report.devices[1].tasks) +
                 "; the baseline of both is the better of them alone");
    this->set_budget(this->all_);
  }

 private:
  struct Runs {
    std::vector<double> seconds;
    double first = 0;
    strata::TaskReport report;
    strata::TaskCosts costs = {};
  };
  static Runs first_of(const Runs& runs) {
    Runs first;
    first.seconds = {runs.first};
    return first;
  }

  // The first of them is not counted.
  template <class Where>
  void one(const Where& where, Runs& runs, int rep) {
    fill(a_);
    evict(a_);
    linear_.run.costs = &runs.costs;
    runs.report = strata::linear::cholesky(a_, where, linear_);
    if (rep == 0) runs.first = runs.report.seconds;
    else runs.seconds.push_back(runs.report.seconds);
    if (rep > 0) return;
    const FactorResidual factor(a_, strata::on(D{}), linear_);
    const double residual = factor.value();
    report_.check(residual < factor.allowed(tiled_.tf32),
                  this->title() + "cholesky with the host: the residual " + std::to_string(residual));
  }
  void add_runs(const std::string& name, const Runs& runs, double best) {
    const double n = static_cast<double>(n_);
    this->add(name, statistics(runs.seconds), n * n * n / 3, 0, best);
  }

  const Matrix a_;
  const index_t bytes_;
};

}  // namespace perf
