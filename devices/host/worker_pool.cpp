// How the team is started, synchronised and put to sleep.
//
//        caller (worker 0)                                     workers 1 .. W-1
//   turn    take a ticket, wait until it is served
//   job     write the job                    seen != epoch --> read the job
//           epoch = e  --------------------------------------^
//           if (sleepers) wake(epoch)                          run own pieces
//           run own pieces                                     done += 1
//           done == e * (W-1)  <-------------------------------^
//   turn    serve the next ticket                              last one: if (caller_sleeps) wake(done)
//
// Every worker answers every epoch, also where it has no piece of it. So the job needs no lock: when the
// caller has seen done == e * (W-1), no worker reads the job any more, and it may be overwritten.
//
// Taking over. A worker claims its part of an epoch before it reads the job, by changing its own word from
// e - 1 to e. A caller that has done its own pieces may claim the parts of workers that have not begun (they
// sleep, or another program has their processor), do those, and answer for them: a small job need not wait
// for a time slice. Whoever fails to claim has nothing to do with that epoch, and does not touch the job.
//
// The counters only grow (modulo 2^32), hence nothing is reset and the last worker of an epoch knows that it
// is the last by comparing its own count with e * (W-1). Epoch 1 is the start of the threads; a job without a
// function is the end.
//
// Sleeping. Each of the three waits (a worker's for an epoch, the caller's for the last answer, a submitter's
// for its turn) is on one 32-bit word: look for a while, then announce the sleep in a second word, look once
// more, and sleep by futex, which returns at once if the word is no longer what was seen. The other side
// changes the word, then looks at the announcement, and makes the wake call only if there is one:
//
//        sleeper:  announce (A)   look at the word (B)   sleep
//        waker:    change the word (C)   look at the announcement (D)   wake
//
// The wake-up would be lost if B missed C and D missed A. All four are sequentially consistent operations,
// so they have one order; B before C and D before A would make A < B < C < D < A, a contradiction. A
// sleep that comes between C and the wake call is refused by the kernel, which compares the word under the
// lock that the wake call takes. Weaker orders do not suffice: store-then-load of two different words is
// what processors reorder. (No stand-alone fences, since ThreadSanitizer does not model them.)
//
// Turns are a ticket lock, so that a thread that submits in a loop cannot starve another. A released turn is
// for one submitter only; futex bit sets, chosen by the ticket, wake that one and leave the others asleep.
//
// Cache lines. A warm run moves two lines between processors: the job with its epoch (caller to workers),
// and the count of answers (workers to caller). Everything else is read-mostly or the caller's own.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/core/log.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/other_programs.hpp>
#include <strata/devices/host/pause.hpp>
#include <strata/devices/host/worker.hpp>
#include <strata/devices/host/worker_pool.hpp>

#if defined(__linux__)
#include <climits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <sched.h>
#endif

namespace strata::inline STRATA_ABI::detail {

namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == 4 && Word::is_always_lock_free, "a futex is a plain 32-bit word");

constexpr std::size_t cache_line = 64;

#if defined(__linux__)
// Not std::atomic::wait: libstdc++ puts its own spinning and a shared table of waiters in front of the futex.
void sleep_while(Word& word, std::uint32_t value, std::uint32_t bits = ~0U) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_BITSET_PRIVATE, value, nullptr,
          nullptr, bits);
}
void wake(Word& word, std::uint32_t bits = ~0U) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr,
          nullptr, bits);
}
#else
void sleep_while(Word& word, std::uint32_t value, std::uint32_t = 0) { word.wait(value); }
void wake(Word& word, std::uint32_t = 0) { word.notify_all(); }
#endif

// Bounds one wait by time. Between looks at the clock it only pauses. Once the wait is no longer short, or
// from the start if there are fewer processors than workers, it offers the processor to others at every look.
// Where one look follows the other much later than it should, the processor was taken away: others want it,
// and looking on would spend the share of it that the next job needs.
class Patience {
 public:
  Patience(int spin_us, bool crowded) : limit_(spin_us), crowded_(crowded) {}

  // Waits a moment. False: the time is up, sleep.
  bool wait() {
    pause_processor();
    if (++looks_ % looks_per_clock != 0) return true;
    const auto now = std::chrono::steady_clock::now();
    if (looks_ == looks_per_clock) start_ = last_ = now;
    if (now - start_ >= limit_ || now - last_ > lost_processor) return false;
    last_ = now;
    if (crowded_ || now - start_ > short_wait) std::this_thread::yield();
    return true;
  }

 private:
  static constexpr unsigned looks_per_clock = 32;  // about 1 microsecond
  static constexpr std::chrono::microseconds short_wait{20};
  static constexpr std::chrono::microseconds lost_processor{50};

  std::chrono::steady_clock::time_point start_{}, last_{};
  std::chrono::microseconds limit_;
  unsigned looks_ = 0;
  bool crowded_;
};

// Where the calling thread is: the regions it is in, innermost first.
struct Region {
  const void* team;
  int worker;
  const Region* outer;
};
constinit thread_local const Region* innermost = nullptr;

class EnterRegion {
 public:
  EnterRegion(const void* team, int worker) : region_{team, worker, innermost}, number_(worker) {
    innermost = &region_;
  }
  ~EnterRegion() { innermost = region_.outer; }
  EnterRegion(const EnterRegion&) = delete;
  EnterRegion& operator=(const EnterRegion&) = delete;

 private:
  Region region_;
  HostWorkerScope number_;
};

const Region* region_of(const void* team) {
  const Region* region = innermost;
  while (region != nullptr && region->team != team) region = region->outer;
  return region;
}

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

void run_inline(const ChunkPlan& plan, ChunkFunction function, int worker) {
  for (ChunkPlan::Count k = 0; k < plan.count(); ++k) function(plan.begin(k), plan.end(k), worker);
}

}  // namespace

struct WorkerPool::Team {
  // Written by the submitters.
  struct alignas(cache_line) Turns {
    Word next_ticket{0};
    Word serving{0};
    Word sleepers{0};
  } turns;

  // Written by the caller, read by the workers.
  struct alignas(cache_line) Job {
    ChunkRange range;
    ChunkFunction function;
    int workers = 0;  // that have parts of it, the others only answer
    Word epoch{1};
  } job;
  static_assert(sizeof(Job) == cache_line);

  // Written by the workers, read by the caller.
  struct alignas(cache_line) Answers {
    Word done{0};
  } answers;

  // The last epoch of which a worker's part was claimed; written by the worker, or by the caller in its
  // place.
  struct alignas(cache_line) Claim {
    Word epoch{1};
  };
  std::vector<Claim> claims;  // of each worker

  // The next piece of a Dynamic job.
  struct alignas(cache_line) Dispenser {
    std::atomic<ChunkPlan::Count> next{0};
  } dispenser;

  // Written only when a thread sleeps or throws.
  struct alignas(cache_line) Events {
    Word sleepers{0};
    Word caller_sleeps{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;  // set with `failed`, read by the caller after the last answer
  } events;

  Options options;
  bool crowded;          // more workers than processors
  OtherPrograms others;  // looked at where the pool shares processors
  std::atomic<bool> said_room{false};
  unsigned generation;
  std::vector<std::vector<int>> places;  // the processors of each worker
  std::vector<std::thread> threads;

  explicit Team(Options requested);

  void start();
  void stop();
  void work(int worker);
  std::uint32_t await_epoch(std::uint32_t seen, bool looks);
  void answer(std::uint32_t epoch);
  bool claim(int worker, std::uint32_t epoch);

  void take_turn();
  void end_turn();
  int workers_now();
  std::uint32_t publish(const ChunkRange& range, ChunkFunction function, int workers);
  void await_answers(std::uint32_t epoch);
  void execute(const ChunkPlan& plan, Schedule schedule, ChunkFunction function, int worker);
  void execute_parts(const ChunkPlan& plan, Schedule schedule, ChunkFunction function, int first, int self,
                     int runners);
  void take_over(const ChunkPlan& plan, Schedule schedule, ChunkFunction function, std::uint32_t epoch);
  void capture_exception();
  std::exception_ptr take_error();

  // The value of `done` when every worker has answered the epoch.
  std::uint32_t all_answers(std::uint32_t epoch) const {
    return epoch * static_cast<std::uint32_t>(options.workers - 1);
  }
  bool forked() const { return generation != fork_generation.load(std::memory_order_relaxed); }
};

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

  const EnterRegion region(this, worker);
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

// ---- one run -------------------------------------------------------------------------------------------

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
  events.sleepers.fetch_sub(1, std::memory_order_relaxed);  // ordered before the next run by answer()
  return epoch;
}

void WorkerPool::Team::answer(std::uint32_t epoch) {
  const std::uint32_t done = answers.done.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (done == all_answers(epoch) && events.caller_sleeps.load(std::memory_order_seq_cst) != 0)
    wake(answers.done);
}

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
      const EnterRegion as(this, part);
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

// ---- turns ---------------------------------------------------------------------------------------------

namespace {
std::uint32_t bit_of(std::uint32_t ticket) { return 1U << (ticket % 32); }
}  // namespace

void WorkerPool::Team::take_turn() {
  const std::uint32_t ticket = turns.next_ticket.fetch_add(1, std::memory_order_relaxed);
  if (turns.serving.load(std::memory_order_acquire) == ticket) return;
  for (Patience patience(options.spin_us, crowded); patience.wait();)
    if (turns.serving.load(std::memory_order_acquire) == ticket) return;

  turns.sleepers.fetch_add(1, std::memory_order_seq_cst);
  for (std::uint32_t served; (served = turns.serving.load(std::memory_order_seq_cst)) != ticket;)
    sleep_while(turns.serving, served, bit_of(ticket));
  turns.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void WorkerPool::Team::end_turn() {
  const std::uint32_t next = turns.serving.load(std::memory_order_relaxed) + 1;
  turns.serving.store(next, std::memory_order_seq_cst);
  if (turns.sleepers.load(std::memory_order_seq_cst) != 0) wake(turns.serving, bit_of(next));
}

// ---- the public face -----------------------------------------------------------------------------------

WorkerPool::WorkerPool(Options options) : team_(std::make_unique<Team>(std::move(options))) {
  team_->start();
}

WorkerPool::~WorkerPool() { team_->stop(); }

int WorkerPool::size() const { return team_->options.workers; }

int WorkerPool::current_worker() { return innermost != nullptr ? innermost->worker : -1; }

bool WorkerPool::in_region() const { return region_of(team_.get()) != nullptr; }

void WorkerPool::run(const ChunkRange& range, ChunkFunction function) {
  if (range.end <= range.begin) return;
  Team& team = *team_;
  if (const Region* region = region_of(&team)) {
    const EnterRegion nested(&team, region->worker);
    return run_inline(ChunkPlan(range, 1), function, region->worker);
  }
  if (team.forked()) {
    const EnterRegion alone(&team, 0);
    return run_inline(ChunkPlan(range, 1), function, 0);
  }

  struct Turn {
    Team& team;
    explicit Turn(Team& t) : team(t) { team.take_turn(); }
    ~Turn() { team.end_turn(); }
  };
  std::exception_ptr error;
  {
    const Turn turn(team);
    const EnterRegion region(&team, 0);
    const ChunkPlan plan(range, team.options.workers);
    if (plan.count() == 1 || team.options.workers == 1) return run_inline(plan, function, 0);

    const int runners = team.workers_now();
    if (runners == 1) {
      team.dispenser.next.store(0, std::memory_order_relaxed);
      team.execute_parts(plan, range.schedule, function, 0, 0, 1);
    } else {
      const std::uint32_t epoch = team.publish(range, function, runners);
      team.execute_parts(plan, range.schedule, function, 0, 0, runners);
      if (team.options.shares_processors) team.take_over(plan, range.schedule, function, epoch);
      team.await_answers(epoch);
    }
    error = team.take_error();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace strata::inline STRATA_ABI::detail
