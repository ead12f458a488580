// BlockRows: elements and matrix in parts on several devices (across), or in slices that go through one,
// within a budget of its memory (streamed): coherent arrays (placed_mesh.hpp), and the matrix in blocks of
// rows, where a work item adds up a row. Numbers of nodes stay on the first device; over parts, the vectors
// of the solver are where their rows are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/linear/conjugate_gradients_across.hpp>
#include <strata/algorithms/streaming/fixed_row.hpp>
#include <strata/miniapps/common/places.hpp>
#include <strata/miniapps/thermal/placed_kernels.hpp>
#include <strata/miniapps/thermal/system.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// What SystemAt (system_at.hpp) needs of such a form.
template <class Where, class T>
class BlockRows : public System<miniapp::DeviceOf<Where>, T> {
 public:
  using Device = miniapp::DeviceOf<Where>;
  using Mesh = PlacedMesh;
  using Numbers = CoherentArray<T, rank<1>, LayoutRight>;
  using typename System<Device, T>::NodeList;
  static constexpr bool is_streamed = miniapp::goes_through_slices<Where>;

  BlockRows(const Where& where, const PlacedMesh& mesh, const Problem& problem, const SolveSettings&)
      : where_(where),
        queue_(miniapp::first_device(where)),
        mesh_(mesh),
        materials_("materials", static_cast<index_t>(problem.materials.size()), index_t{material_columns},
                   mesh.memory, mesh.home),
        values_("matrix", mesh.blocks, mesh.block_room, uninitialized, mesh.memory, mesh.home),
        element_matrix_("element matrices", mesh.elements, 8, 8, uninitialized, element_memory(mesh),
                        mesh.home),
        element_vector_("element vectors", mesh.elements, 8, uninitialized, element_memory(mesh), mesh.home),
        group_(linear::row_group(mesh.nodes, mesh.entry_count)) {
    set_materials(materials_.write().view(), problem.materials);
    miniapp::to_device(materials_, miniapp::first_device(where));
  }

  const Queue<Device>& queue() const override { return queue_; }
  index_t node_count() const override { return mesh_.nodes; }
  const std::vector<std::string>& block_names() const override { return mesh_.mesh.block_names; }
  fem::HostMesh host_mesh() const override { return fem::host_mesh_of(mesh_.mesh); }
  NodeList select(const std::string& selector) override {
    const std::vector<std::int32_t> nodes = fem::select_nodes_on_host(mesh_.mesh, selector);
    const auto count = static_cast<index_t>(nodes.size());
    const auto list = create<NodeList>(selector.c_str(), count, on(queue_.device()));
    deep_copy(list, View<const std::int32_t, Serial, typename NodeList::extents_type, LayoutRight>(
                        nodes.data(), count));
    return list;
  }
  fem::NodeAreas face_areas(const std::string& selector) const override {
    return fem::node_areas_on_host(mesh_.mesh, selector);
  }
  HeatSystem matrix_on_host() const override {
    HeatSystem system;
    std::vector<index_t> value_at;
    rows_in_order(mesh_, system.row_map, system.entries, value_at);
    miniapp::to_host(values_);
    const auto values = values_.read();
    for (const index_t k : value_at) system.values.push_back(static_cast<double>(values.view().data()[k]));
    return system;
  }

 protected:
  // ---- what loops declare: work, kernel, and arrays that only this form knows

  template <int Kind>
  auto contributions(const Coefficients<T>& coefficients) const {
    return PlacedContributions<T, Kind>{{coefficients, {}}};
  }
  index_t element_count() const { return mesh_.elements; }
  void with_elements(const auto& f) const {
    f(fixed_row<8>(in(mesh_.element_nodes)), fixed_row<3>(in(mesh_.coordinates, nodes_of())),
      in(mesh_.element_blocks), in(mesh_.node_at, nodes_of()), materials());
  }
  // In the mesh's own order. Where that is not the order of places nodes of a slice may be anywhere, and
  // coordinates are there as a whole meanwhile.
  void with_own_elements(const auto& f) const {
    const auto with = [&](const auto& coordinates) {
      f(fixed_row<8>(in(mesh_.own_element_nodes)), fixed_row<3>(coordinates), in(mesh_.own_element_blocks),
        materials());
    };
    if (mesh_.keeps_order) with(in(mesh_.own_coordinates, nodes_of()));
    else with(in(mesh_.own_coordinates, everything));
  }
  void with_gather(const auto& f) const {
    f(row_work(), GatherPlacedRows{mesh_.nodes}, in(mesh_.node_at, neighbours_of()), begins(),
      in(mesh_.offsets, offsets_of()), in(mesh_.corners, corners_of()),
      fixed_row<8>(in(mesh_.slots, elements_of())), fixed_row<8>(in(mesh_.element_nodes, elements_of())),
      in(mesh_.entries));
  }
  void with_gather_vector(const auto& f) const {
    f(row_work(), GatherPlacedVector{mesh_.nodes}, in(mesh_.node_at, places_of()),
      in(mesh_.offsets, offsets_of()), in(mesh_.corners, corners_of()));
  }
  template <class Operation>
  EachPlacedRow<Operation> each_row(const Operation& operation) const {
    return {operation, mesh_.nodes};
  }
  auto elimination(bool has_film) const { return each_row(EliminateGiven{has_film}); }
  void with_rows(const auto& f) const {
    f(row_work(), in(mesh_.node_at, places_of()), begins(), in(mesh_.entries));
  }

  // Rows that work items use: of elements,
  using RowsBy = Rows<PlacedRows>;
  RowsBy nodes_of() const { return rows_by(&PlacedRanges::nodes_of); }
  // and of blocks of rows. A work item of these writes entries of a node; those after the last node's nobody
  // reads.
  RowsBy places_of() const { return rows_by(&PlacedRanges::places_of); }
  RowsBy neighbours_of() const { return rows_by(&PlacedRanges::neighbours_of); }
  RowsBy elements_of() const { return rows_by(&PlacedRanges::elements_of); }
  static constexpr auto own_blocks() { return own; }
  auto read(const auto& numbers, const RowsBy& of_places) const {
    return resident(in(numbers, of_nodes(of_places)));
  }
  auto written(const auto& numbers) const { return resident(out(numbers, of_nodes(places_of()))); }
  auto changed(const auto& numbers) const { return resident(inout(numbers, of_nodes(places_of()))); }

  // ---- y = A x of parts

  void add_product(auto& where, const Numbers& x, const Numbers& y) const {
    // On GPUs several threads take a row.
    if constexpr (!is_streamed && !Device::memory_space::host_accessible) {
      if (group_ == 4) return multiply_by_lanes<4>(where, x, y);
      if (group_ == 8) return multiply_by_lanes<8>(where, x, y);
    }
    add_rows(where, RowOperation::Product, read(x, neighbours_of()), written(y));
  }
  void add_rows(auto& where, RowOperation operation, const auto&... numbers) const {
    with_rows([&](const auto& work, const auto&... rows) {
      linear::launch_or_add("rows", where, work, each_row(ApplyRow{operation, group_}), rows..., in(values_),
                            numbers...);
    });
  }

  Where where_;
  Queue<Device> queue_;
  PlacedMesh mesh_;
  PlacedNodeArray<T, rank<2>> materials_;
  PlacedNodeArray<T, rank<2>> values_;  // (block, k): as the entries
  PlacedElementArray<T, rank<3>> element_matrix_;
  PlacedElementArray<T, rank<2>> element_vector_;
  int group_;

 private:
  // What elements give goes from loop to loop; in slices it is never in the host's memory.
  static MemoryMode element_memory(const PlacedMesh& mesh) {
    return is_streamed ? MemoryMode::Smart : mesh.memory;
  }
  auto row_work() const { return mdrange({mesh_.blocks, row_block}); }
  auto materials() const { return fixed_row<material_columns>(in(materials_, everything)); }
  auto begins() const { return fixed_row<row_block + 1>(in(mesh_.row_begins)); }
  RowsBy rows_by(ResidentRows (PlacedRanges::*of)(ResidentRows) const) const { return {{&mesh_.ranges, of}}; }
  RowsBy offsets_of() const { return rows_by(&PlacedRanges::offsets_of); }
  RowsBy corners_of() const { return rows_by(&PlacedRanges::corners_of); }
  // Numbers of nodes stay on the device that slices go through. They are in the mesh's own order: where that
  // is not the order of places, those of any part may be anywhere.
  RowsBy of_nodes(RowsBy of_places) const {
    if (!mesh_.keeps_order) of_places.f.all = mesh_.nodes;
    return of_places;
  }
  template <int Lanes>
  void multiply_by_lanes(auto& where, const Numbers& x, const Numbers& y) const {
    const auto by = [&](auto of) {
      RowsBy rows = rows_by(of);
      rows.f.of_block = row_block * Lanes;
      return rows;
    };
    const auto blocks = by(&PlacedRanges::blocks_of);
    linear::launch_or_add("rows", where, block_size(128, mesh_.nodes * Lanes), MultiplyByLanes<Lanes>{},
                          fixed_row<row_block + 1>(in(mesh_.row_begins, blocks)), in(mesh_.entries, blocks),
                          in(values_, blocks), in(x, by(&PlacedRanges::neighbours_of)),
                          out(y, by(&PlacedRanges::places_of)));
  }
};

/// Its matrix, as conjugate gradients take one that multiplies by itself.
template <class System>
class MatrixOf {
 public:
  using value_type = typename System::Number;
  using device_type = typename System::Device;
  explicit MatrixOf(System& system) : system_(&system) {}

  index_t rows() const { return system_->node_count(); }
  index_t columns() const { return rows(); }
  device_type device() const requires(System::is_streamed) { return system_->queue().device(); }
  const auto& place() const requires(!System::is_streamed) { return system_->where(); }
  void multiply(auto& where, const auto& x, const auto& y) const { system_->multiply(where, x, y); }
  void diagonal(const auto& where, const auto& d) const {
    system_->operate(where, RowOperation::Diagonal, d);
  }
  void magnitudes(const auto& where, const auto& s) const {
    system_->operate(where, RowOperation::Magnitudes, s);
  }

 private:
  System* system_;
};

}  // namespace strata::inline STRATA_ABI::thermal
