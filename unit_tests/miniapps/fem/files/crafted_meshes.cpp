// SPDX-License-Identifier: Apache-2.0
#include "miniapps/fem/files/crafted_meshes.hpp"

#include <algorithm>
#include <functional>

#include "miniapps/fem/files/crafted_netcdf.hpp"

namespace fem_files_testing {

namespace {

// line(0), line(1), ... until there are so many bytes.
std::string lines(std::size_t bytes, const std::function<std::string(std::size_t)>& line) {
  std::string text;
  for (std::size_t k = 0; text.size() < bytes; ++k) text += line(k);
  return text;
}
std::string repeated(std::size_t bytes, const std::string& text) {
  return lines(bytes, [&](std::size_t) { return text; });
}
std::string number(std::size_t value) { return std::to_string(value); }

// Abaqus: eight nodes and an element, which belongs to the set E.
std::string abaqus_brick() {
  return "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n5,0,0,1\n6,1,0,1\n7,1,1,1\n8,0,1,1\n"
         "*ELEMENT,TYPE=C3D8,ELSET=E\n1,1,2,3,4,5,6,7,8\n";
}

std::string abaqus_generated_sets(std::size_t bytes) {
  return abaqus_brick() + lines(bytes, [&](std::size_t k) {
           return "*NSET,NSET=S" + number(k) + ",GENERATE\n1," + number(bytes) + "\n";
         });
}
std::string abaqus_sets_of_a_set(std::size_t bytes) {
  return abaqus_brick() + "*NSET,NSET=A\n" + repeated(bytes / 2, "1,2,3,4,5,6,7,8\n") +
         lines(bytes / 2, [](std::size_t k) { return "*NSET,NSET=S" + number(k) + "\nA\n"; });
}
std::string abaqus_sections_of_a_set(std::size_t bytes) {
  return abaqus_brick() + "*ELSET,ELSET=A\n" + repeated(bytes / 2, "1,1,1,1,1,1,1,1\n") +
         repeated(bytes / 2, "*SOLID SECTION,ELSET=A\n");
}
std::string abaqus_surfaces_of_a_set(std::size_t bytes) {
  return abaqus_brick() + "*ELSET,ELSET=A\n" + repeated(bytes / 2, "1,1,1,1,1,1,1,1\n") +
         "*SURFACE,NAME=T\n" + repeated(bytes / 2, "A,S1\n");
}
// All that the bound on what a file repeats lets through.
std::string abaqus_sets_within_the_bound(std::size_t bytes) {
  return abaqus_brick() + "*NSET,NSET=A\n" + repeated(bytes, "1,2,3,4,5,6,7,8\n") + "*NSET,NSET=B\nA\n";
}
std::string abaqus_sections_within_the_bound(std::size_t bytes) {
  return abaqus_brick() + "*ELSET,ELSET=A,GENERATE\n1," + number(bytes) + "\n*SOLID SECTION,ELSET=A\n" +
         repeated(bytes, "**\n");
}
std::string abaqus_surfaces_within_the_bound(std::size_t bytes) {
  return abaqus_brick() + "*ELSET,ELSET=A\n" + repeated(bytes / 2, "1,1,1,1,1,1,1,1\n") +
         "*SURFACE,NAME=T\nA,S1\nA,S2\nA,S3\n" + repeated(bytes / 2, "1,S1\n");
}
std::string abaqus_long_name_of_a_node_set(std::size_t bytes) {
  return abaqus_brick() + "*NSET,NSET=" + std::string(bytes / 2, 'n') + "\n" + repeated(bytes / 2, "1\n");
}
std::string abaqus_long_name_of_an_element_set(std::size_t bytes) {
  return abaqus_brick() + "*ELEMENT,TYPE=C3D8,ELSET=" + std::string(bytes / 2, 'e') + "\n" +
         lines(bytes / 2, [](std::size_t k) { return number(k + 2) + ",1,2,3,4,5,6,7,8\n"; });
}
std::string abaqus_long_name_of_a_shell_set(std::size_t bytes) {
  return abaqus_brick() + "*ELEMENT,TYPE=S4,ELSET=" + std::string(bytes / 2, 'e') + "\n" +
         lines(bytes / 2, [](std::size_t k) { return number(k + 2) + ",1,2,3,4\n"; });
}
std::string abaqus_long_name_of_a_surface(std::size_t bytes) {
  return abaqus_brick() + "*SURFACE,NAME=" + std::string(bytes / 2, 's') + "\n" +
         repeated(bytes / 2, "1,S1\n");
}
std::string abaqus_long_name_beside_short_ones(std::size_t bytes) {
  return abaqus_brick() + "*NSET,NSET=" + std::string(bytes / 2, 'n') +
         "\n1\n*NSET,NSET=M\n1\n*NSET,NSET=B\n" + repeated(bytes / 2, "M\n");
}
std::string abaqus_dense_nodes(std::size_t bytes) {
  return abaqus_brick() + "*NODE,NSET=N\n" +
         lines(bytes, [](std::size_t k) { return number(k + 9) + ",,,\n"; });
}
std::string abaqus_commas(std::size_t bytes) {
  return abaqus_brick() + "*NSET,NSET=N\n1" + std::string(bytes, ',') + "\n";
}
std::string abaqus_keywords(std::size_t bytes) {
  return abaqus_brick() + lines(bytes, [](std::size_t k) { return "*A" + number(k) + "\n"; });
}

// Gmsh 4.1: an entity of that dimension with these groups, and nodes 1 to 8.
std::string gmsh_begin(std::size_t dimension, const std::string& groups, std::size_t number_of_groups,
                       const std::string& names = "") {
  std::string counts = "0 0 0 0\n";
  counts[2 * dimension] = '1';
  return "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n" + names + "$Entities\n" + counts + "1 0 0 0 " +
         (dimension > 0 ? "1 1 1 " : "") + number(number_of_groups) + " " + groups +
         (dimension > 0 ? " 0" : "") +
         "\n$EndEntities\n$Nodes\n1 8 1 8\n3 1 0 8\n1\n2\n3\n4\n5\n6\n7\n8\n"
         "0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n1 0 1\n1 1 1\n0 1 1\n$EndNodes\n";
}
// A hexahedron, and so many elements in blocks.
std::string gmsh_elements(std::size_t blocks, std::size_t elements, const std::string& text) {
  return "$Elements\n" + number(blocks + 1) + " " + number(elements + 1) + " 1 " + number(elements + 1) +
         "\n3 1 5 1\n1 1 2 3 4 5 6 7 8\n" + text + "$EndElements\n";
}
std::string gmsh_groups(std::size_t number_of_groups) {
  std::string text;
  for (std::size_t k = 1; k <= number_of_groups; ++k) text += number(k) + " ";
  return text;
}
std::string gmsh_group_of_elements(std::size_t bytes, std::size_t dimension, const char* type,
                                   const char* nodes) {
  const std::size_t groups = bytes / 12, elements = bytes / 24;
  std::string text = std::string(type) + number(elements) + "\n";
  for (std::size_t k = 0; k < elements; ++k) text += number(k + 2) + nodes;
  return gmsh_begin(dimension, gmsh_groups(groups), groups) + gmsh_elements(1, elements, text);
}
std::string gmsh_lines_in_many_groups(std::size_t bytes) {
  return gmsh_group_of_elements(bytes, 1, "1 1 1 ", " 1 2\n");
}
std::string gmsh_quadrilaterals_in_many_groups(std::size_t bytes) {
  return gmsh_group_of_elements(bytes, 2, "2 1 3 ", " 1 2 3 4\n");
}
std::string gmsh_groups_within_the_bound(std::size_t bytes) {
  const std::size_t elements = bytes / 12;
  std::string text = "1 1 1 " + number(elements) + "\n";
  for (std::size_t k = 0; k < elements; ++k) text += number(k + 2) + " 1 2\n";
  return gmsh_begin(1, gmsh_groups(4), 4) + gmsh_elements(1, elements, text);
}
std::string gmsh_blocks_of_an_entity_in_many_groups(std::size_t bytes) {
  const std::size_t groups = bytes / 12, blocks = bytes / 20;
  return gmsh_begin(2, gmsh_groups(groups), groups) +
         gmsh_elements(blocks, 0, repeated(8 * blocks, "2 1 3 0\n"));
}
std::string gmsh_points_of_a_long_name(std::size_t bytes) {
  const std::size_t points = bytes / 20;
  std::string text = "0 1 15 " + number(points) + "\n";
  for (std::size_t k = 0; k < points; ++k) text += number(k + 2) + " 1\n";
  const std::string names =
      "$PhysicalNames\n1\n0 1 \"" + std::string(bytes / 2, 'n') + "\"\n$EndPhysicalNames\n";
  return gmsh_begin(0, "1", 1, names) + gmsh_elements(1, points, text);
}
std::string gmsh_quadrilaterals_of_one_group_each(std::size_t bytes) {
  std::string text;
  const std::size_t elements = bytes / 24;
  for (std::size_t k = 0; k < elements; ++k) text += number(k + 2) + " 3 1 " + number(k + 1) + " 1 2 3 4\n";
  return "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n8\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 0 0 1\n"
         "6 1 0 1\n7 1 1 1\n8 0 1 1\n$EndNodes\n$Elements\n" +
         number(elements + 1) + "\n1 5 0 1 2 3 4 5 6 7 8\n" + text + "$EndElements\n";
}

std::string vtk_begin(const char* format) {
  return std::string("# vtk DataFile Version 3.0\npart\n") + format + "\nDATASET UNSTRUCTURED_GRID\n";
}
std::string vtk_brick() {
  return vtk_begin("ASCII") +
         "POINTS 8 double\n0 0 0 1 0 0 1 1 0 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1\n"
         "CELLS 1 9\n8 0 1 2 3 4 5 6 7\nCELL_TYPES 1\n12\n";
}
std::string vtk_strings_beyond_the_end(std::size_t bytes) {
  return vtk_brick() + "FIELD names 1\nblock_names 1000 " + number(bytes / 2) + " string\n" +
         std::string(bytes, '\n');
}
std::string vtk_names_of_strings(std::size_t bytes) {
  std::string text;
  const std::size_t strings = bytes / 8;
  for (std::size_t k = 0; k < strings; ++k) text += number(k) + ":\n";
  return vtk_brick() + "FIELD names 1\nside_set_names 1 " + number(strings) + " string\n" + text;
}
std::string vtk_cells_without_nodes(std::size_t bytes) {
  const std::string cells = number(bytes / 4);
  return vtk_begin("ASCII") + "POINTS 1 double\n0 0 0\nCELLS " + cells + " " + cells + "\n" +
         repeated(bytes / 4 * 2, "0 ") + "\nCELL_TYPES " + cells + "\n" + repeated(bytes / 4 * 2, "0 ");
}
std::string vtk_node_sets(std::size_t bytes) {
  return vtk_brick() + "POINT_DATA 8\n" + lines(bytes, [](std::size_t k) {
           return "SCALARS node_set:" + number(k) + " char 1\nLOOKUP_TABLE default\n1 1 1 1 1 1 1 1\n";
         });
}

std::string medit_begin() {
  return "MeshVersionFormatted 2\nDimension 3\nVertices\n8\n0 0 0 0\n1 0 0 0\n1 1 0 0\n0 1 0 0\n0 0 1 0\n"
         "1 0 1 0\n1 1 1 0\n0 1 1 0\n";
}
std::string medit_blocks(std::size_t bytes) {
  const std::size_t elements = bytes / 22;
  std::string text;
  for (std::size_t k = 0; k < elements; ++k) text += "1 2 3 4 5 6 7 8 " + number(k) + "\n";
  return medit_begin() + "Hexahedra\n" + number(elements) + "\n" + text + "End\n";
}
std::string medit_quadrilaterals(std::size_t bytes) {
  const std::size_t sides = bytes / 14;
  std::string text;
  for (std::size_t k = 0; k < sides; ++k) text += "1 2 3 4 " + number(k) + "\n";
  return medit_begin() + "Hexahedra\n1\n1 2 3 4 5 6 7 8 1\nQuadrilaterals\n" + number(sides) + "\n" + text +
         "End\n";
}
std::string medit_keywords(std::size_t bytes) {
  return medit_begin() + lines(bytes, [](std::size_t k) { return "K" + number(k) + "\n"; }) + "End\n";
}

std::string mfem_vertices(std::size_t bytes) {
  const std::size_t vertices = bytes / 6;
  return "MFEM mesh v1.0\ndimension\n3\nelements\n1\n1 5 0 1 2 3 4 5 6 7\nboundary\n0\nvertices\n" +
         number(vertices) + "\n3\n" + repeated(6 * vertices, "0 0 1\n");
}
std::string mfem_counts_without_coordinates(std::size_t bytes) {
  return "MFEM mesh v1.0\ndimension\n3\n" +
         lines(bytes, [&](std::size_t) { return "vertices\n" + number(bytes / 2) + "\nnodes\n"; });
}

// Exodus: what every mesh of eight nodes needs.
CraftedNetcdf exodus_begin(std::int64_t elements, std::int64_t blocks, int version = 2) {
  CraftedNetcdf file(version);
  file.add_dimension("num_dim", 3);                               // 0
  const std::int64_t nodes = file.add_dimension("num_nodes", 8);  // 1
  file.add_dimension("num_elem", elements);                       // 2
  const std::int64_t of_blocks = file.add_dimension("num_el_blk", blocks);
  file.add("coord", CraftedNetcdf::Doubles, {0, nodes}, CraftedNetcdf::zeros(8 * 24));
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 1; id <= blocks; ++id) ids.push_back(id);
  file.add("eb_prop1", CraftedNetcdf::Integers, {of_blocks}, CraftedNetcdf::integers(ids));
  return file;
}
std::string corners(std::size_t elements) {
  std::string result;
  for (std::size_t k = 0; k < elements; ++k) result += CraftedNetcdf::integers({1, 2, 3, 4, 5, 6, 7, 8});
  return result;
}
std::string exodus_blocks(std::size_t bytes, const std::string& type, std::size_t each, bool shared,
                          std::size_t sides = 0) {
  const std::size_t a_block = 196 + (shared ? 0 : 32 * each);
  const std::size_t blocks = std::max<std::size_t>(1, bytes / a_block);
  CraftedNetcdf file =
      exodus_begin(static_cast<std::int64_t>(each * blocks + 1), static_cast<std::int64_t>(blocks + 1));
  const std::int64_t corner = file.add_dimension("corner", 8);
  const std::string all = corners(each);
  for (std::size_t k = 1; k <= blocks + 1; ++k) {
    const bool last = k == blocks + 1;  // of one hexahedron
    const std::int64_t of =
        file.add_dimension("num_el_in_blk" + number(k), last ? 1 : static_cast<std::int64_t>(each));
    file.add_dimension("num_nod_per_el" + number(k), 8);
    file.add("connect" + number(k), CraftedNetcdf::Integers, {of, corner},
             last ? corners(1) : (shared && k > 1 ? "" : all), last ? "HEX8" : type);
  }
  if (sides > 0) {
    file.add_dimension("num_side_sets", 1);
    const std::int64_t of = file.add_dimension("num_side_ss1", static_cast<std::int64_t>(sides));
    const auto element = static_cast<std::int64_t>(each * blocks);
    const std::string values = CraftedNetcdf::integers(std::vector<std::int64_t>(sides, element));
    for (const char* name : {"elem_ss1", "side_ss1"}) file.add(name, CraftedNetcdf::Integers, {of}, values);
  }
  return file.bytes();
}
std::string exodus_blocks_at_one_place(std::size_t bytes) {
  return exodus_blocks(30 * 196, "HEX8", bytes / 32, true);  // fewer elements than bytes
}
std::string exodus_sides_of_blocks_left_out(std::size_t bytes) {
  return exodus_blocks(bytes / 2, "SHELL4", 1, false, bytes / 16);
}
std::string exodus_dense_elements(std::size_t bytes) {
  return exodus_blocks(bytes, "HEX8", bytes / 32, false);
}
std::string exodus_many_small_blocks(std::size_t bytes) { return exodus_blocks(bytes, "HEX8", 1, false); }
std::string exodus_long_name_of_a_dimension(std::size_t bytes) {
  CraftedNetcdf file = exodus_begin(1, 1);
  const std::int64_t corner = file.add_dimension(std::string(bytes / 2, 'd'), 1);
  file.add("connect1", CraftedNetcdf::Integers, std::vector<std::int64_t>(bytes / 8, corner), corners(1),
           "HEX8");
  return file.bytes();
}
std::string exodus_sets_without_dimensions(std::size_t bytes) {
  CraftedNetcdf file = exodus_begin(1, 1);
  for (std::size_t k = 0; k < bytes / 32; ++k) file.add_dimension("a" + number(k), 1);
  const auto sets = static_cast<std::int64_t>(bytes / 16);
  const std::int64_t of = file.add_dimension("num_side_sets", sets);
  file.add("ss_prop1", CraftedNetcdf::Integers, {of},
           CraftedNetcdf::zeros(static_cast<std::size_t>(4 * sets)));
  const std::int64_t one = file.add_dimension("num_el_in_blk1", 1);
  const std::int64_t eight = file.add_dimension("num_nod_per_el1", 8);
  file.add("connect1", CraftedNetcdf::Integers, {one, eight}, corners(1), "HEX8");
  return file.bytes();
}

}  // namespace

const std::vector<CraftedMesh>& crafted_meshes() {
#define STRATA_CRAFTED(name) \
  CraftedMesh { #name, name }
  static const std::vector<CraftedMesh> meshes = {STRATA_CRAFTED(abaqus_generated_sets),
                                                  STRATA_CRAFTED(abaqus_sets_of_a_set),
                                                  STRATA_CRAFTED(abaqus_sections_of_a_set),
                                                  STRATA_CRAFTED(abaqus_surfaces_of_a_set),
                                                  STRATA_CRAFTED(abaqus_sets_within_the_bound),
                                                  STRATA_CRAFTED(abaqus_sections_within_the_bound),
                                                  STRATA_CRAFTED(abaqus_surfaces_within_the_bound),
                                                  STRATA_CRAFTED(abaqus_long_name_of_a_node_set),
                                                  STRATA_CRAFTED(abaqus_long_name_of_an_element_set),
                                                  STRATA_CRAFTED(abaqus_long_name_of_a_shell_set),
                                                  STRATA_CRAFTED(abaqus_long_name_of_a_surface),
                                                  STRATA_CRAFTED(abaqus_long_name_beside_short_ones),
                                                  STRATA_CRAFTED(abaqus_dense_nodes),
                                                  STRATA_CRAFTED(abaqus_commas),
                                                  STRATA_CRAFTED(abaqus_keywords),
                                                  STRATA_CRAFTED(gmsh_lines_in_many_groups),
                                                  STRATA_CRAFTED(gmsh_quadrilaterals_in_many_groups),
                                                  STRATA_CRAFTED(gmsh_groups_within_the_bound),
                                                  STRATA_CRAFTED(gmsh_blocks_of_an_entity_in_many_groups),
                                                  STRATA_CRAFTED(gmsh_points_of_a_long_name),
                                                  STRATA_CRAFTED(gmsh_quadrilaterals_of_one_group_each),
                                                  STRATA_CRAFTED(vtk_strings_beyond_the_end),
                                                  STRATA_CRAFTED(vtk_names_of_strings),
                                                  STRATA_CRAFTED(vtk_cells_without_nodes),
                                                  STRATA_CRAFTED(vtk_node_sets),
                                                  STRATA_CRAFTED(medit_blocks),
                                                  STRATA_CRAFTED(medit_quadrilaterals),
                                                  STRATA_CRAFTED(medit_keywords),
                                                  STRATA_CRAFTED(mfem_vertices),
                                                  STRATA_CRAFTED(mfem_counts_without_coordinates),
                                                  STRATA_CRAFTED(exodus_blocks_at_one_place),
                                                  STRATA_CRAFTED(exodus_sides_of_blocks_left_out),
                                                  STRATA_CRAFTED(exodus_dense_elements),
                                                  STRATA_CRAFTED(exodus_many_small_blocks),
                                                  STRATA_CRAFTED(exodus_long_name_of_a_dimension),
                                                  STRATA_CRAFTED(exodus_sets_without_dimensions)};
#undef STRATA_CRAFTED
  return meshes;
}

}  // namespace fem_files_testing
