// How much does the time of managed memory vary by itself? The full, partial and multikernel patterns of
// memory_modes over arrays of the same size, several times by hand and several times by Strata in one race,
// each with arrays of its own, which are made anew once. What the same program by hand takes beside
// itself is what a comparison with it can resolve.
//
//   strata_managed_spread --device Cuda [--json FILE] [--reps R]
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "baselines/memory_modes.hpp"
#include "common/contest.hpp"
#include "common/memory_modes.hpp"
#include "common/memory_race.hpp"

namespace {

using namespace perf;
using strata::index_t;

constexpr int by_hand = 3, by_strata = 2;  // competitors
constexpr int times_made = 2;              // arrays of a competitor
constexpr double seconds_a_race = 1;

const char* name_of(Pattern pattern) {
  return pattern == Pattern::Full ? "full" : pattern == Pattern::Partial ? "partial" : "multikernel";
}
std::string size_of(index_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// The medians of each set of arrays, over the median of all that were by hand.
template <class D>
void measure(const Options& options, Report& report, Pattern pattern, index_t bytes, HostSide& host) {
  using T = float;
  const MemoryWork work{pattern, bytes / static_cast<index_t>(sizeof(T))};
  std::vector<double> hand, ours;
  for (int made = 0; made < times_made; ++made) {
    MemoryRace race;
    std::vector<int> ours_in_race, hand_in_race;
    std::vector<std::shared_ptr<ModeArrays<D, T>>> arrays;
    for (int k = 0; k < std::max(by_hand, by_strata); ++k) {
      if (k < by_strata) {
        arrays.push_back(std::make_shared<ModeArrays<D, T>>(strata::MemoryMode::Managed, work, host));
        const auto one = arrays.back();
        ours_in_race.push_back(race.add([one] {
          return MemoryWay{[one] { one->prepare(); }, [one] { return one->run(); }};
        }));
      }
      if (k < by_hand)
        hand_in_race.push_back(race.add([work, &host] {
          return memory_by_hand<T>(separate_cuda_place(), ByHand::Managed, work, host, false);
        }));
    }
    race.run(1, options.reps_or(5), seconds_a_race);
    for (const int k : ours_in_race) ours.push_back(race.time(k, Until::Done).median);
    for (const int k : hand_in_race) hand.push_back(race.time(k, Until::Done).median);
    for (const auto& one : arrays)
      report.check(one->wrong() == 0, std::string(name_of(pattern)) + ", " + size_of(bytes));
  }
  const double middle = statistics(hand).median;
  const auto add = [&](const char* who, std::vector<double> medians) {
    const Statistics time = statistics(medians);
    const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
    const std::string name = std::string(name_of(pattern)) + ", " + who + " of " +
                             std::to_string(medians.size()) + " sets of arrays, " + size_of(bytes);
    report.add({name + ": median", D::name, work.n, "float", time, time.median * 1e3, "ms", none,
                middle / time.median});
    report.add({name + ": fastest", D::name, work.n, "float", {}, *least * 1e3, "ms", none, middle / *least});
    report.add({name + ": slowest", D::name, work.n, "float", {}, *most * 1e3, "ms", none, middle / *most});
  };
  add("by hand", hand);
  add("Strata", ours);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "How much the time of managed memory varies by itself, on a GPU.");
  Report report("managed_spread",
                "the median of all sets of arrays by hand: prefetch and discard in plain CUDA");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    if constexpr (is_gpu<D>) {
      HostSide host(std::min(8, processors()));
      for (const index_t bytes : {index_t{256} << 20, index_t{1} << 30})
        for (const Pattern pattern : {Pattern::Full, Pattern::Partial, Pattern::Multikernel})
          if (options.n == 0 || bytes == index_t{1} << 30)
            measure<D>(options, report, pattern, options.n > 0 ? options.n * 4 : bytes, host);
    } else if (options.device == D::name) {
      std::printf("left out: %s, whose kernels have no memory of their own\n", D::name);
    }
  });
  return report.finish(options);
}
