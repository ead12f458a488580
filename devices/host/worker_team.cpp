// Start and end of the team, and its jobs: how they are announced, awaited and answered.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/patience.hpp>
#include <strata/devices/host/ticks.hpp>
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

std::uint32_t bell_bit(int worker) { return 1U << (static_cast<unsigned>(worker) % 32); }

}  // namespace

// ---- start and end -------------------------------------------------------------------------------------

WorkerPool::Team::Team(Options requested) : options(std::move(requested)) {
  if (options.workers < 0 || options.spin_us < 0)
    throw Error("worker pool: asked for " + std::to_string(options.workers) + " workers that spin for " +
                std::to_string(options.spin_us) +
                " us; neither may be negative (0 workers: one per processor)");
  if (options.share_ns < 0)
    throw Error("worker pool: asked for shares of " + std::to_string(options.share_ns) +
                " ns; give 0 (all workers that have pieces take part in a run) or more");
  if (options.workers == 0) options.workers = usable_processors();
  if (options.workers > most_workers)
    throw Error("worker pool: asked for " + std::to_string(options.workers) + " workers; give " +
                std::to_string(most_workers) + " at most");
  if (options.slice_ns < 0)
    throw Error("worker pool: asked for slices of " + std::to_string(options.slice_ns) +
                " ns; give 0 (each part as a whole) or more");
  if (!options.nodes.empty() && options.nodes.size() != static_cast<std::size_t>(options.workers))
    throw Error("worker pool: given the memory nodes of " + std::to_string(options.nodes.size()) +
                " workers; it has " + std::to_string(options.workers));
  claims = std::vector<Claim>(static_cast<std::size_t>(options.workers));
  asleep = std::vector<std::atomic<bool>>(static_cast<std::size_t>(options.workers));
  count_forks();
  generation = fork_generation.load(std::memory_order_relaxed);

  const std::vector<int>& usable = inherited_processors();
  processors = static_cast<int>(usable.size());
  crowded = options.workers > processors;
  // The caller is most likely where it is now; the workers begin at the next processor.
  const auto here = std::find(usable.begin(), usable.end(), processor_of_this_thread());
  const std::size_t first = here == usable.end() ? 0 : static_cast<std::size_t>(here - usable.begin());
  for (std::size_t w = 0; w < static_cast<std::size_t>(options.workers); ++w)
    places.push_back(options.pin ? std::vector<int>{usable[(first + w) % usable.size()]} : usable);
}

void WorkerPool::Team::start() {
  const TickLength tick;
  nodes = options.nodes;
  nodes.resize(static_cast<std::size_t>(options.workers));
  note_node(0);
  expected = static_cast<std::uint32_t>(options.workers - 1);
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
  await_answers();
  if (const std::exception_ptr error = take_error()) {
    stop();
    std::rethrow_exception(error);
  }
  has_nodes = std::any_of(nodes.begin(), nodes.end(), [&](int node) { return node != nodes.front(); });
  ns_a_tick = tick.measured();
}

// Of threads that may be anywhere all memory is as near.
void WorkerPool::Team::note_node(int worker) {
  if (options.pin && options.nodes.empty())
    nodes[static_cast<std::size_t>(worker)] = memory_node_of_this_thread();
}

bool WorkerPool::Team::forked() const {
  return generation != fork_generation.load(std::memory_order_relaxed);
}

void WorkerPool::Team::stop() {
  if (forked()) {  // the threads are those of the parent process: there are none to wait for
    for (std::thread& thread : threads) thread.detach();
    return;
  }
  announce({}, {}, options.workers, 0, 1, false);
  for (std::thread& thread : threads) thread.join();
}

void WorkerPool::Team::work(int worker) {
  // Unpinned threads are bound too: they would otherwise inherit the mask of the constructing thread, which
  // may be a pinned worker. A refusal only costs speed.
  bind_this_thread(places[static_cast<std::size_t>(worker)]);
  note_node(worker);
  try {
    if (options.on_start) options.on_start(worker);
  } catch (...) {
    capture_exception();
  }
  Announcement seen(1, 0, false);
  answer(static_cast<std::uint32_t>(options.workers - 1));

  const EnterWorkerRegion region(this, worker);
  for (;;) {
    seen = await_job(worker, seen);
    if (!claim(worker, seen.number())) continue;
    if (job.call == nullptr) return;
    const ChunkRange range = job.range();
    const std::uint32_t all = job.all;
    execute_parts(ChunkPlan(range, options.workers), range, job.function(),
                  {worker, seen.runners(), job.first, job.slices}, seen.number(), worker);
    answer(all);
  }
}

// ---- jobs -----------------------------------------------------------------------------------------------

// To workers 1 to runners - 1, the parts before `first` being done.
void WorkerPool::Team::announce(const ChunkRange& range, ChunkFunction function, int runners, int first,
                                int slices, bool is_crowded) {
  job.begin = range.begin;
  job.end = range.end;
  job.chunk = range.chunk;
  job.log2_align = static_cast<std::uint8_t>(std::countr_zero(static_cast<std::uint64_t>(range.align)));
  job.schedule = range.schedule;
  job.call = function.call;
  job.context = function.context;
  job.first = static_cast<std::uint16_t>(first);
  job.slices = static_cast<std::uint16_t>(slices);
  expected += static_cast<std::uint32_t>(runners - 1);
  job.all = expected;
  job.announced.store(Announcement(++number, runners, is_crowded), std::memory_order_seq_cst);

  std::uint32_t sleepers = 0;
  for (int w = 1; w < runners; ++w)
    if (asleep[static_cast<std::size_t>(w)].load(std::memory_order_seq_cst)) sleepers |= bell_bit(w);
  if (sleepers == 0) return;
  job.bell.fetch_add(1, std::memory_order_seq_cst);
  wake(job.bell, sleepers);
}

// The next job that concerns the worker.
WorkerPool::Team::Announcement WorkerPool::Team::await_job(int worker, Announcement seen) {
  Announcement next = seen;
  for (Patience patience(options.spin_us, crowded); patience.wait();) {
    if ((next = job.announced.load(std::memory_order_acquire)) == seen) continue;
    if (next.concerns(worker)) return next;
    seen = next;
    if (next.is_crowded()) break;
  }

  std::atomic<bool>& sleeps = asleep[static_cast<std::size_t>(worker)];
  events.sleepers.fetch_add(1, std::memory_order_relaxed);
  sleeps.store(true, std::memory_order_seq_cst);
  for (;;) {
    const std::uint32_t bell = job.bell.load(std::memory_order_seq_cst);
    next = job.announced.load(std::memory_order_seq_cst);
    if (next != seen && next.concerns(worker)) break;
    seen = next;
    sleep_while(job.bell, bell, bell_bit(worker));
  }
  // Seen too late, as by a caller that took over this worker's part, it costs a wake call, no more.
  sleeps.store(false, std::memory_order_relaxed);
  events.sleepers.fetch_sub(1, std::memory_order_relaxed);
  return next;
}

// `all`: the count with the last answer to the job.
void WorkerPool::Team::answer(std::uint32_t all) {
  const std::uint32_t done = answers.done.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (done == all && events.caller_sleeps.load(std::memory_order_seq_cst) != 0) wake(answers.done);
}

void WorkerPool::Team::await_answers() {
  if (answers.done.load(std::memory_order_acquire) == expected) return;
  for (Patience patience(options.spin_us, crowded); patience.wait();)
    if (answers.done.load(std::memory_order_acquire) == expected) return;

  events.caller_sleeps.store(1, std::memory_order_seq_cst);
  for (std::uint32_t done; (done = answers.done.load(std::memory_order_seq_cst)) != expected;)
    sleep_while(answers.done, done);
  events.caller_sleeps.store(0, std::memory_order_relaxed);
}

}  // namespace strata::inline STRATA_ABI::detail
