// Legacy VTK files, ASCII and binary, of unstructured grids (https://docs.vtk.org, "VTK file formats";
// versions 1 to 5.1). What the format has no words for, and legacy_vtk_writer.cpp writes so:
//   block     an integer of each hexahedron, its block; names in the field array of strings block_names
//   ("3:steel") side_set  an integer of each quadrilateral that is a side of the mesh; names in
//   side_set_names ("1:top") node_set:NAME   of each node, whether it is in the set
// Without these, the integers that converters write (gmsh:physical, medit:ref, CellEntityIds) are taken.
// Nodes and cells count from 0.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <strata/miniapps/fem/files/formats.hpp>
#include <strata/miniapps/fem/files/mesh_builder.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

struct ValueType {
  const char* name;
  std::size_t bytes;
  bool is_signed;
  bool is_float;
};

constexpr std::array<ValueType, 20> value_types = {{{"char", 1, true, false},
                                                    {"signed_char", 1, true, false},
                                                    {"unsigned_char", 1, false, false},
                                                    {"short", 2, true, false},
                                                    {"unsigned_short", 2, false, false},
                                                    {"int", 4, true, false},
                                                    {"unsigned_int", 4, false, false},
                                                    {"long", 8, true, false},
                                                    {"unsigned_long", 8, false, false},
                                                    {"vtktypeint64", 8, true, false},
                                                    {"vtktypeuint64", 8, false, false},
                                                    {"vtkidtype", 4, true, false},
                                                    {"vtktypeint8", 1, true, false},
                                                    {"vtktypeuint8", 1, false, false},
                                                    {"vtktypeint16", 2, true, false},
                                                    {"vtktypeuint16", 2, false, false},
                                                    {"vtktypeint32", 4, true, false},
                                                    {"vtktypeuint32", 4, false, false},
                                                    {"float", 4, true, true},
                                                    {"double", 8, true, true}}};

// %20 for a blank, as VTK writes names.
std::string decoded(std::string_view name) {
  std::string result;
  for (std::size_t k = 0; k < name.size(); ++k) {
    const auto digit = [&](std::size_t at) {
      const std::size_t value =
          at < name.size() ? std::string_view("0123456789abcdef").find(name[at] | 0x20) : 16;
      return value < 16 ? static_cast<int>(value) : -1;
    };
    if (name[k] == '%' && digit(k + 1) >= 0 && digit(k + 2) >= 0) {
      result += static_cast<char>(16 * digit(k + 1) + digit(k + 2));
      k += 2;
    } else {
      result += name[k];
    }
  }
  return result;
}

class LegacyVtkReader {
 public:
  explicit LegacyVtkReader(MeshText& text) : text_(text), builder_(text) {}

  HostMesh read() {
    read_header();
    while (!text_.at_end()) read_section();
    if (types_.empty()) {
      text_.fail(text_.content().size(),
                 "the file has no cells (CELLS and CELL_TYPES); it is truncated: write it again");
    }
    add_cells();
    add_node_sets();
    return builder_.build();
  }

 private:
  enum class Of { File, Nodes, Cells };

  void read_header() {
    text_.line();  // # vtk DataFile Version
    text_.line();  // title
    const std::string format = lower_case(trimmed(text_.line()));
    binary_ = format == "binary";
    if (!binary_ && format != "ascii")
      text_.fail("expected ASCII or BINARY in the third line and found " + in_quotes(format));
    text_.set_big_endian(true);
    const std::string dataset = keyword("DATASET");
    const std::string kind = dataset == "dataset" ? keyword("the kind of dataset") : "";
    if (kind != "unstructured_grid") {
      text_.fail("expected DATASET UNSTRUCTURED_GRID and found " + in_quotes(kind) +
                 "; save the mesh as one");
    }
  }

  std::string keyword(const char* what) { return lower_case(text_.word(what)); }

  void read_section() {
    const std::string section = keyword("a section");
    if (section == "points") {
      read_points();
    } else if (section == "cells") {
      read_cells();
    } else if (section == "cell_types") {
      read_cell_types();
    } else if (section == "cell_data") {
      of_ = Of::Cells;
      of_count_ = text_.announced("the number of cells");
      require_data_of(of_count_, "cells", types_.size());
    } else if (section == "point_data") {
      of_ = Of::Nodes;
      of_count_ = text_.announced("the number of nodes");
      require_data_of(of_count_, "nodes", nodes_);
    } else if (section == "field") {
      read_field();
    } else if (section == "metadata") {
      text_.line();
      while (text_.remaining() > 0 && !trimmed(text_.line()).empty()) continue;
    } else {
      read_attribute(section);
    }
  }

  void require_data_of(Count data, const char* things, Count number) const {
    if (data == number) return;
    text_.fail("there are data of " + data.text() + " " + things + ", and " + number.text() + " " + things +
               "; write the file again");
  }

  const ValueType& value_type() {
    const std::string name = keyword("a type of values");
    for (const ValueType& type : value_types) {
      if (name == type.name) return type;
    }
    text_.fail("the type of values " + in_quotes(name) + " is not supported");
  }

  // Before values, the end of the line that announces them.
  void begin_values() {
    if (binary_) text_.line();
  }

  void expect_values(Count number, const ValueType& type, const char* what) {
    text_.expect_room(number, binary_ ? type.bytes : 1, what);
  }

  std::int64_t integer(const ValueType& type, const char* what) {
    return binary_ ? text_.binary_integer(type.bytes, type.is_signed, what) : text_.integer(what);
  }

  void read_points() {
    const Count number = text_.count("points", 6);
    const ValueType& type = value_type();
    if (!type.is_float) text_.fail("points of integers are not supported; save them as double");
    text_.expect_room(number, binary_ ? 3 * Count(type.bytes) : 6, "points");
    begin_values();
    const auto coordinate = [&] {
      return binary_ ? text_.binary_number(type.bytes, "a coordinate") : text_.number("a coordinate");
    };
    for (std::int64_t k = 0; k < number; ++k) {
      const double x = coordinate();
      const std::size_t at = text_.word_position();
      const double y = coordinate();
      builder_.add_node(k, {x, y, coordinate()}, at);
    }
    nodes_ = number;
  }

  void read_cells() {
    const Count first = text_.announced("the number of cells");
    const Count second = text_.announced("the size of the list of cells");
    text_.expect_room(first, 1, "cells");
    text_.expect_room(second, 1, "numbers in the list of cells");
    if (!offsets_.empty()) text_.fail("a second list of cells; save the mesh with one");
    offsets_.assign(1, 0);
    const std::size_t before = text_.position();
    if (lower_case(text_.word("the cells")) == "offsets") {
      read_cells_5(first, second);
      return;
    }
    text_.seek(before);
    const ValueType& type = value_types[5];
    begin_values();
    for (std::int64_t cell = 0; cell < first; ++cell) {
      const std::int64_t corners = integer(type, "the number of nodes of a cell");
      expect_values(corners, type, "nodes of a cell");
      for (std::int64_t k = 0; k < corners; ++k) add_corner(integer(type, "a node of a cell"));
      offsets_.push_back(connectivity_.size());
    }
    if (const Count numbers = first + connectivity_.size(); numbers != second) {
      text_.fail("the cells have " + numbers.text() + " numbers, not the " + second.text() +
                 " of the line CELLS; write the file again");
    }
  }

  // Since version 5: offsets, one more than cells, and the nodes of all cells.
  void read_cells_5(Count offsets, Count connectivity) {
    const ValueType& type = value_type();
    expect_values(offsets, type, "offsets");
    begin_values();
    offsets_.clear();
    for (std::int64_t k = 0; k < offsets; ++k) {
      const std::int64_t offset = integer(type, "an offset");
      const auto last = static_cast<std::int64_t>(k == 0 ? 0 : offsets_.back());
      if (offset < last || offset > connectivity || (k == 0 && offset != 0)) {
        text_.fail("the offset " + std::to_string(offset) + " of a cell is out of range");
      }
      offsets_.push_back(static_cast<std::size_t>(offset));
    }
    if (offsets_.empty() || offsets_.back() != connectivity) {
      text_.fail("the offsets do not end with the size of the list of nodes; write the file again");
    }
    if (keyword("CONNECTIVITY") != "connectivity") text_.fail("expected CONNECTIVITY after the offsets");
    const ValueType& node_type = value_type();
    expect_values(connectivity, node_type, "nodes of cells");
    begin_values();
    for (std::int64_t k = 0; k < connectivity; ++k) add_corner(integer(node_type, "a node of a cell"));
  }

  void add_corner(std::int64_t node) {
    connectivity_.push_back(node);
    places_.push_back(text_.word_position());
  }

  void read_cell_types() {
    const Count number = text_.count("cell types", 1);
    if (!types_.empty()) text_.fail("a second list of cell types; save the mesh with one");
    expect_values(number, value_types[5], "cell types");
    begin_values();
    for (std::int64_t k = 0; k < number; ++k) types_.push_back(integer(value_types[5], "a cell type"));
    if (types_.size() + 1 != offsets_.size()) {
      text_.fail("there are " + std::to_string(types_.size()) + " cell types for " +
                 std::to_string(offsets_.empty() ? 0 : offsets_.size() - 1) + " cells; write the file again");
    }
  }

  void read_attribute(const std::string& kind) {
    if (kind == "lookup_table") {
      text_.word("the name of a table");
      const Count entries = text_.announced("the number of entries");
      begin_values();
      skip_values(entries, 4, value_types[2]);
      return;
    }
    const std::string name = decoded(text_.word("the name of an array"));
    if (kind == "color_scalars") {
      const Count components = text_.announced("a number of values");
      begin_values();
      skip_values(of_count_, components, value_types[2]);
      return;
    }
    Count components = 1;
    if (kind == "texture_coordinates") components = text_.announced("a dimension");
    const ValueType& type = value_type();
    if (kind == "scalars") {
      const std::string_view rest = trimmed(text_.line());
      std::int64_t given = 1;
      if (!rest.empty() && (!to_integer(rest, given) || given < 1))
        text_.fail("expected a number of components and found " + in_quotes(rest));
      components = given;
      if (lower_case(text_.peek()) == "lookup_table") text_.line();
    } else if (kind == "vectors" || kind == "normals") {
      components = 3;
    } else if (kind == "tensors") {
      components = 9;
    } else if (kind == "tensors6") {
      components = 6;
    } else if (kind != "texture_coordinates" && kind != "global_ids" && kind != "pedigree_ids" &&
               kind != "edge_flags") {
      text_.fail("the section " + in_quotes(kind) + " is not known");
    }
    if (kind != "scalars") begin_values();
    read_array(name, components, of_count_, type);
  }

  void read_field() {
    text_.word("the name of a field");
    const Count arrays = text_.count("arrays", 4);
    for (std::int64_t k = 0; k < arrays; ++k) {
      const std::string name = decoded(text_.word("the name of an array"));
      if (name == "METADATA") {
        text_.line();
        while (text_.remaining() > 0 && !trimmed(text_.line()).empty()) continue;
        --k;
        continue;
      }
      const Count components = text_.announced("a number of components");
      const Count tuples = text_.announced("a number of tuples");
      if (is_wanted(name, of_)) require_data_of(tuples, of_ == Of::Cells ? "cells" : "nodes", of_count_);
      const std::size_t before = text_.position();
      if (lower_case(text_.word("a type")) == "string") {
        read_strings(name, components, tuples);
        continue;
      }
      text_.seek(before);
      const ValueType& type = value_type();
      begin_values();
      read_array(name, components, tuples, type);
    }
  }

  // Names of sets: "3:top". Strings of binary files have their length before them, in 1, 2, 4 or 8 bytes: the
  // two highest bits of the first say which.
  void read_strings(const std::string& name, Count components, Count tuples) {
    text_.line();
    const Count strings = tuples * components;
    text_.expect_room(strings, 1, "strings");  // the end of a line, or the length
    for (std::int64_t k = 0; k < strings; ++k) {
      std::string value;
      if (binary_) {
        const auto first = static_cast<unsigned>(text_.binary_integer(1, false, "a string"));
        const std::size_t more = (std::size_t{1} << (3 - (first >> 6))) - 1;
        std::int64_t length = first & 63;
        for (std::size_t byte = 0; byte < more; ++byte) {
          length = (length & 0xffffffffffff) * 256 + text_.binary_integer(1, false, "a string");
        }
        const std::size_t begin = text_.position();
        text_.skip_bytes(length, 1, "bytes of a string");
        value = text_.content().substr(begin, static_cast<std::size_t>(length));
      } else {
        value = decoded(text_.line());
      }
      const std::size_t colon = value.find(':');
      std::int64_t set = 0;
      if (colon == std::string::npos || !to_integer(std::string_view(value).substr(0, colon), set)) continue;
      if (name == "block_names") builder_.name_block(set, value.substr(colon + 1));
      if (name == "side_set_names") builder_.name_side_set(set, value.substr(colon + 1));
    }
  }

  static bool is_wanted(const std::string& name, Of of) {
    if (of == Of::Nodes) return name.starts_with("node_set:");
    return of == Of::Cells && (name == "block" || name == "side_set" || name == "gmsh:physical" ||
                               name == "CellEntityIds" || name == "medit:ref");
  }

  void read_array(const std::string& name, Count components, Count tuples, const ValueType& type) {
    if (!is_wanted(name, of_) || components != 1) {
      skip_values(tuples, components, type);
      return;
    }
    expect_values(tuples, type, "values");
    auto& values = (of_ == Of::Cells ? cell_arrays_ : node_arrays_)[name];
    values.clear();
    for (std::int64_t k = 0; k < tuples; ++k) {
      if (!type.is_float) {
        values.push_back(integer(type, "a value"));
        continue;
      }
      const double value = binary_ ? text_.binary_number(type.bytes, "a value") : text_.number("a value");
      values.push_back(std::fabs(value) < 1e15 ? static_cast<std::int64_t>(value) : -1);
    }
  }

  void skip_values(Count tuples, Count components, const ValueType& type) {
    const Count values = tuples * components;
    expect_values(values, type, "values");
    if (binary_) {
      text_.skip_bytes(values, type.bytes, "values");
    } else {
      for (std::int64_t k = 0; k < values; ++k) text_.word("a value");
    }
  }

  const std::vector<std::int64_t>* cell_array(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const auto found = cell_arrays_.find(name);
      if (found != cell_arrays_.end() && found->second.size() == types_.size()) return &found->second;
    }
    return nullptr;
  }

  void add_cells() {
    if (types_.size() + 1 != offsets_.size())
      text_.fail("there are not as many CELL_TYPES as CELLS; write the file again");
    const auto* blocks = cell_array({"block", "gmsh:physical", "medit:ref", "CellEntityIds"});
    const auto* sides = cell_array({"side_set", "gmsh:physical", "medit:ref", "CellEntityIds"});
    for (std::size_t cell = 0; cell < types_.size(); ++cell) {
      const std::int64_t type = types_[cell];
      const std::size_t first = offsets_[cell], corners = offsets_[cell + 1] - first;
      const std::size_t at = corners == 0 ? text_.content().size() : places_[first];
      const std::int64_t* nodes = connectivity_.data() + first;
      const auto id = static_cast<std::int64_t>(cell);
      if ((type == 12 || type == 11) && corners == 8) {
        constexpr std::array<std::size_t, 8> voxel = {0, 1, 3, 2, 4, 5, 7, 6};
        std::array<std::int64_t, 8> hexahedron{};
        for (std::size_t k = 0; k < 8; ++k) hexahedron[k] = nodes[type == 12 ? k : voxel[k]];
        builder_.add_hexahedron(id, hexahedron, blocks ? (*blocks)[cell] : 1, at);
      } else if ((type == 9 || type == 8) && corners == 4) {
        if (sides && (*sides)[cell] != 0) {
          builder_.add_quadrilateral({nodes[0], nodes[1], nodes[2], nodes[3]}, (*sides)[cell], at);
        } else {
          builder_.leave_out("quadrilaterals that belong to no side set", at);
        }
      } else if (type >= 0 && type <= 9) {
        builder_.leave_out("cells that are no hexahedra (points, lines, polygons)", at);
      } else {
        text_.fail(at, "cell " + std::to_string(cell) + " is of type " + std::to_string(type) + " with " +
                           std::to_string(corners) +
                           " nodes, and only hexahedra (12) of 8 are supported; mesh the part with them");
      }
    }
  }

  void add_node_sets() {
    std::int64_t id = 0;
    for (const auto& [name, values] : node_arrays_) {
      if (nodes_ != values.size()) continue;
      ++id;
      builder_.name_node_set(id, id, name.substr(std::string_view("node_set:").size()));
      for (std::size_t node = 0; node < values.size(); ++node) {
        if (values[node] != 0) builder_.add_set_node(static_cast<std::int64_t>(node), id, 0);
      }
    }
  }

  MeshText& text_;
  MeshBuilder builder_;
  bool binary_ = false;
  Count nodes_;
  std::vector<std::size_t> offsets_;
  std::vector<std::int64_t> connectivity_;
  std::vector<std::size_t> places_;  // in the file, of each entry of connectivity_
  std::vector<std::int64_t> types_;
  Of of_ = Of::File;
  Count of_count_;
  std::map<std::string, std::vector<std::int64_t>> cell_arrays_;
  std::map<std::string, std::vector<std::int64_t>> node_arrays_;
};

}  // namespace

HostMesh read_legacy_vtk(MeshText& text) { return LegacyVtkReader(text).read(); }

}  // namespace strata::inline STRATA_ABI::fem::detail
