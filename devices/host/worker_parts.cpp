// The parts of a job: who claims which, and how they are run.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <strata/devices/host/pause.hpp>
#include <strata/devices/host/worker_region.hpp>
#include <strata/devices/host/worker_team.hpp>

namespace strata::inline STRATA_ABI::detail {

// Epochs of a worker are claimed one after the other, by whomever: the one before this is the last.
bool WorkerPool::Team::claim(int worker, std::uint32_t epoch) {
  std::uint32_t last = epoch - 1;
  return claims[static_cast<std::size_t>(worker)].epoch.compare_exchange_strong(
      last, epoch, std::memory_order_acq_rel, std::memory_order_relaxed);
}

// The parts of workers that have not begun. The answer is the caller's own, so that nobody need be woken. The
// first microsecond is for workers that are about to answer: looking at their words would cost them more.
void WorkerPool::Team::take_over(const ChunkPlan& plan, Schedule schedule, ChunkFunction function,
                                 std::uint32_t epoch) {
  constexpr int looks = 32;
  for (int look = 0; look < looks; ++look) {
    if (answers.done.load(std::memory_order_acquire) == all_answers(epoch)) return;
    pause_processor();
  }
  const int runners = job.workers;
  for (int w = 1; w < options.workers; ++w) {
    if (answers.done.load(std::memory_order_acquire) == all_answers(epoch)) return;
    if (claims[static_cast<std::size_t>(w)].epoch.load(std::memory_order_relaxed) == epoch ||
        !claim(w, epoch))
      continue;
    if (w < runners) execute_parts(plan, schedule, function, w, 0, runners);
    answers.done.fetch_add(1, std::memory_order_seq_cst);
  }
}

// The part of a static job that is a worker's, or, as that worker, pieces of a dynamic one as long as there
// are some.
void WorkerPool::Team::execute(const ChunkPlan& plan, Schedule schedule, ChunkFunction function, int worker) {
  const auto workers = static_cast<ChunkPlan::Count>(options.workers);
  const auto run_piece = [&](ChunkPlan::Count k) {
    if (events.failed.load(std::memory_order_relaxed)) return false;
    function(plan.begin(k), plan.end(k), worker);
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
}

// The parts of worker `first` and of those that do not run, every `runners`-th of them, by the thread of
// worker `self`. Each is done in the name of the worker whose it is: what kernels keep for each worker then
// does not depend on how many run.
void WorkerPool::Team::execute_parts(const ChunkPlan& plan, Schedule schedule, ChunkFunction function,
                                     int first, int self, int runners) {
  if (schedule == Schedule::Dynamic) runners = options.workers;  // pieces are nobody's: once as the first
  for (int part = first; part < options.workers; part += runners) {
    if (part == self) {
      execute(plan, schedule, function, part);
    } else {
      const EnterWorkerRegion as(this, part);
      execute(plan, schedule, function, part);
    }
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
