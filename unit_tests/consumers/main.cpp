// What the consumers build: the sum of the squares below n, on every device of the package.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <strata/strata.hpp>
#include <strata/version.hpp>

struct Square {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = static_cast<double>(i * i); }
};

template <class Device>
bool sums_squares() {
  const strata::index_t n = 1000;
  const auto x = strata::create<strata::MDArray<double, Device, strata::rank<1>>>("x", n);

  strata::parallel_for(n, strata::with(Square{}, x));

  const auto host = strata::create_mirror_and_copy(x);
  double sum = 0;
  for (strata::index_t i = 0; i < n; ++i) sum += host(i);
  return sum == 332833500.0;
}

int main() {
  int failures = 0;
  strata::AllDevices::for_each([&](auto device) {
    if (!sums_squares<decltype(device)>()) ++failures;
  });
  std::printf("strata %s: %d devices failed\n", STRATA_VERSION_STRING, failures);
  return failures;
}
