// expect: find: the elements cannot be compared by ==
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/find.hpp>
#include <strata/strata.hpp>

struct Node {
  double x, y, z;
};
auto first(const strata::MDArray<Node, strata::Serial, strata::rank<1>>& x) {
  return strata::find(x, Node{1, 2, 3});
}
