// expect: deep_copy: the element types differ, and are not both numbers or both complex numbers
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Node {
  double x, y;
};

void copy(const strata::MDArray<double, strata::Serial>& y, const strata::MDArray<Node, strata::Serial>& x) {
  strata::deep_copy(y, x);
}
