// Products of strata_tiled_linear, gemm and syrk: by cuBLASXt with the best of its sizes of blocks, and tiled
// under a budget.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <strata/algorithms/linear/tiled/tiled_product.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>
#include <strata/version.hpp>

#include "baselines/copy_counter.hpp"
#include "baselines/cublas_xt.hpp"
#include "common/planned_runs.hpp"
#include "common/tiled_runs.hpp"

namespace perf {

template <class D, class T>
class ProductRuns : TiledRuns<D, T> {
  using Base = TiledRuns<D, T>;
  using Base::all_, Base::evict, Base::linear_, Base::n_, Base::options_, Base::report_, Base::tile_,
      Base::tiled_;
  using typename Base::index_t;
  using typename Base::Matrix;

 public:
  ProductRuns(const Options& options, const TiledOptions& tiled, Report& report, const char* type)
      : Base(options, tiled, report, type) {}

  /// C = A B with B = A.
  void run_gemm() {
    const double n = static_cast<double>(n_);
    if constexpr (is_gpu<D>) run_library(XtProduct::Gemm, 2 * n * n * n);
    const Matrix a = matrix("a"), b = matrix("b"), c = matrix("c");
    run_tiled("gemm", c, {&a, &b}, 2 * n * n * n, [&](const auto& options) {
      return strata::linear::gemm(1, a, b, 0, c, strata::on(D{}), options);
    });
  }
  /// The bytes that cuBLASXt moves for both, by its sizes of blocks that are fast.
  void count_bytes_of_library() {
#if STRATA_HAS_CUDA
    if constexpr (is_gpu<D>)
      for (const XtProduct product : {XtProduct::Gemm, XtProduct::Syrk}) count_bytes(product);
#endif
  }
  /// C = A A^T, the lower triangle.
  void run_syrk() {
    const double n = static_cast<double>(n_);
    if constexpr (is_gpu<D>) run_library(XtProduct::Syrk, n * n * n);
    const Matrix a = matrix("a");
    const Matrix c = Matrix::symmetric("c", n_, tile_, strata::uninitialized, fast_memory<D>);
    run_tiled("syrk", c, {&a}, n * n * n, [&](const auto& options) {
      return strata::linear::syrk(1, a, 0, c, strata::on(D{}), options);
    });
  }

 private:
  Matrix matrix(const char* label) const {
    return Matrix(label, n_, n_, tile_, strata::uninitialized, fast_memory<D>);
  }
  // The product of KnownMatrix with itself: s s^T (s^T s + 2 shift) + shift^2 I.
  double expected(index_t i, index_t j) const {
    constexpr double shift = KnownMatrix::shift;
    return scattered(i) * scattered(j) * (norm_ + 2 * shift) + (i == j ? shift * shift : 0);
  }
  double allowed() const {
    const double rounding = 4 * std::sqrt(static_cast<double>(n_)) * std::numeric_limits<T>::epsilon();
    return (norm_ + 4) * (rounding + (tiled_.tf32 && sizeof(T) == 4 ? 0.01 : 0));
  }

  static void set_value(void* data, index_t i, index_t j, index_t n) {
    static_cast<T*>(data)[i + j * n] = static_cast<T>(KnownMatrix()(i, j));
  }
#if STRATA_HAS_CUDA
  void count_bytes(XtProduct product) {
    const std::string name = product == XtProduct::Gemm ? "gemm" : "syrk";
    XtRun run(product, sizeof(T) == 8, n_, set_value);
    CopyCounter counter;
    if (!run.is_there() || !counter.is_there()) {
      report_.note(this->title() +
                   "bytes of cuBLASXt are not known: " + (run.is_there() ? counter.reason() : run.reason()));
      return;
    }
    run(std::min<index_t>(4096, n_));  // loads the library
    for (const index_t block : {index_t{4096}, index_t{8192}, index_t{12288}}) {
      if (block > n_) continue;
      counter.begin();
      run(block);
      const CopyCounter::Bytes bytes = counter.end();
      if (!counter.is_there()) break;
      const std::string title = "cuBLASXt: " + name + ", blocks of " + std::to_string(block);
      this->add_bytes(title + ": to devices", bytes.to_devices, none);
      this->add_bytes(title + ": from devices", bytes.from_devices, none);
    }
    if (!counter.is_there())
      report_.note(this->title() + "bytes of cuBLASXt are not known: " + counter.reason());
  }
#endif

  void run_library(XtProduct product, double operations) {
    const std::string name = product == XtProduct::Gemm ? "gemm" : "syrk";
    XtRun run(product, sizeof(T) == 8, n_, set_value);
    if (!run.is_there()) {
      report_.note(this->title() + "there is no cuBLASXt: " + run.reason());
      return;
    }
    for (index_t block = 1024; block <= std::min<index_t>(12288, n_); block += block < 4096 ? 1024 : 2048) {
      std::vector<double> seconds;
      for (int rep = 0; rep <= options_.reps_or(3); ++rep) {
        const double begin = now();
        run(block);
        if (rep > 0) seconds.push_back(now() - begin);
      }
      const Statistics time = statistics(seconds);
      this->add("cuBLASXt: " + name + ", blocks of " + std::to_string(block), time, operations, 0, 0);
      if (library_ == 0 || time.median < library_) library_ = time.median;
    }
    double most = 0;  // its lower triangle is written by both
    for (index_t i = 0; i < n_; i += 97)
      for (index_t j = 0; j <= i; j += 89)
        most = std::max(most, std::abs(static_cast<double>(static_cast<const T*>(run.result())[i + j * n_]) -
                                       expected(i, j)));
    report_.check(most <= allowed(), "cuBLASXt: " + name + ": the error " + std::to_string(most));
  }

  template <class Run>
  void run_tiled(const std::string& name, const Matrix& c, const std::vector<const Matrix*>& inputs,
                 double operations, const Run& product) {
    index_t bytes = Base::bytes_of(c);
    for (const Matrix* input : inputs) {
      Base::fill(*input);
      bytes += Base::bytes_of(*input);
    }
    Base::fill(c);
    const index_t budget = tiled_.budget > 0 ? tiled_.budget : std::max(bytes / 4, 3 * this->tile_bytes());
    this->set_budget(budget);
    for (const std::string& scheduler : tiled_.schedulers) {
      strata::linear::TiledOptions options = linear_;
      options.run.on_host = true;
      PlannedRuns planned(scheduler);
      strata::TaskCosts alone;
      std::vector<double> seconds;
      strata::TaskReport report;
      for (int rep = 0; rep <= options_.reps_or(3); ++rep) {
        for (const Matrix* input : inputs) evict(*input);
        evict(c);
        strata::TaskCosts costs = alone;
        options.run.costs = rep == 0 ? &alone : &costs;  // the first measures tasks, one at a time
        options.run.queues = rep == 0 ? 1 : linear_.run.queues;
        options.run.make_scheduler = planned.maker();
        report = product(options);
        if (rep > 0) seconds.push_back(report.seconds);
      }
      check(name + ", " + scheduler, c);
      const PlannedSimulation simulated = is_machine<D> ? PlannedSimulation() : planned.simulate();
      this->add(name + ", " + scheduler, statistics(seconds), operations, simulated.seconds, library_);
      if (!is_machine<D>) this->add_beside_limit(name + ", " + scheduler, statistics(seconds), simulated);
      this->add_bytes(name + ", " + scheduler + ": to devices", report.bytes_to_devices,
                      static_cast<double>(simulated.traffic.to_devices) / 1e6);
      this->add_bytes(name + ", " + scheduler + ": from devices", report.bytes_from_devices,
                      static_cast<double>(simulated.traffic.from_devices) / 1e6);
    }
    this->set_budget(all_);
    report_.note(this->title() + "the matrices of " + name + " have " + strata::string_from_bytes(bytes) +
                 " in tiles of " + std::to_string(tile_) +
                 (is_machine<D> ? "" : ", of which the device holds " + strata::string_from_bytes(budget)));
  }
  // Some elements of each tile.
  void check(const std::string& name, const Matrix& c) {
    double most = 0;
    Base::visit(c, [&](index_t i, index_t j, const auto& tile) {
      const auto view = tile.read();
      for (index_t r = 0; r < tile.extent(0); r += 17)
        for (index_t k = 0; k < tile.extent(1); k += 13) {
          if (c.is_symmetric() && i == j && k > r) continue;
          const double apart =
              std::abs(static_cast<double>(view(r, k)) - expected(i * tile_ + r, j * tile_ + k));
          most = std::isnan(apart) || apart > most ? apart : most;
        }
    });
    report_.check(most <= allowed(), name + " on " + D::name + ": the error " + std::to_string(most));
  }
  double squares() const {
    double sum = 0;
    for (index_t i = 0; i < n_; ++i) sum += scattered(i) * scattered(i);
    return sum;
  }

  const double norm_ = squares();
  double library_ = 0;
};

}  // namespace perf
