// expect: out: the view has const elements; use in
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Clear {
  template <class I, class Y>
  void operator()(I, Y) const {}
};

void clear(const strata::MDArray<const double, strata::Serial>& y) {
  strata::launch(strata::on(strata::Serial{}), 10, Clear{}, strata::out(y));
}
