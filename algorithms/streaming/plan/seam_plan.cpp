// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/plan/seam_plan.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

bool has_steps(const StreamArray& array) { return array.use == StreamArray::Use::State; }

}  // namespace

SeamPlan::SeamPlan(index_t rows, bool cyclic, const std::vector<Run>& runs,
                   const Function<bool(std::size_t, std::size_t)>& is_joined) {
  std::vector<std::array<index_t, 2>> needed(runs.size(), {0, 0});  // of the first and the last rows
  std::vector<std::vector<bool>> takes_from(runs.size(), std::vector<bool>(runs.size(), false));
  bool any = false;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const ResidentRows before{runs[k].reads.begin, runs[k].part.begin};
    const ResidentRows after{runs[k].part.end, runs[k].reads.end};
    const index_t first_turn = cyclic ? floor_div(runs[k].reads.begin, rows) : 0;
    const index_t last_turn = cyclic ? floor_div(runs[k].reads.end - 1, rows) : 0;
    for (std::size_t j = 0; j < runs.size(); ++j) {
      if (j == k) continue;  // around a ring its own rows may come again: the host has them
      std::array<index_t, 2> of_this{0, 0};
      for (index_t turn = first_turn; turn <= last_turn; ++turn) {
        // Parts follow each other: who reads beyond its end reads the first rows of others, or all of them.
        const ResidentRows there{runs[j].part.begin + turn * rows, runs[j].part.end + turn * rows};
        of_this[0] = std::max(of_this[0], rows_of(both(there, after)));
        of_this[1] = std::max(of_this[1], rows_of(both(there, before)));
      }
      if (of_this[0] + of_this[1] == 0 || !is_joined(j, k)) continue;
      takes_from[k][j] = any = true;
      for (const std::size_t end : {0, 1}) needed[j][end] = std::max(needed[j][end], of_this[end]);
    }
  }
  if (!any) return;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const ResidentRows part = runs[k].part;
    ResidentRows first{part.begin, part.begin + needed[k][0]}, last{part.end - needed[k][1], part.end};
    if (first.end >= last.begin) {
      first = part;
      last = {part.end, part.end};
    }
    runs_.push_back({part, {first, last}, std::move(takes_from[k])});
  }
}

std::vector<SeamPlan::Source> SeamPlan::sources(std::size_t k, ResidentRows rows) const {
  std::vector<Source> all;
  const auto add = [&](int run, int end, ResidentRows some) {
    some = both(some, rows);
    if (rows_of(some) == 0) return;
    if (!all.empty() && all.back().run == from_host && run == from_host) all.back().rows.end = some.end;
    else all.push_back({run, end, some});
  };
  if (runs_.empty()) add(from_host, 0, rows);
  for (std::size_t j = 0; j < runs_.size(); ++j) {
    const Member& there = runs_[j];
    if (!runs_[k].takes_from[j]) {
      add(from_host, 0, there.part);
      continue;
    }
    add(static_cast<int>(j), 0, there.kept[0]);
    add(from_host, 0, {there.kept[0].end, there.kept[1].begin});
    add(static_cast<int>(j), 1, there.kept[1]);
  }
  return all;
}

index_t SeamPlan::bytes_between(std::size_t k, const StreamProblem& problem, const StreamPass& pass) const {
  index_t bytes = 0;
  for (const StreamTile& tile : pass.tiles)
    for (const StreamCopy& copy : tile.uploads) {
      const StreamArray& array = problem.arrays[static_cast<std::size_t>(copy.array)];
      if (!has_steps(array)) continue;
      for (const Source& source : sources(k, copy.rows))
        if (source.run != from_host) bytes += rows_of(source.rows) * array.row_bytes;
    }
  return bytes;
}

index_t SeamPlan::bytes_kept(std::size_t k, const StreamProblem& problem) const {
  index_t bytes = 0;
  if (empty()) return bytes;
  for (const StreamArray& array : problem.arrays)
    if (has_steps(array)) bytes += (rows_of(kept(k)[0]) + rows_of(kept(k)[1])) * array.row_bytes;
  return bytes;
}

ResidentRows rows_read(const StreamProblem& problem, StreamScheduler scheduler, int steps) {
  constexpr index_t in_one_tile = index_t{1} << 60;
  const StreamPass pass = scheduler == StreamScheduler::Carry ? carry_pass(problem, in_one_tile, steps)
                                                              : overlap_pass(problem, in_one_tile, steps);
  for (std::size_t a = 0; a < problem.arrays.size(); ++a)
    if (has_steps(problem.arrays[a]) && !pass.tiles.empty()) return pass.tiles[0].windows[a];
  return {0, 0};
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
