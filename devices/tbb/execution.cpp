#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <strata/devices/host_device.hpp>
#include <strata/devices/host_worker.hpp>
#include <strata/devices/tbb/device.hpp>

namespace strata::inline STRATA_ABI {

namespace {

// Pieces are planned as on Threads, and handed to oneTBB as a range of pieces, in a context of their own: a
// caller whose task group was cancelled still gets its launch done.
void run(const void*, const detail::ChunkRange& range, detail::ChunkFunction function) {
  const int workers = tbb::this_task_arena::max_concurrency();
  const detail::ChunkPlan plan(range, workers);
  using Count = detail::ChunkPlan::Count;
  if (plan.count() == 0) return;
  if (plan.count() == 1) {
    // A thread that runs a piece of another launch keeps its number, and so does one of the arena.
    const int place = tbb::this_task_arena::current_thread_index();
    const int worker = detail::host_worker >= 0 ? detail::host_worker : place < 0 ? 0 : place;
    const detail::HostWorkerScope number(worker);
    function(plan.begin(0), plan.end(0), worker);
    return;
  }
  const auto piece = [&](const tbb::blocked_range<Count>& pieces) {
    const int worker = tbb::this_task_arena::current_thread_index();
    const detail::HostWorkerScope number(worker);
    for (Count k = pieces.begin(); k < pieces.end(); ++k) function(plan.begin(k), plan.end(k), worker);
  };
  const tbb::blocked_range<Count> pieces(0, plan.count());
  tbb::task_group_context alone(tbb::task_group_context::isolated);
  if (range.schedule == detail::Schedule::Static)
    tbb::parallel_for(pieces, piece, tbb::static_partitioner(), alone);
  else tbb::parallel_for(pieces, piece, tbb::simple_partitioner(), alone);
}

}  // namespace

Tbb::Tbb(int index) { detail::require_only_instance(name, index); }

int Tbb::concurrency() { return tbb::this_task_arena::max_concurrency(); }

detail::Runner Tbb::runner() { return {run, nullptr, concurrency()}; }

detail::DeviceInstance& Tbb::backend() const {
  static auto* const instance = new detail::HostDevice(name, runner);
  return *instance;
}

}  // namespace strata::inline STRATA_ABI
