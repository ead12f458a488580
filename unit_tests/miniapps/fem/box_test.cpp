// Boxes: their descriptions, and the meshes made of them on devices.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/mesh_check.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>
#include <strata/miniapps/fem/upload.hpp>

#include "meshes.hpp"

namespace {

using namespace strata;
using namespace strata::fem;
using namespace strata_tests;

TEST(BoxDescription, GivesElementsAndEdges) {
  const BoxSpec box = parse_box("box:10x11x22:0.5,1,2e-3:wave=0.1:random=0.05");

  EXPECT_EQ(box.element_count(), 10 * 11 * 22);
  EXPECT_EQ(box.node_count(), 11 * 12 * 23);
  EXPECT_EQ(box.lengths[0], 0.5);
  EXPECT_EQ(box.lengths[2], 2e-3);
  EXPECT_EQ(box.wave, 0.1);
  EXPECT_EQ(box.random, 0.05);
}

TEST(BoxDescription, HasUnitCubesUnlessItSaysOtherwise) {
  const BoxSpec box = parse_box("box:3x4x5:random=0.1");

  EXPECT_EQ(box.lengths[0], 3);
  EXPECT_EQ(box.lengths[1], 4);
  EXPECT_EQ(box.lengths[2], 5);
  EXPECT_EQ(to_string(box), "box:3x4x5:3,4,5:random=0.1");
}

TEST(BoxDescription, IsToldFromAFile) {
  EXPECT_TRUE(is_box("box:1x1x1"));
  EXPECT_FALSE(is_box("box.msh"));
}

TEST(BoxDescription, ThatIsWrongIsAnErrorThatSaysWhatAndHowToWriteOne) {
  for (const char* text : {"box:",
                           "box:3x4",
                           "box:3x4x5x6",
                           "box:3x4x5x",
                           "box:0x1x1",
                           "box:-1x1x1",
                           "box:axbxc",
                           "box:1x1x1.5",
                           "box:1x1x1:",
                           "box:1x1x1:1,2",
                           "box:1x1x1:1,2,3,4",
                           "box:1x1x1:1,2,-3",
                           "box:1x1x1:1,2,0",
                           "box:1x1x1:1,2,inf",
                           "box:1x1x1:1,2,3:4,5,6",
                           "box:1x1x1:wave",
                           "box:1x1x1:wave=",
                           "box:1x1x1:random=-1",
                           "box:1x1x1:random=nan",
                           "box:1000x1000x1000",
                           "box:99999999999999999999x1x1",
                           "box:4294967296x4294967296x4294967296",
                           "bax:1x1x1",
                           ""}) {
    try {
      parse_box(text);
      ADD_FAILURE() << text;
    } catch (const MeshError& error) {
      EXPECT_NE(std::string(error.what()).find("write box:NXxNYxNZ"), std::string::npos) << error.what();
    }
  }
}

template <class D>
class Box : public ::testing::Test {};
TYPED_TEST_SUITE(Box, TestDevices, DeviceName);

TYPED_TEST(Box, HasNodesAndElementsWhereTheyBelong) {
  const HostMesh mesh = download(make_box<PlainArrays<TypeParam>>(parse_box("box:3x4x5:6,2,10")));

  ASSERT_EQ(mesh.coordinates.size(), 4u * 5 * 6);
  ASSERT_EQ(mesh.elements.size(), 3u * 4 * 5);
  EXPECT_EQ(mesh.coordinates.front(), (std::array<double, 3>{0, 0, 0}));
  EXPECT_EQ(mesh.coordinates.back(), (std::array<double, 3>{6, 2, 10}));
  EXPECT_EQ(mesh.coordinates[1 + 4 * (2 + 5 * 3)], (std::array<double, 3>{2, 1, 6}));
  EXPECT_EQ(mesh.elements[0], (std::array<std::int32_t, 8>{0, 1, 5, 4, 20, 21, 25, 24}));
  EXPECT_EQ(mesh.elements[1][0], 1);
  EXPECT_EQ(mesh.elements[3][0], 4);
  EXPECT_EQ(mesh.elements[12][0], 20);
  EXPECT_NO_THROW(check(mesh));
}

TYPED_TEST(Box, HasTheCornersOfEachNode) {
  const auto box = make_box<PlainArrays<TypeParam>>(parse_box("box:5x2x3"));

  const auto again = upload<PlainArrays<TypeParam>>(download(box));

  EXPECT_EQ(list_of(box.node_offsets), list_of(again.node_offsets));
  EXPECT_EQ(list_of(box.node_corners), list_of(again.node_corners));
}

TYPED_TEST(Box, HasSetsOfItsSixSides) {
  const HostMesh mesh = download(make_box<PlainArrays<TypeParam>>(parse_box("box:3x4x5")));
  const char* names[] = {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"};
  const double count[] = {3, 4, 5};
  const std::size_t faces[] = {20, 15, 12}, nodes[] = {30, 24, 20};

  ASSERT_EQ(mesh.side_sets.size(), 6u);
  ASSERT_EQ(mesh.node_sets.size(), 6u);
  for (std::size_t s = 0; s < 6; ++s) {
    const std::size_t d = s / 2;
    const double place = s % 2 == 0 ? 0 : count[d];
    const SideSet& sides = mesh.side_sets[s];
    EXPECT_EQ(sides.name, names[s]);
    EXPECT_EQ(sides.elements.size(), faces[d]);
    EXPECT_TRUE(std::is_sorted(sides.elements.begin(), sides.elements.end()));
    for (std::size_t q = 0; q < sides.elements.size(); ++q)
      for (const int corner : face_corners[static_cast<std::size_t>(sides.faces[q])]) {
        const auto node = static_cast<std::size_t>(
            mesh.elements[static_cast<std::size_t>(sides.elements[q])][static_cast<std::size_t>(corner)]);
        EXPECT_EQ(mesh.coordinates[node][d], place);
      }
    EXPECT_EQ(mesh.node_sets[s].name, names[s]);
    EXPECT_EQ(mesh.node_sets[s].nodes.size(), nodes[d]);
    EXPECT_TRUE(std::is_sorted(mesh.node_sets[s].nodes.begin(), mesh.node_sets[s].nodes.end()));
    for (const std::int32_t node : mesh.node_sets[s].nodes)
      EXPECT_EQ(mesh.coordinates[static_cast<std::size_t>(node)][d], place);
  }
}

TYPED_TEST(Box, IsDistortedByAWaveThatVanishesOnItsSides) {
  const HostMesh mesh = download(make_box<PlainArrays<TypeParam>>(parse_box("box:8x8x8:1,1,2:wave=0.1")));

  const double pi = std::acos(-1.0);
  for (std::size_t n = 0; n < mesh.coordinates.size(); ++n) {
    const double at[] = {static_cast<double>(n % 9) / 8, static_cast<double>(n / 9 % 9) / 8,
                         static_cast<double>(n / 81) / 8};
    double wave = 0.1;
    for (const double x : at) wave *= std::sin(2 * pi * x);
    EXPECT_NEAR(mesh.coordinates[n][0], at[0] + wave, 1e-14);
    EXPECT_NEAR(mesh.coordinates[n][2], 2 * (at[2] + wave), 1e-14);
    for (std::size_t d = 0; d < 3; ++d)
      if (at[d] == 0 || at[d] == 1) {
        EXPECT_EQ(mesh.coordinates[n][d], at[d] * (d == 2 ? 2 : 1));
      }
  }
}

TYPED_TEST(Box, HasInnerNodesMovedAtRandomAndOthersNot) {
  const HostMesh mesh = download(make_box<PlainArrays<TypeParam>>(parse_box("box:4x5x6:1,5,6:random=0.15")));

  int moved = 0;
  double largest = 0;
  for (std::size_t n = 0; n < mesh.coordinates.size(); ++n) {
    const std::size_t at[] = {n % 5, n / 5 % 6, n / 30}, last[] = {4, 5, 6};
    bool inside = true;
    for (std::size_t d = 0; d < 3; ++d) inside = inside && at[d] > 0 && at[d] < last[d];
    for (std::size_t d = 0; d < 3; ++d) {
      const double edge = d == 0 ? 0.25 : 1;
      const double moved_by = std::abs(mesh.coordinates[n][d] - edge * static_cast<double>(at[d])) / edge;
      if (inside) moved += moved_by > 1e-6;
      else EXPECT_EQ(moved_by, 0);
      largest = std::max(largest, moved_by);
    }
  }
  EXPECT_EQ(moved, 3 * 3 * 4 * 5);
  EXPECT_LE(largest, 0.15 + 1e-15);
  EXPECT_GT(largest, 0.13);
  EXPECT_NO_THROW(check(mesh));
}

TYPED_TEST(Box, DistortedTooMuchIsAnError) {
  using Arrays = PlainArrays<TypeParam>;
  EXPECT_THROW(make_box<Arrays>(parse_box("box:8x8x8:wave=0.3")), MeshError);
  EXPECT_THROW(make_box<Arrays>(parse_box("box:8x8x8:random=0.9")), MeshError);
}

}  // namespace
