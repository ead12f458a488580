// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <strata/algorithms/streaming/step_results.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

void not_negative(const char* name, index_t number) {
  if (number >= 0) return;
  throw Error(std::string("streamed: ") + name + "(" + std::to_string(number) +
              ") was asked for; give a positive number, or 0 to leave it to the model");
}

}  // namespace

streaming::StreamOptions checked_options(streaming::StreamOptions options) {
  not_negative("chunk", options.chunk);
  not_negative("slots", options.slots);
  not_negative("steps_per_pass", options.steps_per_pass);
  if (options.slots == 1) options.slots = 2;
  return options;
}
int checked_launch_steps(int steps) {
  if (steps >= 1) return steps;
  throw Error("streamed: steps_per_launch(" + std::to_string(steps) + ") was asked for; give 1 or more");
}

ResidentRows halo_rows(const char* array, index_t left, index_t right, index_t rows, bool cyclic,
                       bool is_state) {
  check_neighbours("halo", left, right);
  if (cyclic && is_state && (left > rows || right > rows))
    throw ShapeMismatch("streaming: \"" + std::string(array) + "\" has halo(" + std::to_string(left) + ", " +
                        std::to_string(right) + ") with cyclic edges, and " + std::to_string(rows) +
                        " rows; a halo goes around once at most");
  const index_t most = is_state ? rows : most_neighbours;
  return {std::min(left, most), std::min(right, most)};
}

void fail_steps(int steps) {
  throw Error("streamed_iterate: " + std::to_string(steps) + " steps were asked for; give 0 or more");
}

index_t reduction_align(const streaming::StreamProblem& problem, index_t block, index_t budget) {
  // Slices of at least about 8 nodes; the range has 1024 or more.
  index_t row_bytes = 1;
  for (const streaming::StreamArray& array : problem.arrays) row_bytes += array.row_bytes;
  constexpr index_t slots = 3, nodes_a_slice = 8, nodes = 1024;
  const index_t rows = std::min((problem.work.end - problem.work.begin) / nodes,
                                std::max<index_t>(budget, 0) / (slots * nodes_a_slice * row_bytes));
  index_t align = block;
  while (align * 2 <= rows) align *= 2;
  return align;
}

std::vector<ReductionGroup> plan_reduction(streaming::StreamGroup& group, index_t budget,
                                           const streaming::StreamOptions& options, const std::string& kernel,
                                           index_t block, index_t value_bytes,
                                           std::vector<std::size_t>& first) {
  constexpr index_t own_needs = 1536;  // in whole granules, and what reductions need themselves
  std::vector<index_t> room(group.size(), 0);
  for (;;) {
    group.plan(budget, options, kernel, room);
    std::vector<ReductionGroup> groups = stream_groups(group, block, first);
    bool fits = true;
    for (std::size_t k = 0; k < group.size(); ++k) {
      const index_t bytes = static_cast<index_t>(first[k + 1] - first[k]) * value_bytes;
      if (bytes <= room[k]) continue;
      room[k] = bytes + own_needs;
      fits = false;
    }
    if (fits) return groups;
  }
}

}  // namespace strata::inline STRATA_ABI::detail
