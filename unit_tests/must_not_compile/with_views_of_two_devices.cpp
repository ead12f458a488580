// expect: wrong device: a view of one device is given to a launch on another
// errors: 2
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Add {
  template <class I, class X, class Y>
  void operator()(I i, X x, Y y) const {
    y(i) += x(i);
  }
};

void add(const strata::MDArray<double, strata::Serial>& x,
         const strata::MDArray<double, strata::Emulated>& y) {
  strata::parallel_for(10, strata::with(Add{}, x, y));
}
