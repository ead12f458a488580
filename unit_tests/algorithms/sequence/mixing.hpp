// What random programs of sequences share: kernels whose values say all that was done and in which order, the
// same on plain vectors, and places.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <strata/algorithms/sequence/sequence.hpp>

#include "core/random.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace sequence_testing {

using namespace coherent_testing;
using Number = std::uint64_t;
using Numbers = CoherentArray<Number, rank<1>>;
using Values = std::vector<Number>;

/// y(i) from x(i - left) to x(i + right), as far as x goes, and from y(i) where it is read.
struct Mix {
  Number salt;
  index_t left, right, n;
  bool reads_y;
  STRATA_FUNCTION void operator()(auto i, const auto& x, const auto& y) const {
    const index_t here = static_cast<index_t>(i);
    Number sum = salt;
    if (reads_y) sum += 3 * y(here);
    for (index_t k = here < left ? 0 : here - left; k <= here + right && k < n; ++k)
      sum = sum * 0x9e3779b97f4a7c15u + x(k);
    y(here) = sum;
  }
};
/// The sum of x.
struct Add {
  STRATA_FUNCTION void operator()(auto i, const auto& x, Number& sum) const { sum += x(i); }
};

/// A plain vector, as such kernels see arrays.
struct Plain {
  Number* values;
  STRATA_FUNCTION Number& operator()(index_t i) const { return values[i]; }
};

/// Some of the first emulated devices, in any order and in parts of any size, at times with a host.
using AnyDevices = Across<Emulated, Threads>;
inline AnyDevices any_devices(strata_tests::Random& random, int count) {
  AnyDevices where;
  std::vector<int> devices;
  for (int d = 0; d < count; ++d) devices.push_back(d);
  const index_t wanted = random(1, count);
  for (index_t k = 0; k < wanted; ++k) {
    const auto chosen = devices.begin() + random(0, std::ssize(devices) - 1);
    where.places.push_back(on(Emulated{*chosen}));
    devices.erase(chosen);
  }
  if (random(0, 4) == 0) where.places.insert(where.places.begin() + random(0, wanted), on(Threads{}));
  if (random(0, 1) == 0) return where;
  std::vector<double> weights;
  for (std::size_t k = 0; k < where.places.size(); ++k) weights.push_back(static_cast<double>(random(0, 4)));
  weights[static_cast<std::size_t>(random(0, std::ssize(weights) - 1))] = 3;
  return where.weighted(weights);
}

}  // namespace sequence_testing
