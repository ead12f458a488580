// What are tiles worth to hosts, and how do element kernels scale? The element functors of the mini-apps over
// arrays in tiles of eight elements, whose lanes a processor takes at once, and the same functors over arrays
// in LayoutRight, both on one core; and those in tiles on all cores, against the smaller of linear scaling
// and that of a triad in memory. All in one race.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/thermal/assembly_kernels.hpp>

#include "common/ceiling.hpp"
#include "common/devices.hpp"
#include "common/dynamics_problem.hpp"
#include "common/report.hpp"

namespace {

using namespace perf;
using strata::index_t;
using strata::Serial;
using strata::Threads;
namespace fem = strata::fem;
namespace thermal = strata::thermal;

constexpr index_t edges[] = {12, 40, 80};  // in a core's cache, in those of all cores, beyond
constexpr index_t least_for_all_cores = 10000;

/// Element arrays of the dynamics in LayoutRight.
struct RightArrays : fem::PlainArrays<Serial> {
  template <class T>
  using values = strata::Value<T, Serial>;
  template <class T>
  using node_number = std::int32_t;
};

/// The stiffness matrices and loads of the elements of a distorted box, by D.
template <class T, class D, class Arrays>
class Contributions {
 public:
  explicit Contributions(index_t edge)
      : mesh_(fem::make_box<Arrays>(fem::parse_box(description(edge)))),
        materials_(strata::create<Materials>("materials", 1)),
        temperature_(strata::create<Vector>("temperature", mesh_.node_count())),
        matrices_(strata::create<Matrices>("element matrices", mesh_.element_count())),
        loads_(strata::create<Loads>("element vectors", mesh_.element_count())) {
    materials_(0, thermal::conductivity_column) = T(1.5);
    materials_(0, thermal::source_column) = T(2);
    run();
  }
  void run() const {
    parallel_for("contributions", strata::on(D{}), thermal::contributions_work(elements()),
                 strata::with(thermal::ElementContributions<T, thermal::MatrixTerm, thermal::BlockSource>{},
                              mesh_.element_nodes, mesh_.coordinates, mesh_.element_blocks, materials_,
                              temperature_, temperature_, matrices_, loads_));
  }
  index_t elements() const { return mesh_.element_count(); }
  const auto& result() const { return matrices_; }

 private:
  using Vector = strata::MDArray<T, D, strata::rank<1>>;
  using Materials = typename Arrays::template node_array<T, thermal::material_columns>;
  using Matrices = typename Arrays::template element_array<T, 8, 8>;
  using Loads = typename Arrays::template element_array<T, 8>;

  static std::string description(index_t edge) {
    const std::string n = std::to_string(edge);
    return "box:" + n + "x" + n + "x" + n + ":random=0.1";
  }

  fem::Mesh<Arrays> mesh_;
  Materials materials_;
  Vector temperature_;
  Matrices matrices_;
  Loads loads_;
};

/// Whether two arrays (element, ...) of hosts agree but for rounding errors.
template <class T>
bool agree(const auto& a, const auto& b) {
  Difference largest{0, 0};
  for (index_t e = 0; e < a.extent(0); ++e) LargestDifference{}(e, a, b, largest);
  return largest.size > 0 && largest.difference <= (sizeof(T) == 4 ? 2e-3 : 1e-10) * largest.size;
}

template <class T>
class Layouts {
 public:
  Layouts(const Options& options, Report& report, const char* type)
      : options_(options),
        report_(report),
        type_(type),
        cores_(Threads::concurrency()),
        triad_(triad_bytes, 1),
        triad_of_all_(triad_bytes, cores_) {}

  void all() const {
    for (const index_t edge : edges) {
      contributions(edge);
      elements_of_dynamics(edge);
    }
  }

 private:
  void contributions(index_t edge) const {
    const Contributions<T, Serial, fem::PlainArrays<Serial>> right(edge);
    const Contributions<T, Serial, fem::TiledArrays<Serial>> tiled(edge);
    const Contributions<T, Threads, fem::TiledArrays<Threads>> all_cores(edge);
    check(agree<T>(right.result(), tiled.result()) && agree<T>(right.result(), all_cores.result()),
          "contributions");
    measure(
        "thermal: contributions", tiled.elements(), [&] { right.run(); }, [&] { tiled.run(); },
        [&] { all_cores.run(); });
  }

  void elements_of_dynamics(index_t edge) const {
    const index_t about = edge * edge * edge;
    const DynamicsProblem<T, Serial, RightArrays> right(about);
    const DynamicsProblem<T, Serial> tiled(about);
    const DynamicsProblem<T, Threads> all_cores(about);
    check(agree<T>(right.fields().stress, tiled.fields().stress) &&
              agree<T>(right.fields().stress, all_cores.fields().stress),
          "dynamics");
    for (const auto& [work, name] :
         {std::pair{DynamicsWork::Gradient, "gradient"}, std::pair{DynamicsWork::Rotation, "rotation"},
          std::pair{DynamicsWork::Force, "force"}, std::pair{DynamicsWork::Fused, "the three in one"}})
      measure(
          std::string("dynamics: ") + name, tiled.elements(), [&, work = work] { right.launch(work); },
          [&, work = work] { tiled.launch(work); }, [&, work = work] { all_cores.launch(work); });
  }

  void check(bool correct, const char* what) const {
    report_.check(correct, std::string(what) + " by layout and device, " + type_);
  }

  void measure(const std::string& name, index_t n, const std::function<void()>& right,
               const std::function<void()>& tiled, const std::function<void()>& all_cores) const {
    Race race;
    const int by_rows = race.add(right), by_tiles = race.add(tiled), by_all = race.add(all_cores),
              triad = race.add([this] { triad_.run_triad(); }),
              triad_of_all = race.add([this] { triad_of_all_.run_triad(); });
    race.run(options_.reps_or(60), 4.0);

    const double linear = cores_, bound = std::min(linear, race.speedup(triad_of_all, triad));
    const auto rate = [&](int entry) { return static_cast<double>(n) / race[entry].median / 1e6; };
    const auto add = [&](const std::string& how, const char* device, int entry, double ceiling,
                         double ratio) {
      report_.add(
          {name + ", " + how, device, n, type_, race[entry], rate(entry), "M elements/s", ceiling, ratio});
    };
    add("LayoutRight", Serial::name, by_rows, none, none);
    add("tiles", Serial::name, by_tiles, none, race.speedup(by_tiles, by_rows));
    if (cores_ > 1 && n >= least_for_all_cores)
      add("tiles, " + std::to_string(cores_) + " cores", Threads::name, by_all, bound * rate(by_tiles),
          race.speedup(by_all, by_tiles));
  }

  const Options& options_;
  Report& report_;
  const char* type_;
  int cores_;
  static constexpr double triad_bytes = 1.5e8;
  TriadCeiling<double> triad_, triad_of_all_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "Layouts of element data on hosts.");
  Report report("element_layouts", "LayoutRight on one core; of all cores: one core");
  for_each_type(options,
                [&](auto zero, const char* type) { Layouts<decltype(zero)>(options, report, type).all(); });
  report.note(
      "The ceiling of all cores is the rate of one times the smaller of their number and what a triad "
      "in memory gains by them.");
  return report.finish(options);
}
