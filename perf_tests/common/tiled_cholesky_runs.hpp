// The Cholesky factor of strata_tiled_linear: in core by cuSOLVER, resident, and under a budget beside the
// simulation of its schedule.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>

#include "common/planned_runs.hpp"
#include "common/tiled_factor_residual.hpp"
#include "common/tiled_runs.hpp"

namespace perf {

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
    const FactorResidual factor(a_, strata::on(D{}), linear_);
    const double residual = factor.value();
    report_.check(residual < factor.allowed(tiled_.tf32),
                  name + " on " + D::name + ": the residual " + std::to_string(residual));
    const Statistics time = statistics(seconds);
    const PlannedSimulation simulated = stays ? PlannedSimulation() : planned.simulate();
    this->add(name, time, operations(), simulated.seconds, in_core_);
    if (stays) return;
    this->add_beside_limit(name, time, simulated);
    const auto megabytes = [](index_t bytes) { return static_cast<double>(bytes) / 1e6; };
    this->add_bytes(name + ": to devices", report.bytes_to_devices, megabytes(simulated.traffic.to_devices));
    this->add_bytes(name + ": from devices", report.bytes_from_devices,
                    megabytes(simulated.traffic.from_devices));
    evict(a_);
  }

  const Matrix a_;
  const index_t bytes_;
  double in_core_ = 0;
  strata::TaskCosts costs_;  // of tiles, one at a time
};

}  // namespace perf
