// MFEM's mesh v1.0 (https://mfem.org/mesh-format-v1.0): hexahedra by their vertices, or with nodes of first
// order. Attributes of elements become blocks, those of boundary elements side sets. Numbers count from 0.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <vector>

#include <strata/miniapps/fem/files/formats.hpp>
#include <strata/miniapps/fem/files/mesh_builder.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

class MfemReader {
 public:
  explicit MfemReader(MeshText& text) : text_(text), builder_(text) { text_.set_comment('#'); }

  HostMesh read() {
    const std::string_view header = trimmed(text_.line());
    if (header != "MFEM mesh v1.0" && header != "MFEM mesh v1.2") {
      text_.fail(in_quotes(header) + " is not read; save the mesh as 'MFEM mesh v1.0'");
    }
    while (!text_.at_end()) {
      const std::string section(text_.word("a section"));
      if (section == "mfem_mesh_end") break;
      read_section(section);
    }
    if (!has_coordinates_) {
      text_.fail("the file has no coordinates in 'vertices' or 'nodes'; it is truncated: write it again");
    }
    for (std::size_t k = 0; k < vertices_.size(); ++k) {
      builder_.add_node(static_cast<std::int64_t>(k), vertices_[k], vertices_at_);
    }
    return builder_.build();
  }

 private:
  void read_section(const std::string& section) {
    if (section == "dimension") {
      if (text_.integer("the dimension") != 3) text_.fail("the mesh is not three-dimensional");
    } else if (section == "elements") {
      const Count number = text_.count("elements", 4);
      for (std::int64_t k = 0; k < number; ++k) read_element(k);
    } else if (section == "boundary") {
      const Count number = text_.count("boundary elements", 4);
      for (std::int64_t k = 0; k < number; ++k) read_boundary_element();
    } else if (section == "vertices") {
      read_vertices();
    } else if (section == "nodes") {
      read_nodes();
    } else {
      text_.fail("the section " + in_quotes(section) + " is not supported; save a conforming mesh as v1.0");
    }
  }

  // 0 point, 1 segment, 2 triangle, 3 square, 4 tetrahedron, 5 cube, 6 prism, 7 pyramid
  void read_element(std::int64_t id) {
    const std::int64_t attribute = text_.integer("an attribute");
    const std::size_t at = text_.word_position();
    if (const std::int64_t type = text_.integer("an element type"); type != 5) {
      text_.fail("element " + std::to_string(id) + " is of type " + std::to_string(type) +
                 ", and only hexahedra (5) are supported; mesh the part with them");
    }
    std::array<std::int64_t, 8> nodes{};
    for (std::int64_t& node : nodes) node = text_.integer("a vertex of element " + std::to_string(id));
    builder_.add_hexahedron(id, nodes, attribute, at);
  }

  void read_boundary_element() {
    const std::int64_t attribute = text_.integer("an attribute");
    const std::size_t at = text_.word_position();
    if (text_.integer("an element type") != 3) text_.fail("a boundary element is no quadrilateral (3)");
    std::array<std::int64_t, 4> nodes{};
    for (std::int64_t& node : nodes) node = text_.integer("a vertex of a boundary element");
    builder_.add_quadrilateral(nodes, attribute, at);
  }

  void read_vertices() {
    // Without coordinates where 'nodes' follow: then their number may stand for more than there are bytes.
    const Count number = text_.count("vertices", 1);
    vertices_at_ = text_.word_position();
    number_of_vertices_ = number;
    if (text_.peek() == "nodes") return;
    if (text_.integer("the dimension of the vertices") != 3)
      text_.fail("the vertices are not three-dimensional");
    text_.expect_room(number, 6, "vertices");
    vertices_.resize(number.size());
    for (auto& vertex : vertices_) {
      for (double& x : vertex) x = text_.number("a coordinate");
    }
    has_coordinates_ = true;
  }

  // Nodes of first order are the vertices, in their order.
  void read_nodes() {
    std::string collection;
    std::int64_t components = 0, ordering = -1;
    if (text_.word("FiniteElementSpace") != "FiniteElementSpace") text_.fail("expected FiniteElementSpace");
    while (collection.empty() || components == 0 || ordering < 0) {
      const std::string word(text_.word("the description of the nodes"));
      if (word == "FiniteElementCollection:") {
        collection = text_.word("a collection");
      } else if (word == "VDim:") {
        components = text_.integer("VDim");
      } else if (word == "Ordering:") {
        ordering = text_.integer("Ordering");
      } else {
        text_.fail("expected FiniteElementCollection:, VDim: or Ordering: and found " + in_quotes(word));
      }
    }
    if ((collection != "H1_3D_P1" && collection != "Linear") || components != 3 || ordering > 1) {
      text_.fail("nodes in " + in_quotes(collection) +
                 " are not supported; save the mesh with straight edges (H1_3D_P1)");
    }
    text_.expect_room(number_of_vertices_, 6, "nodes");
    vertices_.assign(number_of_vertices_.size(), {});
    const std::size_t outer = ordering == 0 ? 3 : vertices_.size();
    const std::size_t inner = ordering == 0 ? vertices_.size() : 3;
    for (std::size_t k = 0; k < outer; ++k) {
      for (std::size_t l = 0; l < inner; ++l) {
        (ordering == 0 ? vertices_[l][k] : vertices_[k][l]) = text_.number("a coordinate");
      }
    }
    has_coordinates_ = true;
  }

  MeshText& text_;
  MeshBuilder builder_;
  std::vector<std::array<double, 3>> vertices_;
  std::size_t vertices_at_ = 0;
  Count number_of_vertices_;
  bool has_coordinates_ = false;
};

}  // namespace

HostMesh read_mfem(MeshText& text) { return MfemReader(text).read(); }

}  // namespace strata::inline STRATA_ABI::fem::detail
