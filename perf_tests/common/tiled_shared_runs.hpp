// A Cholesky factor by a device alone, by the host alone, and by both together, in turn: the host is to be no
// hindrance.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdio>
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
    Runs alone, of_host, together, new_alone, new_together;
    constexpr index_t large = 20480;  // a host would take minutes
    const bool has_all = n_ <= large;
    // Rounds, so that clocks that change are those of all. The first loads libraries. What has measured
    // nothing is run as often, beside the device alone that has not either: one run says less than its
    // changes are.
    for (int rep = 0; rep <= options_.reps_or(3); ++rep) {
      one(device, alone, rep);
      one(both, together, rep);
      if (!has_all || rep == 0) continue;
      new_alone.costs = new_together.costs = {};
      one(device, new_alone, rep);
      one(both, new_together, rep);
    }
    for (int rep = 0; has_all && rep <= std::min(options_.reps_or(3), 2); ++rep) one(host, of_host, rep);
    double best = statistics(alone.seconds).median;
    if (!of_host.seconds.empty()) best = std::min(best, statistics(of_host.seconds).median);
    add_runs("cholesky, device alone", alone, 0);
    if (!of_host.seconds.empty()) add_runs("cholesky, host alone", of_host, 0);
    if (has_all) add_runs("cholesky, device alone, nothing measured before", new_alone, best);
    const Runs first = has_all ? new_together : first_of(together);
    add_runs("cholesky, device and host, nothing measured before", first, best);
    add_runs("cholesky, device and host", together, best);
    report_.note(this->title() + "tasks of the host, at most, where nothing was measured before: " +
                 std::to_string(first.most_on_host) + " of " + std::to_string(together.report.tasks) +
                 ", else: " + std::to_string(together.most_on_host) + "; decisions took at most " +
                 milliseconds(first.most_decisions) + " and " + milliseconds(together.most_decisions) +
                 ", of the device alone " + milliseconds(alone.most_decisions) +
                 "; the baseline of both is the better of them alone");
    this->set_budget(this->all_);
  }

 private:
  struct Runs {
    std::vector<double> seconds;
    double first = 0;
    long first_on_host = 0, most_on_host = 0;  // tasks
    double first_decisions = 0, most_decisions = 0;
    strata::TaskReport report;
    strata::TaskCosts costs = {};
  };
  static Runs first_of(const Runs& runs) {
    Runs first;
    first.seconds = {runs.first};
    first.most_on_host = runs.first_on_host;
    first.most_decisions = runs.first_decisions;
    return first;
  }

  static std::string milliseconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f ms", 1e3 * seconds);
    return text;
  }

  // The first of them is not counted.
  template <class Where>
  void one(const Where& where, Runs& runs, int rep) {
    fill(a_);
    evict(a_);
    linear_.run.costs = &runs.costs;
    runs.report = strata::linear::cholesky(a_, where, linear_);
    const double decisions = runs.report.decision_seconds;
    const long on_host = runs.report.devices.size() > 1 ? runs.report.devices[1].tasks : 0;
    if (rep == 0) {
      runs.first = runs.report.seconds;
      runs.first_on_host = on_host;
      runs.first_decisions = decisions;
    } else {
      runs.seconds.push_back(runs.report.seconds);
      runs.most_on_host = std::max(runs.most_on_host, on_host);
      runs.most_decisions = std::max(runs.most_decisions, decisions);
    }
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
