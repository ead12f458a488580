// What the tests of several steps in one launch share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <vector>

#include <strata/algorithms/streaming/fused_steps.hpp>

#include "core/random.hpp"
#include "stream_kernels.hpp"

namespace stream_test {

// nvcc contracts multiply-adds of one expression in two kernels in two ways: equality is by tolerance there.
template <class Device>
inline constexpr double contraction = std::string_view(Device::name) == "Cuda" ? 1e-13 : 0;

// `at_once` steps a launch, by schedulers, against one by one in core. Under sanitizers, where each takes
// seconds, every other scheduler, with one number of steps; the next call takes the others.
template <class Device, int Rank, class R, class K, class H, class... N>
void expect_bits_of_core(const R& work, int steps, std::vector<int> at_once, index_t chunk, const K& kernel,
                         const H& region, N... extents) {
  using Array = CoherentArray<double, rank<Rank>, LayoutRight>;
  Array a("a", extents...), b("b", extents...);
  fill(a);
  fill(b);
  in_core(Device{}, work, steps, kernel, a, b, region);
  const auto expected = values(a);
  static std::size_t calls = 0;
  const std::size_t call = calls++;
  for (std::size_t number = 0; number < at_once.size(); ++number)
    for (std::size_t k = 0; k < std::size(all_schedulers); ++k) {
      if (strata_tests::is_sanitized && ((k + call) % 2 != 0 || k % at_once.size() != number)) continue;
      const int s = at_once[number];
      const StreamScheduler scheduler = all_schedulers[k];
      const Array u("u", extents...);
      fill(u);
      auto where = streamed(Device{}, 1 << 24).steps_per_launch(s);
      if (scheduler != StreamScheduler::Automatic)
        where = where.scheduler(scheduler).chunk(chunk).steps_per_pass(2 * s);
      streamed_iterate(where, work, steps, kernel, state(u, region));
      const auto got = values(u);
      for (std::size_t n = 0; n < got.size(); ++n)
        ASSERT_LE(std::abs(got[n] - expected[n]), contraction<Device> * std::abs(expected[n]))
            << name_of(scheduler) << ", " << steps << " steps, " << s << " a launch, element " << n;
    }
}

}  // namespace stream_test
