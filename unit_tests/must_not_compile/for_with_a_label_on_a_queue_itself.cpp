// expect: parallel_for: a place is made by on\(...\): you wrote .* write parallel_for\(on\(device\)
// expect: parallel_reduce: a place is made by on\(...\): you wrote .* write parallel_reduce\(on\(device\)
// expect: parallel_scan: a place is made by on\(...\): you wrote .* write parallel_scan\(on\(device\)
// errors: 3
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Count {
  using value_type = double;
  static void init(double& sum) { sum = 0; }
  static void join(double& sum, const double& more) { sum += more; }
  void operator()(strata::index_t, double& sum) const { sum += 1; }
};

double all(const strata::Queue<strata::Emulated>& queue, double& sum) {
  using namespace strata;
  parallel_for("nothing", queue, 10, [](index_t) {});
  parallel_scan(
      "sums", queue, 10, [](index_t i, double& s, bool) { s += double(i); }, Sum(sum));
  return parallel_reduce("count", queue, 10, Count{});
}
