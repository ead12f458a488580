// The graph of the nodes of a mesh, and the places of element matrices in it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include <strata/algorithms/linear/crs_create.hpp>
#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/node_graph.hpp>
#include <strata/miniapps/fem/upload.hpp>

#include "meshes.hpp"

namespace {

using namespace strata;
using namespace strata::fem;
using namespace strata_tests;

template <class D>
class NodeGraph : public ::testing::Test {};
TYPED_TEST_SUITE(NodeGraph, TestDevices, DeviceName);

template <class T, class D>
std::vector<T> list_of_const(const MDArray<const T, D, rank<1>>& view) {
  return strata::detail::fetch_elements(view, 0, view.extent(0));
}

TYPED_TEST(NodeGraph, JoinsTheNodesThatShareAnElement) {
  const HostMesh host = scattered_brick(4, 3, 5);
  std::vector<std::set<std::int32_t>> expected(host.coordinates.size());
  for (const auto& element : host.elements)
    for (const std::int32_t a : element)
      expected[static_cast<std::size_t>(a)].insert(element.begin(), element.end());

  const auto graph = node_graph(upload<PlainArrays<TypeParam>>(host));

  EXPECT_NO_THROW(linear::check("graph", graph));
  const std::vector<index_t> row_map = list_of_const(graph.row_map());
  const std::vector<std::int32_t> entries = list_of_const(graph.entries());
  ASSERT_EQ(row_map.size(), expected.size() + 1);
  for (std::size_t n = 0; n < expected.size(); ++n)
    ASSERT_EQ(std::vector<std::int32_t>(entries.begin() + row_map[n], entries.begin() + row_map[n + 1]),
              std::vector<std::int32_t>(expected[n].begin(), expected[n].end()))
        << "node " << n;
}

TYPED_TEST(NodeGraph, OfABoxHas27EntriesInARowInside) {
  const auto graph = node_graph(make_box<PlainArrays<TypeParam>>(parse_box("box:4x5x6")));

  EXPECT_EQ(graph.rows(), 5 * 6 * 7);
  EXPECT_EQ(graph.entry_count(), (3 * 5 - 2) * (3 * 6 - 2) * (3 * 7 - 2));
}

template <class Arrays>
void expect_slots(const Mesh<Arrays>& mesh, const HostMesh& host) {
  const auto graph = node_graph(mesh);

  const auto slots = on_host(element_slots(mesh, graph));

  const auto row_map = list_of_const(graph.row_map());
  const auto entries = list_of_const(graph.entries());
  const auto entry = [&](index_t k) { return entries[static_cast<std::size_t>(k)]; };
  for (std::size_t e = 0; e < host.elements.size(); ++e)
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j) {
        const auto row = static_cast<std::size_t>(host.elements[e][i]);
        const index_t begin = row_map[row], end = row_map[row + 1];
        const index_t slot = slot_of(slots(e, i), static_cast<int>(j));
        const index_t k = find_entry(entry, begin, end, host.elements[e][j]);
        ASSERT_EQ(entry(k), host.elements[e][j]);
        ASSERT_EQ(slot, std::min(k - begin, far_slot));
      }
}

TYPED_TEST(NodeGraph, HasAPlaceForEachCoefficientOfAnElement) {
  const HostMesh host = scattered_brick(4, 3, 5);

  expect_slots(upload<PlainArrays<TypeParam>>(host), host);
  expect_slots(upload<TiledArrays<TypeParam>>(host), host);
}

TYPED_TEST(NodeGraph, FindsPlacesInRowsTooLongForASlot) {
  HostMesh host;  // 60 elements that share one node: a row of 1 + 60 * 7 entries
  host.source = "a star";
  host.coordinates.resize(421);
  host.blocks = {{1, ""}};
  for (std::int32_t e = 0; e < 60; ++e) {
    host.elements.push_back({0});
    for (std::int32_t c = 1; c < 8; ++c) host.elements.back()[static_cast<std::size_t>(c)] = 7 * e + c;
    host.element_blocks.push_back(0);
  }

  expect_slots(upload<PlainArrays<TypeParam>>(host), host);
}

}  // namespace
