// load_mesh: boxes and files by name, checked and refined.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>
#include <string>

#include <strata/miniapps/fem/load_mesh.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>
#include <strata/miniapps/fem/node_graph.hpp>
#include <strata/miniapps/fem/quality.hpp>
#include <strata/miniapps/fem/selector.hpp>

#include "meshes.hpp"

namespace {

using namespace strata;
using namespace strata::fem;
using namespace strata_tests;

// Two cubes side by side in the format of Gmsh 2.2, with numbers of their own. `bottom` and `top` are the
// nodes of the second element.
std::string two_cubes(const std::string& bottom, const std::string& top) {
  std::string text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n12\n";
  for (int n = 0; n < 12; ++n)
    text += std::to_string(101 + n) + " " + std::to_string(n % 3) + " " + std::to_string(n / 3 % 2) + " " +
            std::to_string(n / 6) + "\n";
  return text + "$EndNodes\n$Elements\n2\n7 5 2 1 1 101 102 105 104 107 108 111 110\n8 5 2 1 1 " + bottom +
         " " + top + "\n$EndElements\n";
}

// A file with `content` that goes with its owner.
struct MeshFile {
  std::string path;
  MeshFile(const std::string& name, const std::string& content) : path(::testing::TempDir() + name) {
    std::ofstream(path) << content;
  }
  ~MeshFile() { std::remove(path.c_str()); }
};

template <class D>
class LoadMesh : public ::testing::Test {};
TYPED_TEST_SUITE(LoadMesh, TestDevices, DeviceName);

TYPED_TEST(LoadMesh, MakesBoxesAndRefinesThem) {
  const auto mesh = load_mesh<PlainArrays<TypeParam>>("box:2x3x4", 1);

  EXPECT_EQ(mesh.element_count(), 8 * 24);
  EXPECT_EQ(mesh.node_count(), 5 * 7 * 9);
  EXPECT_EQ(mesh.source, "box:2x3x4:2,3,4");
  EXPECT_EQ(bounding_box(mesh).high[2], 4);
}

TYPED_TEST(LoadMesh, ReadsFilesAndRefinesThem) {
  const MeshFile file(std::string("two_cubes_") + strata_tests::device_name<TypeParam>() + ".msh",
                      two_cubes("102 103 106 105", "108 109 112 111"));

  const auto mesh = load_mesh<PlainArrays<TypeParam>>(file.path, 2);

  EXPECT_EQ(mesh.element_count(), 128);
  EXPECT_EQ(mesh.node_count(), 9 * 5 * 5);
  EXPECT_EQ(mesh.node_id(0), 101);
  EXPECT_NEAR(measure(mesh).volume, 2, 1e-14);
}

TYPED_TEST(LoadMesh, NamesTheBadElementOfAFile) {
  const MeshFile file(std::string("inverted_") + strata_tests::device_name<TypeParam>() + ".msh",
                      two_cubes("108 109 112 111", "102 103 106 105"));

  try {
    load_mesh<PlainArrays<TypeParam>>(file.path);
    ADD_FAILURE() << "no error";
  } catch (const MeshError& error) {
    EXPECT_NE(std::string(error.what()).find("element 8 is inverted"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(file.path), std::string::npos) << error.what();
  }
}

TYPED_TEST(LoadMesh, OfAFileThatIsNotThereIsAnErrorThatNamesIt) {
  try {
    load_mesh<PlainArrays<TypeParam>>("no/such/file.msh");
    ADD_FAILURE() << "no error";
  } catch (const MeshFileError& error) {
    EXPECT_NE(std::string(error.what()).find("no/such/file.msh"), std::string::npos) << error.what();
  }
}

template <class D>
void expect_same_mesh(const HostMesh& mesh, const HostMesh& expected) {
  EXPECT_EQ(mesh.elements, expected.elements);
  ASSERT_EQ(mesh.coordinates.size(), expected.coordinates.size());
  // Compilers for GPUs contract multiply-adds.
  const double tolerance = runs_on_host_threads<D> ? 0 : 1e-15;
  for (std::size_t n = 0; n < expected.coordinates.size(); ++n)
    for (std::size_t d = 0; d < 3; ++d)
      ASSERT_NEAR(mesh.coordinates[n][d], expected.coordinates[n][d], tolerance) << "node " << n;
  ASSERT_EQ(mesh.side_sets.size(), expected.side_sets.size());
  for (std::size_t s = 0; s < expected.side_sets.size(); ++s) {
    EXPECT_EQ(mesh.side_sets[s].elements, expected.side_sets[s].elements);
    EXPECT_EQ(mesh.side_sets[s].faces, expected.side_sets[s].faces);
    EXPECT_EQ(mesh.node_sets[s].nodes, expected.node_sets[s].nodes);
  }
}

TYPED_TEST(LoadMesh, GivesTheSameMeshOnEveryDevice) {
  const char* const box = "box:3x4x5:1,1,1:wave=0.05:random=0.1";
  const auto expected = load_mesh<PlainArrays<Serial>>(box, 1);

  const auto mesh = load_mesh<PlainArrays<TypeParam>>(box, 1);

  expect_same_mesh<TypeParam>(download(mesh), download(expected));
  EXPECT_EQ(list_of(mesh.node_corners), list_of(expected.node_corners));
  EXPECT_EQ(list_of(select_nodes(mesh, "x_max")), list_of(select_nodes(expected, "x_max")));
}

TYPED_TEST(LoadMesh, PutsEverythingOnTheInstanceAskedFor) {
  using Arrays = PlainArrays<TypeParam>;
  const TypeParam device(TypeParam::count() - 1);

  const auto mesh = load_mesh<Arrays>("box:3x4x5:random=0.1", 1, device);

  expect_same_mesh<TypeParam>(download(mesh), download(load_mesh<Arrays>("box:3x4x5:random=0.1", 1)));
  EXPECT_EQ(mesh.device, device);
  const auto graph = node_graph(mesh);
  EXPECT_EQ(graph.entry_count(), (3 * 7 - 2) * (3 * 9 - 2) * (3 * 11 - 2));
  EXPECT_EQ(element_slots(mesh, graph).extent(0), mesh.element_count());
  EXPECT_EQ(select_nodes(mesh, "all").extent(0), mesh.node_count());
  EXPECT_EQ(select_faces(mesh, "all").elements.extent(0), 4 * 2 * (12 + 15 + 20));
}

}  // namespace
