// Nothing of a file is dropped without a word: what is not read is listed with its line, and counts that
// contradict each other are errors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#include "miniapps/fem/files/crafted_netcdf.hpp"
#include "miniapps/fem/files/mesh_fixtures.hpp"
#include "miniapps/fem/files/mesh_texts.hpp"

namespace {

using namespace fem_files_testing;
using Bytes = CraftedNetcdf;

std::vector<std::string> remarks_of(const std::string& name, const std::string& content) {
  return fem::parse_mesh(name, content).remarks;
}

bool has(const std::vector<std::string>& remarks, const std::string& remark) {
  return std::find(remarks.begin(), remarks.end(), remark) != remarks.end();
}

// One hexahedron, where the mesh may announce more.
Bytes exodus(std::int64_t announced) {
  Bytes file(2);
  file.add_dimension("num_dim", 3);
  const std::int64_t nodes = file.add_dimension("num_nodes", 8);
  file.add_dimension("num_elem", announced);
  const std::int64_t blocks = file.add_dimension("num_el_blk", 1);
  const std::int64_t one = file.add_dimension("num_el_in_blk1", 1);
  const std::int64_t corner = file.add_dimension("num_nod_per_el1", 8);
  file.add("coord", Bytes::Doubles, {0, nodes}, Bytes::zeros(8 * 24));
  file.add("eb_prop1", Bytes::Integers, {blocks}, Bytes::integers({1}));
  file.add("connect1", Bytes::Integers, {one, corner}, Bytes::integers({1, 2, 3, 4, 5, 6, 7, 8}), "HEX8");
  return file;
}

TEST(ExodusLeavesNothingOut, BlocksThatHaveFewerElementsThanTheMeshAreAnError) {
  EXPECT_EQ(message_of("part.e", exodus(1).bytes()), "no error");
  EXPECT_EQ(
      message_of("part.e", exodus(3).bytes()),
      "part.e: the element blocks have 1 elements, and the mesh announces 3; the file is damaged: write "
      "it again");
}

TEST(ExodusLeavesNothingOut, ASetWithValuesAndWithoutASizeIsAnError) {
  Bytes file = exodus(1);
  const std::int64_t sets = file.add_dimension("num_side_sets", 1);
  file.add("ss_prop1", Bytes::Integers, {sets}, Bytes::integers({7}));
  file.add("elem_ss1", Bytes::Integers, {sets}, Bytes::integers({1}));

  EXPECT_EQ(message_of("part.e", file.bytes()),
            "part.e: the file has elem_ss1, and no dimension num_side_ss1; it is damaged: write it again");
}

const char* const gmsh_two_volumes =
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 1\n1 0 0 0 1 1 1 2 5 6 0\n$EndEntities\n"
    "$Nodes\n1 8 1 8\n3 1 0 8\n1\n2\n3\n4\n5\n6\n7\n8\n"
    "0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n1 0 1\n1 1 1\n0 1 1\n$EndNodes\n"
    "$Elements\n1 1 1 1\n3 1 5 1\n1 1 2 3 4 5 6 7 8\n$EndElements\n";

TEST(GmshLeavesNothingOut, AnElementInTwoPhysicalVolumesIsListed) {
  const fem::HostMesh mesh = fem::parse_mesh("part.msh", gmsh_two_volumes);

  ASSERT_EQ(mesh.blocks.size(), 1u);
  EXPECT_EQ(mesh.blocks[0].id, 5);
  EXPECT_EQ(mesh.remarks, std::vector<std::string>{"part.msh:31: left out physical volumes of an element but "
                                                   "its first"});
}

TEST(GmshLeavesNothingOut, NodesAndElementsMustBeAsManyAsAnnounced) {
  EXPECT_EQ(message_of("part.msh", replaced(gmsh_two_volumes, "1 8 1 8", "1 9 1 9")),
            "part.msh:9: the section announces 9 nodes, and its blocks have 8; write the file again");
  EXPECT_EQ(message_of("part.msh", replaced(gmsh_two_volumes, "$Elements\n1 1 1 1", "$Elements\n1 2 1 2")),
            "part.msh:29: the section announces 2 elements, and its blocks have 1; write the file again");
}

TEST(GmshLeavesNothingOut, ASectionThatIsNotKnownIsListed) {
  const auto remarks = remarks_of(
      "part.msh", std::string(gmsh_two_volumes) + "$Element\n1\n$EndElement\n$Element\n$EndElement\n");

  EXPECT_TRUE(has(remarks, "part.msh:33: left out the section $Element (2 times, the first here)"))
      << testing::PrintToString(remarks);
}

TEST(GmshLeavesNothingOut, QuadrilateralsOfNoPhysicalSurfaceAreListed) {
  const std::string text =
      replaced(gmsh_two_volumes, "$Elements\n1 1 1 1", "$Elements\n2 2 1 2\n2 1 3 1\n2 1 2 3 4");

  EXPECT_TRUE(has(remarks_of("part.msh", text),
                  "part.msh:31: left out quadrilaterals that belong to no physical surface"));
}

// Whole, with its end mark.
const char* const abaqus_part =
    "*HEADING\nbrick\n*PART, NAME=P\n*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n5,0,0,1\n6,1,0,1\n7,1,1,1\n"
    "8,0,1,1\n*ELEMENT, TYPE=C3D8, ELSET=E\n1,1,2,3,4,5,6,7,8\n*SOLID SECTION, ELSET=E, MATERIAL=M\n,\n"
    "*END PART\n";

TEST(AbaqusLeavesNothingOut, AFileWithItsEndMarkHasNoRemarks) {
  EXPECT_TRUE(remarks_of("part.inp", abaqus_part).empty());
}

TEST(AbaqusLeavesNothingOut, KeywordsThatAreNotReadAreListed) {
  const std::string text =
      replaced(abaqus_part, "*END PART", "*ELEMENTS, TYPE=C3D8\n2,1,2,3,4,5,6,7,8\n*Elements\n*END PART");

  EXPECT_EQ(
      remarks_of("part.inp", text),
      std::vector<std::string>{
          "part.inp:17: left out what follows '*elements', which is not read (2 times, the first here)"});
}

TEST(AbaqusLeavesNothingOut, APartThatIsCutAnywhereIsRefused) {
  const std::string whole = abaqus_part;
  for (std::size_t size = 1; size < whole.find("*END PART"); ++size) {
    EXPECT_NE(message_of("part.inp", whole.substr(0, size)), "no error") << whole.substr(0, size);
  }

  EXPECT_EQ(message_of("part.inp", whole.substr(0, whole.find("*END PART"))),
            "part.inp:3: *PART has no *END PART; the file is truncated: write it again");
}

TEST(AbaqusLeavesNothingOut, AFileThatEndsWithinALineOfTheMeshIsRefused) {
  const std::string whole = replaced(replaced(abaqus_part, "*END PART\n", ""), "*PART, NAME=P\n", "");

  EXPECT_EQ(
      message_of("part.inp", whole.substr(0, whole.find("*SOLID") - 2)),
      "part.inp:13: the file ends within this line, which may be cut short; if it is whole, end the line");
}

TEST(AbaqusLeavesNothingOut, AFileThatMayBeCutBetweenLinesHasARemark) {
  const std::string whole = replaced(replaced(abaqus_part, "*END PART\n", ""), "*PART, NAME=P\n", "");
  const std::string remark =
      "part.inp:16: the file ends without *END PART or another end mark: if it was cut short between lines, "
      "that "
      "does not show";

  EXPECT_TRUE(has(remarks_of("part.inp", whole), remark))
      << testing::PrintToString(remarks_of("part.inp", whole));
}

TEST(AbaqusLeavesNothingOut, ASectionOfASetThatIsNotThereIsListed) {
  const std::string text = replaced(abaqus_part, "ELSET=E, MATERIAL", "ELSET=F, MATERIAL");

  EXPECT_EQ(remarks_of("part.inp", text),
            std::vector<std::string>{
                "part.inp:15: left out a section of an element set that the file does not have"});
}

TEST(AbaqusLeavesNothingOut, AnElementInTwoSectionsIsListed) {
  const std::string text =
      replaced(abaqus_part, "*END PART", "*ELSET, ELSET=F\n1\n*SOLID SECTION, ELSET=F\n*END PART");

  const fem::HostMesh mesh = fem::parse_mesh("part.inp", text);

  EXPECT_EQ(mesh.blocks.at(0).name, "F");
  EXPECT_EQ(mesh.remarks,
            std::vector<std::string>{"part.inp:14: left out sections of an element but its last"});
}

const char* const vtk_brick =
    "# vtk DataFile Version 3.0\npart\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 8 double\n"
    "0 0 0 1 0 0 1 1 0 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1\nCELLS 2 14\n8 0 1 2 3 4 5 6 7\n4 0 1 2 3\n"
    "CELL_TYPES 2\n12 9\n";

TEST(VtkLeavesNothingOut, DataOfAnotherNumberOfCellsOrNodesAreAnError) {
  const std::string text = vtk_brick;

  EXPECT_EQ(message_of("part.vtk", text + "CELL_DATA 1\nSCALARS block int\nLOOKUP_TABLE default\n7\n"),
            "part.vtk:12: there are data of 1 cells, and 2 cells; write the file again");
  EXPECT_EQ(
      message_of("part.vtk", text + "POINT_DATA 4\nSCALARS node_set:a int\nLOOKUP_TABLE default\n1 1 1 1\n"),
      "part.vtk:12: there are data of 4 nodes, and 8 nodes; write the file again");
  EXPECT_EQ(message_of("part.vtk", text + "CELL_DATA 2\nFIELD f 1\nblock 1 1 int\n7\n"),
            "part.vtk:14: there are data of 1 cells, and 2 cells; write the file again");
}

TEST(VtkLeavesNothingOut, CellsThatAreNoHexahedraAreListed) {
  EXPECT_EQ(remarks_of("part.vtk", vtk_brick),
            std::vector<std::string>{"part.vtk:9: left out quadrilaterals that belong to no side set"});
  EXPECT_EQ(
      remarks_of("part.vtk", replaced(vtk_brick, "12 9", "12 7")),
      std::vector<std::string>{"part.vtk:9: left out cells that are no hexahedra (points, lines, polygons)"});
}

const char* const medit_brick =
    "MeshVersionFormatted 2\nDimension 3\nVertices\n8\n0 0 0 0\n1 0 0 0\n1 1 0 0\n0 1 0 0\n0 0 1 0\n1 0 1 0\n"
    "1 1 1 0\n0 1 1 0\nHexahedra\n1\n1 2 3 4 5 6 7 8 7\nTriangles\n1\n1 2 3 1\nCorners\n1\n3\nEnd\n";

TEST(MeditLeavesNothingOut, SectionsThatAreNotReadAreListed) {
  EXPECT_EQ(remarks_of("part.mesh", medit_brick),
            (std::vector<std::string>{"part.mesh:19: left out the section Corners",
                                      "part.mesh:16: left out the section Triangles"}));
}

TEST(MeditLeavesNothingOut, AFileWithoutEndIsTruncated) {
  EXPECT_EQ(message_of("part.mesh", replaced(medit_brick, "End\n", "")),
            "part.mesh:22: the file has no End; it is truncated: write it again, or add End if it is whole");
}

TEST(MeshLeavesNothingOut, LongListsEndAfterTwentyRemarks) {
  std::string text;
  for (int k = 100; k < 130; ++k) text += "K" + std::to_string(k) + "\n";

  const auto remarks = remarks_of("part.mesh", replaced(medit_brick, "Triangles", text + "Triangles"));

  ASSERT_EQ(remarks.size(), 21u);
  EXPECT_EQ(remarks.back(), "part.mesh: left out more than that: 12 other kinds");
}

}  // namespace
