// expect: parallel_for: a place is made by on\(...\): you wrote .* write parallel_for\(on\(device\)
// expect: parallel_reduce: a place is made by on\(...\): you wrote .* write parallel_reduce\(on\(device\)
// expect: parallel_scan: a place is made by on\(...\): you wrote .* write parallel_scan\(on\(device\)
// errors: 3
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void all(double& sum) {
  using namespace strata;
  parallel_for(Threads{}, 10, [](index_t) {});
  parallel_reduce(
      Threads{}, 10, [](index_t i, double& s) { s += double(i); }, Sum(sum));
  parallel_scan(
      Threads{}, 10, [](index_t i, double& s, bool) { s += double(i); }, Sum(sum));
}
