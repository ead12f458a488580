#include <algorithm>
#include <string>

#include <strata/algorithms/streaming/step_results.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

index_t not_negative(const char* name, index_t number) {
  if (number >= 0) return number;
  throw Error(std::string("streamed: ") + name + "(" + std::to_string(number) +
              ") was asked for; give a positive number, or 0 to leave it to the model");
}

}  // namespace

StreamOptions with_chunk(StreamOptions options, index_t rows) {
  options.chunk = not_negative("chunk", rows);
  return options;
}
StreamOptions with_slots(StreamOptions options, int count) {
  options.slots = count == 1 ? 2 : static_cast<int>(not_negative("slots", count));
  return options;
}
StreamOptions with_steps_per_pass(StreamOptions options, int steps) {
  options.steps_per_pass = static_cast<int>(not_negative("steps_per_pass", steps));
  return options;
}

ResidentRows halo_rows(const char* array, index_t left, index_t right, index_t rows, bool cyclic,
                       bool is_state) {
  check_neighbours("halo", left, right);
  if (cyclic && (left > rows || right > rows))
    throw ShapeMismatch("streaming: \"" + std::string(array) + "\" has halo(" + std::to_string(left) + ", " +
                        std::to_string(right) + ") with cyclic edges, and " + std::to_string(rows) +
                        " rows; a halo goes around once at most");
  const index_t most = is_state ? rows : most_neighbours;
  return {std::min(left, most), std::min(right, most)};
}

void fail_steps(int steps) {
  throw Error("streamed_iterate: " + std::to_string(steps) + " steps were asked for; give 0 or more");
}

index_t reduction_align(const StreamProblem& problem, index_t block, index_t budget) {
  // Slices of at least about 8 nodes; the range has 1024 or more.
  index_t row_bytes = 1;
  for (const StreamArray& array : problem.arrays) row_bytes += array.row_bytes;
  constexpr index_t slots = 3, nodes_a_slice = 8, nodes = 1024;
  const index_t rows = std::min((problem.work.end - problem.work.begin) / nodes,
                                std::max<index_t>(budget, 0) / (slots * nodes_a_slice * row_bytes));
  index_t align = block;
  while (align * 2 <= rows) align *= 2;
  return align;
}

std::vector<ReductionGroup> stream_groups(const StreamProblem& problem, const StreamPlan& plan,
                                          index_t block) {
  std::vector<ResidentRows> pieces;
  for (const StreamTile& tile : plan.last.tiles)
    for (const StreamLaunch& launch : tile.launches) pieces.push_back(launch.work);
  return groups_of_pieces(problem.work, pieces, block, false);
}

}  // namespace strata::inline STRATA_ABI::detail
