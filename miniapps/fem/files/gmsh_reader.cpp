// Gmsh's .msh files of versions 2.2 and 4.1, ASCII and binary:
// https://gmsh.info/doc/texinfo/gmsh.html#MSH-file-format. Physical volumes become blocks, physical surfaces
// side sets, physical curves and points node sets.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <strata/miniapps/fem/files/formats.hpp>
#include <strata/miniapps/fem/files/mesh_builder.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

struct ElementType {
  int number;
  int nodes;
  int dimension;
  const char* name;
};

constexpr std::array<ElementType, 27> element_types = {{{1, 2, 1, "2-node line"},
                                                        {2, 3, 2, "3-node triangle"},
                                                        {3, 4, 2, "4-node quadrilateral"},
                                                        {4, 4, 3, "4-node tetrahedron"},
                                                        {5, 8, 3, "8-node hexahedron"},
                                                        {6, 6, 3, "6-node prism"},
                                                        {7, 5, 3, "5-node pyramid"},
                                                        {8, 3, 1, "3-node line"},
                                                        {9, 6, 2, "6-node triangle"},
                                                        {10, 9, 2, "9-node quadrilateral"},
                                                        {11, 10, 3, "10-node tetrahedron"},
                                                        {12, 27, 3, "27-node hexahedron"},
                                                        {13, 18, 3, "18-node prism"},
                                                        {14, 14, 3, "14-node pyramid"},
                                                        {15, 1, 0, "point"},
                                                        {16, 8, 2, "8-node quadrilateral"},
                                                        {17, 20, 3, "20-node hexahedron"},
                                                        {18, 15, 3, "15-node prism"},
                                                        {19, 13, 3, "13-node pyramid"},
                                                        {20, 9, 2, "9-node triangle"},
                                                        {21, 10, 2, "10-node triangle"},
                                                        {26, 4, 1, "4-node line"},
                                                        {27, 5, 1, "5-node line"},
                                                        {28, 6, 1, "6-node line"},
                                                        {29, 20, 3, "20-node tetrahedron"},
                                                        {92, 64, 3, "64-node hexahedron"},
                                                        {93, 125, 3, "125-node hexahedron"}}};

class GmshReader {
 public:
  explicit GmshReader(MeshText& text) : text_(text), builder_(text) {}

  HostMesh read() {
    while (!text_.at_end()) {
      const std::string section(text_.word("a section"));
      if (section.size() < 2 || section[0] != '$') {
        text_.fail("expected a section such as $Nodes and found " + in_quotes(section));
      }
      read_section(section);
    }
    if (!nodes_read_ || !elements_read_) {
      text_.fail(text_.content().size(), std::string("the file has no complete section ") +
                                             (nodes_read_ ? "$Elements" : "$Nodes") +
                                             "; it is truncated: write it again");
    }
    return builder_.build();
  }

 private:
  void read_section(const std::string& section) {
    if (section == "$MeshFormat") {
      read_format();
    } else if (section == "$PhysicalNames") {
      read_names();
    } else if (section == "$Entities" && version_4_) {
      read_entities();
    } else if (section == "$Nodes") {
      require_format();
      version_4_ ? read_nodes_4() : read_nodes_2();
      nodes_read_ = true;
    } else if (section == "$Elements") {
      require_format();
      version_4_ ? read_elements_4() : read_elements_2();
      elements_read_ = true;
    } else if (section == "$PartitionedEntities") {
      text_.fail("the mesh is partitioned, which is not supported; save it without partitions");
    } else {
      skip_section(section);
      return;
    }
    const std::string end = "$End" + section.substr(1);
    if (text_.word(end) != end)
      text_.fail("expected " + end + "; the section does not have the length it announces");
  }

  // What is in it is not needed, and may be binary.
  void skip_section(const std::string& section) {
    const std::string end = "$End" + section.substr(1);
    const std::size_t found = text_.content().find("\n" + end, text_.position());
    if (found == std::string::npos)
      text_.fail(section + " has no " + end + "; the file is truncated: write it again");
    if (section != "$Comments" && section != "$Periodic" && section != "$Parametrizations") {
      builder_.leave_out("the section " + printable(section), text_.word_position());
    }
    text_.seek(found + 1 + end.size());
  }

  void require_format() {
    if (!format_read_) text_.fail("the section $MeshFormat is missing before this one");
  }

  void read_format() {
    const std::string version(text_.word("the version"));
    version_4_ = version == "4.1";
    if (!version_4_ && version != "2.2" && version != "2.1" && version != "2" && version != "2.0") {
      text_.fail("version " + in_quotes(version) + " of Gmsh's format is not read; save it as 2.2 or 4.1");
    }
    binary_ = text_.integer("the file type") == 1;
    if (text_.integer("the size of a number") != 8) text_.fail("numbers of other than 8 bytes are not read");
    if (binary_) {
      text_.line();
      if (text_.binary_integer(4, true, "the number 1") != 1) {
        text_.seek(text_.position() - 4);
        text_.set_big_endian(true);
        if (text_.binary_integer(4, true, "the number 1") != 1) {
          text_.fail("the number 1 that shows the byte order is missing; write the file again");
        }
      }
    }
    format_read_ = true;
  }

  void read_names() {
    const Count number = text_.count("physical names", 4);
    for (std::int64_t k = 0; k < number; ++k) {
      const std::int64_t dimension = text_.integer("a dimension");
      const std::int64_t tag = text_.integer("a physical tag");
      std::string_view name = trimmed(text_.line());
      if (name.size() >= 2 && name.front() == '"' && name.back() == '"')
        name = name.substr(1, name.size() - 2);
      names_[{dimension, tag}] = std::string(name);
      if (dimension == 3) builder_.name_block(tag, std::string(name));
      if (dimension == 2) builder_.name_side_set(tag, std::string(name));
    }
  }

  // Values that both kinds of file have. ASCII takes two bytes or more, a digit and a blank.
  std::int64_t small_integer(const char* what) {
    return binary_ ? text_.binary_integer(4, true, what) : text_.integer(what);
  }
  // The sign of a physical tag is that of the surface's normal.
  std::int64_t without_sign(std::int64_t tag) {
    if (tag < -INT32_MAX || tag > INT32_MAX)
      text_.fail("the physical tag " + std::to_string(tag) + " is too large");
    return tag < 0 ? -tag : tag;
  }
  std::int64_t large_integer(const char* what) {
    return binary_ ? text_.binary_integer(8, false, what) : text_.integer(what);
  }
  double number(const char* what) { return binary_ ? text_.binary_number(8, what) : text_.number(what); }
  Count large_count(const char* what, Count ascii_bytes, Count binary_bytes) {
    const Count value = large_integer(what);
    text_.expect_room(value, binary_ ? binary_bytes : ascii_bytes, what);
    return value;
  }
  // The end of a line that announces binary data.
  void begin_binary() {
    if (binary_) text_.line();
  }
  std::array<double, 3> point() {
    const double x = number("a coordinate"), y = number("a coordinate"), z = number("a coordinate");
    return {x, y, z};
  }

  void read_nodes_2() {
    const Count nodes = text_.count("nodes", binary_ ? 28 : 8);
    begin_binary();
    for (std::int64_t k = 0; k < nodes; ++k) {
      const std::int64_t id = small_integer("a node number");
      const std::size_t at = text_.word_position();
      builder_.add_node(id, point(), at);
    }
  }

  void read_elements_2() {
    std::int64_t left = text_.count("elements", binary_ ? 8 : 6).value();
    begin_binary();
    while (left > 0) {
      std::int64_t id = 0, together = 1, tags = 0, type = 0;
      if (binary_) {
        type = small_integer("an element type");
        together = small_integer("a number of elements");
        tags = small_integer("a number of tags");
      } else {
        id = small_integer("an element number");
        type = small_integer("an element type");
        tags = small_integer("a number of tags");
      }
      if (together < 1 || together > left)
        text_.fail("a group of " + std::to_string(together) + " elements, where " + std::to_string(left) +
                   " should follow; write the file again");
      for (std::int64_t k = 0; k < together; ++k) {
        if (binary_) id = small_integer("an element number");
        const std::size_t at = text_.word_position();
        text_.expect_room(tags, 2, "tags of an element");
        std::int64_t physical = 0;
        for (std::int64_t tag = 0; tag < tags; ++tag) {
          const std::int64_t value = small_integer("a tag of an element");
          if (tag == 0) physical = without_sign(value);
        }
        physical_ = std::span<const std::int64_t>(&physical, physical == 0 ? 0 : 1);
        read_element(id, type, at);
      }
      left -= together;
    }
  }

  void read_entities() {
    std::array<Count, 4> numbers{};
    begin_binary();
    for (Count& value : numbers) value = large_count("entities", 4, 12);
    for (int dimension = 0; dimension < 4; ++dimension) {
      for (std::int64_t k = 0; k < numbers[static_cast<std::size_t>(dimension)]; ++k) read_entity(dimension);
    }
  }

  void read_entity(int dimension) {
    const std::int64_t tag = small_integer("an entity");
    point();
    if (dimension > 0) point();  // the other corner of its bounding box
    auto& physicals = entities_[{dimension, tag}];
    const Count number_of_physicals = large_count("physical tags", 2, 4);
    for (std::int64_t k = 0; k < number_of_physicals; ++k) {
      physicals.push_back(without_sign(small_integer("a physical tag")));
    }
    if (dimension == 0) return;
    const Count boundary = large_count("bounding entities", 2, 4);
    for (std::int64_t k = 0; k < boundary; ++k) small_integer("a bounding entity");
  }

  void read_nodes_4() {
    begin_binary();
    const Count blocks = large_count("blocks of nodes", 8, 20);
    const std::size_t at_counts = text_.word_position();
    const Count announced = large_integer("a number of nodes");
    for (const char* what : {"the smallest node number", "the largest node number"}) large_integer(what);
    Count nodes;
    std::vector<std::pair<std::int64_t, std::size_t>> ids;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t dimension = small_integer("the dimension of an entity");
      small_integer("an entity");
      const bool parametric = small_integer("a flag of parametric coordinates") != 0;
      const Count number_of_nodes = large_count("nodes", 8, 32);
      nodes += number_of_nodes;
      ids.clear();
      for (std::int64_t k = 0; k < number_of_nodes; ++k) {
        const std::int64_t id = large_integer("a node number");
        ids.emplace_back(id, text_.word_position());
      }
      for (const auto& [id, at] : ids) {
        builder_.add_node(id, point(), at);
        for (std::int64_t k = 0; parametric && k < dimension; ++k) number("a parametric coordinate");
      }
    }
    require_announced(announced, nodes, "nodes", at_counts);
  }

  void require_announced(Count announced, Count found, const char* what, std::size_t at) const {
    if (found == announced) return;
    text_.fail(at, "the section announces " + announced.text() + " " + what + ", and its blocks have " +
                       found.text() + "; write the file again");
  }

  void read_elements_4() {
    begin_binary();
    const Count blocks = large_count("blocks of elements", 8, 20);
    const std::size_t at_counts = text_.word_position();
    const Count announced = large_integer("a number of elements");
    for (const char* what : {"the smallest element number", "the largest element number"})
      large_integer(what);
    Count elements;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t dimension = small_integer("the dimension of an entity");
      const std::int64_t entity = small_integer("an entity");
      const std::int64_t type = small_integer("an element type");
      const Count number_of_elements = large_count("elements", 4, 16);
      elements += number_of_elements;
      const auto known = entities_.find({dimension, entity});
      physical_ = known == entities_.end() ? std::span<const std::int64_t>{} : known->second;
      for (std::int64_t k = 0; k < number_of_elements; ++k) {
        const std::int64_t id = large_integer("an element number");
        read_element(id, type, text_.word_position());
      }
    }
    require_announced(announced, elements, "elements", at_counts);
  }

  std::int64_t node() {
    return version_4_ ? large_integer("a node of an element") : small_integer("a node of an element");
  }

  template <std::size_t N>
  std::array<std::int64_t, N> nodes() {
    std::array<std::int64_t, N> result;
    for (std::int64_t& id : result) id = node();
    return result;
  }

  const ElementType& type_of(std::int64_t number, std::int64_t id, std::size_t at) {
    for (const ElementType& type : element_types) {
      if (type.number == number) return type;
    }
    text_.fail(at, "element " + std::to_string(id) + " has the unknown type " + std::to_string(number));
  }

  // The nodes of an element whose physical groups are physical_.
  void read_element(std::int64_t id, std::int64_t number, std::size_t at) {
    const ElementType& type = type_of(number, id, at);
    // Of several groups an element is in, all but one have no bytes of the file.
    if (number == 5) {
      if (physical_.size() > 1) builder_.leave_out("physical volumes of an element but its first", at);
      builder_.add_hexahedron(id, nodes<8>(), physical_.empty() ? 0 : physical_[0], at);
    } else if (number == 3) {
      const auto corners = nodes<4>();
      if (physical_.empty()) builder_.leave_out("quadrilaterals that belong to no physical surface", at);
      if (physical_.size() > 1) text_.repeat(physical_.size() - 1, at);
      for (const std::int64_t set : physical_) builder_.add_quadrilateral(corners, set, at);
    } else if (type.dimension == 3) {
      text_.fail(at,
                 "element " + std::to_string(id) + " is a " + type.name +
                     ", and only 8-node hexahedra are supported; mesh the part with first-order hexahedra");
    } else {
      for (int k = 0; k < type.nodes; ++k) add_to_node_sets(type, node(), at);
      if (type.dimension == 2) builder_.leave_out(std::string(type.name) + "s", at);
    }
  }

  void add_to_node_sets(const ElementType& type, std::int64_t id, std::size_t at) {
    if (type.dimension > 1) return;
    if (physical_.size() > 1) text_.repeat(physical_.size() - 1, at);
    for (const std::int64_t physical : physical_) {
      const std::int64_t key = 2 * physical + type.dimension;  // points and curves count apart
      if (named_.insert(key).second)
        builder_.name_node_set(key, physical, names_[{type.dimension, physical}]);
      builder_.add_set_node(id, key, at);
    }
  }

  using EntityKey = std::pair<std::int64_t, std::int64_t>;  // dimension, tag

  MeshText& text_;
  MeshBuilder builder_;
  bool version_4_ = false;
  bool binary_ = false;
  bool format_read_ = false;
  bool nodes_read_ = false;
  bool elements_read_ = false;
  std::map<EntityKey, std::string> names_;
  std::map<EntityKey, std::vector<std::int64_t>> entities_;
  std::set<std::int64_t> named_;            // node sets, by their keys
  std::span<const std::int64_t> physical_;  // groups of the element that is read
};

}  // namespace

HostMesh read_gmsh(MeshText& text) { return GmshReader(text).read(); }

}  // namespace strata::inline STRATA_ABI::fem::detail
