// The gathering of stored contributions by itself, of numbers whose sums are exact, on meshes with rows of
// any length.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/node_graph.hpp>
#include <strata/miniapps/fem/upload.hpp>
#include <strata/miniapps/thermal/assembly_kernels.hpp>
#include <strata/views/mirror.hpp>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata::fem;
using namespace strata_tests;

template <class D>
class ThermalGatherRows : public ::testing::Test {};
TYPED_TEST_SUITE(ThermalGatherRows, TestDevices, DeviceName);

// Elements that all share node 0, and nothing else: it has 1 + 7 * elements neighbours.
HostMesh star(std::int32_t elements) {
  HostMesh mesh;
  mesh.source = "a star";
  mesh.coordinates.resize(static_cast<std::size_t>(1 + 7 * elements));
  mesh.blocks = {{1, ""}};
  for (std::int32_t e = 0; e < elements; ++e) {
    mesh.elements.push_back({0});
    for (std::int32_t c = 1; c < 8; ++c) mesh.elements.back()[static_cast<std::size_t>(c)] = 7 * e + c;
    mesh.element_blocks.push_back(0);
  }
  return mesh;
}

// Elements side by side that share faces, then nodes that belong to none.
HostMesh bar(std::int32_t elements, std::int32_t unused) {
  HostMesh mesh;
  mesh.source = "a bar";
  mesh.coordinates.resize(static_cast<std::size_t>(4 * (elements + 1) + unused));
  mesh.blocks = {{1, ""}};
  for (std::int32_t e = 0; e < elements; ++e) {
    mesh.elements.push_back({});
    for (std::int32_t c = 0; c < 8; ++c) mesh.elements.back()[static_cast<std::size_t>(c)] = 4 * e + c;
    mesh.element_blocks.push_back(0);
  }
  return mesh;
}

int coefficient(index_t e, int i, int j) { return static_cast<int>(1 + (e * 64 + i * 8 + j) % 97); }

template <class Arrays>
void expect_sums(const HostMesh& host) {
  using D = typename Arrays::device_type;
  const auto mesh = upload<Arrays>(host);
  const auto graph = node_graph(mesh);
  const auto matrix =
      create<typename Arrays::template element_array<double, 8, 8>>("matrix", mesh.element_count());
  const auto vector =
      create<typename Arrays::template element_array<double, 8>>("vector", mesh.element_count());
  const auto host_matrix = create_mirror(matrix);
  const auto host_vector = create_mirror(vector);
  std::map<std::pair<std::int32_t, std::int32_t>, double> expected;
  std::vector<double> expected_b(host.coordinates.size());
  for (index_t e = 0; e < mesh.element_count(); ++e)
    for (int i = 0; i < 8; ++i) {
      const auto& nodes = host.elements[static_cast<std::size_t>(e)];
      const std::int32_t row = nodes[static_cast<std::size_t>(i)];
      host_vector(e, i) = coefficient(e, i, i);
      expected_b[static_cast<std::size_t>(row)] += coefficient(e, i, i);
      for (int j = 0; j < 8; ++j) {
        host_matrix(e, i, j) = coefficient(e, i, j);
        expected[{row, nodes[static_cast<std::size_t>(j)]}] += coefficient(e, i, j);
      }
    }
  deep_copy(matrix, host_matrix);
  deep_copy(vector, host_vector);
  const auto values = create<MDArray<double, D, rank<1>>>("values", graph.entry_count());
  const auto b = create<typename Arrays::template node_array<double, rank<1>>>("b", mesh.node_count());
  deep_copy(values, -1.0);
  deep_copy(b, -1.0);

  const thermal::GatherRows gather{
      mesh.node_offsets,
      mesh.node_corners,
      thermal::MatrixPlaces{mesh.element_nodes, element_slots(mesh, graph), graph.row_map(), graph.entries()},
      matrix,
      vector,
      values,
      b};
  parallel_for("gather rows", on(mesh.device), gather.work(mesh.node_count()), gather);
  wait(mesh.device);

  const auto found = create_mirror_and_copy(values);
  const auto found_b = create_mirror_and_copy(b);
  ASSERT_EQ(static_cast<std::size_t>(graph.entry_count()), expected.size());
  index_t k = 0;  // the entries of the graph are in the order of the map
  for (const auto& [place, sum] : expected) {
    ASSERT_EQ(found(k), sum) << "row " << place.first << ", column " << place.second;
    ++k;
  }
  for (index_t n = 0; n < mesh.node_count(); ++n)
    ASSERT_EQ(found_b(n), expected_b[static_cast<std::size_t>(n)]) << "node " << n;
}

TYPED_TEST(ThermalGatherRows, SumUpWhatElementsStored) {
  expect_sums<PlainArrays<TypeParam>>(bar(500, 300));
  expect_sums<TiledArrays<TypeParam>>(bar(500, 300));
}

TYPED_TEST(ThermalGatherRows, OfMoreEntriesThanASlotNumbersAreRight) {
  expect_sums<PlainArrays<TypeParam>>(star(60));
}

TYPED_TEST(ThermalGatherRows, OfMoreEntriesThanTheScratchMemoryHoldsAreRight) {
  expect_sums<PlainArrays<TypeParam>>(star(700));
}

}  // namespace
