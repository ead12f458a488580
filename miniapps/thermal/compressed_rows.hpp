// CompressedRows: elements and matrix on one device: plain views, as spmv, cuSPARSE and hypre take them, and
// the matrix in compressed rows, which teams add up. Loops declare the same memory as coherent arrays, of
// which they use all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/thermal/arrays_for.hpp>
#include <strata/miniapps/thermal/mesh_parts.hpp>
#include <strata/miniapps/thermal/node_numbers.hpp>
#include <strata/miniapps/thermal/system.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// ElementContributions on a mesh and with materials that do not change: views of the kernel.
template <class Mesh, class Materials, class T, int Kind>
struct ContributionsOn {
  ElementContributions<T, Kind, BlockSource> contributions;
  decltype(Mesh::element_nodes) nodes;
  decltype(Mesh::coordinates) coordinates;
  decltype(Mesh::element_blocks) blocks;
  Materials materials;

  STRATA_FUNCTION void operator()(auto e, auto temperature, auto change, auto... results) const {
    contributions(e, nodes, coordinates, blocks, materials, temperature, change, results...);
  }
};

/// What SystemAt (system_at.hpp) needs of such a form.
template <class Device, class T>
class CompressedRows : public System<Device, T> {
  using Arrays = ArraysFor<Device>;
  template <class U, index_t... N>
  using element_array = typename Arrays::template element_array<U, N...>;

 public:
  using Mesh = fem::Mesh<Arrays>;
  using Matrix = linear::CrsMatrix<T, Device>;
  using typename System<Device, T>::NodeList;

  /// Builds the graph of the matrix. MeshError, OutOfMemory.
  CompressedRows(const On<Device>& where, const Mesh& mesh, const Problem& problem,
                 const SolveSettings& settings)
      : where_(where),
        queue_(where.device, where.queue),
        mesh_(mesh),
        assembly_(settings.assembly),
        use_boomeramg_(settings.use_boomeramg),
        graph_(matrix_graph(mesh)),
        matrix_(graph_.graph,
                create<typename Matrix::values_type>("matrix", graph_.graph.entry_count(), on(mesh.device))),
        materials_(make_material_table<decltype(materials_)>(problem.materials, mesh.device)),
        values_(adopted<rank<1>>(matrix_.values())) {
    // The other ways do without the largest of the arrays.
    if (assembly_ == Assembly::Gather || problem.is_nonlinear()) make_element_matrix();
    element_vector_ = adopted<rank<2>>(
        create<element_array<T, 8>>("element vectors", mesh.element_count(), on(mesh.device)));
  }

  const Queue<Device>& queue() const override { return queue_; }
  index_t node_count() const override { return mesh_.node_count(); }
  const std::vector<std::string>& block_names() const override { return mesh_.block_names; }
  fem::HostMesh host_mesh() const override { return mesh_on_host(mesh_); }
  NodeList select(const std::string& selector) override { return selected_nodes(mesh_, selector); }
  fem::NodeAreas face_areas(const std::string& selector) const override {
    return selected_areas(mesh_, selector);
  }
  HeatSystem matrix_on_host() const override {
    HeatSystem system;
    system.row_map = numbers_on_host<index_t>(matrix_.graph().row_map());
    system.entries = numbers_on_host<index_t>(matrix_.graph().entries());
    system.values = numbers_on_host(matrix_.values());
    return system;
  }

 protected:
  // ---- what loops declare: work, kernel, and arrays that only this form knows

  template <int Kind>
  auto contributions(const Coefficients<T>& coefficients) const {
    return ContributionsOn<Mesh, MaterialTable<Device, T>, T, Kind>{
        {coefficients, {}}, mesh_.element_nodes, mesh_.coordinates, mesh_.element_blocks, materials_};
  }
  index_t element_count() const { return mesh_.element_count(); }
  void with_elements(const auto& f) const { f(); }
  void with_own_elements(const auto& f) const {
    f(in(mesh_.element_nodes), in(mesh_.coordinates), in(mesh_.element_blocks), in(materials_));
  }
  void with_gather(const auto& f) const {
    f(gather_rows_work<Device, T>(node_count()),
      [offsets = mesh_.node_offsets, corners = mesh_.node_corners, places = matrix_places()](
          const auto& matrices, const auto& vectors, const auto& values, const auto& sums) {
        return GatherRows{offsets, corners, places, matrices, vectors, values, sums};
      });
  }
  void with_gather_vector(const auto& f) const {
    f(node_count(),
      [offsets = mesh_.node_offsets, corners = mesh_.node_corners](const auto& vectors, const auto& sums) {
        return GatherVector{offsets, corners, vectors, sums};
      });
  }
  template <class Operation>
  EachRow<Operation> each_row(const Operation& operation) const {
    return {operation};
  }
  static auto elimination(bool has_film) {
    return [has_film](const auto& row_map, const auto& entries, const auto& values, const auto& conditions,
                      const auto& given, const auto& lift) {
      return EliminateRows{EliminateGiven{has_film}, row_map, entries, values, conditions, given, lift};
    };
  }
  void with_rows(const auto& f) const {
    f(node_count(), in(matrix_.graph().row_map()), in(matrix_.graph().entries()));
  }

  static constexpr auto nodes_of() { return everything; }
  static constexpr auto places_of() { return everything; }
  static constexpr auto neighbours_of() { return everything; }
  static constexpr auto elements_of() { return everything; }
  static constexpr auto own_blocks() { return everything; }
  static auto read(const auto& numbers, Everything region) { return in(numbers, region); }
  static auto written(const auto& numbers) { return out(numbers, everything); }
  static auto changed(const auto& numbers) { return inout(numbers, everything); }

  // ---- the ways of linear steady problems that store no contributions

  void assemble_unstored(const Coefficients<T>& coefficients, const HeatFields<Device, T>& fields) const {
    const ElementArrays<decltype(mesh_.element_nodes), decltype(mesh_.coordinates),
                        decltype(mesh_.element_blocks), decltype(materials_), NodeField<Device, T>>
        arrays{mesh_.element_nodes, mesh_.coordinates,  mesh_.element_blocks,
               materials_,          fields.temperature, fields.change};
    const auto places = matrix_places();
    using Read = std::remove_const_t<decltype(arrays)>;
    using Places = std::remove_const_t<decltype(places)>;
    using Values = typename Matrix::values_type;
    if (assembly_ == Assembly::Fused) {
      parallel_for("gather computed elements", where_, node_count(),
                   GatherComputed<MatrixTerm, Read, BlockSource, decltype(mesh_.node_offsets),
                                  decltype(mesh_.node_corners), Places, Values>{arrays,
                                                                                coefficients,
                                                                                {},
                                                                                mesh_.node_offsets,
                                                                                mesh_.node_corners,
                                                                                places,
                                                                                matrix_.values(),
                                                                                fields.b});
    } else {
      deep_copy(queue_, matrix_.values(), T(0));
      deep_copy(queue_, fields.b, T(0));
      parallel_for("scatter elements", where_, mesh_.element_count(),
                   ScatterElements<MatrixTerm, Read, BlockSource, Places, Values>{
                       arrays, coefficients, {}, places, matrix_.values(), fields.b});
    }
  }

  void make_element_matrix() {
    element_matrix_ = adopted<rank<3>>(
        create<element_array<T, 8, 8>>("element matrices", mesh_.element_count(), on(mesh_.device)));
  }

  On<Device> where_;
  Queue<Device> queue_;
  Mesh mesh_;
  Assembly assembly_;
  bool use_boomeramg_;
  MatrixGraph<Arrays> graph_;
  Matrix matrix_;
  MaterialTable<Device, T> materials_;
  CoherentArray<T, rank<1>, typename Matrix::values_type::layout_type> values_;
  CoherentArray<T, rank<3>, typename element_array<T, 8, 8>::layout_type> element_matrix_;
  CoherentArray<T, rank<2>, typename element_array<T, 8>::layout_type> element_vector_;

 private:
  auto matrix_places() const {
    return MatrixPlaces{mesh_.element_nodes, graph_.slots, matrix_.graph().row_map(),
                        matrix_.graph().entries()};
  }
  // The same memory as loops declare it.
  template <index_t Rank, class V>
  static auto adopted(const V& view) {
    return CoherentArray<typename V::value_type, Rank, typename V::layout_type>::adopt(view.label(), view,
                                                                                       MemoryMode::Smart);
  }
};

}  // namespace strata::inline STRATA_ABI::thermal
