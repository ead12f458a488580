// Areas of faces, shared out among their nodes.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/gather_faces.hpp>
#include <strata/miniapps/fem/mesh_on_host.hpp>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using namespace strata::fem;

TEST(FaceAreas, ARectangleGivesAQuarterOfItselfToEachNode) {
  const NodeAreas areas = node_areas({{{7, 3, 4, 9}}, {{0, 0, 5, 2, 0, 5, 2, 3, 5, 0, 3, 5}}});

  EXPECT_EQ(areas.nodes, (std::vector<std::int32_t>{3, 4, 7, 9}));
  ASSERT_EQ(areas.areas.size(), 4u);
  for (const double area : areas.areas) EXPECT_NEAR(area, 1.5, 1e-15);
  EXPECT_NEAR(areas.total(), 6, 1e-15);
}

// Corners (0, 0), (2, 0), (1, 1), (0, 1): det J = 2 - v, of which N_i integrates to these.
TEST(FaceAreas, ATrapezoidGivesMoreToTheNodesOfItsLongSide) {
  const NodeAreas areas = node_areas({{{0, 1, 2, 3}}, {{0, 0, 0, 2, 0, 0, 1, 1, 0, 0, 1, 0}}});

  EXPECT_NEAR(areas.areas[0], 5.0 / 12, 1e-15);
  EXPECT_NEAR(areas.areas[1], 5.0 / 12, 1e-15);
  EXPECT_NEAR(areas.areas[2], 4.0 / 12, 1e-15);
  EXPECT_NEAR(areas.areas[3], 4.0 / 12, 1e-15);
}

TEST(FaceAreas, NoFacesHaveNoArea) {
  EXPECT_TRUE(node_areas({}).nodes.empty());
  EXPECT_EQ(node_areas({}).total(), 0);
}

template <class D>
class FaceAreasOn : public ::testing::Test {};
TYPED_TEST_SUITE(FaceAreasOn, TestDevices, DeviceName);

TYPED_TEST(FaceAreasOn, FacesOfAMeshHaveTheBitsOfTheHost) {
  const char* const spec = "box:5x4x3:1,2,3:random=0.15";
  const auto mesh = make_box<PlainArrays<TypeParam>>(parse_box(spec));
  const MeshOnHost on_host = load_mesh_on_host(spec, 0);

  for (const auto& [selector, total] :
       {std::pair{"z_max", 2.0}, std::pair{"y<=min", 3.0}, std::pair{"all", 22.0}}) {
    const NodeAreas areas = node_areas(faces_on_host(mesh, select_faces(mesh, selector)));
    const NodeAreas expected = node_areas_on_host(on_host, selector);

    EXPECT_NEAR(areas.total(), total, 1e-13) << selector;
    EXPECT_EQ(areas.nodes, expected.nodes) << selector;
    EXPECT_EQ(areas.areas, expected.areas) << selector;
  }
}

}  // namespace
