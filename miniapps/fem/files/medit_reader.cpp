// MEDIT's ASCII .mesh files (INRIA technical report RT-0253): keywords, each with a number of lines.
// Quadrilaterals become side sets and hexahedra blocks by their reference numbers.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include <strata/miniapps/fem/files/formats.hpp>
#include <strata/miniapps/fem/files/mesh_builder.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

class MeditReader {
 public:
  explicit MeditReader(MeshText& text) : text_(text), builder_(text) { text_.set_comment('#'); }

  HostMesh read() {
    while (!text_.at_end()) {
      const std::string keyword(text_.word("a keyword"));
      if (keyword == "End") return builder_.build();
      read_section(keyword);
    }
    text_.fail(text_.content().size(),
               "the file has no End; it is truncated: write it again, or add End if it is whole");
  }

 private:
  void read_section(const std::string& keyword) {
    if (keyword == "MeshVersionFormatted") {
      const std::int64_t version = text_.integer("the version");
      if (version < 0 || version > 4)
        text_.fail("version " + std::to_string(version) + " of the format is unknown");
    } else if (keyword == "Dimension") {
      if (text_.integer("the dimension") != 3) text_.fail("the mesh is not three-dimensional");
    } else if (keyword == "Vertices") {
      read_vertices();
    } else if (keyword == "Hexahedra") {
      read_hexahedra();
    } else if (keyword == "Quadrilaterals") {
      read_quadrilaterals();
    } else {
      skip_section(keyword);
    }
  }

  void read_vertices() {
    const Count vertices = text_.count("vertices", 8);
    for (std::int64_t k = 1; k <= vertices; ++k) {
      std::array<double, 3> x{};
      x[0] = text_.number("a coordinate");
      const std::size_t at = text_.word_position();
      x[1] = text_.number("a coordinate");
      x[2] = text_.number("a coordinate");
      text_.word("a reference");
      builder_.add_node(k, x, at);
    }
  }

  void read_hexahedra() {
    const Count hexahedra = text_.count("hexahedra", 18);
    for (std::int64_t k = 1; k <= hexahedra; ++k) {
      std::array<std::int64_t, 8> nodes{};
      for (std::int64_t& node : nodes) node = text_.integer("a vertex of hexahedron " + std::to_string(k));
      const std::size_t at = text_.word_position();
      builder_.add_hexahedron(k, nodes, text_.integer("a reference"), at);
    }
  }

  void read_quadrilaterals() {
    const Count quadrilaterals = text_.count("quadrilaterals", 10);
    for (std::int64_t k = 1; k <= quadrilaterals; ++k) {
      std::array<std::int64_t, 4> nodes{};
      for (std::int64_t& node : nodes) node = text_.integer("a vertex of quadrilateral " + std::to_string(k));
      const std::size_t at = text_.word_position();
      builder_.add_quadrilateral(nodes, text_.integer("a reference"), at);
    }
  }

  // Other keywords are followed by numbers only.
  void skip_section(const std::string& keyword) {
    const bool letter = (keyword[0] >= 'A' && keyword[0] <= 'Z') || (keyword[0] >= 'a' && keyword[0] <= 'z');
    if (!letter) text_.fail("expected a keyword such as Vertices and found " + in_quotes(keyword));
    const bool volume = keyword == "Tetrahedra" || keyword == "Prisms" || keyword == "Pyramids" ||
                        keyword == "HexahedraQ2" || keyword == "TetrahedraP2";
    if (volume && text_.announced("a number of elements") != 0) {
      text_.fail("the mesh has " + keyword + ", and only hexahedra are supported; mesh the part with them");
    }
    if (!volume) builder_.leave_out("the section " + printable(keyword), text_.word_position());
    double value = 0;
    while (!text_.at_end() && to_number(text_.peek(), value)) text_.word("a number");
  }

  MeshText& text_;
  MeshBuilder builder_;
};

}  // namespace

HostMesh read_medit(MeshText& text) { return MeditReader(text).read(); }

}  // namespace strata::inline STRATA_ABI::fem::detail
