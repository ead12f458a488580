// expect: wrong device: a view of one device is given to a launch on another
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Clear {
  template <class I, class Y>
  void operator()(I i, Y y) const {
    y(i) = 0;
  }
};

void clear(const strata::MDArray<double, strata::Serial>& y) {
  strata::launch(strata::on(strata::Emulated{}), 10, Clear{}, strata::out(y));
}
