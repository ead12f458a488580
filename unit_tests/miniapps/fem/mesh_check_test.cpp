// check(HostMesh): what it finds, and what it says.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include <strata/miniapps/fem/mesh_check.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#include "meshes.hpp"

namespace {

using namespace strata::fem;
using namespace strata_tests;

// Numbers as in files, so that messages must translate: node n is 500 + n, element e is 40 + e.
HostMesh good_mesh() {
  HostMesh mesh = scattered_brick(3, 2, 2);
  mesh.source = "brick.msh";
  for (std::size_t n = 0; n < mesh.coordinates.size(); ++n)
    mesh.node_ids.push_back(static_cast<std::int64_t>(500 + n));
  for (std::size_t e = 0; e < mesh.elements.size(); ++e)
    mesh.element_ids.push_back(static_cast<std::int64_t>(40 + e));
  return mesh;
}

std::string message_of(const HostMesh& mesh) {
  try {
    check(mesh);
  } catch (const MeshError& error) {
    return error.what();
  }
  return "no error";
}

// The message has all of `parts`.
void expect_message(const HostMesh& mesh, std::initializer_list<const char*> parts) {
  const std::string message = message_of(mesh);
  for (const char* part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(MeshCheck, PassesAGoodMesh) { EXPECT_EQ(message_of(good_mesh()), "no error"); }

TEST(MeshCheck, NamesAnInvertedElement) {
  HostMesh mesh = good_mesh();
  std::swap(mesh.elements[7][0], mesh.elements[7][4]);
  std::swap(mesh.elements[7][1], mesh.elements[7][5]);
  std::swap(mesh.elements[7][2], mesh.elements[7][6]);
  std::swap(mesh.elements[7][3], mesh.elements[7][7]);

  expect_message(mesh, {"brick.msh", "element 47 is inverted", "scaled Jacobian is -1"});
}

TEST(MeshCheck, NamesTheFirstOfSeveralElementsAndSaysHowMany) {
  HostMesh mesh = good_mesh();
  for (auto& element : mesh.elements)
    for (std::size_t c = 0; c < 4; ++c) std::swap(element[c], element[c + 4]);

  expect_message(mesh, {"element 40 is inverted", "the first of 12 such elements"});
}

TEST(MeshCheck, NamesAnElementWithACornerPushedInside) {
  HostMesh mesh = good_mesh();
  auto& corner = mesh.coordinates[static_cast<std::size_t>(mesh.elements[11][6])];
  for (double& x : corner) x -= 1.2;

  expect_message(mesh, {"element 51 is inverted"});
}

TEST(MeshCheck, NamesAFlatElement) {
  HostMesh mesh = good_mesh();
  mesh.coordinates[static_cast<std::size_t>(mesh.elements[0][0])] =
      mesh.coordinates[static_cast<std::size_t>(mesh.elements[0][1])];

  expect_message(mesh, {"element 40 is degenerate", "scaled Jacobian is 0"});
}

TEST(MeshCheck, NamesANodeOfNoElement) {
  HostMesh mesh = good_mesh();
  mesh.coordinates.push_back({0, 0, 0});
  mesh.node_ids.push_back(77);

  expect_message(mesh, {"node 77 belongs to no element"});
}

TEST(MeshCheck, NamesAnElementWithANodeOutOfRange) {
  for (const std::int32_t node : {-1, 36, std::numeric_limits<std::int32_t>::max()}) {
    HostMesh mesh = good_mesh();
    mesh.elements[3][5] = node;

    expect_message(mesh, {"element 43 has node index", "36 nodes", "cut off"});
  }
}

TEST(MeshCheck, NamesAnElementWithANodeTwice) {
  HostMesh mesh = good_mesh();
  mesh.elements[2][6] = mesh.elements[2][7];

  expect_message(mesh, {"element 42 has node index", "at two corners", "wedges"});
}

TEST(MeshCheck, NamesThreeElementsOnAFace) {
  HostMesh mesh = good_mesh();
  // Once more onto the face between elements 0 and 1, over nodes of its own.
  std::array<std::int32_t, 8> element = mesh.elements[0];
  for (const std::size_t c : {0u, 3u, 4u, 7u}) {
    const auto at = mesh.coordinates[static_cast<std::size_t>(element[c])];
    element[c] = static_cast<std::int32_t>(mesh.coordinates.size());
    mesh.coordinates.push_back({at[0] - 0.1, at[1], at[2]});
    mesh.node_ids.push_back(static_cast<std::int64_t>(1000 + c));
  }
  mesh.elements.push_back(element);
  mesh.element_blocks.push_back(0);
  mesh.element_ids.push_back(99);

  expect_message(mesh, {"element 40 shares a face with element 41 and element 99"});
}

TEST(MeshCheck, NamesElementsOnTheSameSideOfAFace) {
  HostMesh mesh = good_mesh();
  // Upon the outer face x = 0 of element 0, from inside.
  std::array<std::int32_t, 8> element = mesh.elements[0];
  for (const std::size_t c : {1u, 2u, 5u, 6u}) {
    const auto at = mesh.coordinates[static_cast<std::size_t>(element[c])];
    element[c] = static_cast<std::int32_t>(mesh.coordinates.size());
    mesh.coordinates.push_back({at[0] + 0.1, at[1], at[2]});
    mesh.node_ids.push_back(static_cast<std::int64_t>(1000 + c));
  }
  mesh.elements.push_back(element);
  mesh.element_blocks.push_back(0);
  mesh.element_ids.push_back(99);

  expect_message(mesh, {"element 40 and element 99 share the nodes of a face", "overlap"});
}

TEST(MeshCheck, NamesNumbersThatAreThereTwice) {
  HostMesh nodes = good_mesh(), elements = good_mesh();
  nodes.node_ids[4] = 511;
  elements.element_ids[4] = 41;

  expect_message(nodes, {"node 511 is there twice"});
  expect_message(elements, {"element 41 is there twice"});
}

TEST(MeshCheck, NamesANodeWithoutAFinitePosition) {
  for (const double x : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    HostMesh mesh = good_mesh();
    mesh.coordinates[13][1] = x;

    expect_message(mesh, {"node 513 has a coordinate that is not a finite number"});
  }
}

TEST(MeshCheck, NamesSetsThatReachOutsideTheMesh) {
  HostMesh node = good_mesh(), element = good_mesh(), side = good_mesh(), lost = good_mesh();
  node.node_sets[0].nodes.push_back(36);
  element.side_sets[0].elements[2] = -5;
  side.side_sets[0].faces[2] = 6;
  lost.side_sets[0].faces.pop_back();

  expect_message(node, {"node set \"origin\" has node index 36"});
  expect_message(element, {"side set \"bottom\" has element index -5"});
  expect_message(side, {"side set \"bottom\" has side 7 of element 42"});
  expect_message(lost, {"side set \"bottom\" has 6 elements and 5 faces"});
}

TEST(MeshCheck, NamesTwoSetsOfOneName) {
  HostMesh mesh = good_mesh();
  mesh.node_sets.push_back({4, "origin", {0}});

  expect_message(mesh, {"two node sets are called \"origin\""});
}

TEST(MeshCheck, TakesSetsOfBothKindsWithOneName) {
  HostMesh mesh = good_mesh();
  mesh.node_sets.push_back({4, "bottom", {0}});

  EXPECT_EQ(message_of(mesh), "no error");
}

TEST(MeshCheck, FindsArraysOfWrongSizes) {
  const std::vector<std::function<void(HostMesh&)>> damages = {
      [](HostMesh& m) { m.element_blocks.pop_back(); },
      [](HostMesh& m) { m.node_ids.pop_back(); },
      [](HostMesh& m) { m.element_ids.push_back(3); },
      [](HostMesh& m) { m.blocks.clear(); },
      [](HostMesh& m) { m.element_blocks[1] = 2; },
      [](HostMesh& m) { m.element_blocks[1] = -1; },
      [](HostMesh& m) { m = HostMesh(); }};
  for (const auto& damage : damages) {
    HostMesh mesh = good_mesh();
    damage(mesh);

    EXPECT_THROW(check(mesh), MeshError);
  }
}

}  // namespace
