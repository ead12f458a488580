// The team of a worker pool: how it is started, synchronised and put to sleep. Included by worker_*.cpp only.
//
//        caller (worker 0)                                     workers 1 .. W-1
//   turn    take a ticket, wait until it is served
//   job     write the job                    announced changed --> does it concern me?
//           announce it to R - 1 workers  ----------------------^
//           if (some of them sleep) wake them                   claim, read the job
//           run own parts                                       run own parts
//           done == job.all  <----------------------------------done += 1
//   turn    serve the next ticket                               last one: if (caller_sleeps) wake(done)
//
// Workers 1 to R - 1 answer, or the caller answers in their place; the others look at the word that announces
// the job and at nothing else. So the job needs no lock: when the caller has seen all answers, no worker
// reads it any more, and it may be overwritten. A job of which a worker has parts is not over before that
// worker's answer: it misses none, however many it has slept through.
//
// How many run. R is chosen by what the run is expected to cost (launch_costs.hpp) and by the room beside
// other programs. With R = 1 nothing is announced: the caller runs the parts one after the other, looks at
// the clock after 1, 2, 4, ... of them, and announces the rest to all when that would take long.
//
// Taking over. A worker claims its part of a job before it reads it, by raising its own word to the number of
// the job. A caller that has done its own parts may claim those of workers that have not begun (they sleep,
// or another program has their processor), do them, and answer: a small job need not wait for a time slice.
// Whoever fails to claim has nothing to do with that job, and does not touch it.
//
// Slices. Processors are not equally fast: two threads may share a core, or a core be a small one. Parts of a
// long static job are cut into slices. Workers take those of their own part, in order, then those that are
// left of others' whose memory is as near; each is taken by raising the word of the worker whose part it is.
//
// Answers are counted modulo 2^32 and never reset: the caller writes into the job what the count is at its
// end, hence the last worker knows that it is the last. Job 1 is the start of the threads; a job without a
// function is the end.
//
// Sleeping. Each of the three waits (a worker's for a job, the caller's for the last answer, a submitter's
// for its turn, in turns.hpp) is on one word, and its sleep is announced in a second one: futex_word.hpp says
// why no wake-up is lost. Workers sleep on the bell, which is rung only for sleepers that are to take part.
//
// Cache lines. A warm run moves two lines between processors: the job with its announcement (caller to
// workers), and the count of answers (workers to caller); one in slices those of parts, too. Everything else
// is read-mostly or the caller's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include <strata/devices/host/futex_word.hpp>
#include <strata/devices/host/launch_costs.hpp>
#include <strata/devices/host/other_programs.hpp>
#include <strata/devices/host/turns.hpp>
#include <strata/devices/host/worker_pool.hpp>

namespace strata::inline STRATA_ABI::detail {

struct WorkerPool::Team {
  Turns turns;  // written by the submitters

  // What all workers look at: the number of a job, which of them it concerns, and whether the others are to
  // leave their processors to other programs.
  class Announcement {
   public:
    Announcement() = default;
    Announcement(std::uint64_t number, int runners, bool is_crowded)
        : word_(number << 18 | static_cast<std::uint64_t>(runners) << 1 | (is_crowded ? 1 : 0)) {}
    std::uint64_t number() const { return word_ >> 18; }
    int runners() const { return static_cast<int>(word_ >> 1 & 0x1ffff); }
    bool concerns(int worker) const { return worker < runners(); }
    bool is_crowded() const { return (word_ & 1) != 0; }
    friend bool operator==(const Announcement&, const Announcement&) = default;

   private:
    std::uint64_t word_ = 0;
  };
  static constexpr int most_workers = 1 << 16;  // as the setting allows

  // Written by the caller, read by the workers.
  struct alignas(cache_line) Job {
    index_t begin = 0, end = 0, chunk = 0;
    void (*call)(const void* context, index_t begin, index_t end, int worker) = nullptr;
    const void* context = nullptr;
    std::atomic<Announcement> announced{Announcement(1, 0, false)};
    std::uint32_t all = 0;     // the count of answers at its end
    std::uint16_t first = 0;   // parts before this one are done
    std::uint16_t slices = 1;  // of each part
    std::uint8_t log2_align = 0;
    Schedule schedule = Schedule::Static;
    FutexWord bell{0};

    ChunkRange range() const { return {begin, end, chunk, index_t{1} << log2_align, schedule}; }
    ChunkFunction function() const { return {call, context, 0, 0}; }
  } job;
  static_assert(sizeof(Job) == cache_line && std::atomic<Announcement>::is_always_lock_free);

  // Written by the workers, read by the caller.
  struct alignas(cache_line) Answers {
    FutexWord done{0};
  } answers;

  struct alignas(cache_line) Claim {
    // The last job of which the worker's part was claimed; written by the worker, or by the caller in its
    // place.
    std::atomic<std::uint64_t> number{1};
    // How many slices of its part were taken, in the last 16 bits, of the job whose number is in the others;
    // written by who takes one.
    std::atomic<std::uint64_t> taken{0};
  };
  std::vector<Claim> claims;  // of each worker
  // Whether a worker sleeps, or is about to; written by it where that changes.
  std::vector<std::atomic<bool>> asleep;

  // The next piece of a Dynamic job; of one in slices, how many parts are taken as a whole.
  struct alignas(cache_line) Dispenser {
    std::atomic<ChunkPlan::Count> next{0};
  } dispenser;

  // Written only when a thread sleeps or throws.
  struct alignas(cache_line) Events {
    std::atomic<int> sleepers{0};
    FutexWord caller_sleeps{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;  // set with `failed`, read by the caller after the last answer
  } events;

  // The caller's own, whoever has the turn.
  std::uint64_t number = 1;    // of the last job
  std::uint32_t expected = 0;  // answers until its end
  LaunchCosts costs;
  double ns_a_tick = 1;
  double ns_missed = 0;  // by letting workers sleep

  Options options;
  int processors;
  bool crowded;                          // more workers than processors
  OtherPrograms others;                  // looked at where the pool shares processors
  int threads_with_room = most_workers;  // at the last look
  std::int64_t last_look = 0;            // in ticks
  std::atomic<bool> said_room{false};
  unsigned generation;
  std::vector<std::vector<int>> places;  // the processors of each worker
  std::vector<int> nodes;                // the memory that is near to each
  bool has_nodes = false;                // not all the same
  std::vector<std::thread> threads;

  explicit Team(Options requested);

  // worker_team.cpp: start and end, jobs
  void start();
  void stop();
  void note_node(int worker);
  bool forked() const;
  void work(int worker);
  void announce(const ChunkRange& range, ChunkFunction function, int runners, int first, int slices,
                bool is_crowded);
  Announcement await_job(int worker, Announcement seen);
  void answer(std::uint32_t all);
  void await_answers();

  // worker_parts.cpp: parts of a job
  struct Parts {
    int worker;      // whose parts: this one's, and every runners-th after it
    int runners;     // that share all parts
    int done = 0;    // parts before this one are done
    int slices = 1;  // of each part
  };
  struct Alone {
    ChunkPlan::Count pieces = 0;  // that were run
    int done = 0;                 // as in Parts
    bool is_finished = false;
  };
  bool claim(int worker, std::uint64_t job_number);
  bool take_slice(int worker, std::uint64_t job_number, int slices, int& slice);
  ChunkPlan::Count execute(const ChunkPlan& plan, Schedule schedule, ChunkFunction function, int worker);
  ChunkPlan::Count execute_slices(const ChunkPlan& plan, index_t align, ChunkFunction function, Parts parts,
                                  std::uint64_t job_number);
  ChunkPlan::Count execute_slices_of(int part, const ChunkPlan& plan, index_t align, ChunkFunction function,
                                     Parts parts, std::uint64_t job_number);
  ChunkPlan::Count execute_parts(const ChunkPlan& plan, const ChunkRange& range, ChunkFunction function,
                                 Parts parts, std::uint64_t job_number, int self);
  Alone execute_alone(const ChunkPlan& plan, const ChunkRange& range, ChunkFunction function,
                      double alone_ns);
  void execute_piece(index_t begin, index_t end, ChunkFunction function);
  void take_over(const ChunkPlan& plan, const ChunkRange& range, ChunkFunction function, Parts parts);
  void capture_exception();
  std::exception_ptr take_error();

  // worker_share.cpp: who takes part in a run
  void run(const ChunkRange& range, const ChunkPlan& plan, ChunkFunction function);
  int workers_for(double cost_ns, int parts);
  bool is_worth_handing_out(double alone_ns, std::int64_t ticks, ChunkPlan::Count done,
                            ChunkPlan::Count all) const;
  bool sleeps_one_of(int runners) const;
  bool parts_are_anyones(const ChunkRange& range) const;
  int slices_for(const ChunkRange& range, double cost_ns, int parts, int runners) const;
  int room() const;
  void look_for_room();
};

}  // namespace strata::inline STRATA_ABI::detail
