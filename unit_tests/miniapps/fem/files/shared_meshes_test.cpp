// Public meshes of real parts, read where they are found: in STRATA_SHARED_MESHES, or in shared/meshes beside
// the repository. Their sizes and volumes are those that came with them.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/files/read_mesh.hpp>

#include "miniapps/fem/files/mesh_fixtures.hpp"

namespace {

using namespace fem_files_testing;

std::filesystem::path shared_meshes() {
  if (const char* given = std::getenv("STRATA_SHARED_MESHES")) return given;
  return source_folder().parent_path() / "shared" / "meshes";
}

struct Part {
  const char* file;
  std::size_t elements, nodes;
  double volume;
};
void PrintTo(const Part& part, std::ostream* out) { *out << part.file; }

using Point = std::array<double, 3>;

// Of six tetrahedra about the element's centre and each face's two triangles and centre: exact for the
// hexahedron whose faces are bilinear.
double volume_of(const fem::HostMesh& mesh) {
  double volume = 0;
  for (const auto& nodes : mesh.elements) {
    const auto point = [&](int corner) {
      return mesh.coordinates[static_cast<std::size_t>(nodes[static_cast<std::size_t>(corner)])];
    };
    for (const auto& face : fem::face_corners) {
      Point centre{};
      for (const int corner : face) {
        for (std::size_t axis = 0; axis < 3; ++axis) centre[axis] += point(corner)[axis] / 4;
      }
      for (std::size_t k = 0; k < 4; ++k) {
        const Point a = point(face[k]), b = point(face[(k + 1) % 4]);
        volume += (centre[0] * (a[1] * b[2] - a[2] * b[1]) + centre[1] * (a[2] * b[0] - a[0] * b[2]) +
                   centre[2] * (a[0] * b[1] - a[1] * b[0])) /
                  6;
      }
    }
  }
  return volume;
}

class SharedMesh : public testing::TestWithParam<Part> {};

TEST_P(SharedMesh, HasTheSizeAndVolumeThatCameWithIt) {
  const std::filesystem::path path = shared_meshes() / GetParam().file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there; set STRATA_SHARED_MESHES";

  const fem::HostMesh mesh = fem::read_mesh(path.string());

  EXPECT_EQ(mesh.elements.size(), GetParam().elements);
  EXPECT_EQ(mesh.coordinates.size(), GetParam().nodes);
  EXPECT_NEAR(volume_of(mesh), GetParam().volume, 1e-8 * GetParam().volume);
}

INSTANTIATE_TEST_SUITE_P(Parts, SharedMesh,
                         testing::Values(Part{"mug.e", 2476, 3774, 19.74106367},
                                         Part{"wrench.vtk", 45382, 56712, 2300.960564},
                                         Part{"rockerarm.mesh", 10600, 12751, 20505.94389}),
                         [](const auto& parameter) {
                           const std::string name = parameter.param.file;
                           return name.substr(0, name.find('.'));
                         });

TEST(SharedMeshes, TheMugHasTwoBlocksAndSideSetsByName) {
  const std::filesystem::path path = shared_meshes() / "mug.e";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there; set STRATA_SHARED_MESHES";

  const fem::HostMesh mesh = fem::read_mesh(path.string());

  ASSERT_EQ(mesh.blocks.size(), 2u);
  EXPECT_EQ(std::count(mesh.element_blocks.begin(), mesh.element_blocks.end(), 0), 1716);
  ASSERT_NE(side_set(mesh, "top"), nullptr);
  EXPECT_EQ(side_set(mesh, "top")->elements.size(), 76u);
  ASSERT_NE(side_set(mesh, "bottom"), nullptr);
  EXPECT_EQ(side_set(mesh, "bottom")->elements.size(), 478u);
  EXPECT_EQ(mesh.node_sets.size(), 2u);
}

}  // namespace
