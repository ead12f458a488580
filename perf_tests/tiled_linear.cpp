// How fast is the Cholesky factor of a matrix for which the device's memory is too small, against cuSOLVER in
// core, against everything resident, and against the simulation of its schedule?
//
//   strata_tiled_linear --device Cuda --n 115200 --tile 1920 --type float --budget 2097152000
//                       --scheduler data-aware,darts,eager [--tf32]
//
// --n is the order of the matrix, --budget bytes of the device for tiles (default: a quarter of the matrix);
// operations are n^3 / 3. Rates of tiles for the simulation are measured before, one task at a time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/plan/tiled.hpp>
#include <strata/algorithms/tasks/simulator/simulator.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>
#include <strata/views/coherent/whole_copies.hpp>

#include "common/contest.hpp"
#include "common/streaming_cases.hpp"

namespace {

using namespace perf;
using strata::index_t;
using Copies = strata::detail::WholeCopies;

struct TiledOptions {
  index_t tile = 0;    // 0: by device
  index_t budget = 0;  // bytes; 0: a quarter of the matrix
  std::vector<std::string> schedulers = {"data-aware"};
  bool tf32 = false;
};

// Numbers in [-1, 1) in no order.
STRATA_FUNCTION constexpr double scattered(index_t i) {
  std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return static_cast<double>(x >> 40) / (1 << 23) - 1;
}
// The matrix is s s^T + shift I, so that its product with a vector is known: positive definite, and full.
constexpr double shift = 2;
STRATA_FUNCTION constexpr double entry(index_t i, index_t j) {
  return scattered(i) * scattered(j) + (i == j ? shift : 0);
}
double vector_entry(index_t i) { return scattered(i + (index_t{1} << 40)); }

template <class T>
struct FillKernel {
  index_t row, column;
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto tile) const {
    tile(i, j) = static_cast<T>(entry(row + i, column + j));
  }
};
template <class T>
struct FillTile {
  index_t row, column;
  template <class D>
  void operator()(const strata::Queue<D>& queue, const auto& tile) const {
    strata::parallel_for(on(queue), strata::mdrange({tile.extent(0), tile.extent(1)}),
                         strata::with(FillKernel<T>{row, column}, tile));
  }
};
// y += L x or L^T x for the lower triangle of a tile.
struct LowerTimesKernel {
  bool transpose;
  STRATA_FUNCTION void operator()(index_t i, auto l, auto x, auto y) const {
    auto sum = y(i, 0);
    const index_t begin = transpose ? i : 0, end = transpose ? l.extent(0) : i + 1;
    for (index_t k = begin; k < end; ++k) sum += (transpose ? l(k, i) : l(i, k)) * x(k, 0);
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
class CholeskyRuns {
  using Matrix = strata::TiledMatrix<T>;

 public:
  CholeskyRuns(const Options& options, const TiledOptions& tiled, Report& report, const char* type)
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
                              : 32),
        a_(Matrix::symmetric("a", n_, tile_, strata::uninitialized, strata::main_in(home_of<D>()))) {
    linear_.tf32 = tiled.tf32;
    if (is_machine<D> && !strata::linear::has_host_blas()) linear_.backend = strata::linear::Backend::Strata;
    for (index_t i = 0; i < a_.tile_rows(); ++i)
      for (index_t j = 0; j <= i; ++j) bytes_ += Copies::bytes(*a_.tile(i, j).state());
    if constexpr (!is_machine<D>) all_ = Copies::budget(device());
  }

  void run() {
    measure_tiles();
    if constexpr (is_gpu<D>) run_in_core();
    const bool fits = static_cast<double>(bytes_) < 0.8 * static_cast<double>(all_);
    if (is_machine<D> || fits) run_tiled("cholesky, all resident", tiled_.schedulers.front(), all_, true);
    if constexpr (!is_machine<D>) {
      const index_t least = 3 * tile_ * tile_ * static_cast<index_t>(sizeof(T));
      const index_t budget = tiled_.budget > 0 ? tiled_.budget : std::max(bytes_ / 4, least);
      for (const std::string& scheduler : tiled_.schedulers)
        run_tiled("cholesky, " + scheduler, scheduler, budget, false);
      strata::coherent::set_budget(D{}, all_);
      report_.note(std::string(D::name) + ", " + type_ + ": the matrix has " +
                   strata::string_from_bytes(bytes_) + " in tiles of " + std::to_string(tile_) +
                   ", of which the device holds " + strata::string_from_bytes(budget));
    }
  }

 private:
  static strata::detail::DeviceInstance& device() { return D{}.backend(); }
  double operations() const {
    const double n = static_cast<double>(n_);
    return n * n * n / 3;
  }
  void evict(const Matrix& a) const {
    if constexpr (!is_machine<D>) {
      for (index_t i = 0; i < a.tile_rows(); ++i)
        for (index_t j = 0; j <= i; ++j) {
          a.tile(i, j).flush();
          Copies::evict(*a.tile(i, j).state(), device());
        }
    }
  }
  static void fill(const Matrix& a) {
    strata::TaskGraph graph("fill");
    for (index_t i = 0; i < a.tile_rows(); ++i)
      for (index_t j = 0; j <= i; ++j)
        graph.call("fill", FillTile<T>{i * a.tile_order(), j * a.tile_order()}, out(a.tile(i, j)));
    graph.run(strata::on(D{}));
  }

  // What tasks take one at a time, on a small matrix; the first run loads libraries, on all queues.
  void measure_tiles() {
    const Matrix small = Matrix::symmetric("small", 4 * tile_, tile_, strata::main_in(home_of<D>()));
    strata::linear::TiledOptions options = linear_;
    strata::TaskCosts costs;
    for (int rep = 0; rep < 3; ++rep) {
      fill(small);
      if (rep > 0) {
        options.run.costs = &costs;
        options.run.queues = 1;
      }
      strata::linear::cholesky(small, strata::on(D{}), options);
    }
    const strata::CoherentArray<int, strata::rank<1>> state("state", tile_ + 1);
    const index_t tile = Copies::bytes(*small.tile(0, 0).state()), states = Copies::bytes(*state.state());
    const double b = static_cast<double>(tile_);
    std::string text;
    const auto rate = [&](const char* kernel, index_t bytes, double work) {
      const double seconds = costs.seconds(device().device_name(), kernel, bytes);
      rates_[kernel] = seconds > 0 ? work / seconds : 1e12;
      text += std::string(text.empty() ? "" : ", ") + kernel + " " + fixed(rates_[kernel] / 1e12, 3);
    };
    rate("gemm", 3 * tile, 2 * b * b * b);
    rate("syrk", 2 * tile, b * b * b);
    rate("trsm", 2 * tile, b * b * b);
    rate("potrf", tile + states, b * b * b / 3);
    report_.note(std::string(D::name) + ", " + type_ + ": TFLOP/s of tiles of " + std::to_string(tile_) +
                 ", one at a time: " + text);
    evict(small);
  }

  // The library alone, on all of the matrix.
  void run_in_core() {
    using namespace strata;
    try {
      const auto whole = create<MDArrayIn<LayoutRight, T, D, rank<2>>>("whole matrix", n_, n_, uninitialized);
      const auto state = create<MDArrayIn<LayoutRight, int, D, rank<1>>>("state", n_ + 1);
      const Queue<D> queue{D{}};
      std::vector<double> seconds;
      for (int rep = 0; rep <= options_.reps_or(3); ++rep) {
        FillTile<T>{0, 0}(queue, whole);
        queue.wait();
        const double begin = now();
        strata::detail::TilePotrf<T>{{linear::Backend::Vendor, false}}(queue, whole, state);
        queue.wait();
        if (rep > 0) seconds.push_back(now() - begin);
      }
      const auto states = create_mirror_and_copy(state);
      report_.check(states(0) == 0, "cuSOLVER in core");
      const Statistics time = statistics(seconds);
      in_core_ = time.median;
      report_.add({"cuSOLVER in core", D::name, n_, type_, time, operations() / time.median / 1e9, "GFLOP/s",
                   none, none});
    } catch (const Error& error) {
      report_.note(std::string(D::name) + ", " + type_ +
                   ": cuSOLVER cannot do all of the matrix: " + error.what());
    }
  }

  void run_tiled(const std::string& name, const std::string& scheduler, index_t budget, bool stays) {
    if constexpr (!is_machine<D>) strata::coherent::set_budget(D{}, budget);
    linear_.run.scheduler = scheduler;
    linear_.run.on_host = !stays;
    std::vector<double> seconds;
    strata::TaskReport report;
    for (int rep = 0; rep < options_.reps_or(3); ++rep) {
      fill(a_);
      if (!stays) evict(a_);
      report = strata::linear::cholesky(a_, strata::on(D{}), linear_);
      seconds.push_back(report.seconds);
    }
    const double residual = residual_of_factor();
    // Sums round at random; factors in TF32 have errors of 2^-11.
    const double rounding = 4 * std::sqrt(static_cast<double>(n_)) * std::numeric_limits<T>::epsilon();
    const double allowed = rounding + (tiled_.tf32 && sizeof(T) == 4 ? 0.01 : 0);
    report_.check(residual < allowed, name + " on " + D::name + ": the residual " + std::to_string(residual));
    const Statistics time = statistics(seconds);
    const double rate = operations() / 1e9;
    const double ratio = in_core_ > 0 ? in_core_ / time.median : none;
    if (stays) {
      report_.add({name, D::name, n_, type_, time, rate / time.median, "GFLOP/s", none, ratio});
      return;
    }
    const strata::tasks::Simulation simulated = simulate(scheduler, budget);
    report_.add(
        {name, D::name, n_, type_, time, rate / time.median, "GFLOP/s", rate / simulated.seconds, ratio});
    const auto bytes = [&](const char* way, index_t moved, index_t of_simulation) {
      report_.add({name + way,
                   D::name,
                   n_,
                   type_,
                   {},
                   static_cast<double>(moved) / 1e6,
                   "MB",
                   static_cast<double>(of_simulation) / 1e6,
                   none});
    };
    bytes(": to devices", report.bytes_to_devices, simulated.traffic.to_devices);
    bytes(": from devices", report.bytes_from_devices, simulated.traffic.from_devices);
    evict(a_);
  }

  // The same graph and memory, with the rates of tiles as measured, one task at a time.
  strata::tasks::Simulation simulate(const std::string& scheduler, index_t budget) const {
    using namespace strata;
    const auto graph = tasks::tiled_graph(tasks::TiledKind::Cholesky, static_cast<int>(a_.tile_rows()), tile_,
                                          static_cast<index_t>(sizeof(T)));
    const strata::detail::CopyCost link = Copies::link(nullptr, &device());
    const tasks::Machine machine(D::name, {{D::name, budget, rates_, 1}},
                                 {{"link", link.bytes_per_second, link.seconds, true}},
                                 {{tasks::host, 0, 0}});
    return tasks::simulate(graph.graph, machine, *tasks::make_scheduler(scheduler));
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
          std::abs(scattered(i) * dot + shift * vector_entry(i) - static_cast<double>(value));
      most = std::isnan(apart) || apart > most ? apart : most;
    });
    return most / (static_cast<double>(n_) / 4 + shift);
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

  const Options& options_;
  const TiledOptions& tiled_;
  Report& report_;
  const char* type_;
  const index_t n_, tile_;
  const Matrix a_;
  strata::linear::TiledOptions linear_;
  index_t bytes_ = 0, all_ = 0;
  double in_core_ = 0;
  std::map<std::string, double> rates_;
};

// Takes an option, with its value where it has one, out of the command line; null where it is not there.
const char* take_option(int& argc, char** argv, const char* name, bool has_value) {
  for (int a = 1; a < argc; ++a) {
    if (std::strcmp(argv[a], name) != 0 || (has_value && a + 1 == argc)) continue;
    const char* const found = argv[a + (has_value ? 1 : 0)];
    const int taken = has_value ? 2 : 1;
    for (int k = a; k + taken <= argc; ++k) argv[k] = argv[k + taken];
    argc -= taken;
    return found;
  }
  return nullptr;
}
TiledOptions take_tiled_options(int& argc, char** argv) {
  TiledOptions options;
  if (const char* tile = take_option(argc, argv, "--tile", true)) options.tile = std::atoll(tile);
  if (const char* budget = take_option(argc, argv, "--budget", true)) options.budget = std::atoll(budget);
  if (const char* names = take_option(argc, argv, "--scheduler", true)) {
    options.schedulers = {""};
    for (const char* c = names; *c != '\0'; ++c) {
      if (*c == ',') options.schedulers.emplace_back();
      else options.schedulers.back() += *c;
    }
  }
  options.tf32 = take_option(argc, argv, "--tf32", false) != nullptr;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace perf;
  const TiledOptions tiled = take_tiled_options(argc, argv);
  const Options options = parse_options(argc, argv,
                                        "The Cholesky factor of a tiled matrix in a small memory. Also "
                                        "--tile ORDER, --budget BYTES, --scheduler "
                                        "NAME,..., --tf32.");
  Report report("tiled_linear", "cuSOLVER in core");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    if constexpr (is_gpu<D> || std::is_same_v<D, strata::Threads> || std::is_same_v<D, strata::Emulated>)
      for_each_type(options, [&](auto zero, const char* type) {
        CholeskyRuns<D, decltype(zero)>(options, tiled, report, type).run();
        report.save(options);
      });
  });
  report.note(
      "the ceiling is the value in the simulation, one task at a time at the measured rates of tiles");
  report.note(
      "the times of Emulated are those of processors of this machine: only its bytes are to be compared");
  return report.finish(options);
}
