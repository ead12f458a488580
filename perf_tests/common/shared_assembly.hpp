// The assembly of the thermal mini-app as launches that several devices may share: elements give their
// matrices, and blocks of rows add them up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/miniapps/common/memory.hpp>
#include <strata/miniapps/thermal/heat_fields.hpp>
#include <strata/miniapps/thermal/placed_kernels.hpp>

namespace perf {

class SharedAssembly {
 public:
  using Home = strata::MainIn<strata::miniapp::HomeDevice>;
  /// Of a box of `edge` elements in each direction.
  SharedAssembly(strata::index_t edge, strata::MemoryMode mode, const Home& home)
      : mesh_(strata::thermal::make_placed_mesh(description(edge), 0, {mode, home, true})),
        numbers_("x", mesh_.nodes, mode, home),
        load_("b", mesh_.nodes, mode, home),
        materials_("materials", strata::index_t{1}, strata::index_t{strata::thermal::material_columns}, mode,
                   home),
        values_("matrix", mesh_.blocks, mesh_.block_room, mode, home),
        matrices_("element matrices", mesh_.elements, 8, 8, strata::uninitialized, mode, home),
        vectors_("element vectors", mesh_.elements, 8, strata::uninitialized, mode, home) {
    const auto table = materials_.write();
    table(0, strata::thermal::conductivity_column) = 1.5F;
    table(0, strata::thermal::capacity_column) = 1;
    table(0, strata::thermal::source_column) = 2;
  }

  strata::index_t elements() const { return mesh_.elements; }

  template <class Where>
  auto elements_on(const Where& where) const {
    const auto nodes_of =
        strata::rows([r = mesh_.ranges](strata::ResidentRows elements) { return r.nodes_of(elements); });
    return strata::launch(where, mesh_.elements,
                          strata::thermal::PlacedContributions<float, strata::thermal::MatrixTerm>{},
                          in(mesh_.element_nodes), in(mesh_.coordinates, nodes_of), in(mesh_.element_blocks),
                          in(mesh_.node_at, nodes_of), in(materials_, strata::everything),
                          in(numbers_, nodes_of), in(numbers_, nodes_of), out(matrices_), out(vectors_));
  }
  template <class Where>
  auto rows_on(const Where& where) const {
    const auto by = [this](auto rows_of) {
      return strata::rows(
          [r = mesh_.ranges, rows_of](strata::ResidentRows blocks) { return (r.*rows_of)(blocks); });
    };
    using Ranges = strata::thermal::PlacedRanges;
    const auto elements_of = by(&Ranges::elements_of);
    return strata::launch(where, strata::mdrange({mesh_.blocks, strata::thermal::row_block}),
                          strata::thermal::GatherPlacedRows{mesh_.nodes},
                          in(mesh_.node_at, by(&Ranges::neighbours_of)), in(mesh_.row_begins),
                          in(mesh_.offsets, by(&Ranges::offsets_of)),
                          in(mesh_.corners, by(&Ranges::corners_of)), in(mesh_.slots, elements_of),
                          in(mesh_.element_nodes, elements_of), in(mesh_.entries), in(matrices_, elements_of),
                          in(vectors_, elements_of), inout(values_), out(load_, by(&Ranges::places_of)));
  }

  /// The matrix, and then the load.
  std::vector<float> result() const {
    const auto values = values_.read();
    const auto load = load_.read();
    std::vector<float> all(values.view().data(), values.view().data() + values_.size());
    all.insert(all.end(), load.view().data(), load.view().data() + load_.size());
    return all;
  }

 private:
  template <int Rank>
  using OfNodes = strata::thermal::PlacedNodeArray<float, strata::rank<Rank>>;
  template <int Rank>
  using OfElements = strata::thermal::PlacedElementArray<float, strata::rank<Rank>>;

  static std::string description(strata::index_t edge) {
    const std::string n = std::to_string(edge);
    return "box:" + n + "x" + n + "x" + n + ":random=0.1";
  }

  strata::thermal::PlacedMesh mesh_;
  OfNodes<1> numbers_, load_;
  OfNodes<2> materials_, values_;
  OfElements<3> matrices_;
  OfElements<2> vectors_;
};

}  // namespace perf
