// The parts of a job: who claims which, and how they are run.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <utility>

#include <strata/devices/host/pause.hpp>
#include <strata/devices/host/ticks.hpp>
#include <strata/devices/host/worker_region.hpp>
#include <strata/devices/host/worker_team.hpp>

namespace strata::inline STRATA_ABI::detail {

// Jobs that concern a worker are claimed one after the other, by whomever; those that do not are skipped.
bool WorkerPool::Team::claim(int worker, std::uint64_t job_number) {
  std::atomic<std::uint64_t>& word = claims[static_cast<std::size_t>(worker)].number;
  std::uint64_t last = word.load(std::memory_order_relaxed);
  return last < job_number &&
         word.compare_exchange_strong(last, job_number, std::memory_order_acq_rel, std::memory_order_relaxed);
}

// The parts of workers that have not begun. The answer is the caller's own, so that nobody need be woken. The
// first microsecond is for workers that are about to answer: looking at their words would cost them more.
void WorkerPool::Team::take_over(const ChunkPlan& plan, const ChunkRange& range, ChunkFunction function,
                                 Parts parts) {
  constexpr int looks = 32;
  for (int look = 0; look < looks; ++look) {
    if (answers.done.load(std::memory_order_acquire) == expected) return;
    pause_processor();
  }
  for (parts.worker = 1; parts.worker < parts.runners; ++parts.worker) {
    if (answers.done.load(std::memory_order_acquire) == expected) return;
    if (!claim(parts.worker, number)) continue;
    execute_parts(plan, range, function, parts, number, 0);
    answers.done.fetch_add(1, std::memory_order_seq_cst);
  }
}

// The part of a static job that is a worker's, or, as that worker, pieces of a dynamic one as long as there
// are some. Returns the number of pieces.
ChunkPlan::Count WorkerPool::Team::execute(const ChunkPlan& plan, Schedule schedule, ChunkFunction function,
                                           int worker) {
  ChunkPlan::Count pieces = 0;
  const auto workers = static_cast<ChunkPlan::Count>(options.workers);
  const auto run_piece = [&](ChunkPlan::Count k) {
    if (events.failed.load(std::memory_order_relaxed)) return false;
    function(plan.begin(k), plan.end(k), worker);
    ++pieces;
    return true;
  };
  const auto take_piece = [&] { return dispenser.next.fetch_add(1, std::memory_order_relaxed); };
  try {
    if (schedule == Schedule::Dynamic)
      for (ChunkPlan::Count k = take_piece(); k < plan.count() && run_piece(k);) k = take_piece();
    else
      for (auto k = static_cast<ChunkPlan::Count>(worker); k < plan.count() && run_piece(k);) k += workers;
  } catch (...) {
    capture_exception();
  }
  return pieces;
}

// The next slice of a worker's part of the job, or false where all are taken. Who takes one has claimed a
// part of the job and not answered yet, so that the job is not over.
bool WorkerPool::Team::take_slice(int worker, std::uint64_t job_number, int slices, int& slice) {
  std::atomic<std::uint64_t>& word = claims[static_cast<std::size_t>(worker)].taken;
  std::uint64_t last = word.load(std::memory_order_relaxed);
  do {
    slice = last >> 16 == job_number ? static_cast<int>(last & 0xffff) : 0;
    if (slice == slices) return false;
  } while (!word.compare_exchange_weak(last, job_number << 16 | static_cast<std::uint64_t>(slice + 1),
                                       std::memory_order_relaxed));
  if (slice + 1 == slices) dispenser.next.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// What is left of the slices of a part. Returns how many.
ChunkPlan::Count WorkerPool::Team::execute_slices_of(int part, const ChunkPlan& plan, index_t align,
                                                     ChunkFunction function, Parts parts,
                                                     std::uint64_t job_number) {
  using Count = ChunkPlan::Count;
  const auto slices = static_cast<Count>(parts.slices);
  const index_t begin = plan.begin(static_cast<Count>(part)), end = plan.end(static_cast<Count>(part));
  // Where items are many cuts keep compilers' vectors where they are without: counted from the part's begin,
  // or from the block that it begins in.
  const index_t base = begin & -align;
  const auto items = static_cast<Count>(end) - static_cast<Count>(base);
  const Count grain = std::max(static_cast<Count>(align), items >= 64 * slices ? Count{64} : Count{1});
  const auto cut = [&](Count s) {
    if (s == slices) return end;
    const Count ahead = items / slices * s + items % slices * s / slices;
    return std::max(begin, static_cast<index_t>(static_cast<Count>(base) + ahead / grain * grain));
  };
  Count taken = 0;
  for (int s = 0; take_slice(part, job_number, parts.slices, s); ++taken) {
    if (events.failed.load(std::memory_order_relaxed)) return taken;
    const index_t from = cut(static_cast<Count>(s)), to = cut(static_cast<Count>(s) + 1);
    if (from < to) function(from, to, parts.worker);
  }
  return taken;
}

// The slices of the part of parts.worker, then what is left of others. Returns how many. Only where nothing
// depends on which worker runs what.
ChunkPlan::Count WorkerPool::Team::execute_slices(const ChunkPlan& plan, index_t align,
                                                  ChunkFunction function, Parts parts,
                                                  std::uint64_t job_number) {
  ChunkPlan::Count taken = 0;
  const auto all = static_cast<int>(plan.count());
  const int first = parts.worker, step = first % 2 == 0 ? 1 : all - 1;  // half of them go the other way
  try {
    for (int k = 0, part = first; k < all; ++k, part = (part + step) % all) {
      if (k > 0 && dispenser.next.load(std::memory_order_relaxed) >= plan.count()) break;
      if (!has_nodes || nodes[static_cast<std::size_t>(part)] == nodes[static_cast<std::size_t>(first)])
        taken += execute_slices_of(part, plan, align, function, parts, job_number);
    }
  } catch (...) {
    capture_exception();
  }
  return taken;
}

// By the thread of worker `self`. Each part is done in the name of the worker whose it is: what kernels keep
// for each worker then does not depend on how many run. Slices are done in the name of who takes them.
// Returns the number of pieces, or of slices.
ChunkPlan::Count WorkerPool::Team::execute_parts(const ChunkPlan& plan, const ChunkRange& range,
                                                 ChunkFunction function, Parts parts,
                                                 std::uint64_t job_number, int self) {
  const Schedule schedule = range.schedule;
  if (schedule == Schedule::Dynamic || parts.slices > 1) {  // all may run all: once as the first
    const auto run_all = [&] {
      return parts.slices > 1 ? execute_slices(plan, range.align, function, parts, job_number)
                              : execute(plan, schedule, function, parts.worker);
    };
    if (parts.worker == self) return run_all();
    const EnterWorkerRegion as(this, parts.worker);
    return run_all();
  }
  const auto all = static_cast<int>(
      std::min(static_cast<ChunkPlan::Count>(options.workers), plan.count()));  // the others have none
  ChunkPlan::Count pieces = 0;
  for (int part = parts.worker; part < all; part += parts.runners) {
    if (part < parts.done) continue;
    if (part == self) {
      pieces += execute(plan, schedule, function, part);
    } else {
      const EnterWorkerRegion as(this, part);
      pieces += execute(plan, schedule, function, part);
    }
  }
  return pieces;
}

// Parts of a static job, or pieces of a dynamic one, one after the other by the caller; those between two
// looks at the clock at once, where it does not matter whose they are. Ends early, after one, two, four, ...
// of them, where it takes much longer than `alone_ns` and the rest, of two at least, is worth handing out.
WorkerPool::Team::Alone WorkerPool::Team::execute_alone(const ChunkPlan& plan, const ChunkRange& range,
                                                        ChunkFunction function, double alone_ns) {
  Alone alone;
  const std::int64_t begin = read_ticks();
  const auto ends_early = [&](ChunkPlan::Count done, ChunkPlan::Count all) {
    return std::has_single_bit(done) && is_worth_handing_out(alone_ns, read_ticks() - begin, done, all);
  };
  if (range.schedule == Schedule::Dynamic) {
    try {
      while (alone.pieces < plan.count()) {
        function(plan.begin(alone.pieces), plan.end(alone.pieces), 0);
        if (++alone.pieces + 1 < plan.count() && ends_early(alone.pieces, plan.count())) {
          dispenser.next.store(alone.pieces, std::memory_order_relaxed);
          return alone;
        }
      }
    } catch (...) {
      capture_exception();
    }
  } else {
    const auto parts = std::min(static_cast<ChunkPlan::Count>(options.workers), plan.count());
    const bool at_once = parts_are_anyones(range);
    for (ChunkPlan::Count done = 0; done < parts;) {
      if (at_once) {
        const ChunkPlan::Count next_look = std::min(std::max(2 * done, ChunkPlan::Count{1}), parts);
        execute_piece(plan.begin(done), plan.end(next_look - 1), function);
        alone.pieces += next_look - done;
        done = next_look;
      } else {
        alone.pieces += execute_parts(plan, range, function, {alone.done, options.workers}, number, 0);
        ++done;
      }
      alone.done = static_cast<int>(done);
      if (events.failed.load(std::memory_order_relaxed)) break;
      if (done + 1 < parts && ends_early(done, parts)) return alone;
    }
  }
  alone.is_finished = true;
  return alone;
}

void WorkerPool::Team::execute_piece(index_t begin, index_t end, ChunkFunction function) {
  try {
    function(begin, end, 0);
  } catch (...) {
    capture_exception();
  }
}

void WorkerPool::Team::capture_exception() {
  if (!events.failed.exchange(true, std::memory_order_relaxed)) events.error = std::current_exception();
}

std::exception_ptr WorkerPool::Team::take_error() {
  if (!events.failed.load(std::memory_order_relaxed)) return nullptr;
  events.failed.store(false, std::memory_order_relaxed);
  return std::exchange(events.error, nullptr);
}

}  // namespace strata::inline STRATA_ABI::detail
