// MeshBuilder: makes a HostMesh of what a file lists, under the numbers that the file gives. Readers say what
// they find and where; build() resolves numbers, finds the hexahedron of every quadrilateral, and leaves out
// nodes that no element uses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <strata/miniapps/fem/files/mesh_text.hpp>
#include <strata/miniapps/fem/host_mesh.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

/// What is left out is counted, and listed in HostMesh::remarks with the place of its first.
class MeshBuilder {
 public:
  /// `text` must outlive the builder; it knows the lines of places.
  explicit MeshBuilder(const MeshText& text) : text_(text) {}

  /// Numbers may have gaps and any order. `at` is a place in the file.
  void add_node(std::int64_t id, const std::array<double, 3>& coordinates, std::size_t at);
  void add_hexahedron(std::int64_t id, const std::array<std::int64_t, 8>& nodes, std::int64_t block,
                      std::size_t at);
  /// A face by its corners, in any order around it.
  void add_quadrilateral(const std::array<std::int64_t, 4>& nodes, std::int64_t set, std::size_t at);
  /// A face of an element: 0 to 5.
  void add_side(std::int64_t element, int face, std::int64_t set, std::size_t at);
  void add_set_node(std::int64_t node, std::int64_t set, std::size_t at);
  /// `set` is a key; `id` is the number that the file gives.
  void name_block(std::int64_t block, const std::string& name) { block_names_[block] = name; }
  void name_side_set(std::int64_t set, const std::string& name) { side_sets_[set].name = name; }
  void name_node_set(std::int64_t set, std::int64_t id, const std::string& name);
  /// Something of the file that has no place in a HostMesh; `at` is its place, or MeshText::nowhere.
  void leave_out(const std::string& what, std::size_t at);
  /// A sentence for HostMesh::remarks.
  void remark(std::size_t at, const std::string& sentence) { remarks_.push_back(text_.place(at) + sentence); }

  /// The mesh. Sets without a name are called by their number; empty ones are left out. MeshError if a number
  /// is not in the file or there twice, or if there is no hexahedron.
  HostMesh build();

 private:
  struct Numbered {
    std::int64_t id;
    std::int32_t index;
  };
  struct Quadrilateral {
    std::array<std::int64_t, 4> nodes;
    std::int64_t set;
    std::size_t at;
  };
  struct Side {
    std::int64_t element;
    std::int64_t set;
    std::size_t at;
    std::int8_t face;
  };
  struct SetNode {
    std::int64_t node;
    std::int64_t set;
    std::size_t at;
  };
  struct LeftOut {
    std::int64_t number;
    std::size_t first;
  };
  struct NodeSetName {
    std::int64_t id;
    std::string name;
  };
  /// Numbers to indices: a binary search, or nothing where the numbers count up without gaps.
  class Index {
   public:
    void build(const MeshText& text, const char* what, const std::vector<std::int64_t>& ids,
               const std::vector<std::size_t>& places);
    /// -1 if there is no such number.
    std::int32_t find(std::int64_t id) const;

   private:
    std::vector<Numbered> sorted_;  // empty: first_, first_ + 1, ...
    std::int64_t first_ = 0;
    std::int64_t size_ = 0;
  };

  void resolve_elements(HostMesh& mesh) const;
  void number_blocks(HostMesh& mesh) const;
  void add_side_sets(HostMesh& mesh);
  void match_quadrilaterals(const HostMesh& mesh);
  void add_node_sets(HostMesh& mesh) const;
  void drop_unused_nodes(HostMesh& mesh) const;
  void list_what_is_left_out(HostMesh& mesh) const;

  const MeshText& text_;
  std::vector<std::array<double, 3>> coordinates_;
  std::vector<std::int64_t> node_ids_;
  std::vector<std::size_t> node_places_;
  std::vector<std::array<std::int64_t, 8>> elements_;
  std::vector<std::int64_t> element_ids_;
  std::vector<std::int64_t> element_blocks_;
  std::vector<std::size_t> element_places_;
  std::vector<Quadrilateral> quadrilaterals_;
  std::vector<Side> sides_;
  std::vector<SetNode> set_nodes_;
  std::map<std::int64_t, std::string> block_names_;
  std::map<std::int64_t, SideSet> side_sets_;
  std::map<std::int64_t, NodeSetName> node_set_names_;
  std::map<std::string, LeftOut> left_out_;
  std::vector<std::string> remarks_;
  Index node_index_;
  Index element_index_;
};

}  // namespace strata::inline STRATA_ABI::fem::detail
