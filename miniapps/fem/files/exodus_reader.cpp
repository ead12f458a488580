// Exodus II (https://sandialabs.github.io/seacas-docs, "EXODUS: A Finite Element Data Model"), as it lies in
// a classic netCDF file. No library is needed. Files in HDF5 are refused with a word on how to convert them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <strata/miniapps/fem/files/formats.hpp>
#include <strata/miniapps/fem/files/hdf5_exodus.hpp>
#include <strata/miniapps/fem/files/mesh_builder.hpp>
#include <strata/miniapps/fem/files/netcdf_classic.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

class ExodusReader {
 public:
  explicit ExodusReader(MeshText& text) : text_(text), file_(text), builder_(text) {}

  HostMesh read() {
    if (file_.dimension("num_nodes") == 0 || file_.find("eb_prop1") == nullptr) {
      fail("the file has no nodes or no element blocks; it is no Exodus II mesh");
    }
    if (const Count axes = file_.dimension("num_dim"); axes != 3) {
      fail("the mesh has " + axes.text() + " dimensions, not 3");
    }
    nodes_ = file_.dimension("num_nodes");
    elements_ = file_.dimension("num_elem");
    if (elements_ > text_.content().size()) {
      fail("the mesh announces " + elements_.text() +
           " elements, more than the file has bytes; the file is damaged: write it again");
    }
    read_nodes();
    read_blocks();
    read_side_sets();
    read_node_sets();
    HostMesh mesh = builder_.build();
    renumber(mesh.node_ids, "node_num_map", nodes_);
    renumber(mesh.element_ids, "elem_num_map", elements_);
    return mesh;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { throw MeshError(text_.name() + ": " + problem); }
  static std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

  void read_nodes() {
    std::array<std::vector<double>, 3> x;
    if (file_.find("coord") != nullptr) {
      const std::vector<double> all = file_.numbers("coord", 3 * nodes_);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t nodes = nodes_.value();
        const auto begin = all.begin() + static_cast<std::int64_t>(axis) * nodes;
        x[axis].assign(begin, begin + nodes);
      }
    } else {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        x[axis] = file_.numbers(std::string("coord") + "xyz"[axis], nodes_);
      }
    }
    for (std::size_t k = 0; k < x[0].size(); ++k) {
      builder_.add_node(static_cast<std::int64_t>(k) + 1, {x[0][k], x[1][k], x[2][k]}, 0);
    }
  }

  // The numbers and names of blocks or sets.
  struct Entities {
    std::vector<std::int64_t> ids;
    std::vector<std::string> names;
    std::string name(std::size_t k) const { return k < names.size() ? names[k] : ""; }
  };
  Entities entities(const std::string& prefix, const char* dimension) {
    Entities result;
    const Count number = file_.dimension(dimension);
    if (file_.find(prefix + "_prop1") != nullptr) {
      result.ids = file_.integers(prefix + "_prop1", number);
    } else {
      if (number > text_.content().size()) fail("the file announces more sets than it has bytes");
      for (std::int64_t id = 1; id <= number; ++id) result.ids.push_back(id);
    }
    result.names = file_.strings(prefix + "_names");
    for (std::string& name : result.names) name = std::string(trimmed(name));
    return result;
  }

  void read_blocks() {
    const Entities blocks = entities("eb", "num_el_blk");
    Count before;  // elements count through all blocks
    for (std::size_t k = 0; k < blocks.ids.size(); ++k) {
      const std::string place = std::to_string(k + 1);
      const Count elements = file_.dimension("num_el_in_blk" + place);
      if (elements == 0) continue;
      const std::int64_t first = before.value() + 1;
      before += elements;
      if (before > elements_) break;
      read_block(blocks.ids[k], "connect" + place, first, elements,
                 file_.dimension("num_nod_per_el" + place));
      builder_.name_block(blocks.ids[k], blocks.name(k));
    }
    if (before != elements_) {
      fail("the element blocks have " + before.text() + " elements, and the mesh announces " +
           elements_.text() + "; the file is damaged: write it again");
    }
  }

  void read_block(std::int64_t block, const std::string& variable, std::int64_t first, Count elements,
                  Count corners) {
    const NetcdfClassic::Variable* connect = file_.find(variable);
    if (connect == nullptr)
      fail("block " + std::to_string(block) + " has no elements (" + variable + "); write the file again");
    const auto attribute = connect->texts.find("elem_type");
    std::string type = attribute == connect->texts.end() ? "" : lower_case(attribute->second);
    type = type.substr(0, type.find('\0'));
    for (const char* flat :
         {"shell", "quad", "tri", "bar", "beam", "truss", "rod", "sphere", "circle", "edge"}) {
      if (!type.starts_with(flat)) continue;
      builder_.leave_out("element blocks of type " + in_quotes(type), MeshText::nowhere);
      left_out_.emplace_back(first, first + elements.value());
      return;
    }
    if (!type.starts_with("hex") || corners != 8) {
      fail("block " + std::to_string(block) + ", from element " + std::to_string(first) + " on, is of type " +
           in_quotes(type) + " with " + corners.text() +
           " nodes an element; only eight-node hexahedra (HEX8) are supported: mesh the part with them");
    }
    const std::vector<std::int64_t> nodes = file_.integers(variable, 8 * elements);
    for (std::int64_t k = 0; k < elements; ++k) {
      std::array<std::int64_t, 8> element{};
      std::copy_n(nodes.begin() + 8 * k, 8, element.begin());
      builder_.add_hexahedron(first + k, element, block, 0);
    }
  }

  bool is_left_out(std::int64_t element) const {
    const auto after =
        std::upper_bound(left_out_.begin(), left_out_.end(), element,
                         [](std::int64_t value, const auto& range) { return value < range.first; });
    return after != left_out_.begin() && element < std::prev(after)->second;
  }

  // A set without members has neither a size nor values.
  bool is_empty(Count size, const std::string& dimension, const std::string& variable) const {
    if (size == 0 && file_.find(variable) != nullptr) {
      fail("the file has " + variable + ", and no dimension " + dimension +
           "; it is damaged: write it again");
    }
    return size == 0;
  }

  void read_side_sets() {
    const Entities sets = entities("ss", "num_side_sets");
    for (std::size_t k = 0; k < sets.ids.size(); ++k) {
      const std::string place = std::to_string(k + 1);
      const Count size = file_.dimension("num_side_ss" + place);
      if (is_empty(size, "num_side_ss" + place, "elem_ss" + place)) continue;
      const std::vector<std::int64_t> elements = file_.integers("elem_ss" + place, size);
      const std::vector<std::int64_t> sides = file_.integers("side_ss" + place, size);
      for (std::size_t entry = 0; entry < elements.size(); ++entry) {
        if (is_left_out(elements[entry])) continue;
        if (sides[entry] < 1 || sides[entry] > 6) {
          fail("side set " + std::to_string(sets.ids[k]) + " names side " + std::to_string(sides[entry]) +
               " of element " + std::to_string(elements[entry]) + "; sides are 1 to 6");
        }
        builder_.add_side(elements[entry], static_cast<int>(sides[entry] - 1), sets.ids[k], 0);
      }
      builder_.name_side_set(sets.ids[k], sets.name(k));
    }
  }

  void read_node_sets() {
    const Entities sets = entities("ns", "num_node_sets");
    for (std::size_t k = 0; k < sets.ids.size(); ++k) {
      const std::string place = std::to_string(k + 1);
      const Count size = file_.dimension("num_nod_ns" + place);
      if (is_empty(size, "num_nod_ns" + place, "node_ns" + place)) continue;
      for (const std::int64_t node : file_.integers("node_ns" + place, size)) {
        builder_.add_set_node(node, sets.ids[k], 0);
      }
      builder_.name_node_set(sets.ids[k], sets.ids[k], sets.name(k));
    }
  }

  // Places in the file, from 1, become the numbers that the file gives them.
  void renumber(std::vector<std::int64_t>& places, const char* map, Count size) {
    if (file_.find(map) == nullptr) return;
    const std::vector<std::int64_t> numbers = file_.integers(map, size);
    for (std::int64_t& place : places) place = numbers[as_size(place - 1)];
  }

  MeshText& text_;
  NetcdfClassic file_;
  MeshBuilder builder_;
  Count nodes_;
  Count elements_;
  std::vector<std::pair<std::int64_t, std::int64_t>> left_out_;  // first and after the last, ascending
};

}  // namespace

HostMesh read_exodus(MeshText& text) {
  if (!text.content().starts_with("\x89HDF")) return ExodusReader(text).read();
  MeshText classic(text.name(), classic_from_hdf5(text));
  return ExodusReader(classic).read();
}

}  // namespace strata::inline STRATA_ABI::fem::detail
