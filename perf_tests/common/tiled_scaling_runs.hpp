// Factors of tiled matrices on several devices, for strata_tiled_scaling: by several schedulers, under a
// budget, beside the simulation of the same graphs and the library for several GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/linear/tiled/tiled_lu.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>
#include <strata/version.hpp>

#include "baselines/cusolver_mg.hpp"
#include "common/planned_runs.hpp"
#include "common/tiled_factor_residual.hpp"
#include "common/tiled_runs.hpp"

namespace perf {

/// What is factored.
struct ScalingProblem {
  bool is_lu;              ///< without pivots; else Cholesky
  strata::index_t n;       ///< order
  strata::index_t budget;  ///< bytes of each device
  bool tf32 = false;       ///< also with factors in TF32
  bool library = false;    ///< also by the library for several devices

  std::string name() const {
    return std::string(is_lu ? "lu" : "cholesky") + ", " + strata::string_from_bytes(budget) + " a device";
  }
  double operations() const {
    const double order = static_cast<double>(n);
    return (is_lu ? 2 : 1) * order * order * order / 3;
  }
};

/// Of the command line.
struct ScalingOptions {
  strata::index_t tile;
  std::vector<int> devices;             ///< how many; in growing order
  std::vector<std::string> schedulers;  ///< the first is that of which the others are told apart
  std::vector<ScalingProblem> problems;
  double seconds = 0;                    ///< for all problems: what would not end in time is left out
  std::vector<int> blocks = {256, 512};  ///< columns of the library's blocks, of which the best counts
};

template <class D, class T>
class ScalingRuns {
  using index_t = strata::index_t;
  using Matrix = strata::TiledMatrix<T>;
  using Copies = strata::detail::WholeCopies;

 public:
  ScalingRuns(const Options& options, const ScalingOptions& scaling, Report& report, const char* type)
      : options_(options), scaling_(scaling), report_(report), type_(type), begin_(now()) {}

  void run() {
    if constexpr (!is_gpu<D>) linear_.backend = strata::linear::Backend::Strata;
    for (const bool tf32 : {false, true})
      if (!tf32 || std::any_of(scaling_.problems.begin(), scaling_.problems.end(),
                               [](const ScalingProblem& problem) { return problem.tf32; }))
        measure_tiles(tf32);
    std::size_t left = scaling_.problems.size();
    for (const ScalingProblem& problem : scaling_.problems) {
      // Each gets as much of the time as those that come after it.
      end_ = now() + (scaling_.seconds - (now() - begin_)) / static_cast<double>(left--);
      run_problem(problem);
      report_.save(options_);
    }
  }

 private:
  // One of the runs of a problem.
  struct Way {
    std::string scheduler;
    int count;
    bool tf32;
  };
  // What tiles of a problem's kernels take, for the schedulers and for the simulation.
  struct Rates {
    strata::TaskCosts costs;                // one at a time
    std::map<std::string, double> several;  // operations a second where several run at once
  };

  static std::vector<D> devices_of(int count) {
    std::vector<D> devices;
    for (int k = 0; k < count; ++k) devices.push_back(D(k));
    return devices;
  }
  static auto place_of(int count) { return strata::across(devices_of(count)); }
  int most_devices() const { return scaling_.devices.back(); }
  index_t tile_bytes() const { return scaling_.tile * scaling_.tile * static_cast<index_t>(sizeof(T)); }
  template <class F>
  static void visit(const Matrix& a, const F& f) {
    for (index_t i = 0; i < a.tile_rows(); ++i)
      for (index_t j = 0; j < (a.is_symmetric() ? i + 1 : a.tile_columns()); ++j) f(i, j, a.tile(i, j));
  }
  static void fill(const Matrix& a, int count) {
    strata::TaskGraph graph("fill");
    visit(a, [&](index_t i, index_t j, const auto& tile) {
      graph.call("fill", FillTile<T>{i * a.tile_order(), j * a.tile_order()}, out(tile));
    });
    graph.run(place_of(count));
  }
  // The host gets the values, and devices their room back.
  void evict(const Matrix& a) const {
    visit(a, [&](index_t, index_t, const auto& tile) {
      tile.flush();
      for (const D& device : devices_of(most_devices())) Copies::evict(*tile.state(), device.backend());
    });
  }
  strata::TaskReport factor(const Matrix& a, bool is_lu, int count,
                            const strata::linear::TiledOptions& options) const {
    if (!is_lu) return strata::linear::cholesky(a, place_of(count), options);
    strata::linear::LuOptions of_lu;
    static_cast<strata::linear::TiledOptions&>(of_lu) = options;
    of_lu.pivoting = strata::linear::Pivoting::None;
    return strata::linear::lu(a, place_of(count), of_lu).report;
  }
  double residual_of(const Matrix& a, bool is_lu, int count) const {
    strata::linear::TiledOptions options = linear_;
    options.tf32 = false;
    if (!is_lu) return FactorResidual(a, place_of(count), options).value();
    const Matrix v("v", a.rows(), 1, a.tile_order());
    v.fill([](index_t i, index_t) { return vector_entry(i); });
    const strata::linear::LuFactors<T> factors{a, strata::linear::Pivoting::None, {}, {}, {}};
    strata::linear::product(factors, v, place_of(count), options);
    return distance_from_known_product(v);
  }

  // On small matrices: what tasks take one at a time, and products where all queues have some. Every device
  // loads its libraries.
  void measure_tiles(bool tf32) {
    Rates& rates = rates_[tf32 ? 1 : 0];
    linear_.tf32 = tf32;
    for (const bool is_lu : {false, true}) {
      const Matrix small =
          is_lu ? Matrix("small", 4 * scaling_.tile, 4 * scaling_.tile, scaling_.tile, fast_memory<D>)
                : Matrix::symmetric("small", 4 * scaling_.tile, scaling_.tile, fast_memory<D>);
      for (const D& device : devices_of(tf32 ? 0 : most_devices())) {
        fill(small, 1);
        strata::linear::LuOptions warm;
        static_cast<strata::linear::TiledOptions&>(warm) = linear_;
        warm.pivoting = strata::linear::Pivoting::None;
        if (is_lu) strata::linear::lu(small, strata::on(device), warm);
        else strata::linear::cholesky(small, strata::on(device), warm);
      }
      strata::linear::TiledOptions options = linear_;
      options.run.costs = &rates.costs;
      options.run.queues = 1;
      for (int rep = 0; rep < 3; ++rep) {
        fill(small, 1);
        factor(small, is_lu, 1, options);
      }
    }
    const double b = static_cast<double>(scaling_.tile), product = 2 * b * b * b;
    const double alone = rates.costs.seconds(D{}.backend().device_name(), "gemm", 3 * tile_bytes());
    rates.several["gemm"] = product / seconds_of_products(tf32);
    report_.note(title(tf32) + "products of tiles of " + std::to_string(scaling_.tile) + " have " +
                 fixed(product / alone / 1e12, 3) + " TFLOP/s one at a time, " +
                 fixed(rates.several["gemm"] / 1e12, 3) + " on all queues of a device");
  }
  // Of one of many that follow each other on all queues, which is what a device gives.
  double seconds_of_products(bool tf32) const {
    constexpr index_t outputs = 6;
    constexpr int rounds = 12;
    const Matrix a = Matrix("a", outputs * scaling_.tile, 2 * scaling_.tile, scaling_.tile, fast_memory<D>);
    const strata::detail::TileGemm<T> gemm{{linear_.backend, tf32}, T(1) / 1024, 1, false, true};
    strata::TaskGraph graph("products");
    for (int round = 0; round < rounds; ++round)
      for (index_t k = 0; k < outputs; ++k)
        graph.call("gemm", gemm, in(a.tile((k + 1) % outputs, 0)), in(a.tile((k + 2) % outputs, 0)),
                   inout(a.tile(k, 1)));
    fill(a, 1);
    double seconds = 0;
    for (int rep = 0; rep < 3; ++rep) seconds = graph.run(strata::on(D{})).seconds;
    evict(a);
    return seconds / static_cast<double>(outputs * rounds);
  }

  void run_problem(const ScalingProblem& problem) {
    for (const D& device : devices_of(most_devices())) strata::coherent::set_budget(device, problem.budget);
    double begin = now();
    const Matrix a =
        problem.is_lu
            ? Matrix("a", problem.n, problem.n, scaling_.tile, strata::uninitialized, fast_memory<D>)
            : Matrix::symmetric("a", problem.n, scaling_.tile, strata::uninitialized, fast_memory<D>);
    report_.note(title(false) + problem.name() + ": the matrix of order " + std::to_string(problem.n) +
                 " was made in " + fixed(now() - begin, 1) + " s");
    planned_.clear();
    of_one_[0] = of_one_[1] = 0;
    begin = now();
    fill(a, most_devices());
    evict(a);
    overhead_ = now() - begin;
    measure_links(a);
    for (const bool tf32 : {false, true}) {
      if (tf32 > problem.tf32) continue;
      for (const int count : scaling_.devices)
        run_way(problem, a, {scaling_.schedulers.front(), count, tf32});
      if (!tf32 && problem.library) run_library(problem);
      for (std::size_t k = scaling_.devices.size(); k-- > 0;)
        for (std::size_t s = 1; s < scaling_.schedulers.size(); ++s)
          run_way(problem, a, {scaling_.schedulers[s], scaling_.devices[k], tf32});
    }
  }

  // Bytes a second of the link of each device, when so many copy at once.
  void measure_links(const Matrix& a) {
    std::string text;
    std::vector<strata::detail::Ref<strata::detail::CoherentState>> tiles;
    visit(a, [&](index_t, index_t, const auto& tile) {
      if (Copies::bytes(*tile.state()) == tile_bytes()) tiles.push_back(tile.state());
    });
    for (const int count : scaling_.devices) {
      constexpr std::size_t most = 16;
      const std::size_t width = static_cast<std::size_t>(count), each = std::min(most, tiles.size() / width);
      if (each == 0) continue;
      double best = 0;
      for (int rep = 0; rep < 2; ++rep) {
        Copies copies;
        const auto devices = devices_of(count);
        for (std::size_t k = 0; k < each * width; ++k) copies.reserve(tiles[k], devices[k % width].backend());
        std::vector<strata::detail::Ref<strata::detail::EventState>> last(width);
        const double begin = now();
        for (std::size_t k = 0; k < each * width; ++k)
          last[k % width] = copies.load(tiles[k], devices[k % width].backend(), nullptr);
        for (const auto& event : last) event->wait();
        const double rate = static_cast<double>(each) * static_cast<double>(tile_bytes()) / (now() - begin);
        best = std::max(best, rate);
        for (std::size_t k = 0; k < each * width; ++k) copies.drop(*tiles[k], devices[k % width].backend());
      }
      host_rates_[count] = best;
      text += (text.empty() ? "" : ", ") + fixed(best / 1e9, 1) + " with " + std::to_string(count);
    }
    report_.note(title(false) + "GB/s from the host to each device that copies: " + text);
  }

  bool has_time_for(const std::string& name, double seconds) {
    if (scaling_.seconds <= 0 || now() + seconds < end_) return true;
    report_.note(title(false) + name + " was left out: it would take " + fixed(seconds, 1) + " s of " +
                 fixed(std::max(0.0, end_ - now()), 1) + " that are left");
    return false;
  }
  SimulatedMachine machine_of(const Way& way) const {
    return {rates_[way.tf32 ? 1 : 0].several, host_rates_.count(way.count) ? host_rates_.at(way.count) : 0};
  }

  void run_way(const ScalingProblem& problem, const Matrix& a, const Way& way) {
    const std::string name = problem.name() + ", " + way.scheduler + (way.tf32 ? ", TF32" : "") + ", " +
                             std::to_string(way.count) + (way.count == 1 ? " device" : " devices");
    // The graph, and what schedulers are told, are those of the first one on as many devices.
    std::unique_ptr<PlannedRuns>& planned = planned_[{way.count, way.tf32}];
    const bool is_known = planned != nullptr;
    strata::tasks::Simulation simulated;
    if (is_known) simulated = planned->simulate(machine_of(way), way.scheduler);
    if (!has_time_for(name, overhead_ + 1.3 * simulated.seconds)) return;
    if (!is_known) planned = std::make_unique<PlannedRuns>(way.scheduler);

    linear_.tf32 = way.tf32;
    strata::linear::TiledOptions options = linear_;
    options.run.scheduler = way.scheduler;
    options.run.on_host = true;
    std::vector<double> seconds;
    strata::TaskReport ran;
    for (int rep = 0; rep < options_.reps_or(1); ++rep) {
      fill(a, most_devices());
      evict(a);
      strata::TaskCosts costs = rates_[way.tf32 ? 1 : 0].costs;  // without those of tasks that share a device
      options.run.costs = &costs;
      if (!is_known) options.run.make_scheduler = planned->maker();
      ran = factor(a, problem.is_lu, way.count, options);
      seconds.push_back(ran.seconds);
    }
    const double residual = residual_of(a, problem.is_lu, most_devices());
    report_.check(residual < (problem.is_lu ? 2 : 1) * allowed_distance<T>(problem.n, way.tf32),
                  name + ": the residual " + std::to_string(residual));
    evict(a);
    if (!is_known) simulated = planned->simulate(machine_of(way));

    const Statistics time = statistics(seconds);
    double& of_one = of_one_[way.tf32 ? 1 : 0];
    if (way.count == 1 && way.scheduler == scaling_.schedulers.front()) of_one = time.median;
    const auto add = [&](const std::string& what, const Statistics& of, double value, const char* unit,
                         double ceiling, double ratio) {
      report_.add({name + what, D::name, problem.n, type_, of, value, unit, ceiling, ratio});
    };
    add("", time, problem.operations() / time.median / 1e9, "GFLOP/s",
        problem.operations() / simulated.seconds / 1e9, of_one > 0 ? of_one / time.median : none);
    const auto add_bytes = [&](const char* what, index_t measured, index_t expected) {
      add(what, {}, static_cast<double>(measured) / 1e6, "MB", static_cast<double>(expected) / 1e6, none);
    };
    add_bytes(": to devices", ran.bytes_to_devices, simulated.traffic.to_devices);
    add_bytes(": from devices", ran.bytes_from_devices, simulated.traffic.from_devices);
    if (way.count > 1)
      add_bytes(": between devices", ran.bytes_between_devices, simulated.traffic.between_devices);
    add(": decisions", {}, ran.decision_seconds, "s", none, none);
    std::printf("%s: %.3f s, simulated %.3f\n", name.c_str(), time.median, simulated.seconds);
    std::fflush(stdout);
    report_.save(options_);
  }

  // In core, as far as it fits, by the best size of blocks.
  void run_library([[maybe_unused]] const ScalingProblem& problem) {
#if STRATA_HAS_CUDA
    if constexpr (is_gpu<D>) {
      const MgFactor kind = problem.is_lu ? MgFactor::Lu : MgFactor::Cholesky;
      for (std::size_t k = scaling_.devices.size(); k-- > 0;) {
        const int count = scaling_.devices[k];
        const std::string name = problem.name().substr(0, problem.name().find(',')) +
                                 ", cuSOLVERMg in core, " + std::to_string(count) +
                                 (count == 1 ? " device" : " devices");
        if (!library_done_.insert(name + std::to_string(problem.n)).second) continue;
        // Of unknown speed at first, then as its work is on fewer devices.
        double expected = library_seconds_ > 0 ? 2.5 * library_seconds_ : 5;
        std::optional<double> best;
        int best_block = 0;
        for (const int block : scaling_.blocks) {
          if (k + 1 < scaling_.devices.size() && best_of_most_ > 0 && block != best_of_most_) continue;
          if (!has_time_for(name, expected)) continue;
          const double begin = now();
          MgRun<T>(kind, std::min<index_t>(problem.n, 8 * block), block, count)
              .factor();  // loads its kernels
          MgRun<T> run(kind, problem.n, block, count);
          const double seconds = run.factor();
          if (!run.is_there()) {
            report_.note(title(false) + name + ", blocks of " + std::to_string(block) + ": " + run.reason());
            continue;
          }
          const double distance = run.distance() / (static_cast<double>(problem.n) / 4 + KnownMatrix::shift);
          report_.check(distance < 2 * allowed_distance<T>(problem.n, false),
                        name + ": the residual " + std::to_string(distance));
          expected = now() - begin;
          std::printf("%s, blocks of %d: %.3f s\n", name.c_str(), block, seconds);
          std::fflush(stdout);
          if (best && *best <= seconds) continue;
          best = seconds;
          best_block = block;
        }
        if (!best) continue;
        library_seconds_ = expected;
        if (k + 1 == scaling_.devices.size()) best_of_most_ = best_block;
        report_.add({name + ", blocks of " + std::to_string(best_block), D::name, problem.n, type_,
                     once(*best), problem.operations() / *best / 1e9, "GFLOP/s", none,
                     of_one_[0] > 0 ? of_one_[0] / *best : none});
        report_.save(options_);
      }
    }
#endif
  }

  std::string title(bool tf32) const {
    return std::string(D::name) + ", " + type_ + (tf32 ? " in TF32: " : ": ");
  }

  const Options& options_;
  const ScalingOptions& scaling_;
  Report& report_;
  const char* type_;
  const double begin_;
  double end_ = 0;
  double overhead_ = 0;  // of a run, beside it
  strata::linear::TiledOptions linear_;
  Rates rates_[2];  // TF32 is the second
  std::map<int, double> host_rates_;
  std::map<std::pair<int, bool>, std::unique_ptr<PlannedRuns>> planned_;
  double of_one_[2] = {0, 0};  // seconds of the first scheduler on one device
  std::set<std::string> library_done_;
  double library_seconds_ = 0;
  int best_of_most_ = 0;
};

}  // namespace perf
