// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <strata/core/log.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/control_group.hpp>
#include <strata/devices/host/device.hpp>
#include <strata/devices/host/worker.hpp>
#include <strata/devices/tbb/device.hpp>
#include <strata/devices/tbb/threads.hpp>

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
    detail::log_message(LogLevel::Warning,
                        "Tbb runs on %d of %d processors, as oneTBB was started by a thread that "
                        "was bound to these; start it after Strata, or unset OMP_PROC_BIND and its like",
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

// Pieces are handed to oneTBB as a range of pieces, in a context of their own: a caller whose task group was
// cancelled still gets its launch done.
void run_pieces(const detail::ChunkPlan& plan, detail::Schedule schedule, detail::ChunkFunction function) {
  using Count = detail::ChunkPlan::Count;
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
  if (schedule == detail::Schedule::Static)
    tbb::parallel_for(pieces, piece, tbb::static_partitioner(), alone);
  else tbb::parallel_for(pieces, piece, tbb::simple_partitioner(), alone);
}

const detail::TbbThreads& threads() {
  static const auto* const all = new detail::TbbThreads(detail::quota_processors());  // used to the very end
  return *all;
}

void run(const void*, const detail::ChunkRange& range, detail::ChunkFunction function) {
  threads().run(range, function);
}

int concurrency() { return threads().concurrency(); }

detail::Runner runner() {
  detail::warn_of_lost_processors();
  return {run, nullptr, concurrency()};
}

detail::DeviceInstance& backend() {
  static auto* const instance = new detail::HostDevice(Tbb::name, runner);
  return *instance;
}

}  // namespace

struct detail::TbbThreads::Arena : tbb::task_arena {
  using task_arena::task_arena;
};

detail::TbbThreads::TbbThreads(int quota) : quota_(quota), arena_(quota > 0 ? new Arena(quota) : nullptr) {}
detail::TbbThreads::~TbbThreads() { delete arena_; }

int detail::TbbThreads::concurrency() const {
  const int here = tbb::this_task_arena::max_concurrency();
  return arena_ != nullptr ? std::min(here, quota_) : here;
}

// Pieces are planned as on Threads.
void detail::TbbThreads::run(const ChunkRange& range, ChunkFunction function) const {
  const int workers = concurrency();
  const ChunkPlan plan(range, workers);
  if (plan.count() == 0) return;
  if (plan.count() == 1) {
    // A thread that runs a piece of another launch keeps its number, and so does one of the arena.
    const int place = tbb::this_task_arena::current_thread_index();
    const int worker = host_worker >= 0 ? host_worker : place < 0 || place >= workers ? 0 : place;
    const HostWorkerScope number(worker);
    function(plan.begin(0), plan.end(0), worker);
    return;
  }
  const auto work = [&] { run_pieces(plan, range.schedule, function); };
  if (workers < tbb::this_task_arena::max_concurrency()) arena_->execute(work);
  else work();
}

constinit const detail::HostKind detail::tbb_host{Tbb::name, runner, backend, concurrency};

}  // namespace strata::inline STRATA_ABI
