// Files that Gmsh and meshio wrote are read, with their blocks and sets; see fixtures/make_fixtures.py.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/files/hdf5_exodus.hpp>
#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#include "core/files/file_size_limit.hpp"
#include "miniapps/fem/files/mesh_fixtures.hpp"
#include "miniapps/fem/files/mesh_texts.hpp"

namespace {

using namespace fem_files_testing;

struct Fixture {
  const char* file;
  const char* blocks[2];
  const char* sides[3];  // bottom, top, middle
};

// Test names are made of these.
void PrintTo(const Fixture& fixture, std::ostream* out) { *out << fixture.file; }

class ReadMesh : public testing::TestWithParam<Fixture> {};

TEST_P(ReadMesh, GivesTheMeshThatTheProgramWrote) {
  const fem::HostMesh mesh = fem::read_mesh(fixture(GetParam().file));

  expect_two_blocks(mesh);
  EXPECT_EQ(mesh.blocks[0].name, GetParam().blocks[0]);
  EXPECT_EQ(mesh.blocks[1].name, GetParam().blocks[1]);
  expect_level(mesh, GetParam().sides[0], 0);
  expect_level(mesh, GetParam().sides[1], 1.5);
  expect_level(mesh, GetParam().sides[2], 1);
}

constexpr Fixture gmsh(const char* file) {
  return {file, {"lower", "upper part"}, {"bottom", "top", "middle"}};
}
constexpr Fixture by_number(const char* file) { return {file, {"10", "20"}, {"1", "2", "3"}}; }

INSTANTIATE_TEST_SUITE_P(
    Formats, ReadMesh,
    testing::Values(gmsh("two_blocks_22.msh"), gmsh("two_blocks_22_binary.msh"), gmsh("two_blocks_41.msh"),
                    gmsh("two_blocks_41_binary.msh"), gmsh("two_blocks.e"),
                    by_number("two_blocks_meshio51.vtk"), by_number("two_blocks_meshio51_binary.vtk"),
                    by_number("two_blocks.mesh"), by_number("two_blocks.mfem.mesh"),
                    by_number("two_blocks_nodes.mfem.mesh"), by_number("two_blocks.vtk"),
                    by_number("two_blocks_binary.vtk"),
                    Fixture{"two_blocks.inp", {"Volume1", "Volume2"}, {"bottom", "top", "middle"}}),
    [](const auto& parameter) {
      std::string name = parameter.param.file;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
      return name;
    });

TEST(ReadGmsh, PhysicalCurvesAndPointsAreNodeSets) {
  for (const char* file : {"two_blocks_22.msh", "two_blocks_41.msh", "two_blocks_41_binary.msh"}) {
    const fem::HostMesh mesh = fem::read_mesh(fixture(file));

    ASSERT_NE(node_set(mesh, "edge"), nullptr) << file;
    ASSERT_NE(node_set(mesh, "corner"), nullptr) << file;
    EXPECT_EQ(node_set(mesh, "edge")->nodes.size(), 3u);
    ASSERT_EQ(node_set(mesh, "corner")->nodes.size(), 1u);
    const auto corner = static_cast<std::size_t>(node_set(mesh, "corner")->nodes[0]);
    EXPECT_EQ(mesh.coordinates[corner], (std::array{0.0, 0.0, 0.0}));
  }
}

TEST(ReadExodus, NumbersOfNodesAndElementsAreThoseOfTheFile) {
  const fem::HostMesh mesh = fem::read_mesh(fixture("two_blocks.e"));

  EXPECT_EQ(mesh.node_id(35), 360);
  EXPECT_EQ(mesh.element_id(11), 112);
  ASSERT_NE(node_set(mesh, "edge"), nullptr);
  EXPECT_EQ(node_set(mesh, "edge")->nodes.size(), 3u);
}

TEST(ReadExodus, FilesInHdf5AreReadLikeClassicOnes) {
  if (!fem::detail::has_hdf5_exodus()) GTEST_SKIP() << "this build has no netCDF";

  const fem::HostMesh mesh = fem::read_mesh(fixture("two_blocks_hdf5.e"));

  expect_two_blocks(mesh);
  expect_level(mesh, "top", 1.5);
  EXPECT_EQ(mesh.node_id(35), 360);
  EXPECT_EQ(mesh.blocks[1].name, "upper part");
}

TEST(ReadExodus, ADamagedFileInHdf5IsAnErrorWhereverItsLibraryEnds) {
  try {
    fem::parse_mesh("part.e", "\x89HDF\r\n\x1a\n and so on");
    FAIL();
  } catch (const fem::MeshError& error) {
    const std::string wanted = fem::detail::has_hdf5_exodus() ? "the file is damaged" : "nccopy -k cdf5";
    EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what();
  }
}

TEST(ReadExodus, AFileInHdf5IsReadWithoutRoomForATemporaryOne) {
  if (!fem::detail::has_hdf5_exodus()) GTEST_SKIP() << "this build has no netCDF";
  std::size_t elements = 0;
  try {
    const file_testing::FileSizeLimit limit(1000);
    elements = fem::read_mesh(fixture("two_blocks_hdf5.e")).elements.size();
  } catch (const strata::Error& error) {
    ADD_FAILURE() << error.what();
  }

  EXPECT_EQ(elements, fem::read_mesh(fixture("two_blocks.e")).elements.size());
}

TEST(ReadAbaqus, NodeSetsAndSurfacesOfElementSetsAreRead) {
  std::string text = content_of(fixture("two_blocks.inp"));
  text += "*Elset, elset=Roof, generate\n24, 27, 1\n*SURFACE, NAME=roof sides, TYPE=ELEMENT\nroof, S2\n";

  const fem::HostMesh mesh = fem::parse_mesh("part.inp", text);

  expect_level(mesh, "roof sides", 1.5);
  ASSERT_NE(node_set(mesh, "bottom"), nullptr);
  EXPECT_EQ(node_set(mesh, "bottom")->nodes.size(), 9u);
}

TEST(ReadAbaqus, SolidSectionsAreTheBlocks) {
  std::string text = content_of(fixture("two_blocks.inp"));
  text += "*ELSET, ELSET=WHOLE, GENERATE\n16, 27\n*SOLID SECTION, ELSET=whole, MATERIAL=STEEL\n1.,\n";

  const fem::HostMesh mesh = fem::parse_mesh("part.inp", text);

  ASSERT_EQ(mesh.blocks.size(), 1u);
  EXPECT_EQ(mesh.blocks[0].name, "whole");
}

TEST(ReadAbaqus, AnElementMayGoOnInTheNextLine) {
  std::string text = content_of(fixture("two_blocks.inp"));
  const std::string line = "16, 1, 13, 29, 15, 21, 30, 36, 33";
  text.replace(text.find(line), line.size(), "16, 1, 13, 29, 15,\n 21, 30, 36, 33");

  expect_two_blocks(fem::parse_mesh("part.inp", text));
}

const char* const one_brick =
    "MeshVersionFormatted 2\nDimension 3\nVertices\n9\n0 0 0 0\n1 0 0 0\n1 1 0 0\n0 1 0 0\n0.5 0.5 9 0\n"
    "0 0 1 0\n1 0 1 0\n1 1 1 0\n0 1 1 0\nHexahedra\n1\n1 2 3 4 6 7 8 9 7\nEnd\n";

TEST(ReadMesh, NodesOfNoElementAreLeftOutAndOthersKeepTheirNumbers) {
  const fem::HostMesh mesh = fem::parse_mesh("brick.mesh", one_brick);

  ASSERT_EQ(mesh.coordinates.size(), 8u);
  EXPECT_EQ(mesh.node_id(3), 4);
  EXPECT_EQ(mesh.node_id(4), 6);
  EXPECT_EQ(mesh.elements[0], (std::array<std::int32_t, 8>{0, 1, 2, 3, 4, 5, 6, 7}));
  ASSERT_EQ(mesh.remarks.size(), 1u);
  EXPECT_EQ(mesh.remarks[0],
            "brick.mesh: 1 nodes that belong to no hexahedron are left out, the first is node 5");
}

TEST(ReadMesh, NodesAndCellsOfVtkAndMfemCountFromZero) {
  EXPECT_EQ(fem::read_mesh(fixture("two_blocks_meshio51.vtk")).node_id(0), 0);
  EXPECT_EQ(fem::read_mesh(fixture("two_blocks.mfem.mesh")).element_id(0), 0);
  EXPECT_EQ(fem::read_mesh(fixture("two_blocks_22.msh")).node_id(0), 1);
}

TEST(ReadMesh, NumbersMayHaveGapsAndAnyOrder) {
  std::string text = content_of(fixture("two_blocks_22.msh"));
  // Node 36 becomes node 1000000, everywhere a word of its own.
  std::string changed;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    bool first = true;
    for (std::string word; words >> word; first = false) {
      if (!first) changed += ' ';
      changed += word == "36" && line != "36" ? "1000000" : word;
    }
    changed += '\n';
  }

  const fem::HostMesh mesh = fem::parse_mesh("gaps.msh", changed);

  expect_two_blocks(mesh);
  EXPECT_EQ(mesh.node_id(35), 1000000);
}

TEST(ReadMeshErrors, AnElementWithANodeThatIsNotThereIsNamedWithItsLine) {
  const std::string text = replaced(one_brick, "6 7 8 9 7", "6 7 8 10 7");

  EXPECT_EQ(
      message_of("brick.mesh", text),
      "brick.mesh:16: element 1 names node 10, which the file does not have; correct the element's nodes");
}

TEST(ReadMeshErrors, ATruncatedFileIsSaidToBeOne) {
  const std::string text = std::string(one_brick).substr(0, 145);

  EXPECT_NE(message_of("brick.mesh", text).find("truncated"), std::string::npos)
      << message_of("brick.mesh", text);
}

TEST(ReadMeshErrors, ACountThatTheFileCannotHoldIsRefusedBeforeItIsRead) {
  const std::string text = replaced(one_brick, "Vertices\n9", "Vertices\n9000000000000");

  EXPECT_EQ(message_of("brick.mesh", text),
            "brick.mesh:4: 9000000000000 vertices are announced, but only 111 bytes follow; the file is "
            "truncated or "
            "damaged: write it again");
}

TEST(ReadMeshErrors, AWordWhereANumberShouldBeIsQuoted) {
  const std::string text = replaced(one_brick, "1 1 0 0", "1 x1 0 0");

  EXPECT_EQ(message_of("brick.mesh", text), "brick.mesh:7: expected a coordinate, a number, and found 'x1'");
}

TEST(ReadMeshErrors, CoordinatesMustBeFinite) {
  const std::string text = replaced(one_brick, "1 1 0 0", "1 nan 0 0");

  EXPECT_EQ(message_of("brick.mesh", text), "brick.mesh:7: a coordinate is 'nan', which is not finite");
}

TEST(ReadMeshErrors, ElementsThatAreNoHexahedraAreNamedWithTheirType) {
  const std::string text =
      replaced(content_of(fixture("two_blocks_22.msh")), "\n21 5 2 10 1 ", "\n21 6 2 10 1 ");

  EXPECT_NE(message_of("part.msh", text).find("element 21 is a 6-node prism"), std::string::npos)
      << message_of("part.msh", text);
}

TEST(ReadMeshErrors, ANumberThatIsThereTwiceIsNamed) {
  const std::string text = replaced(content_of(fixture("two_blocks.inp")), "\n36, 1,", "\n35, 1,");

  EXPECT_EQ(message_of("part.inp", text), "part.inp:39: node 35 is given twice; number each once");
}

TEST(ReadMeshErrors, OtherContentIsAnsweredWithTheFormatsThatAreRead) {
  EXPECT_NE(message_of("notes.txt", "hello").find("Gmsh 2.2 and 4.1, legacy VTK"), std::string::npos);
  EXPECT_NE(message_of("a.vtu", "<?xml version=\"1.0\"?>").find("legacy VTK"), std::string::npos);
}

TEST(ReadMeshErrors, AFileThatIsNotThereIsAnErrorOfTheFile) {
  EXPECT_THROW(fem::read_mesh(fixture("no_such_file.msh")), fem::MeshFileError);
  EXPECT_THROW(fem::read_mesh(fixture("")), fem::MeshFileError);
}

}  // namespace
