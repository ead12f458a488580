// InCoreSystem: the system of equations of a mesh that the device holds: the mesh, what its elements give,
// the matrix, and all that reads them. It is what HeatEquation (heat_equation.hpp) solves; PlacedSystem
// (placed_system.hpp) is the same for meshes in parts, or that the device does not hold.
#pragma once

#include <algorithm>
#include <memory>

#include <strata/algorithms/linear/conjugate_gradients.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/miniapps/thermal/boundary_kernels.hpp>
#include <strata/miniapps/thermal/heat.hpp>
#include <strata/miniapps/thermal/heat_fields.hpp>
#include <strata/miniapps/thermal/mesh_parts.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class Arrays, class Number>
class InCoreSystem {
 public:
  using Device = typename Arrays::device_type;
  using T = Number;
  using Mesh = fem::Mesh<Arrays>;
  using Matrix = linear::CrsMatrix<T, Device>;
  static constexpr bool is_in_core = true;
  static constexpr int vector_count = 0;
  /// Iterations of conjugate gradients between two looks: as the device likes it.
  static constexpr int check_every = 0;

  /// Builds the graph of the matrix and allocates all but the fields. MeshError, OutOfMemory.
  InCoreSystem(const Mesh& mesh, const Problem& problem, const SolveSettings& settings)
      : mesh_(mesh),
        assembly_(settings.assembly),
        queue_(mesh.device),
        graph_(matrix_graph(mesh)),
        matrix_(graph_.graph,
                create<typename Matrix::values_type>("matrix", graph_.graph.entry_count(), on(mesh.device))),
        materials_(make_material_table<decltype(materials_)>(problem.materials, mesh.device)) {
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
  StreamTotals totals() const { return {}; }

  // None of these waits, but for those that count seconds or return numbers.

  /// What is read and written. Before anything else.
  void bind(const HeatFields<Device, T>& fields) { fields_ = fields; }
  /// The right-hand side, and, with MatrixTerm, the matrix: contributions are stored, and gathered.
  template <int Kind>
  void assemble(const Coefficients<T>& coefficients) {
    compute_contributions<Kind>(coefficients);
    add_contributions<Kind>();
  }
  template <int Kind>
  void assemble(const Coefficients<T>& coefficients, SolveTimes& times) {
    timed(queue_, times.compute, [&] { compute_contributions<Kind>(coefficients); });
    timed(queue_, times.fill, [&] { add_contributions<Kind>(); });
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
    parallel_for("eliminate given temperatures", on(queue_), node_count(),
                 each_row(EliminateGiven{fields_.conditions, fields_.given, fields_.lift}));
  }

  ResidualSquares residual() const {
    ResidualSquares squares{};
    parallel_reduce("true residual", on(queue_), node_count(),
                    ReduceRows{each_row(TrueResidual{fields_.conditions, fields_.b, fields_.y})}, squares);
    return squares;
  }
  double greatest_coupling() const {
    double greatest = 0;
    parallel_reduce("greatest coupling", on(queue_), node_count(),
                    ReduceRows{each_row(GreatestCoupling{fields_.conditions})}, greatest);
    return greatest;
  }
  HeatIntegrals integrals(const Problem& problem, double rate) const {
    const auto arrays = element_arrays();
    HeatIntegrals sums{};
    parallel_reduce(
        "integrals", on(queue_), mesh_.element_count(),
        Integrals<std::remove_const_t<decltype(arrays)>>{arrays, problem.beta, problem.sink, rate}, sums);
    return sums;
  }

 private:
  template <class U, index_t... N>
  using element_array = typename Arrays::template element_array<U, N...>;

  template <int Kind>
  void compute_contributions(const Coefficients<T>& coefficients) {
    if ((Kind & MatrixTerm) != 0 && !element_matrix_) allocate_matrices();
    parallel_for("element contributions", on(queue_), contributions_work(mesh_.element_count()),
                 with(ElementContributions<T, Kind, BlockSource>{coefficients, {}}, mesh_.element_nodes,
                      mesh_.coordinates, mesh_.element_blocks, materials_, fields_.temperature,
                      fields_.change, element_matrix_, element_vector_));
  }
  template <int Kind>
  void add_contributions() {
    if constexpr ((Kind & MatrixTerm) != 0) {
      const GatherRows gather{mesh_.node_offsets, mesh_.node_corners, matrix_places(), element_matrix_,
                              element_vector_,    matrix_.values(),   fields_.b};
      parallel_for("gather rows", on(queue_), gather.work(node_count()), gather);
    } else {
      parallel_for("gather vector", on(queue_), node_count(),
                   GatherVector{mesh_.node_offsets, mesh_.node_corners, element_vector_, fields_.b});
    }
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
  template <class Operation>
  auto each_row(const Operation& operation) const {
    const auto& graph = matrix_.graph();
    return EachRow{graph.row_map(), graph.entries(), matrix_.values(), operation};
  }
  auto matrix_places() const {
    const auto& graph = matrix_.graph();
    return MatrixPlaces{mesh_.element_nodes, graph_.slots, graph.row_map(), graph.entries()};
  }

  Mesh mesh_;
  Assembly assembly_;
  Queue<Device> queue_;
  MatrixGraph<Arrays> graph_;
  Matrix matrix_;
  MaterialTable<Device, T> materials_;
  element_array<T, 8, 8> element_matrix_;
  element_array<T, 8> element_vector_;
  HeatFields<Device, T> fields_;
};

}  // namespace strata::inline STRATA_ABI::thermal
