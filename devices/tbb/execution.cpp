#include <cstdio>
#include <thread>
#include <vector>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/device.hpp>
#include <strata/devices/host/worker.hpp>
#include <strata/devices/tbb/device.hpp>

namespace strata::inline STRATA_ABI {

namespace {

// The mask of the thread that loads Strata if a library has bound that thread to fewer processors than the
// process has; else empty. oneTBB counts the processors of the first thread, once, so the thread is let go
// while it does.
const std::vector<int> bound_mask = [] {
  const std::vector<int>& process = detail::inherited_processors();
  std::vector<int> mask = detail::processors_of_this_thread();
  if (mask.size() >= process.size() || !detail::bind_this_thread(process)) return std::vector<int>();
  const int threads = tbb::info::default_concurrency();
  detail::bind_this_thread(mask);
  if (static_cast<std::size_t>(threads) < process.size())
    std::fprintf(stderr,
                 "strata: warning: Tbb runs on %d of %d processors, as oneTBB was started by a thread that "
                 "was bound to these; start it after Strata, or unset OMP_PROC_BIND and its like\n",
                 threads, static_cast<int>(process.size()));
  return mask;
}();

// Keeps its mask, whatever it works on.
const std::thread::id loading_thread = std::this_thread::get_id();

// oneTBB's threads begin with the mask of the thread that started them. Does nothing to one whose mask was
// changed by others since then.
void unbind_worker() {
  static thread_local const bool done = detail::processors_of_this_thread() == bound_mask &&
                                        detail::bind_this_thread(detail::inherited_processors());
  static_cast<void>(done);
}

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
  const std::thread::id caller = std::this_thread::get_id();
  const auto piece = [&](const tbb::blocked_range<Count>& pieces) {
    const std::thread::id here = std::this_thread::get_id();
    if (!bound_mask.empty() && here != caller && here != loading_thread) unbind_worker();
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

int concurrency() { return tbb::this_task_arena::max_concurrency(); }

detail::Runner runner() {
  detail::warn_of_lost_processors();
  return {run, nullptr, concurrency()};
}

detail::DeviceInstance& backend() {
  static auto* const instance = new detail::HostDevice(Tbb::name, runner);
  return *instance;
}

}  // namespace

constinit const detail::HostKind detail::tbb_host{Tbb::name, runner, backend, concurrency};

}  // namespace strata::inline STRATA_ABI
