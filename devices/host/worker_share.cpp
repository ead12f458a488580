// Who takes part in a run: by what it costs, by who sleeps, and by the room beside other programs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>

#include <strata/core/log.hpp>
#include <strata/devices/host/ticks.hpp>
#include <strata/devices/host/worker_copies.hpp>
#include <strata/devices/host/worker_team.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Waking a thread takes the caller a microsecond or two, and the thread some ten: a sleeper is woken for this
// many shares.
constexpr int shares_of_sleeper = 5;
// Runs that sleepers would have shortened by this much altogether are followed by one that wakes them.
constexpr double wakes_after_ns = 50'000;
// A run that was begun alone is handed out where so much of it is left.
constexpr double worth_handing_out_ns = 20'000;
// Of a part: more gain nothing, as the last ones are short beside the run.
constexpr double most_slices = 32;

index_t work_of(const ChunkRange& range, const ChunkFunction& function) {
  if (function.work > 0) return function.work;
  const auto length = static_cast<std::uint64_t>(range.end) - static_cast<std::uint64_t>(range.begin);
  return static_cast<index_t>(
      std::min(length, static_cast<std::uint64_t>(std::numeric_limits<index_t>::max())));
}

std::uintptr_t kernel_of(const ChunkFunction& function) {
  return function.kernel != 0 ? function.kernel : reinterpret_cast<std::uintptr_t>(function.call);
}

}  // namespace

void WorkerPool::Team::run(const ChunkRange& range, const ChunkPlan& plan, ChunkFunction function) {
  dispenser.next.store(0, std::memory_order_relaxed);
  const auto parts = static_cast<int>(std::min(static_cast<ChunkPlan::Count>(options.workers), plan.count()));
  const bool learns = options.share_ns > 0;
  const index_t work = work_of(range, function);
  LaunchCost* const cost = learns ? &costs.of(kernel_of(function), work) : nullptr;
  const double alone_ns = learns ? cost->of(work) : 0;
  int runners = learns ? workers_for(alone_ns, parts) : parts;
  if (learns && runners > 1 && cost->avoids_several()) runners = 1;

  Alone alone;
  std::int64_t begin = 0, end = 0;
  ChunkPlan::Count pieces = 0, all_pieces = plan.count();  // that were run from `begin` to `end`
  if (runners == 1) {
    begin = read_ticks();
    alone = execute_alone(plan, range, function, alone_ns);
    end = read_ticks();
    pieces = alone.pieces;
    runners = parts;
  }
  if (!alone.is_finished) {
    const int most = room();
    runners = std::min(runners, most);
    const bool is_whole = pieces == 0;
    const int slices = is_whole && runners > 1 ? slices_for(range, alone_ns, parts, runners) : 1;
    const Parts mine{0, runners, alone.done, slices};
    const std::int64_t call = read_ticks();
    if (runners > 1) announce(range, function, runners, alone.done, slices, most < options.workers);
    if (is_whole) begin = read_ticks();
    const ChunkPlan::Count own = execute_parts(plan, range, function, mine, number, 0);
    if (is_whole) {
      end = read_ticks();
      pieces = own;
      all_pieces *= static_cast<ChunkPlan::Count>(slices);
    }
    if (runners > 1) {
      // Of a dynamic job nothing is left then: who sleeps need not be waited for.
      if (options.shares_processors || slices > 1 || range.schedule == Schedule::Dynamic)
        take_over(plan, range, function, mine);
      await_answers();
      if (is_whole && learns && alone_ns != LaunchCost::unknown)
        cost->try_several(static_cast<double>(read_ticks() - call) * ns_a_tick, alone_ns);
    }
    look_for_room();
  }
  if (learns && pieces > 0 && end > begin && !events.failed.load(std::memory_order_relaxed))
    cost->learn(work, static_cast<double>(end - begin) * ns_a_tick * static_cast<double>(all_pieces) /
                          static_cast<double>(pieces));
}

// Of so many that have parts.
int WorkerPool::Team::workers_for(double cost_ns, int parts) {
  if (cost_ns == LaunchCost::unknown) return parts;
  const double share = options.share_ns;
  int wanted = workers_worth(cost_ns, share, parts);
  // With more threads than processors some would wait for their turn on one.
  for (int rounds = 2; wanted > processors; rounds *= 2) wanted = workers_of_rounds(parts, rounds);
  if (wanted == 1 || !sleeps_one_of(wanted)) return wanted;

  const int even_asleep = std::min(wanted, workers_worth(cost_ns, shares_of_sleeper * share, parts));
  int runners = wanted;
  for (int rounds = 2; runners > even_asleep && sleeps_one_of(runners); rounds *= 2)
    runners = std::min(runners, workers_of_rounds(parts, rounds));
  if (runners < even_asleep) runners = even_asleep;
  ns_missed += cost_ns / runners - cost_ns / wanted;
  if (ns_missed < wakes_after_ns) return runners;
  ns_missed = 0;
  return wanted;
}

// Whether the parts of a run may be cut otherwise, and run by others than their workers: the program has not
// cut it, and nothing is kept by worker.
bool WorkerPool::Team::parts_are_anyones(const ChunkRange& range) const {
  return options.slice_ns > 0 && range.schedule == Schedule::Static && range.chunk <= 0 &&
         !range.whole_pieces && !has_worker_copies();
}

// Into how many slices each part of a run that costs so much is cut.
int WorkerPool::Team::slices_for(const ChunkRange& range, double cost_ns, int parts, int runners) const {
  if (cost_ns == LaunchCost::unknown || !parts_are_anyones(range)) return 1;
  if (has_nodes && runners < parts) return 1;  // some parts would be near to nobody
  const double items = static_cast<double>(range.end) - static_cast<double>(range.begin);
  const double most = std::min(most_slices, items / static_cast<double>(range.align) / parts);
  return static_cast<int>(std::max(1.0, std::min(cost_ns / options.slice_ns / parts, most)));
}

// Of a run that was expected to take one thread `alone_ns`.
bool WorkerPool::Team::is_worth_handing_out(double alone_ns, std::int64_t ticks, ChunkPlan::Count done,
                                            ChunkPlan::Count all) const {
  const double ns_each = static_cast<double>(ticks) * ns_a_tick / static_cast<double>(done);
  return ns_each * static_cast<double>(all - done) > worth_handing_out_ns &&
         ns_each * static_cast<double>(all) > 2 * alone_ns;
}

bool WorkerPool::Team::sleeps_one_of(int runners) const {
  for (int w = 1; w < runners; ++w)
    if (asleep[static_cast<std::size_t>(w)].load(std::memory_order_relaxed)) return true;
  return false;
}

// All of them, less those whose processors other programs wanted at the end of the last run, unless that is
// long ago.
int WorkerPool::Team::room() const {
  constexpr double long_ns = 200e6;
  const bool is_known = static_cast<double>(read_ticks() - last_look) * ns_a_tick < long_ns;
  return is_known ? std::min(threads_with_room, options.workers) : options.workers;
}

// At the end of a run: threads of other libraries, which look for work for a while when they have none, as
// those of oneTBB and OpenMP do, may run at its begin, and do no harm.
void WorkerPool::Team::look_for_room() {
  if (!options.shares_processors || options.workers == 1) return;
  const int awake = options.workers - events.sleepers.load(std::memory_order_relaxed);
  threads_with_room = others.room_for(options.workers, awake);
  last_look = read_ticks();
  if (threads_with_room < options.workers && !said_room.exchange(true, std::memory_order_relaxed))
    log_message(
        LogLevel::Info,
        "other threads run: launches on Threads use %d of %d threads now, and as many as there is room for "
        "from here on; STRATA_THREADS=%d keeps all",
        threads_with_room, options.workers, options.workers);
}

}  // namespace strata::inline STRATA_ABI::detail
