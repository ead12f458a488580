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
  std::atomic<std::uint64_t>& word = claims[static_cast<std::size_t>(worker)].slices;
  std::uint64_t last = word.load(std::memory_order_relaxed);
  do {
    slice = last >> 16 == job_number ? static_cast<int>(last & 0xffff) : 0;
    if (slice == slices) return false;
  } while (!word.compare_exchange_weak(last, job_number << 16 | static_cast<std::uint64_t>(slice + 1),
                                       std::memory_order_relaxed));
  return true;
}

// The slices of the part of parts.worker, then what is left of other parts. Returns how many. Only where
// nothing depends on which worker runs what.
ChunkPlan::Count WorkerPool::Team::execute_slices(const ChunkPlan& plan, index_t align,
                                                  ChunkFunction function, Parts parts,
                                                  std::uint64_t job_number) {
  ChunkPlan::Count taken = 0;
  const auto all = static_cast<int>(plan.count());
  const auto slices = static_cast<ChunkPlan::Count>(parts.slices);
  try {
    for (int k = 0; k < all; ++k) {
      const int part = (parts.worker + k) % all;
      if (part < parts.done) continue;
      const index_t begin = plan.begin(static_cast<ChunkPlan::Count>(part));
      const index_t end = plan.end(static_cast<ChunkPlan::Count>(part));
      const auto items = static_cast<ChunkPlan::Count>(end) - static_cast<ChunkPlan::Count>(begin);
      const auto cut = [&](ChunkPlan::Count s) {
        if (s == slices) return end;
        const auto at = static_cast<index_t>(static_cast<ChunkPlan::Count>(begin) + items / slices * s +
                                             items % slices * s / slices);
        return std::max(begin, at & -align);
      };
      for (int s = 0; take_slice(part, job_number, parts.slices, s); ++taken) {
        if (events.failed.load(std::memory_order_relaxed)) return taken;
        const index_t from = cut(static_cast<ChunkPlan::Count>(s)),
                      to = cut(static_cast<ChunkPlan::Count>(s) + 1);
        if (from < to) function(from, to, parts.worker);
      }
    }
  } catch (...) {
    capture_exception();
  }
  return taken;
}

// By the thread of worker `self`. Each part is done in the name of the worker whose it is: what kernels keep
// for each worker then does not depend on how many run. (There are no slices where they keep some.) Returns
// the number of pieces, or of slices.
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

// Parts of a static job, or pieces of a dynamic one, one after the other by the caller. Ends early, after
// one, two, four, ... of them, where it takes much longer than `alone_ns` and the rest, of two at least, is
// worth handing out.
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
    while (static_cast<ChunkPlan::Count>(alone.done) < parts) {
      alone.pieces += execute_parts(plan, range, function, {alone.done, options.workers}, number, 0);
      ++alone.done;
      const auto done = static_cast<ChunkPlan::Count>(alone.done);
      if (events.failed.load(std::memory_order_relaxed)) break;
      if (done + 1 < parts && ends_early(done, parts)) return alone;
    }
  }
  alone.is_finished = true;
  return alone;
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
