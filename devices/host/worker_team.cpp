// Start and end of the team, and its epochs: how a job is published, awaited and answered.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/core/log.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/patience.hpp>
#include <strata/devices/host/worker_region.hpp>
#include <strata/devices/host/worker_team.hpp>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace strata::inline STRATA_ABI::detail {

namespace {

// How many forks lie between the first process and this one; a pool of an earlier generation has no threads.
constinit std::atomic<unsigned> fork_generation{0};

void count_forks() {
#if defined(__unix__) || defined(__APPLE__)
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); });
  });
#endif
}

}  // namespace

// ---- start and end -------------------------------------------------------------------------------------

WorkerPool::Team::Team(Options requested) : options(std::move(requested)) {
  if (options.workers < 0 || options.spin_us < 0)
    throw Error("worker pool: asked for " + std::to_string(options.workers) + " workers that spin for " +
                std::to_string(options.spin_us) +
                " us; neither may be negative (0 workers: one per processor)");
  if (options.workers == 0) options.workers = usable_processors();
  claims = std::vector<Claim>(static_cast<std::size_t>(options.workers));
  count_forks();
  generation = fork_generation.load(std::memory_order_relaxed);

  const std::vector<int>& processors = inherited_processors();
  crowded = static_cast<std::size_t>(options.workers) > processors.size();
  // The caller is most likely where it is now; the workers begin at the next processor.
  const auto here = std::find(processors.begin(), processors.end(), processor_of_this_thread());
  const std::size_t first =
      here == processors.end() ? 0 : static_cast<std::size_t>(here - processors.begin());
  for (std::size_t w = 0; w < static_cast<std::size_t>(options.workers); ++w)
    places.push_back(options.pin ? std::vector<int>{processors[(first + w) % processors.size()]}
                                 : processors);
}

void WorkerPool::Team::start() {
  threads.reserve(static_cast<std::size_t>(options.workers - 1));
  try {
    for (int w = 1; w < options.workers; ++w) threads.emplace_back([this, w] { work(w); });
  } catch (const std::system_error& error) {
    const std::size_t started = threads.size();
    stop();
    throw Error("worker pool: asked for " + std::to_string(options.workers - 1) +
                " threads, the system gave " + std::to_string(started) + " (" + error.what() +
                "); ask for fewer workers or raise the limit");
  }
  await_answers(1);
  if (const std::exception_ptr error = take_error()) {
    stop();
    std::rethrow_exception(error);
  }
}

bool WorkerPool::Team::forked() const {
  return generation != fork_generation.load(std::memory_order_relaxed);
}

void WorkerPool::Team::stop() {
  if (forked()) {  // the threads are those of the parent process: there are none to wait for
    for (std::thread& thread : threads) thread.detach();
    return;
  }
  publish({}, {}, options.workers);
  for (std::thread& thread : threads) thread.join();
}

void WorkerPool::Team::work(int worker) {
  // Unpinned threads are bound too: they would otherwise inherit the mask of the constructing thread, which
  // may be a pinned worker. A refusal only costs speed.
  bind_this_thread(places[static_cast<std::size_t>(worker)]);
  try {
    if (options.on_start) options.on_start(worker);
  } catch (...) {
    capture_exception();
  }
  std::uint32_t epoch = 1;
  answer(epoch);

  const EnterWorkerRegion region(this, worker);
  for (bool has_part = true;;) {
    epoch = await_epoch(epoch, has_part);
    if (!claim(worker, epoch)) continue;
    if (job.function.call == nullptr) return;
    has_part = worker < job.workers;
    if (has_part)
      execute_parts(ChunkPlan(job.range, options.workers), job.range.schedule, job.function, worker, worker,
                    job.workers);
    answer(epoch);
  }
}

// ---- epochs ---------------------------------------------------------------------------------------------

// All of them, less those whose processors other programs want.
int WorkerPool::Team::workers_now() {
  if (!options.shares_processors || options.workers == 1) return options.workers;
  const auto asleep = static_cast<int>(events.sleepers.load(std::memory_order_relaxed));
  const int room = others.room_for(options.workers, options.workers - asleep);
  if (room < options.workers && !said_room.exchange(true, std::memory_order_relaxed))
    log_message(
        LogLevel::Info,
        "other threads run: launches on Threads use %d of %d threads now, and as many as there is room for "
        "from here on; STRATA_THREADS=%d keeps all",
        room, options.workers, options.workers);
  return room;
}

std::uint32_t WorkerPool::Team::publish(const ChunkRange& range, ChunkFunction function, int workers) {
  job.range = range;
  job.function = function;
  job.workers = workers;
  dispenser.next.store(0, std::memory_order_relaxed);
  const std::uint32_t epoch = job.epoch.load(std::memory_order_relaxed) + 1;
  job.epoch.store(epoch, std::memory_order_seq_cst);
  if (events.sleepers.load(std::memory_order_seq_cst) != 0) wake(job.epoch);
  return epoch;
}

// `looks`: for a while, before it sleeps.
std::uint32_t WorkerPool::Team::await_epoch(std::uint32_t seen, bool looks) {
  std::uint32_t epoch = seen;
  for (Patience patience(looks ? options.spin_us : 0, crowded); patience.wait();)
    if ((epoch = job.epoch.load(std::memory_order_acquire)) != seen) return epoch;

  events.sleepers.fetch_add(1, std::memory_order_seq_cst);
  while ((epoch = job.epoch.load(std::memory_order_seq_cst)) == seen) sleep_while(job.epoch, seen);
  // Seen too late, as by a caller that took over this worker's part, it costs a wake call, no more.
  events.sleepers.fetch_sub(1, std::memory_order_relaxed);
  return epoch;
}

void WorkerPool::Team::answer(std::uint32_t epoch) {
  const std::uint32_t done = answers.done.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (done == all_answers(epoch) && events.caller_sleeps.load(std::memory_order_seq_cst) != 0)
    wake(answers.done);
}

void WorkerPool::Team::await_answers(std::uint32_t epoch) {
  const std::uint32_t all = all_answers(epoch);
  if (answers.done.load(std::memory_order_acquire) == all) return;
  for (Patience patience(options.spin_us, crowded); patience.wait();)
    if (answers.done.load(std::memory_order_acquire) == all) return;

  events.caller_sleeps.store(1, std::memory_order_seq_cst);
  for (std::uint32_t done; (done = answers.done.load(std::memory_order_seq_cst)) != all;)
    sleep_while(answers.done, done);
  events.caller_sleeps.store(0, std::memory_order_relaxed);
}

}  // namespace strata::inline STRATA_ABI::detail
