// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/plan/stream_chunks.hpp>
#include <strata/algorithms/streaming/plan/stream_model.hpp>
#include <strata/algorithms/streaming/plan/stream_plan.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

using Use = StreamArray::Use;

void finish_plan(const StreamProblem& problem, const StreamRates& rates, StreamPlan& plan) {
  const int rest = problem.steps % std::max(plan.pass.steps, 1);
  plan.passes = (problem.steps + plan.pass.steps - 1) / plan.pass.steps;
  plan.last = rest == 0
                  ? plan.pass
                  : make_pass(problem, plan.scheduler, plan.chunk, rest, plan.tiles_per_window, plan.pieces);
  follow(problem, plan.pass, plan.last);
  follow(problem, StreamPass(plan.pass), plan.pass);
  plan.repeat_granule = plan.wraps() ? rates.repeat_granule : 0;
  static_cast<void>(
      device_bytes(problem, plan.pass, plan.slots, plan.window_rows, plan.repeat_granule, plan.pieces));
  std::vector<index_t> last_rows;
  static_cast<void>(
      device_bytes(problem, plan.last, plan.slots, last_rows, plan.repeat_granule, plan.pieces));
  plan.device_bytes = 0;
  for (std::size_t a = 0; a < last_rows.size(); ++a) {
    plan.window_rows[a] = std::max(plan.window_rows[a], last_rows[a]);
    plan.device_bytes += array_bytes(problem.arrays[a], plan.window_rows[a], plan.slots, plan.repeat_granule);
  }
  const StreamBytes one = bytes_of(problem, plan.pass), last = bytes_of(problem, plan.last);
  plan.bytes = {one.up * (plan.passes - 1) + last.up, one.down * (plan.passes - 1) + last.down,
                one.moved * (plan.passes - 1) + last.moved};
  for (const StreamArray& array : problem.arrays) {
    if (array.use != Use::Whole) continue;
    if (reads(array.mode)) plan.bytes.up += array.rows * array.row_bytes;
    if (writes(array.mode)) plan.bytes.down += array.rows * array.row_bytes;
  }
  plan.seconds = predict(problem, plan, rates);
}

index_t bytes_of_all(const StreamProblem& problem) {
  index_t bytes = 0;
  for (const StreamArray& array : problem.arrays)
    bytes += buffer_bytes(array, array.use == Use::Whole ? 1 : array.rows);
  return bytes;
}

// The bytes of the smallest slices: one step, or each loop once, two slices at once.
index_t least_budget(const StreamProblem& problem, const StreamOptions& options, index_t repeat_granule) {
  const int loops = problem.is_sequence() ? static_cast<int>(problem.loops.size()) : 1;
  const int steps =
      std::min(problem.steps, options.steps_per_pass > 0 ? options.steps_per_pass * loops : loops);
  StreamScheduler scheduler = options.scheduler;
  if (problem.has_states() && scheduler == StreamScheduler::Automatic) scheduler = StreamScheduler::Carry;
  index_t chunk = options.chunk > 0 ? options.chunk : problem.align;
  if (scheduler == StreamScheduler::EvenOdd && options.chunk == 0)
    chunk = std::max(chunk, steps * halo_of(problem) + 1);
  int slots = options.slots;
  if (slots == 0) slots = problem.is_sequence() ? 2 : 3;
  std::vector<index_t> rows;
  const index_t windows = device_bytes(problem, make_pass(problem, scheduler, chunk, steps), slots, rows);
  if (!problem.is_sequence() || repeat_granule == 0) return windows;
  return std::min(windows, device_bytes(problem, sequence_pass(problem, chunk, steps, wrapping), slots, rows,
                                        repeat_granule));
}

[[noreturn]] void fail_budget(const StreamProblem& problem, index_t budget, const StreamOptions& options,
                              index_t repeat_granule) {
  const index_t least = least_budget(problem, options, repeat_granule);
  std::string text =
      launch_name("streaming", problem) + ": a budget of " + string_from_bytes(budget) + " does not hold " +
      (options.chunk > 0   ? "slices of " + std::to_string(options.chunk) + " rows"
       : problem.align > 1 ? "the smallest slices, multiples of " + std::to_string(problem.align) + " rows,"
                           : std::string("the smallest slices")) +
      " of its arrays, which take " + string_from_bytes(least) + " (" + std::to_string(least) + " B):";
  for (const StreamArray& array : problem.arrays)
    text += "\n  \"" + array.label + "\": " +
            (array.use == Use::Whole ? "all of it, " + string_from_bytes(buffer_bytes(array, array.rows))
                                     : string_from_bytes(array.row_bytes) + " a row") +
            (array.use == Use::State ? ", old and new values" : "");
  throw OutOfMemory(text + "\nGive a larger budget, or smaller slices, fewer slots and fewer steps per pass");
}

// Looks for the plan that takes least time by the model.
class Planner {
 public:
  Planner(const StreamProblem& problem, index_t budget, const StreamRates& rates,
          const StreamOptions& options)
      : problem_(problem),
        budget_(budget),
        rates_(rates),
        options_(options),
        iterates_(problem.has_states()),
        in_sequence_(problem.is_sequence()),
        loops_(in_sequence_ ? static_cast<int>(problem.loops.size()) : 1),
        rows_(std::max<index_t>(all_rows(problem), 1)) {
    // Enough tiles that filling and draining the pipeline costs little, of enough bytes to be worth a copy.
    // Of a sequence a pass begins where the one before is not done, and tiles are kernels for each step.
    const index_t tiles_wanted = in_sequence_ ? 16 : 32;
    constexpr index_t worth_copying = index_t{16} << 20;
    for (const StreamArray& array : problem.arrays)
      if (array.use != Use::Whole)
        row_bytes_ = in_sequence_ ? row_bytes_ + array.row_bytes : std::max(row_bytes_, array.row_bytes);
    most_ =
        std::max((rows_ + tiles_wanted - 1) / tiles_wanted, std::min(rows_, worth_copying / row_bytes_ + 1));
    most_ = (most_ + problem.align - 1) / problem.align * problem.align;
  }

  StreamPlan plan() {
    // Few bytes, or copies that nothing overlaps, are not worth a search.
    constexpr index_t little = index_t{64} << 20;
    if (in_sequence_ && (rates_.in_turn || bytes_of_all(problem_) <= little)) {
      look_at_whole();
      if (chosen_.steps != 0) return settle();
    }
    for (const StreamScheduler scheduler : schedulers()) {
      // Ring buffers hold more, unless much of the budget is lost by rounding up their sizes.
      if (in_sequence_ && rates_.repeat_granule > 0) look_at(scheduler, wrapping_counts());
      const index_t coarse = 8 * rates_.repeat_granule * static_cast<index_t>(problem_.arrays.size());
      if (chosen_.steps == 0 || !in_sequence_ || budget_ < coarse) look_at(scheduler, window_counts());
    }
    look_at_whole();
    if (chosen_.steps == 0) fail_budget(problem_, budget_, options_, rates_.repeat_granule);
    return settle();
  }

 private:
  // Compared by the time of their first tiles.
  struct Candidate {
    StreamScheduler scheduler = StreamScheduler::Automatic;
    int steps = 0;
    Sharing sharing;
    index_t chunk = 0;
    double seconds = std::numeric_limits<double>::infinity();
  };

  std::vector<StreamScheduler> schedulers() const {
    if (!iterates_) return {StreamScheduler::Automatic};
    if (options_.scheduler != StreamScheduler::Automatic) return {options_.scheduler};
    if (problem_.once) return {StreamScheduler::Carry};
    return {StreamScheduler::Carry, StreamScheduler::Overlap};
  }
  std::vector<Sharing> wrapping_counts() const {
    const index_t granule = rates_.repeat_granule;
    const int pieces = std::max(options_.pieces, 1);
    if (options_.slots > 0) return {{options_.slots, wrapping, granule, pieces}};
    if (options_.pieces > 0)
      return {{2 * pieces + 1, wrapping, granule, pieces}, {pieces + 1, wrapping, granule, pieces}};
    std::vector<Sharing> counts = {{3, wrapping, granule}, {4, wrapping, granule}, {2, wrapping, granule}};
    // Room for one piece in addition to the one that is computed, which is being copied out or in.
    if (!rates_.in_turn)
      for (const int of_chunk : {2, 3}) counts.push_back({of_chunk + 2, wrapping, granule, of_chunk});
    return counts;
  }
  // In a sequence the windows are long compared to the new rows of a tile: two of them with several tiles
  // each hold more than three with one.
  std::vector<Sharing> window_counts() const {
    if (options_.slots > 0) return {{options_.slots, 1}};
    if (in_sequence_) return {{3, 1}, {2, 2}, {2, 3}, {2, 5}, {2, 1}};
    return {{3, 1}};
  }
  std::vector<int> step_counts() const {
    if (!in_sequence_ && (!iterates_ || options_.scheduler == StreamScheduler::Naive)) return {1};
    if (options_.steps_per_pass > 0) return {std::min(options_.steps_per_pass * loops_, problem_.steps)};
    std::vector<int> counts;
    const int all = (problem_.steps + loops_ - 1) / loops_;
    for (double t = 1; t <= 4096; t = std::max(t + 1, t * 1.25)) {
      const int wanted = std::min(static_cast<int>(t), std::max(all, 1));
      // As few as make no more passes: the last one then is as long as the others, and windows are shorter.
      const int passes = (all + wanted - 1) / wanted,
                even = std::max((all + passes - 1) / std::max(passes, 1), 1);
      const int count = std::min(even * loops_, problem_.steps);
      if (counts.empty() || counts.back() != count) counts.push_back(count);
      if (even >= all) break;
    }
    return counts;
  }
  bool free_choice() const { return options_.chunk == 0 && options_.steps_per_pass == 0; }

  StreamPlan plan_for(const StreamProblem& problem, const Candidate& of) const {
    StreamPlan plan;
    plan.scheduler = iterates_ ? of.scheduler : StreamScheduler::Automatic;
    plan.slots = of.sharing.slots;
    plan.tiles_per_window = of.sharing.tiles_per_window;
    plan.pieces = of.sharing.pieces;
    plan.chunk = of.chunk;
    plan.pass = make_pass(problem, plan.scheduler, of.chunk, of.steps, plan.tiles_per_window, plan.pieces);
    finish_plan(problem, rates_, plan);
    return plan;
  }

  // Returns its time.
  double consider(Candidate candidate) {
    constexpr index_t tiles_looked_at = 64;
    const Sharing& sharing = candidate.sharing;
    if (in_sequence_ && sharing.slots > 1) {
      std::vector<index_t> window_rows;
      const StreamPass sample = sequence_pass(problem_, candidate.chunk, candidate.steps,
                                              sharing.tiles_per_window, true, sharing.pieces);
      if (sample.tiles.empty() || device_bytes(problem_, sample, sharing.slots, window_rows,
                                               sharing.repeat_granule, sharing.pieces) > budget_)
        return candidate.seconds;
      candidate.seconds = sampled_seconds(problem_, sample, candidate.steps, sharing, window_rows, rates_);
    } else {
      const StreamProblem part = shortened(problem_, tiles_looked_at * candidate.chunk);
      const StreamPlan plan = plan_for(part, candidate);
      // Tiles take rows from the ones before.
      if (sharing.slots == 1 && plan.pass.tiles.size() > 1) return candidate.seconds;
      if (plan.device_bytes > budget_) return candidate.seconds;
      candidate.seconds = plan.seconds * static_cast<double>(rows_) /
                          static_cast<double>(std::max<index_t>(all_rows(part), 1));
    }
    if (candidate.seconds < chosen_.seconds) chosen_ = candidate;
    if (candidate.seconds < best_of_sharing_.seconds) best_of_sharing_ = candidate;
    return candidate.seconds;
  }

  void look_at(StreamScheduler scheduler, const std::vector<Sharing>& sharings) {
    constexpr index_t least_copy = index_t{256} << 10;
    for (const Sharing& sharing : sharings) {
      best_of_sharing_ = {};
      int best_steps = 0;  // of this one
      double best_seconds = std::numeric_limits<double>::infinity();
      for (const int steps : step_counts()) {
        index_t chunk = options_.chunk;
        if (chunk == 0) chunk = largest_chunk(problem_, scheduler, steps, sharing, most_, budget_);
        if (chunk == 0 && in_sequence_) break;  // nor do more steps fit
        if (chunk == 0) continue;
        // Windows much longer than their new rows are not worth a look.
        if (!in_sequence_ && free_choice() && steps > 1 && steps * halo_of(problem_) > chunk) continue;
        // More steps pay up to some number of them.
        if (in_sequence_ && best_steps > 0 && steps > 2 * best_steps) break;
        double seconds = consider({scheduler, steps, sharing, chunk});
        // What takes as long as some copies alone gains by smaller slices.
        for (const index_t parts : {2, 4, 16, 64}) {
          if (options_.chunk != 0 || (parts == 2 && !in_sequence_)) continue;
          const index_t part = chunk / parts / problem_.align * problem_.align;
          if (part * row_bytes_ < least_copy || (!in_sequence_ && part <= steps * halo_of(problem_)))
            continue;
          const double of_part = consider({scheduler, steps, sharing, part});
          // Samples of a sequence's small slices are slow to make; those after slower ones are slower still.
          if (in_sequence_ && of_part >= seconds) break;
          seconds = std::min(seconds, of_part);
        }
        if (seconds < best_seconds || best_steps == 0) {
          best_steps = steps;
          best_seconds = seconds;
        }
      }
      if (in_sequence_ && best_of_sharing_.steps > 0) finalists_.push_back(best_of_sharing_);
    }
  }

  // All of it at once, where it fits: then nothing is copied but at the beginning and the end.
  void look_at_whole() {
    if (!iterates_ && !(in_sequence_ && bytes_of_all(problem_) <= budget_)) return;
    if (!free_choice() || options_.slots != 0 || options_.scheduler != StreamScheduler::Automatic) return;
    const index_t around =
        is_partial(problem_) || is_ring(problem_) ? 2 * problem_.steps * halo_of(problem_) : 0;
    consider({StreamScheduler::Carry, problem_.steps, {}, rows_ + problem_.align + around});
  }

  // How a sequence's passes end, and the next begin, is not seen in their first tiles: the best of each
  // sharing, and somewhat smaller slices, as whole plans. None where all of that takes long, or does not fit.
  StreamPlan look_closer() const {
    constexpr index_t most_launches = 20000;
    constexpr index_t parts = 32, least_parts = 27;
    StreamPlan best;
    if (chosen_.sharing.slots == 1) return best;  // all of it at once
    for (Candidate candidate : finalists_) {
      if (candidate.seconds > 1.1 * chosen_.seconds) continue;
      const index_t chunk = candidate.chunk;
      if (rows_ / chunk * candidate.steps > most_launches) continue;
      index_t last = 0;
      for (index_t part = parts; part >= least_parts; --part) {
        candidate.chunk = part == parts ? chunk : chunk * part / parts / problem_.align * problem_.align;
        if (candidate.chunk == last || candidate.chunk == 0) continue;
        if (part < parts && options_.chunk > 0) break;
        last = candidate.chunk;
        StreamPlan plan = plan_for(problem_, candidate);
        if (plan.device_bytes > budget_ || (best.passes > 0 && plan.seconds >= best.seconds)) continue;
        best = static_cast<StreamPlan&&>(plan);
      }
    }
    return best;
  }

  // The last tiles of all rows may be larger than those that were looked at: then smaller ones, or of a
  // sequence what takes least.
  StreamPlan settle() {
    if (StreamPlan plan = look_closer(); plan.passes > 0) return plan;
    std::vector<Candidate> others;
    if (in_sequence_) {
      Candidate least = chosen_;
      if (options_.steps_per_pass == 0) least.steps = std::min(loops_, problem_.steps);
      least.chunk = options_.chunk > 0 ? options_.chunk : problem_.align;
      const int slots = options_.slots > 0 ? options_.slots : 2;
      least.sharing = {slots, 1};
      others.push_back(least);
      least.sharing = {slots, wrapping, rates_.repeat_granule};
      if (rates_.repeat_granule > 0) others.push_back(least);
    }
    for (;;) {
      StreamPlan plan = plan_for(problem_, chosen_);
      if (plan.device_bytes <= budget_) return plan;
      const index_t smaller = chosen_.chunk * 7 / 8 / problem_.align * problem_.align;
      const index_t least = chosen_.scheduler == StreamScheduler::EvenOdd
                                ? chosen_.steps * halo_of(problem_) + 1
                                : problem_.align;
      if (options_.chunk == 0 && smaller >= least) {
        chosen_.chunk = smaller;
      } else if (!others.empty()) {
        chosen_ = others.back();
        others.pop_back();
      } else {
        fail_budget(problem_, budget_, options_, rates_.repeat_granule);
      }
    }
  }

  const StreamProblem& problem_;
  const index_t budget_;
  const StreamRates& rates_;
  const StreamOptions& options_;
  const bool iterates_, in_sequence_;
  const int loops_;
  const index_t rows_;
  index_t row_bytes_ = 1, most_ = 0;
  Candidate chosen_, best_of_sharing_;
  std::vector<Candidate> finalists_;  // of a sequence
};

}  // namespace

StreamPlan make_plan(const StreamProblem& problem, index_t budget, const StreamRates& rates,
                     const StreamOptions& options) {
  return Planner(problem, budget, rates, options).plan();
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
