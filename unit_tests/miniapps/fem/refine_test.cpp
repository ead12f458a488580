// Refinement: elements, coordinates, numbers and sets.
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/mesh_check.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>
#include <strata/miniapps/fem/quality.hpp>
#include <strata/miniapps/fem/refine.hpp>
#include <strata/miniapps/fem/upload.hpp>

#include "meshes.hpp"

namespace {

using namespace strata;
using namespace strata::fem;
using namespace strata_tests;

template <class D>
class Refinement : public ::testing::Test {};
TYPED_TEST_SUITE(Refinement, TestDevices, DeviceName);

using Point = std::array<double, 3>;

TYPED_TEST(Refinement, OfABoxHasTheNodesOfTheFinerBox) {
  using Arrays = PlainArrays<TypeParam>;
  const HostMesh fine = download(make_box<Arrays>(parse_box("box:6x4x2:6,4,2")));

  const HostMesh refined = download(refine(make_box<Arrays>(parse_box("box:3x2x1:6,4,2"))));

  EXPECT_NO_THROW(check(refined));
  EXPECT_EQ(refined.elements.size(), fine.elements.size());
  EXPECT_EQ(refined.coordinates.size(), fine.coordinates.size());
  EXPECT_EQ(std::set<Point>(refined.coordinates.begin(), refined.coordinates.end()),
            std::set<Point>(fine.coordinates.begin(), fine.coordinates.end()));
  ASSERT_EQ(refined.side_sets.size(), 6u);
  for (std::size_t s = 0; s < 6; ++s) {
    EXPECT_EQ(refined.side_sets[s].name, fine.side_sets[s].name);
    EXPECT_EQ(refined.side_sets[s].faces, fine.side_sets[s].faces);
    std::set<Point> nodes, expected;
    for (const std::int32_t n : refined.node_sets[s].nodes)
      nodes.insert(refined.coordinates[static_cast<std::size_t>(n)]);
    for (const std::int32_t n : fine.node_sets[s].nodes)
      expected.insert(fine.coordinates[static_cast<std::size_t>(n)]);
    EXPECT_EQ(nodes, expected) << refined.node_sets[s].name;
  }
}

// Numbers of edges, faces and elements follow each other in the order of the elements they belong to: what
// the plainest loops over the elements find.
TYPED_TEST(Refinement, NumbersNewNodesInTheOrderOfTheElements) {
  const HostMesh host = scattered_brick(3, 4, 2);
  std::vector<Point> edges, faces, centres;
  std::set<std::set<std::int32_t>> known;
  const auto add = [&](const std::array<std::int32_t, 8>& element, const std::vector<int>& corners,
                       std::vector<Point>& to) {
    std::set<std::int32_t> nodes;
    Point middle{};
    for (const int c : corners) {
      const std::int32_t node = element[static_cast<std::size_t>(c)];
      nodes.insert(node);
      for (std::size_t d = 0; d < 3; ++d)
        middle[d] +=
            host.coordinates[static_cast<std::size_t>(node)][d] / static_cast<double>(corners.size());
    }
    if (known.insert(nodes).second) to.push_back(middle);
  };
  for (const auto& element : host.elements) {
    for (int k = 0; k < 12; ++k) add(element, {edge_corner(k, 0), edge_corner(k, 1)}, edges);
    for (const auto& corners : face_corners) add(element, {corners.begin(), corners.end()}, faces);
    add(element, {0, 1, 2, 3, 4, 5, 6, 7}, centres);
  }
  std::vector<Point> expected = host.coordinates;
  for (const auto* more : {&edges, &faces, &centres})
    expected.insert(expected.end(), more->begin(), more->end());

  const HostMesh refined = download(refine(upload<PlainArrays<TypeParam>>(host)));

  ASSERT_EQ(refined.coordinates.size(), expected.size());
  for (std::size_t n = 0; n < expected.size(); ++n)
    for (std::size_t d = 0; d < 3; ++d)
      ASSERT_NEAR(refined.coordinates[n][d], expected[n][d], 1e-14) << "node " << n;
}

TYPED_TEST(Refinement, KeepsElementsWhereTheyWereAndTheirBlocks) {
  const HostMesh host = scattered_brick(3, 2, 2);

  const auto mesh = refine(upload<PlainArrays<TypeParam>>(host));
  const HostMesh refined = download(mesh);

  EXPECT_NO_THROW(check(refined));
  ASSERT_EQ(refined.elements.size(), 8 * host.elements.size());
  for (std::size_t e = 0; e < refined.elements.size(); ++e) {
    EXPECT_EQ(refined.elements[e][e % 8], host.elements[e / 8][e % 8]);
    EXPECT_EQ(refined.element_blocks[e], host.element_blocks[e / 8]);
  }
  EXPECT_EQ(refined.blocks[1].id, 20);
  EXPECT_NEAR(measure(mesh).volume, measure(upload<PlainArrays<TypeParam>>(host)).volume, 1e-12);
}

TYPED_TEST(Refinement, CutsTheFacesOfSideSetsInFour) {
  const HostMesh host = scattered_brick(3, 2, 2);

  const HostMesh refined = download(refine(upload<PlainArrays<TypeParam>>(host), 2));

  const SideSet& bottom = refined.side_sets[0];
  EXPECT_EQ(bottom.name, "bottom");
  EXPECT_EQ(bottom.id, 7);
  ASSERT_EQ(bottom.elements.size(), 3u * 2 * 16);
  std::set<std::int32_t> elements;
  for (std::size_t q = 0; q < bottom.elements.size(); ++q) {
    elements.insert(bottom.elements[q]);
    for (const int corner : face_corners[static_cast<std::size_t>(bottom.faces[q])])
      EXPECT_EQ(refined.coordinates[static_cast<std::size_t>(refined.elements[static_cast<std::size_t>(
                    bottom.elements[q])][static_cast<std::size_t>(corner)])][2],
                0);
  }
  EXPECT_EQ(elements.size(), bottom.elements.size());
  EXPECT_EQ(refined.node_sets[0].nodes, host.node_sets[0].nodes);  // one node, on its own
}

TYPED_TEST(Refinement, KeepsTheFilesNumbersOfNodesAndGivesNewOnesTheNext) {
  HostMesh host = scattered_brick(1, 1, 1);
  host.node_ids = {11, 12, 13, 14, 15, 16, 90, 18};
  host.element_ids = {5};

  const HostMesh refined = download(refine(upload<PlainArrays<TypeParam>>(host)));

  ASSERT_EQ(refined.node_ids.size(), 27u);
  EXPECT_EQ(refined.node_id(6), 90);
  EXPECT_EQ(refined.node_id(8), 91);
  EXPECT_EQ(refined.node_id(26), 109);
  EXPECT_EQ(refined.element_id(7), 8);
}

TYPED_TEST(Refinement, OfADistortedMeshKeepsItConforming) {
  const auto coarse = make_box<PlainArrays<TypeParam>>(parse_box("box:3x4x5:random=0.15"));

  const auto fine = refine(coarse, 2);

  EXPECT_NO_THROW(check(download(fine)));
  EXPECT_EQ(fine.element_count(), 64 * coarse.element_count());
  EXPECT_EQ(fine.node_count(), 13 * 17 * 21);
  EXPECT_NEAR(measure(fine).volume, 60, 1e-11);
}

TYPED_TEST(Refinement, ZeroTimesIsTheMeshItself) {
  const auto mesh = make_box<PlainArrays<TypeParam>>(parse_box("box:2x2x2"));

  EXPECT_TRUE(refine(mesh, 0).element_nodes == mesh.element_nodes);
}

TYPED_TEST(Refinement, OfTooManyElementsIsAnErrorThatSaysHowMany) {
  const auto mesh = make_box<PlainArrays<TypeParam>>(parse_box("box:2x2x2"));

  EXPECT_THROW(refine(mesh, -1), MeshError);
  EXPECT_THROW(refine(mesh, 100), MeshError);
  try {
    refine(mesh, 9);
    ADD_FAILURE() << "no error";
  } catch (const MeshError& error) {
    EXPECT_NE(std::string(error.what()).find("8 elements cannot be refined 9 times"), std::string::npos)
        << error.what();
  }
}

}  // namespace
