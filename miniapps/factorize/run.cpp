// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/host/control_group.hpp>
#include <strata/miniapps/common/progress.hpp>
#include <strata/miniapps/common/settings.hpp>
#include <strata/miniapps/factorize/operations.hpp>
#include <strata/miniapps/factorize/picture.hpp>
#include <strata/miniapps/factorize/run.hpp>
#include <strata/miniapps/factorize/verify.hpp>

namespace strata::inline STRATA_ABI::factorize {

using miniapp::RunReport;
using miniapp::UsageError;

namespace {

bool is_product(Operation operation) { return operation == Operation::Gemm || operation == Operation::Syrk; }

// The bytes of a matrix, of a symmetric one of its tiles on and below the diagonal.
index_t bytes_of_matrix(index_t order, index_t tile, bool is_symmetric, index_t element) {
  if (!is_symmetric) return order * order * element;
  index_t elements = 0;
  for (index_t row = 0; row < order; row += tile)
    elements += std::min(tile, order - row) * std::min(row + tile, order);
  return elements * element;
}

// A run on one device, of elements of T.
template <class T>
class Run {
 public:
  Run(const std::string& device, const FactorizeRequest& request, const MatrixInput& input, bool several,
      RunReport& report)
      : request_(request),
        input_(input),
        several_(several),
        report_(report),
        watch_(request.scheduler,
               !request.graph.empty() || !request.task_order.empty() || !request.picture.empty()) {
    report.is_starting = true;
    operations_ = make_operations<T>(device, request, watch_);
    const PlaceSummary& place = operations_->place();
    report.device = place.text;
    n_ = input.order();
    const index_t tile = request.tile > 0 ? request.tile : place.default_tile;
    tile_ = std::min(tile, n_);
    tiles_ = (n_ + tile_ - 1) / tile_;
    report.mesh.source = std::string(name_of(request.operation)) + " of " + input.text() + ", order " +
                         std::to_string(n_) + " in " + std::to_string(tiles_) + " x " +
                         std::to_string(tiles_) + " tiles of " + std::to_string(tile_);
    if (request.tile > n_)
      report.notes.push_back("tiles of " + std::to_string(request.tile) +
                             " are larger than the matrix, which is one tile");
    if (!place.library_of_host.empty())
      report.notes.push_back("tiles on the host by " + place.library_of_host);
    if (!place.uses_vendor)
      report.notes.push_back(
          "tiles by Strata's own kernels, which are plain: libraries are many times as fast");
  }

  void run() {
    rhs_ = request_.rhs > 0 ? request_.rhs : n_;
    describe_system();
    require_no_matrices(request_);
    require_room_on_devices();
    require_room_on_host();
    if (request_.operation == Operation::Cholesky) input_.require_symmetric();
    make_matrices();
    fill_all();
    report_.is_starting = false;
    TaskReport best = timed_run();
    for (index_t trial = 1; trial < request_.trials; ++trial) {
      fill_all();
      if (const TaskReport again = timed_run(); again.seconds < best.seconds) best = again;
    }
    add_results(best);
    if (request_.verify)
      report_.timed("checks", [&] {
        verify(Computed<T>{request_, input_, right_.get(), result()}, *operations_, report_);
      });
    write_files();
    const double begin = miniapp::now_seconds();
    if (operations_->save(result())) report_.add_phase("save", miniapp::now_seconds() - begin);
  }

 private:
  const TiledMatrix<T>& result() const {
    return is_product(request_.operation) ? *c_ : is_trsm() ? *b_ : *a_;
  }
  bool is_trsm() const { return request_.operation == Operation::Trsm; }
  // Rows and columns of B.
  index_t rows_of_b() const { return is_trsm() && request_.system.from_right ? rhs_ : n_; }
  index_t columns_of_b() const { return is_trsm() && !request_.system.from_right ? rhs_ : n_; }
  bool has_lower_tiles_only() const {
    return request_.operation == Operation::Cholesky || (is_trsm() && !request_.system.upper);
  }
  void describe_system() {
    if (!is_trsm()) return;
    const TriangularRequest& system = request_.system;
    const std::string a = system.transpose ? "A^T" : "A";
    report_.notes.push_back((system.from_right ? "X " + a : a + " X") + " = B, where A is the " +
                            (system.upper ? "upper" : "lower") + " triangle of the input" +
                            (system.unit_diagonal ? ", with ones on its diagonal" : "") + ", and B has " +
                            std::to_string(rows_of_b()) + " x " + std::to_string(columns_of_b()) +
                            " elements");
  }
  index_t element_bytes() const { return static_cast<index_t>(sizeof(T)); }

  // What the largest task holds at once; on hosts, which invert nothing, of tiles in files.
  void require_room_on_devices() const {
    require_room("--memory-limit", request_.memory_limit);
    if (operations_->place().has_host) require_room("--host-memory", request_.host_memory);
  }
  void require_room(const char* option, index_t limit) const {
    if (limit == 0) return;
    const index_t tile = tile_ * tile_ * element_bytes();
    const index_t rows_of_tile = 4 * (4 * tile_ + 1);  // integers of pivots
    const bool is_small = request_.operation == Operation::Cholesky
                              ? tiles_ <= 2
                              : tiles_ == 1 && request_.operation != Operation::Gemm;
    index_t least = is_small ? 2 * tile : 3 * tile;
    std::string what = std::string(is_small ? "two" : "three") + " tiles of " + std::to_string(tile_) +
                       " x " + std::to_string(tile_);
    if (is_trsm()) {
      const index_t narrow = std::min(tile_, rhs_), tile_of_b = tile_ * narrow * element_bytes();
      const std::string count = tiles_ == 1 ? "one" : "two";
      least = tile + (tiles_ == 1 ? 1 : 2) * tile_of_b;
      if (narrow < tile_)
        what = "a tile of " + std::to_string(tile_) + " x " + std::to_string(tile_) + " and " + count +
               " with " + std::to_string(narrow) + (request_.system.from_right ? " rows" : " columns");
    } else if (request_.operation == Operation::LuNoPivot) {
      least = std::max(least, 2 * tile + rows_of_tile);
    } else if (request_.operation == Operation::Lu) {
      least = n_ * tile_ * element_bytes() + std::max(tile, 4 * n_ + rows_of_tile);
      what = "a panel of " + std::to_string(n_) + " x " + std::to_string(tile_) + " and a tile";
    }
    if (limit < least)
      throw UsageError(std::string(option) + " " + string_from_bytes(limit) + ": a task uses " + what + ", " +
                       string_from_bytes(least) + " (" + std::to_string(least) +
                       " bytes): give that much or more, or smaller tiles (--tile)");
  }
  void require_room_on_host() const {
    if (operations_->place().home == "file") return;
    const index_t whole = bytes_of_matrix(n_, tile_, false, element_bytes());
    const index_t half = bytes_of_matrix(n_, tile_, true, element_bytes());
    const index_t need = request_.operation == Operation::Cholesky ? half
                         : is_trsm() ? (has_lower_tiles_only() ? half : whole) + n_ * rhs_ * element_bytes()
                         : request_.operation == Operation::Gemm ? 3 * whole
                         : request_.operation == Operation::Syrk ? whole + half
                                                                 : whole;
    const index_t there = strata::detail::usable_memory();
    if (there > 0 && need > there - std::min(there, strata::detail::resident_memory()))
      throw UsageError(std::string(name_of(request_.operation)) + " of order " + std::to_string(n_) +
                       " needs " + string_from_bytes(need) + " of the host's memory, which has " +
                       string_from_bytes(there) + ": give --home file:FOLDER" +
                       (sizeof(T) == 8 ? ", --type float" : "") + " or a smaller matrix");
  }

  void make_matrices() {
    report_.timed("memory", [&] {
      const auto make = [&](const char* name, bool is_symmetric) {
        return is_symmetric ? operations_->lower_matrix(name, n_, tile_)
                            : operations_->matrix(name, n_, n_, tile_);
      };
      a_ = make("a", has_lower_tiles_only());
      if (request_.operation == Operation::Gemm || is_trsm()) {
        b_ = operations_->matrix("b", rows_of_b(), columns_of_b(), tile_);
        right_ = make_random(rows_of_b(), columns_of_b(), request_.seed + 1);
        report_.notes.push_back("B is " + right_->text());
      }
      if (is_product(request_.operation)) c_ = make("c", request_.operation == Operation::Syrk);
    });
  }
  void fill_all() {
    report_.timed("fill", [&] {
      fill_one(*a_, input_);
      if (b_) fill_one(*b_, *right_);
    });
  }
  void fill_one(const TiledMatrix<T>& to, const MatrixInput& from) const {
    const index_t all = to.is_symmetric() ? tiles_ * (tiles_ + 1) / 2 : to.tile_rows() * to.tile_columns();
    miniapp::Progress progress(miniapp::progress_style(request_.quiet), "tile", all);
    fill(to, from, [&](index_t done) {
      if (progress.due(done)) progress.show(done, "filled");
    });
  }

  TaskReport timed_run() {
    watch_.begin(miniapp::progress_style(request_.quiet), operations_of(request_.operation, n_, rhs_));
    std::optional<TaskReport> taken;
    report_.timed(name_of(request_.operation), [&] { taken = compute(); });
    watch_.end();
    return *taken;
  }
  TaskReport compute() {
    switch (request_.operation) {
      case Operation::Cholesky:
        return operations_->cholesky(*a_);
      case Operation::Lu:
      case Operation::LuNoPivot:
        return operations_->lu(*a_, request_.operation == Operation::Lu);
      case Operation::Gemm:
        return operations_->gemm(*a_, *b_, *c_);
      case Operation::Syrk:
        return operations_->syrk(*a_, *c_);
      case Operation::Trsm:
        break;
    }
    return operations_->trsm(*a_, *b_);
  }

  // By the names that strata-simulate has for what it simulates.
  void add_results(const TaskReport& taken) {
    const auto bytes = [&](const char* name, index_t value) {
      report_.add_result(name, static_cast<double>(value), "B");
    };
    report_.add_result("seconds", taken.seconds, "s");
    report_.add_result("tasks", static_cast<double>(taken.tasks));
    if (operations_->place().memory > 0) bytes("memory_bytes", operations_->place().memory);
    bytes("bytes_to_devices", taken.bytes_to_devices);
    bytes("bytes_from_devices", taken.bytes_from_devices);
    bytes("bytes_between_devices", taken.bytes_between_devices);
    bytes("bytes_loaded_again", taken.bytes_reloaded);
    report_.add_result("decision_seconds", taken.decision_seconds, "s");
    if (taken.devices.size() > 1)
      for (const TaskDeviceReport& device : taken.devices)
        report_.add_result("tasks on " + device.device, static_cast<double>(device.tasks));
    devices_.clear();
    for (const TaskDeviceReport& device : taken.devices) devices_.push_back(device.device);
    report_.add_figure(name_of(request_.operation),
                       operations_of(request_.operation, n_, rhs_) / taken.seconds, "flop/s");
  }

  void write_files() {
    const auto write = [&](const std::string& given, const auto& text) {
      if (given.empty()) return;
      const std::string path = several_ ? miniapp::path_with(given, report_.device) : given;
      miniapp::write_whole_file(path, text());
      report_.files.push_back(path);
    };
    const Operation operation = request_.operation;
    const std::string name = name_of(operation);
    write(request_.graph, [&] { return watch_.graph_json(); });
    const int rows = static_cast<int>(result().tile_rows());
    const int columns = static_cast<int>(result().tile_columns());
    write(request_.task_order,
          [&] { return order_json(name, std::max(rows, columns), request_.scheduler, watch_.order()); });
    const double memory = static_cast<double>(operations_->place().memory) /
                          static_cast<double>(tile_ * tile_ * element_bytes());
    write(request_.picture, [&] {
      return order_picture(
          {name + ", " + std::to_string(rows) + " x " + std::to_string(columns) + " tiles, by " +
               request_.scheduler + " on " + report_.device,
           rows, columns, static_cast<int>(tiles_), operation == Operation::Trsm && goes_back(),
           [&](int step, int m, int n) { return is_updated(step, m, n); }, devices_, memory},
          watch_.order());
    });
  }

  // Whether trsm finds the last of its unknowns first.
  bool goes_back() const {
    const TriangularRequest& system = request_.system;
    return system.from_right == (system.upper == system.transpose);
  }
  // The tiles of the result that a step has tasks for.
  bool is_updated(int step, int m, int n) const {
    switch (request_.operation) {
      case Operation::Cholesky:
        return n <= m && n >= step;
      case Operation::Lu:
      case Operation::LuNoPivot:
        return m >= step && n >= step;
      case Operation::Gemm:
        return true;
      case Operation::Syrk:
        return n <= m;
      case Operation::Trsm:
        break;
    }
    const int along = request_.system.from_right ? n : m;
    return goes_back() ? along <= step : along >= step;
  }

  const FactorizeRequest& request_;
  const MatrixInput& input_;
  const bool several_;
  RunReport& report_;
  TaskWatch watch_;
  std::unique_ptr<Operations<T>> operations_;
  index_t n_ = 0, tile_ = 0, tiles_ = 0;
  index_t rhs_ = 0;  // columns of B of trsm, from the right rows
  std::optional<TiledMatrix<T>> a_, b_, c_;
  std::unique_ptr<MatrixInput> right_;  // of gemm and trsm: what B is filled from
  std::vector<std::string> devices_;    // their names
};

}  // namespace

double operations_of(Operation operation, index_t order, index_t rhs) {
  const double n = static_cast<double>(order);
  switch (operation) {
    case Operation::Cholesky:
      return n * n * n / 3;
    case Operation::Lu:
    case Operation::LuNoPivot:
      return 2 * n * n * n / 3;
    case Operation::Gemm:
      return 2 * n * n * n;
    case Operation::Syrk:
      return n * n * (n + 1);
    case Operation::Trsm:
      break;
  }
  return n * n * static_cast<double>(rhs);
}

void run_request(const std::string& device, const FactorizeRequest& request, const MatrixInput& input,
                 bool several, RunReport& report) {
  const FactorizeRequest of_device = request_on(device, request, several);
  if (request.is_double) Run<double>(device, of_device, input, several, report).run();
  else Run<float>(device, of_device, input, several, report).run();
}

}  // namespace strata::inline STRATA_ABI::factorize
