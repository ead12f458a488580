// expect: deep_copy: an argument is neither a view nor a value.* you wrote .* write a view of the memory
// errors: 3
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Threads, strata::rank<1>>;

void copy(const Vector& x, std::vector<double>& v, const strata::CoherentArray<double, strata::rank<1>>& c) {
  using namespace strata;
  deep_copy(x, v);
  deep_copy(v, x);
  deep_copy(x, v.data());
  deep_copy(x, c);
  const Queue<Threads> queue;
  deep_copy(queue, x, v);
  deep_copy(queue, v, x);
  deep_copy(x, MDArray<double, Serial, rank<1>>(v.data(), 10));  // as the message says
  deep_copy(x, c.read().view());
  deep_copy(queue, x, 1.5);
}
