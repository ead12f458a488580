// expect: create: the label is missing: you wrote create<V>\(n\); write create<V>\("x", n\)
// expect: create: the label is missing: you wrote create<V>\(\); write create<V>\("x", n\)
// errors: 3
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Threads, strata::rank<1>>;

void make() {
  static_cast<void>(strata::create<Vector>(100));
  static_cast<void>(strata::create<Vector>(0));
  static_cast<void>(strata::create<Vector>());
}
