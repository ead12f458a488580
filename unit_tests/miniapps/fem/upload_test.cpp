// Meshes on devices: upload, download, and the corners that meet at a node.
// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/upload.hpp>

#include "meshes.hpp"

namespace {

using namespace strata;
using namespace strata::fem;
using namespace strata_tests;

template <class D>
class UploadedMesh : public ::testing::Test {};
TYPED_TEST_SUITE(UploadedMesh, TestDevices, DeviceName);

// 8 * element + corner of every node, in ascending order, by the plainest loops.
std::vector<std::vector<std::int32_t>> corners_by_node(const HostMesh& mesh) {
  std::vector<std::vector<std::int32_t>> corners(mesh.coordinates.size());
  for (std::size_t e = 0; e < mesh.elements.size(); ++e)
    for (std::size_t c = 0; c < 8; ++c)
      corners[static_cast<std::size_t>(mesh.elements[e][c])].push_back(static_cast<std::int32_t>(8 * e + c));
  return corners;
}

template <class Arrays>
void expect_corners(const Mesh<Arrays>& mesh, const HostMesh& host) {
  const auto expected = corners_by_node(host);
  const std::vector<std::int32_t> offsets = list_of(mesh.node_offsets), corners = list_of(mesh.node_corners);
  ASSERT_EQ(offsets.size(), expected.size() + 1);
  ASSERT_EQ(offsets.front(), 0);
  ASSERT_EQ(offsets.back(), static_cast<std::int32_t>(8 * host.elements.size()));
  for (std::size_t n = 0; n < expected.size(); ++n)
    ASSERT_EQ(std::vector<std::int32_t>(corners.begin() + offsets[n], corners.begin() + offsets[n + 1]),
              expected[n])
        << "node " << n;
}

TYPED_TEST(UploadedMesh, ComesBackAsItWas) {
  HostMesh host = scattered_brick(5, 3, 4);
  for (std::size_t n = 0; n < host.coordinates.size(); ++n)
    host.node_ids.push_back(static_cast<std::int64_t>(1000 - n));
  host.remarks = {"a remark"};

  const HostMesh back = download(upload<PlainArrays<TypeParam>>(host));

  EXPECT_EQ(back.source, host.source);
  EXPECT_EQ(back.coordinates, host.coordinates);
  EXPECT_EQ(back.elements, host.elements);
  EXPECT_EQ(back.element_blocks, host.element_blocks);
  EXPECT_EQ(back.node_ids, host.node_ids);
  EXPECT_EQ(back.element_ids, host.element_ids);
  EXPECT_EQ(back.remarks, host.remarks);
  ASSERT_EQ(back.blocks.size(), 2u);
  EXPECT_EQ(back.blocks[1].id, 20);
  EXPECT_EQ(back.blocks[1].name, "right");
  ASSERT_EQ(back.side_sets.size(), 1u);
  EXPECT_EQ(back.side_sets[0].id, 7);
  EXPECT_EQ(back.side_sets[0].elements, host.side_sets[0].elements);
  EXPECT_EQ(back.side_sets[0].faces, host.side_sets[0].faces);
  ASSERT_EQ(back.node_sets.size(), 1u);
  EXPECT_EQ(back.node_sets[0].name, "origin");
  EXPECT_EQ(back.node_sets[0].nodes, host.node_sets[0].nodes);
}

TYPED_TEST(UploadedMesh, HasSetsInAscendingOrderWithNothingTwice) {
  HostMesh host = scattered_brick(2, 2, 2);
  host.node_sets[0].nodes = {9, 3, 9, 0, 3};
  host.side_sets[0].elements = {3, 1, 3, 3};
  host.side_sets[0].faces = {4, 2, 1, 4};

  const auto mesh = upload<PlainArrays<TypeParam>>(host);

  EXPECT_EQ(list_of(mesh.node_sets[0].nodes), (std::vector<std::int32_t>{0, 3, 9}));
  EXPECT_EQ(list_of(mesh.side_sets[0].elements), (std::vector<std::int32_t>{1, 3, 3}));
  EXPECT_EQ(list_of(mesh.side_sets[0].faces), (std::vector<std::int8_t>{2, 1, 4}));
}

TYPED_TEST(UploadedMesh, ListsTheCornersOfEachNodeInAscendingOrder) {
  const HostMesh host = scattered_brick(7, 6, 5);

  expect_corners(upload<PlainArrays<TypeParam>>(host), host);
}

TYPED_TEST(UploadedMesh, ListsTheCornersOfManyElementsAroundOneEdge) {
  // A ring of wedges around the z axis, whose inner faces all have the axis: the two nodes of the axis meet
  // every element, as in no real mesh. (Elements are degenerate: nothing here looks at shapes.)
  HostMesh host;
  const std::int32_t wedges = 200;
  host.coordinates.resize(static_cast<std::size_t>(2 + 4 * wedges));
  host.blocks = {{1, ""}};
  for (std::int32_t w = wedges; w-- > 0;) {
    const std::int32_t first = 2 + 4 * w;
    host.elements.push_back({0, first, first + 1, first + 2, 1, first + 3, 2 + 4 * ((w + 1) % wedges), 0});
    host.element_blocks.push_back(0);
  }

  expect_corners(upload<PlainArrays<TypeParam>>(host), host);
}

TYPED_TEST(UploadedMesh, MayHaveTiledElementArrays) {
  const HostMesh host = scattered_brick(3, 3, 3);

  const auto mesh = upload<TiledArrays<TypeParam>>(host);

  EXPECT_EQ(download(mesh).elements, host.elements);
  expect_corners(mesh, host);
}

}  // namespace
