// How fast are the kernels of the thermal mini-app: contributions of elements, the three ways to the matrix,
// and what an iteration of conjugate gradients does? Each against the same by hand on the same arrays: on
// GPUs in CUDA, on hosts loops on plain threads.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/thermal_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <strata/algorithms/linear/crs_create.hpp>
#include <strata/algorithms/linear/linear.hpp>
#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/node_graph.hpp>
#include <strata/miniapps/thermal/arrays_for.hpp>
#include <strata/miniapps/thermal/assembly_kernels.hpp>

#include "common/contest.hpp"
#include "common/thermal_vectors.hpp"
#include "kokkos/miniapp_cases.hpp"

namespace {

using namespace perf;
using strata::index_t;
namespace fem = strata::fem;
namespace thermal = strata::thermal;

constexpr double conductivity = 1.5, source = 2;
constexpr index_t long_vectors = 16000000;  // 128 MB each in double, more than caches have

/// By the usual loops over Gauss points, corners in Exodus' order.
struct ReferenceElement {
  double matrix[8][8] = {}, vector[8] = {};

  explicit ReferenceElement(const double (&x)[8][3]) {
    constexpr int sign[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};
    for (const auto& q : sign) {
      double shape[8], local[8][3], j[3][3] = {}, inverse[3][3];
      for (int i = 0; i < 8; ++i) {
        double f[3];
        for (int a = 0; a < 3; ++a) f[a] = (1 + sign[i][a] * q[a] / std::sqrt(3.0)) / 2;
        shape[i] = f[0] * f[1] * f[2];
        for (int a = 0; a < 3; ++a) local[i][a] = sign[i][a] * f[(a + 1) % 3] * f[(a + 2) % 3] / 2;
        for (int a = 0; a < 3; ++a)
          for (int d = 0; d < 3; ++d) j[a][d] += local[i][a] * x[i][d];
      }
      const auto cofactor = [&](int a, int d) {
        return j[(a + 1) % 3][(d + 1) % 3] * j[(a + 2) % 3][(d + 2) % 3] -
               j[(a + 1) % 3][(d + 2) % 3] * j[(a + 2) % 3][(d + 1) % 3];
      };
      const double volume = j[0][0] * cofactor(0, 0) + j[0][1] * cofactor(0, 1) + j[0][2] * cofactor(0, 2);
      for (int a = 0; a < 3; ++a)
        for (int d = 0; d < 3; ++d) inverse[d][a] = cofactor(a, d) / volume;
      double gradient[8][3] = {};
      for (int i = 0; i < 8; ++i)
        for (int d = 0; d < 3; ++d)
          for (int a = 0; a < 3; ++a) gradient[i][d] += inverse[d][a] * local[i][a];
      for (int i = 0; i < 8; ++i) {
        vector[i] += source * volume * shape[i];
        for (int k = 0; k < 8; ++k)
          for (int d = 0; d < 3; ++d) matrix[i][k] += conductivity * volume * gradient[i][d] * gradient[k][d];
      }
    }
  }
};

/// sample(i, ...) = the system of element first + i.
struct SampleElements {
  index_t first;
  STRATA_FUNCTION void operator()(index_t i, auto matrix, auto vector, auto sample) const {
    for (int c = 0; c < 8; ++c) {
      for (int j = 0; j < 8; ++j) sample(i, 8 * c + j) = matrix(first + i, c, j);
      sample(i, 64 + c) = vector(first + i, c);
    }
  }
};

template <class T, class D>
class Kernels {
 public:
  using Arrays = thermal::ArraysFor<D>;
  using Vector = strata::MDArray<T, D, strata::rank<1>>;
  using Matrix = strata::linear::CrsMatrix<T, D>;

  Kernels(const Options& options, Report& report, const char* type, index_t edge)
      : mesh_(fem::make_box<Arrays>(fem::parse_box(description(edge)))),
        elements_(mesh_.element_count()),
        nodes_(mesh_.node_count()),
        materials_(strata::create<Materials>("materials", 1)),
        element_matrix_(strata::create<ElementMatrix>("element matrices", elements_)),
        element_vector_(strata::create<ElementVector>("element vectors", elements_)),
        vectors_(nodes_),
        contest_(options, report, type, 72 * sizeof(T) * static_cast<double>(elements_)) {
    const auto graph = fem::node_graph(mesh_);
    slots_ = fem::element_slots(mesh_, graph);
    matrix_ = Matrix(graph, strata::create<Vector>("values", graph.entry_count()));
    b_ = strata::create<Vector>("load", nodes_);
    const auto materials = strata::create_mirror_view(materials_);
    materials(0, thermal::conductivity_column) = static_cast<T>(conductivity);
    materials(0, thermal::source_column) = static_cast<T>(source);
    strata::deep_copy(materials_, materials);
    coordinates_ = strata::create_mirror_and_copy(mesh_.coordinates);
    read_mesh();
    clear();

    measure_assembly();
    measure_iteration();
    measure_vectors(vectors_, is_gpu<D> ? 16 : 1, is_gpu<D>);
    // On GPUs those of the mesh stay in the cache from launch to launch.
    if constexpr (is_gpu<D>) measure_vectors(CgVectors<T, D>(long_vectors), few_times, false);
  }

 private:
  using Materials = typename Arrays::template node_array<T, thermal::material_columns>;
  using ElementMatrix = typename Arrays::template element_array<T, 8, 8>;
  using ElementVector = typename Arrays::template element_array<T, 8>;
  using Slots = typename Arrays::template element_array<fem::SlotWord, 8>;
  using Coordinates = decltype(strata::create_mirror_and_copy(fem::Mesh<Arrays>().coordinates));

  static std::string description(index_t edge) {
    const std::string n = std::to_string(edge);
    return "box:" + n + "x" + n + "x" + n + ":random=0.1";
  }
  static std::ptrdiff_t count(index_t n) { return static_cast<std::ptrdiff_t>(n); }
  ThermalArrays<T> arrays() const {
    ThermalArrays<T> all{count(elements_),
                         0,
                         count(matrix_.entry_count()),
                         is_machine<D> ? 8 : 0,
                         mesh_.element_nodes.data(),
                         mesh_.coordinates.data(),
                         mesh_.element_blocks.data(),
                         materials_.data(),
                         mesh_.node_offsets.data(),
                         mesh_.node_corners.data(),
                         slots_.data(),
                         matrix_.graph().row_map().data(),
                         matrix_.graph().entries().data(),
                         element_matrix_.data(),
                         element_vector_.data(),
                         matrix_.values().data(),
                         b_.data()};
    vectors_.add_to(all);
    return all;
  }
  auto queue() const { return strata::on(strata::default_queue(D{})); }

  // ---- the kernels, as the mini-app launches them

  void contributions() const {
    parallel_for("element contributions", queue(), thermal::contributions_work(elements_),
                 strata::with(thermal::ElementContributions<T, thermal::MatrixTerm, thermal::BlockSource>{},
                              mesh_.element_nodes, mesh_.coordinates, mesh_.element_blocks, materials_,
                              vectors_.x, vectors_.x, element_matrix_, element_vector_));
  }
  auto places() const {
    return thermal::MatrixPlaces{mesh_.element_nodes, slots_, matrix_.graph().row_map(),
                                 matrix_.graph().entries()};
  }
  void fill() const {
    const thermal::GatherRows gather{mesh_.node_offsets, mesh_.node_corners, places(), element_matrix_,
                                     element_vector_,    matrix_.values(),   b_};
    parallel_for("gather rows", queue(), gather.work(nodes_), gather);
  }
  auto element_arrays() const {
    return thermal::ElementArrays<decltype(mesh_.element_nodes), decltype(mesh_.coordinates),
                                  decltype(mesh_.element_blocks), Materials, Vector>{
        mesh_.element_nodes, mesh_.coordinates, mesh_.element_blocks, materials_, vectors_.x, vectors_.x};
  }
  void scatter() const {
    strata::deep_copy(strata::default_queue(D{}), matrix_.values(), T(0));
    strata::deep_copy(strata::default_queue(D{}), b_, T(0));
    using Kernel = thermal::ScatterElements<thermal::MatrixTerm, decltype(element_arrays()),
                                            thermal::BlockSource, decltype(places()), Vector>;
    parallel_for("scatter elements", queue(), elements_,
                 Kernel{element_arrays(), {}, {}, places(), matrix_.values(), b_});
  }
  void fused() const {
    using List = fem::NodeList<Arrays>;
    using Kernel = thermal::GatherComputed<thermal::MatrixTerm, decltype(element_arrays()),
                                           thermal::BlockSource, List, List, decltype(places()), Vector>;
    parallel_for("gather computed elements", queue(), nodes_,
                 Kernel{element_arrays(),
                        {},
                        {},
                        mesh_.node_offsets,
                        mesh_.node_corners,
                        places(),
                        matrix_.values(),
                        b_});
  }

  // ---- the cases

  void measure_assembly() {
    const auto n = static_cast<double>(elements_), m = static_cast<double>(nodes_);
    const double stored = 72 * sizeof(T) * n,
                 row_bytes = sizeof(T) * (static_cast<double>(matrix_.entry_count()) + m);
    const double contribution_bytes = stored + 36 * n + 24 * m,
                 fill_bytes = stored + row_bytes + (64 + 32) * n + 12 * m;
    const auto elements_hold = [this] { return elements_correct(); };
    const auto rows_are_right = [this] { return rows_correct(); };
    measure(
        "contributions", contribution_bytes, ThermalKernel::Contributions, [this] { contributions(); },
        elements_hold);
    contributions();
    measure(
        "fill", fill_bytes, ThermalKernel::Fill, [this] { fill(); }, rows_are_right);
    contest_.measure({.name = "contributions and fill",
                      .n = elements_,
                      .bytes = contribution_bytes + fill_bytes,
                      .calls = few_times,
                      .run = repeated([this] { contributions(), fill(); }, few_times),
                      .correct = rows_are_right,
                      .clear = [this] { clear(); }});
    measure(
        "scatter by atomics", 0, ThermalKernel::Scatter, [this] { scatter(); }, rows_are_right);
    measure(
        "fused gather", 0, ThermalKernel::Fused, [this] { fused(); }, rows_are_right);
  }

  void measure_iteration() {
    const auto m = static_cast<double>(nodes_);
    const double product_bytes =
        static_cast<double>(matrix_.entry_count()) * (4 + sizeof(T)) + m * (8 + 2 * sizeof(T));
    measure(
        "product", product_bytes, ThermalKernel::Product,
        [this] { strata::linear::spmv(queue(), matrix_, vectors_.p, vectors_.q); },
        [this] { return product_correct(); });
    // Of the solver itself, with a tolerance that it does not reach.
    strata::linear::CgOptions endless;
    endless.relative_tolerance = 0;
    strata::linear::ConjugateGradients solver(matrix_, endless);
    strata::deep_copy(vectors_.x, T(0));
    solver.begin(queue(), b_, vectors_.x);
    // The vectors: p and q; r, q, d and r; x, p, r, d and x, p.
    const double bytes = product_bytes + 12 * sizeof(T) * m;
    measure(
        "iteration of conjugate gradients", bytes, ThermalKernel::Iteration,
        [&] { solver.iterate(queue(), vectors_.x); }, std::function<bool()>());
  }

  void measure_vectors(const CgVectors<T, D>& vectors, int times, bool in_cache) {
    ThermalArrays<T> arrays{};
    vectors.add_to(arrays);
    const auto measure = [&](const char* name, ThermalKernel kernel, VectorForm form = VectorForm::Functor) {
      contest_.measure({.name = name,
                        .n = count(arrays.nodes),
                        .bytes = in_cache ? 0 : vectors.bytes(kernel),
                        .calls = times,
                        .run = repeated([&vectors, kernel, form] { vectors.launch(kernel, form); }, times),
                        .baseline = thermal_by_hand(contest_.place(), kernel, arrays, times),
                        .others = {kokkos_thermal(kokkos_place<D>(), kernel, arrays, times)},
                        .correct = [&vectors, kernel, times] { return vectors.correct(kernel, times); },
                        .clear = [&vectors] { vectors.clear(); }});
    };
    measure("dot", ThermalKernel::Dot);
    measure("update", ThermalKernel::Update);
    measure("direction", ThermalKernel::Direction);
    measure("update in two steps", ThermalKernel::Update, VectorForm::Tuned);
    measure("direction by launch", ThermalKernel::Direction, VectorForm::Tuned);
  }

  // Launches follow each other in a solve, and the host waits once in many: what a wait costs is no part of a
  // kernel. On GPUs they are one graph.
  static constexpr int few_times = is_gpu<D> ? 4 : 1;
  static std::function<void()> repeated(const std::function<void()>& launch, int times) {
    const auto all = [=] {
      for (int k = 0; k < times; ++k) launch();
    };
    if constexpr (is_gpu<D>) {
      const auto queue = strata::default_queue(D{});
      const auto graph = strata::record(queue, all);
      return [=] {
        graph.launch(queue);
        queue.wait();
      };
    } else {
      return [=] {
        all();
        strata::wait(D{});
      };
    }
  }

  template <class Run, class Correct>
  void measure(const char* name, double bytes, ThermalKernel kernel, Run run, Correct correct) {
    contest_.measure({.name = name,
                      .n = elements_,
                      .bytes = bytes,
                      .calls = few_times,
                      .run = repeated(run, few_times),
                      .baseline = thermal_by_hand(contest_.place(), kernel, arrays(), few_times),
                      .others = {kokkos_thermal(kokkos_place<D>(), kernel, arrays(), few_times)},
                      .correct = correct,
                      .clear = [this, kernel] { clear(kernel); }});
  }

  // ---- what they must give

  static constexpr double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-11;
  static constexpr index_t few = 200;

  void clear(ThermalKernel kernel = ThermalKernel::Scatter) const {
    if (kernel == ThermalKernel::Contributions) {
      strata::deep_copy(element_matrix_, T(-7));
      strata::deep_copy(element_vector_, T(-7));
    } else if (kernel <= ThermalKernel::Fused) {
      strata::deep_copy(matrix_.values(), T(-7));
      strata::deep_copy(b_, T(-7));
    }
    vectors_.clear();
  }

  void read_mesh() {
    const auto nodes = strata::create_mirror_and_copy(mesh_.element_nodes);
    element_nodes_.resize(static_cast<std::size_t>(elements_));
    for (index_t e = 0; e < elements_; ++e)
      for (int c = 0; c < 8; ++c) element_nodes_[static_cast<std::size_t>(e)][c] = nodes(e, c);
    const auto offsets = strata::create_mirror_and_copy(mesh_.node_offsets);
    const auto corners = strata::create_mirror_and_copy(mesh_.node_corners);
    const auto copy = [](std::vector<std::int32_t>& to, const auto& from) {
      for (index_t k = 0; k < from.extent(0); ++k) to.push_back(from(k));
    };
    copy(offsets_, offsets);
    copy(corners_, corners);
  }
  ReferenceElement reference(index_t e) const {
    double x[8][3];
    for (int c = 0; c < 8; ++c)
      for (int d = 0; d < 3; ++d) x[c][d] = coordinates_(element_nodes_[static_cast<std::size_t>(e)][c], d);
    return ReferenceElement(x);
  }
  static bool near(double found, double expected, double scale = 0) {
    return std::abs(found - expected) <= tolerance * std::max(std::abs(expected), scale);
  }

  template <class Holds>
  static bool sampled(index_t n, const Holds& holds) {
    const index_t count = std::min(few, n);
    return holds(index_t{0}, count) && holds((n - count) / 2, count) && holds(n - count, count);
  }

  bool elements_correct() const {
    using Sample = strata::MDArrayIn<strata::LayoutRight, T, D, 72>;
    return sampled(elements_, [&](index_t first, index_t number) {
      const auto sample = strata::create<Sample>("sample", number);
      strata::parallel_for(number,
                           strata::with(SampleElements{first}, element_matrix_, element_vector_, sample));
      strata::wait(D{});
      const auto found = strata::create_mirror_and_copy(sample);
      for (index_t i = 0; i < number; ++i) {
        const ReferenceElement expected = reference(first + i);
        for (int c = 0; c < 8; ++c) {
          if (!near(static_cast<double>(found(i, 64 + c)), expected.vector[c])) return false;
          for (int j = 0; j < 8; ++j)
            if (!near(static_cast<double>(found(i, 8 * c + j)), expected.matrix[c][j], expected.matrix[0][0]))
              return false;
        }
      }
      return true;
    });
  }

  // Elements [first, last) of a vector on the host, counted from 0.
  template <class V>
  static auto part(const V& v, index_t first, index_t last) {
    return [list = strata::detail::fetch_elements(v, first, last)](index_t k) {
      return list[static_cast<std::size_t>(k)];
    };
  }
  bool rows_correct() const {
    return sampled(nodes_, [&](index_t first, index_t number) {
      const auto& graph = matrix_.graph();
      const auto row_map = part(graph.row_map(), first, first + number + 1);
      const index_t begin = row_map(0), end = row_map(number);
      const auto columns = part(graph.entries(), begin, end);
      const auto values = part(matrix_.values(), begin, end);
      const auto b = part(b_, first, first + number);
      std::vector<double> row(static_cast<std::size_t>(nodes_));
      for (index_t i = 0; i < number; ++i) {
        double load = 0;
        const auto node = static_cast<std::size_t>(first + i);
        for (auto k = static_cast<std::size_t>(offsets_[node]);
             k < static_cast<std::size_t>(offsets_[node + 1]); ++k) {
          const index_t e = corners_[k] / 8, c = corners_[k] % 8;
          const ReferenceElement element = reference(e);
          load += element.vector[c];
          for (int j = 0; j < 8; ++j)
            row[static_cast<std::size_t>(element_nodes_[static_cast<std::size_t>(e)][j])] +=
                element.matrix[c][j];
        }
        if (!near(static_cast<double>(b(i)), load)) return false;
        for (index_t k = row_map(i) - begin; k < row_map(i + 1) - begin; ++k) {
          double& expected = row[static_cast<std::size_t>(columns(k))];
          if (!near(static_cast<double>(values(k)), expected, row[node])) return false;
          if (static_cast<std::size_t>(columns(k)) != node) expected = 0;
        }
        row[node] = 0;
      }
      return true;
    });
  }

  bool product_correct() const {
    return sampled(nodes_, [&](index_t first, index_t number) {
      const auto& graph = matrix_.graph();
      const auto row_map = part(graph.row_map(), first, first + number + 1);
      const index_t begin = row_map(0), end = row_map(number);
      const auto columns = part(graph.entries(), begin, end);
      const auto values = part(matrix_.values(), begin, end);
      const auto q = part(vectors_.q, first, first + number);
      for (index_t i = 0; i < number; ++i) {
        double product = 0, scale = 0;
        for (index_t k = row_map(i) - begin; k < row_map(i + 1) - begin; ++k) {
          const double term = static_cast<double>(values(k)) * cg_element<double>(columns(k), 1);
          product += term;
          scale += std::abs(term);
        }
        if (!near(static_cast<double>(q(i)), product, scale)) return false;
      }
      return true;
    });
  }

  fem::Mesh<Arrays> mesh_;
  index_t elements_, nodes_;
  Materials materials_;
  ElementMatrix element_matrix_;
  ElementVector element_vector_;
  Slots slots_;
  Matrix matrix_;
  Vector b_;
  CgVectors<T, D> vectors_;
  Coordinates coordinates_;
  struct Corners {
    std::int32_t node[8];
    std::int32_t& operator[](int c) { return node[c]; }
    std::int32_t operator[](int c) const { return node[c]; }
  };
  std::vector<Corners> element_nodes_;
  std::vector<std::int32_t> offsets_, corners_;
  Contest<D> contest_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv,
      "The kernels of the thermal mini-app on a box of about n hexahedra, against the same by hand.");
  Report report("thermal_kernels", "the fastest of the loops or kernels by hand on the same arrays");
  for_each_type(options, [&](auto zero, const char* type) {
    for_each_real_device(options, [&](auto device) {
      using D = decltype(device);
      const index_t n = size_for<D>(options, 100000, 1061208);
      Kernels<decltype(zero), D>(options, report, type,
                                 static_cast<index_t>(std::cbrt(static_cast<double>(n)) + 0.5));
    });
  });
  report.note("n is the number of elements. Every array counts once: of an element in double 576 bytes of");
  report.note(
      "contributions and 36 of connectivity; the fill reads 96 of lists, too, and writes 27 entries a row.");
  report.note(
      "Vectors are of n elements themselves. On GPUs kernels are timed in graphs of 4 and of 16 launches.");
  report.note(
      "At about 1500 operations an element contributions are bound by memory rather than by arithmetic");
  report.note(
      "on GPUs. Scatter and the fused gather, which computes each element 8 times, are bound by neither.");
  return report.finish(options);
}
