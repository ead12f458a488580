// InCoreSystem: the system of equations of a mesh that the device holds: the mesh, what its elements give,
// the matrix, and all that reads them. Arrays are plain views, as spmv, cuSPARSE and hypre take them; loops
// that are done again and again declare the same memory as coherent arrays, and are recorded (Sequence). It
// is what HeatEquation (heat_equation.hpp) solves; PlacedSystem (placed_system.hpp) is the same for meshes in
// parts, or that the device does not hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>

#include <strata/algorithms/linear/conjugate_gradients.hpp>
#include <strata/algorithms/streaming/fixed_row.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/miniapps/thermal/boundary_kernels.hpp>
#include <strata/miniapps/thermal/heat.hpp>
#include <strata/miniapps/thermal/heat_fields.hpp>
#include <strata/miniapps/thermal/mesh_parts.hpp>
#include <strata/miniapps/thermal/node_numbers.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// ElementContributions on a mesh and with materials that do not change: views of the kernel.
template <class Mesh, class Materials, class T, int Kind>
struct ContributionsOn {
  ElementContributions<T, Kind, BlockSource> contributions;
  decltype(Mesh::element_nodes) nodes;
  decltype(Mesh::coordinates) coordinates;
  decltype(Mesh::element_blocks) blocks;
  Materials materials;

  STRATA_FUNCTION void operator()(auto e, auto temperature, auto change, auto matrix, auto vector) const {
    contributions(e, nodes, coordinates, blocks, materials, temperature, change, matrix, vector);
  }
  STRATA_FUNCTION void operator()(auto e, auto temperature, auto change, auto vector) const {
    static_assert((Kind & MatrixTerm) == 0);
    (*this)(e, temperature, change, vector, vector);
  }
};

template <class Arrays, class Number>
class InCoreSystem {
 public:
  using Device = typename Arrays::device_type;
  using T = Number;
  using Mesh = fem::Mesh<Arrays>;
  using Matrix = linear::CrsMatrix<T, Device>;
  static constexpr bool is_in_core = true;
  static constexpr int vector_count = 0;
  using Solver = linear::ConjugateGradients<Matrix>;

  /// Builds the graph of the matrix and allocates all but the fields. MeshError, OutOfMemory.
  InCoreSystem(const Mesh& mesh, const Problem& problem, const SolveSettings& settings)
      : mesh_(mesh),
        assembly_(settings.assembly),
        has_film_(problem.has_inflows),
        queue_(mesh.device),
        graph_(matrix_graph(mesh)),
        matrix_(graph_.graph,
                create<typename Matrix::values_type>("matrix", graph_.graph.entry_count(), on(mesh.device))),
        materials_(make_material_table<decltype(materials_)>(problem.materials, mesh.device)),
        numbers_(mesh.node_count(), MemoryMode::Smart) {
    // The other ways do without the largest of the arrays.
    if (assembly_ == Assembly::Gather || problem.is_nonlinear()) allocate_matrices();
    element_vector_ =
        create<decltype(element_vector_)>("element vectors", mesh.element_count(), on(mesh.device));
  }

  const Device& device() const { return mesh_.device; }
  const Queue<Device>& queue() const { return queue_; }
  index_t node_count() const { return mesh_.node_count(); }
  const std::vector<std::string>& block_names() const { return mesh_.block_names; }
  const Mesh& mesh() const { return mesh_; }
  const Matrix& matrix() const { return matrix_; }
  Solver solver(const linear::CgOptions& options) const { return Solver(matrix_, options); }
  /// The matrix, without a right-hand side.
  HeatSystem matrix_on_host() const {
    HeatSystem system;
    for (const double k : numbers_on_host(matrix_.graph().row_map()))
      system.row_map.push_back(static_cast<index_t>(k));
    for (const double k : numbers_on_host(matrix_.graph().entries()))
      system.entries.push_back(static_cast<index_t>(k));
    system.values = numbers_on_host(matrix_.values());
    return system;
  }
  fem::HostMesh host_mesh() const { return mesh_on_host(mesh_); }
  /// The nodes of a selector, as HeatEquation::give takes them.
  auto select(const std::string& selector) const { return selected_nodes(mesh_, selector); }
  /// The faces of a selector, as shares of their nodes.
  fem::NodeAreas face_areas(const std::string& selector) const { return selected_areas(mesh_, selector); }
  StreamTotals totals() const { return {}; }

  // None of these waits, but for those that count seconds or return numbers.

  /// What is read and written. Before anything else.
  void bind(const HeatFields<Device, T>& fields) {
    fields_ = fields;
    numbers_.bind(fields);
  }
  /// The right-hand side, and, with MatrixTerm, the matrix: contributions are stored, and gathered.
  template <int Kind>
  void assemble(const Coefficients<T>& coefficients) {
    steps<Kind>(coefficients).run(1);
  }
  template <int Kind>
  void assemble(const Coefficients<T>& coefficients, SolveTimes& times) {
    Steps& steps = this->template steps<Kind>(coefficients);
    timed(queue_, times.compute, [&] { steps.run_loops(1); });
    timed(queue_, times.fill, [&] { steps.run_loops(1); });
  }
  /// The same, and given temperatures are taken out of the matrix.
  template <int Kind>
  void assemble_eliminated(const Coefficients<T>& coefficients, SolveTimes& times) {
    assemble<Kind>(coefficients, times);
    timed(queue_, times.boundary, [&] { eliminate(); });
  }
  /// Of linear steady problems: in the way of the settings.
  void assemble_steady(const Coefficients<T>& coefficients, SolveTimes& times) {
    if (assembly_ == Assembly::Atomic) timed(queue_, times.fill, [&] { scatter(coefficients); });
    else if (assembly_ == Assembly::Fused) timed(queue_, times.fill, [&] { gather_computed(coefficients); });
    else assemble<MatrixTerm>(coefficients, times);
  }
  void eliminate() {
    launch(on(queue_).named("eliminate given temperatures"), node_count(),
           EachRow<EliminateGiven>{{has_film_}}, in(matrix_.graph().row_map()), in(matrix_.graph().entries()),
           inout(matrix_.values()), in(fields_.conditions), in(fields_.given), inout(fields_.lift));
  }

  ResidualSquares residual() const {
    ResidualSquares squares{};
    reduce_rows<TrueResidual>("true residual", squares, in(fields_.conditions), in(fields_.b), in(fields_.y));
    return squares;
  }
  double greatest_coupling() const {
    double greatest = 0;
    reduce_rows<GreatestCoupling>("greatest coupling", greatest, in(fields_.conditions));
    return greatest;
  }
  HeatIntegrals integrals(const Problem& problem, double rate) const {
    HeatIntegrals sums{};
    launch_reduce(on(queue_).named("integrals"), mesh_.element_count(),
                  Integrals{problem.beta, problem.sink, rate}, sums, in(mesh_.element_nodes),
                  in(mesh_.coordinates), in(mesh_.element_blocks), in(materials_), in(fields_.temperature),
                  in(fields_.change));
    return sums;
  }

 private:
  template <class U, index_t... N>
  using element_array = typename Arrays::template element_array<U, N...>;

  using Steps = Sequence<On<Device>>;
  // Loops of coefficients that do not change, as those of time steps: so they are recorded once.
  struct Stage {
    Coefficients<T> coefficients;
    std::unique_ptr<Steps> steps = {};
  };

  template <int Kind>
  Steps& steps(const Coefficients<T>& coefficients) {
    constexpr bool has_matrix = (Kind & MatrixTerm) != 0;
    Stage& stage = stages_[Kind];
    if (!stage.steps || !(stage.coefficients == coefficients)) {
      auto made = std::make_unique<Steps>("assembly", on(queue_));
      if (has_matrix && !element_matrix_) allocate_matrices();
      const ContributionsOn<Mesh, MaterialTable<Device, T>, T, Kind> kernel{
          {coefficients, {}}, mesh_.element_nodes, mesh_.coordinates, mesh_.element_blocks, materials_};
      const auto work = contributions_work(mesh_.element_count());
      const auto temperature = in(numbers_.temperature.array(), everything),
                 change = in(numbers_.change.array(), everything);
      const auto vector = adopted<rank<2>>(element_vector_);
      const CoherentArray<T, rank<1>, LayoutRight>& b = numbers_.b.array();
      if constexpr (has_matrix) {
        const auto matrix = adopted<rank<3>>(element_matrix_);
        made->loop("element contributions", work, kernel, temperature, change, fixed_row<8, 8>(out(matrix)),
                   fixed_row<8>(out(vector)));
        const auto gather = [offsets = mesh_.node_offsets, corners = mesh_.node_corners,
                             places = matrix_places()](const auto& matrices, const auto& vectors,
                                                       const auto& values, const auto& sums) {
          return GatherRows{offsets, corners, places, matrices, vectors, values, sums};
        };
        made->loop("gather rows", gather_rows_work<Device, T>(node_count()), gather,
                   fixed_row<8, 8>(in(matrix, everything)), fixed_row<8>(in(vector, everything)),
                   out(adopted<rank<1>>(matrix_.values()), everything), out(b, everything));
      } else {
        made->loop("element contributions", work, kernel, temperature, change, fixed_row<8>(out(vector)));
        const auto gather = [offsets = mesh_.node_offsets, corners = mesh_.node_corners](const auto& vectors,
                                                                                         const auto& sums) {
          return GatherVector{offsets, corners, vectors, sums};
        };
        made->loop("gather vector", node_count(), gather, fixed_row<8>(in(vector, everything)),
                   out(b, everything));
      }
      stage = {coefficients, std::move(made)};
    }
    return *stage.steps;
  }
  // The same memory as loops declare it.
  template <index_t Rank, class V>
  static auto adopted(const V& view) {
    return CoherentArray<typename V::value_type, Rank, typename V::layout_type>::adopt(view.label(), view,
                                                                                       MemoryMode::Smart);
  }
  void scatter(const Coefficients<T>& coefficients) {
    const auto where = on(queue_);
    const auto arrays = element_arrays();
    const auto places = matrix_places();
    deep_copy(queue_, matrix_.values(), T(0));
    deep_copy(queue_, fields_.b, T(0));
    parallel_for("scatter elements", where, mesh_.element_count(),
                 ScatterElements<MatrixTerm, std::remove_const_t<decltype(arrays)>, BlockSource,
                                 std::remove_const_t<decltype(places)>, typename Matrix::values_type>{
                     arrays, coefficients, {}, places, matrix_.values(), fields_.b});
  }
  void gather_computed(const Coefficients<T>& coefficients) {
    const auto arrays = element_arrays();
    const auto places = matrix_places();
    parallel_for("gather computed elements", on(queue_), node_count(),
                 GatherComputed<MatrixTerm, std::remove_const_t<decltype(arrays)>, BlockSource,
                                decltype(mesh_.node_offsets), decltype(mesh_.node_corners),
                                std::remove_const_t<decltype(places)>, typename Matrix::values_type>{
                     arrays,
                     coefficients,
                     {},
                     mesh_.node_offsets,
                     mesh_.node_corners,
                     places,
                     matrix_.values(),
                     fields_.b});
  }
  void allocate_matrices() {
    element_matrix_ =
        create<decltype(element_matrix_)>("element matrices", mesh_.element_count(), on(mesh_.device));
  }

  // What kernels read (assembly_kernels.hpp).
  auto element_arrays() const {
    return ElementArrays<decltype(mesh_.element_nodes), decltype(mesh_.coordinates),
                         decltype(mesh_.element_blocks), decltype(materials_), NodeField<Device, T>>{
        mesh_.element_nodes, mesh_.coordinates,   mesh_.element_blocks,
        materials_,          fields_.temperature, fields_.change};
  }
  template <class Operation, class Value, class... Numbers>
  void reduce_rows(const char* label, Value& value, const Numbers&... numbers) const {
    launch_reduce(on(queue_).named(label), node_count(), EachRow<Operation>{}, value,
                  in(matrix_.graph().row_map()), in(matrix_.graph().entries()), in(matrix_.values()),
                  numbers...);
  }
  auto matrix_places() const {
    const auto& graph = matrix_.graph();
    return MatrixPlaces{mesh_.element_nodes, graph_.slots, graph.row_map(), graph.entries()};
  }

  Mesh mesh_;
  Assembly assembly_;
  bool has_film_;
  Queue<Device> queue_;
  MatrixGraph<Arrays> graph_;
  Matrix matrix_;
  MaterialTable<Device, T> materials_;
  element_array<T, 8, 8> element_matrix_;
  element_array<T, 8> element_vector_;
  HeatFields<Device, T> fields_;
  LoopNumbers<On<Device>, T> numbers_;
  Stage stages_[4];  // by kind
};

}  // namespace strata::inline STRATA_ABI::thermal
