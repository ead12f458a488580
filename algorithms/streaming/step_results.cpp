// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/plan/stream_plan.hpp>
#include <strata/algorithms/streaming/step_results.hpp>
#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

void fail_results(const std::string& label) {
  try {
    throw;
  } catch (const std::exception& error) {
    throw Error(
        (label.empty() ? "streaming: " : "streaming \"" + label + "\": ") + error.what() +
        "\nAll steps are done, and arrays have the values after them; the results of the last ones are lost");
  }
}

std::vector<ReductionGroup> groups_of_pieces(ResidentRows work, const std::vector<ResidentRows>& pieces,
                                             index_t block, bool any_order) {
  if (any_order) {
    std::vector<ReductionGroup> groups;
    for (const ResidentRows piece : pieces)
      groups.push_back({groups.size(), piece, 0, static_cast<index_t>(groups.size())});
    return groups;
  }
  std::vector<ResidentRows> blocks;
  for (const ResidentRows piece : pieces)
    blocks.push_back({floor_div(piece.begin, block), floor_div(piece.end - 1, block) + 1});
  return groups_of_split(work, blocks, block);
}

namespace {

// Values of rows that are taken twice, or of parts of blocks, would be wrong without a sign of it.
void check_pieces(const streaming::StreamProblem& problem, const std::vector<ResidentRows>& pieces,
                  index_t block) {
  index_t end = problem.work.begin;
  bool whole = true;
  for (const ResidentRows piece : pieces) {
    whole = whole && piece.begin == end && (piece.begin == problem.work.begin || piece.begin % block == 0);
    end = piece.end;
  }
  if (!whole || end != problem.work.end)
    throw Error(launch_name("streamed_iterate_reduce", problem) +
                ": the plan does not take each row once, in whole nodes; this is a fault of Strata");
}

}  // namespace

streaming::StreamOptions step_reduction_options(const streaming::StreamProblem& problem,
                                                const streaming::StreamOptions& options) {
  const bool cyclic =
      std::any_of(problem.arrays.begin(), problem.arrays.end(), [](const streaming::StreamArray& a) {
        return a.use == streaming::StreamArray::Use::State && a.cyclic;
      });
  streaming::StreamOptions chosen = options;
  const auto fail = [&](const char* why) {
    throw Error(launch_name("streamed_iterate_reduce", problem) + ": the scheduler " +
                name_of(options.scheduler) + " " + why + ", and reductions take each row once: ask for " +
                (cyclic ? "naive" : "carry or naive") + ", or for none");
  };
  switch (options.scheduler) {
    case StreamScheduler::EvenOdd:
      fail("cuts the work of a step within blocks of the reduction, in two turns");
      break;
    case StreamScheduler::Overlap:
      if (problem.steps > 1 && options.steps_per_pass != 1)
        fail("computes rows near the ends of slices twice");
      break;
    case StreamScheduler::Carry:
      if (cyclic) fail("computes rows near the ends of a ring twice");
      break;
    case StreamScheduler::Automatic:
      if (cyclic) chosen.scheduler = StreamScheduler::Naive;
      break;
    case StreamScheduler::Naive:
      break;
  }
  return chosen;
}

index_t step_reduction_align(const streaming::StreamProblem& problem, index_t block, index_t budget,
                             const streaming::StreamOptions& options) {
  // Windows have such a node more for each step of a pass, so it is smaller than that of one reduction; old
  // and new values take twice the room.
  constexpr index_t smaller = 4, buffers = 2, nodes_a_slice = 8;
  index_t align = reduction_align(problem, block, budget / (smaller * buffers));
  while (options.chunk > 0 && align > block && align * nodes_a_slice > options.chunk) align /= 2;
  return align;
}

std::vector<std::vector<ReductionGroup>> StepReductionPlan::groups_of(streaming::StreamRun& run, int first,
                                                                      int end) const {
  std::vector<std::vector<ReductionGroup>> all;
  for (int p = first; p < end; ++p) {
    const streaming::StreamPass& pass = run.plan().pass_number(p);
    std::vector<std::vector<ResidentRows>> pieces(static_cast<std::size_t>(pass.steps));
    for (const streaming::StreamTile& tile : pass.tiles)
      for (const streaming::StreamLaunch& launch : tile.launches)
        pieces[static_cast<std::size_t>(launch.step - 1)].push_back(launch.work);
    for (const std::vector<ResidentRows>& of_step : pieces) {
      check_pieces(run.problem(), of_step, any_order ? 1 : block);
      all.push_back(groups_of_pieces(run.problem().work, of_step, block, any_order));
    }
  }
  return all;
}

std::vector<std::vector<ReductionGroup>> StepReductionPlan::groups_from(streaming::StreamRun& run,
                                                                        int first) const {
  return groups_of(run, first, std::min(first + passes, run.plan().passes));
}

void StepReductionPlan::plan(streaming::StreamRun& run, index_t budget,
                             const streaming::StreamOptions& options, const std::string& kernel,
                             index_t value_bytes) {
  constexpr index_t granule = 512, own_needs = 1024;  // of the reduction itself
  const auto groups_of_pass = [&](int p) {
    index_t count = 0;
    for (const auto& of_step : groups_of(run, p, p + 1)) count += static_cast<index_t>(of_step.size());
    return count;
  };
  for (index_t room = 0;;) {
    run.plan(std::max<index_t>(budget - room, 0), options, kernel);
    const int all = run.plan().passes;
    const index_t of_pass = std::max<index_t>({groups_of_pass(0), groups_of_pass(all - 1), 1});
    passes = static_cast<int>(std::clamp<index_t>(budget / 8 / (of_pass * value_bytes), 1, all));
    groups = of_pass * passes;
    const index_t bytes = (groups * value_bytes + granule - 1) / granule * granule + own_needs;
    if (bytes <= room) return;
    room = bytes + bytes / 4;
  }
}

}  // namespace strata::inline STRATA_ABI::detail
