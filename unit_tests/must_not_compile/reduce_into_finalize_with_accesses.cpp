// expect: a finalize functor is given alone
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Count {
  using device_type = strata::Serial;
  using value_type = int;
  void operator()(int, int& count) const { ++count; }
  static void init(int& count) { count = 0; }
  static void join(int& count, const int& other) { count += other; }
};
struct Store {
  void operator()(const int& count) const { static_cast<void>(count); }
};
void count(const Vector& x) {
  strata::parallel_reduce(10, Count{}, strata::finalize(Store{}, strata::out(x)));
}
