// The parts that come with the mini-apps can be computed with: hexahedra of good shape, and the sets that the
// examples name.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/hex_quality.hpp>
#include <strata/miniapps/fem/mesh_check.hpp>

#include "miniapps/fem/files/mesh_fixtures.hpp"

namespace {

using namespace fem_files_testing;

struct Part {
  const char* file;
  double volume;   // of the shape as drawn, cubic millimetres
  double circles;  // how much of the volume straight edges may miss
  std::vector<const char*> blocks, side_sets;
};
void PrintTo(const Part& part, std::ostream* out) { *out << part.file; }

class OwnPart : public testing::TestWithParam<Part> {
 protected:
  std::string path() const { return part_path(GetParam().file); }
};

TEST_P(OwnPart, PassesTheChecksWithAScaledJacobianOfThreeTenthsOrMore) {
  const fem::HostMesh mesh = fem::read_mesh(path());
  EXPECT_NO_THROW(fem::check(mesh));
  EXPECT_TRUE(mesh.remarks.empty());

  double volume = 0;
  for (std::size_t e = 0; e < mesh.elements.size(); ++e) {
    double corners[8][3];
    for (std::size_t c = 0; c < 8; ++c) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        corners[c][axis] = mesh.coordinates[static_cast<std::size_t>(mesh.elements[e][c])][axis];
      }
    }
    ASSERT_GE(fem::scaled_jacobian(corners), 0.3)
        << "element " << mesh.element_id(static_cast<std::int32_t>(e));
    volume += fem::volume(corners);
  }
  EXPECT_NEAR(volume, GetParam().volume, GetParam().circles);
}

TEST_P(OwnPart, HasTheBlocksAndSideSetsOfItsScript) {
  const fem::HostMesh mesh = fem::read_mesh(path());

  std::vector<std::string> blocks, side_sets;
  for (const auto& block : mesh.blocks) blocks.push_back(block.name);
  for (const auto& set : mesh.side_sets) side_sets.push_back(set.name);
  EXPECT_EQ(blocks, std::vector<std::string>(GetParam().blocks.begin(), GetParam().blocks.end()));
  EXPECT_EQ(side_sets, std::vector<std::string>(GetParam().side_sets.begin(), GetParam().side_sets.end()));
}

TEST_P(OwnPart, IsSmall) { EXPECT_LT(std::filesystem::file_size(path()), 2000000u); }

// Sides of a side set lie on the surface: no other element has the same face.
TEST_P(OwnPart, HasItsSideSetsOnItsSurface) {
  const fem::HostMesh mesh = fem::read_mesh(path());
  std::map<std::vector<std::int32_t>, int> faces;
  const auto key = [&](std::size_t element, std::size_t face) {
    std::vector<std::int32_t> nodes;
    for (const int corner : fem::face_corners[face])
      nodes.push_back(mesh.elements[element][static_cast<std::size_t>(corner)]);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  };
  for (std::size_t e = 0; e < mesh.elements.size(); ++e) {
    for (std::size_t face = 0; face < 6; ++face) ++faces[key(e, face)];
  }

  for (const auto& set : mesh.side_sets) {
    for (std::size_t k = 0; k < set.elements.size(); ++k) {
      ASSERT_EQ(faces[key(static_cast<std::size_t>(set.elements[k]), static_cast<std::size_t>(set.faces[k]))],
                1)
          << set.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, OwnPart,
                         testing::Values(Part{"connecting_rod.msh",
                                              60124,
                                              150,
                                              {"rod"},
                                              {"big_bore", "small_bore", "big_end", "small_end", "front",
                                               "back"}},
                                         Part{"flanged_bracket.e",
                                              110223,
                                              80,
                                              {"flange", "hub"},
                                              {"bolt_holes", "bore", "foot", "rim", "seats"}},
                                         Part{"heat_sink.vtk",
                                              60 * 60 * 6 + 9 * 2.4 * 24 * 60,
                                              1e-7,
                                              {"plate", "fins"},
                                              {"base", "cooled", "ends"}}),
                         [](const auto& parameter) {
                           const std::string name = parameter.param.file;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
