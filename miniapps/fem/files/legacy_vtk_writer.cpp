// A mesh as legacy VTK, with blocks and sets as legacy_vtk_reader.cpp explains. Nodes and elements are
// numbered from 0 there, in their order here.
// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include <strata/miniapps/fem/files/atomic_file.hpp>
#include <strata/miniapps/fem/files/result_formats.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

// As VTK writes names: blanks, quotes and what is not ASCII as %XX.
std::string encoded(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 32 && byte < 127 && c != '%' && c != '"') {
      result += c;
    } else {
      result += std::string("%") + "0123456789ABCDEF"[byte / 16] + "0123456789ABCDEF"[byte % 16];
    }
  }
  return result;
}

template <class Sets>
std::string names(const char* array, const Sets& sets) {
  std::string text = std::string(array) + " 1 " + std::to_string(sets.size()) + " string\n";
  for (const auto& set : sets) text += encoded(std::to_string(set.id) + ":" + set.name) + "\n";
  return text;
}

void append(std::string& text, double value) {
  char digits[40];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

void write_legacy_vtk(const std::string& path, const HostMesh& mesh) {
  std::size_t sides = 0;
  for (const SideSet& set : mesh.side_sets) sides += set.elements.size();
  const std::string cells = std::to_string(mesh.elements.size() + sides);
  std::string text =
      "# vtk DataFile Version 3.0\nmesh of hexahedra, with block and side_set of cells\nASCII\n"
      "DATASET UNSTRUCTURED_GRID\nFIELD FieldData 2\n";
  text += names("block_names", mesh.blocks) + names("side_set_names", mesh.side_sets);
  text += "POINTS " + std::to_string(mesh.coordinates.size()) + " double\n";
  for (const auto& x : mesh.coordinates) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      append(text, x[axis]);
      text += axis == 2 ? '\n' : ' ';
    }
  }
  text += "CELLS " + cells + " " + std::to_string(9 * mesh.elements.size() + 5 * sides) + "\n";
  for (const auto& nodes : mesh.elements) {
    text += '8';
    for (const std::int32_t node : nodes) text += " " + std::to_string(node);
    text += '\n';
  }
  std::string side_ids, blocks;
  for (const std::int32_t block : mesh.element_blocks) {
    blocks += std::to_string(mesh.blocks[static_cast<std::size_t>(block)].id) + "\n";
    side_ids += "0\n";
  }
  for (const SideSet& set : mesh.side_sets) {
    for (std::size_t k = 0; k < set.elements.size(); ++k) {
      text += '4';
      for (const int corner : face_corners[static_cast<std::size_t>(set.faces[k])]) {
        text +=
            " " +
            std::to_string(
                mesh.elements[static_cast<std::size_t>(set.elements[k])][static_cast<std::size_t>(corner)]);
      }
      text += '\n';
      blocks += "0\n";
      side_ids += std::to_string(set.id) + "\n";
    }
  }
  text += "CELL_TYPES " + cells + "\n";
  for (std::size_t k = 0; k < mesh.elements.size(); ++k) text += "12\n";
  for (std::size_t k = 0; k < sides; ++k) text += "9\n";
  text += "CELL_DATA " + cells + "\nSCALARS block int 1\nLOOKUP_TABLE default\n" + blocks +
          "SCALARS side_set int 1\nLOOKUP_TABLE default\n" + side_ids;
  if (!mesh.node_sets.empty()) text += "POINT_DATA " + std::to_string(mesh.coordinates.size()) + "\n";
  for (const NodeSet& set : mesh.node_sets) {
    std::vector<char> in_set(mesh.coordinates.size(), '0');
    for (const std::int32_t node : set.nodes) in_set[static_cast<std::size_t>(node)] = '1';
    text += "SCALARS " + encoded("node_set:" + set.name) + " int 1\nLOOKUP_TABLE default\n";
    for (const char value : in_set) (text += value) += '\n';
  }
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace strata::inline STRATA_ABI::fem::detail
