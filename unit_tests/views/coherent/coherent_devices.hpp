// What the tests of coherent arrays on every device share: the suite, places of one device and of all that
// there are (at most four), and kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/views/coherent/coherent_array.hpp>

#include "test_devices.hpp"

namespace coherent_devices {

using namespace strata;

struct Axpy {
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};

struct Count {
  double from;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = from + static_cast<double>(index_t(i)); }
};

struct ThreePoints {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i - 1) + 2 * x(i) + 3 * x(i + 1); }
};

template <class D>
std::vector<D> all_of() {
  std::vector<D> devices;
  for (int k = 0; k < D::count() && k < 4; ++k) devices.push_back(D(k));
  return devices;
}

// Calls f(where) with one device, with all of them, and with all and the calling thread.
template <class D, class F>
void everywhere(const F& f) {
  f(on(D{}));
  f(across(all_of<D>()));
  f(across(D{}, AnyHost(Serial{})).weighted({2, 1}));
}

template <class D>
class CoherentDevices : public ::testing::Test {
 protected:
  // Arrays end before the work on them: what is under way then, and its errors, is not the next test's.
  void TearDown() override {
    for (const D& device : all_of<D>()) EXPECT_NO_THROW(wait(device));
  }
};

}  // namespace coherent_devices
