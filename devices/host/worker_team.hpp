// The team of a worker pool: how it is started, synchronised and put to sleep. Included by worker_*.cpp only.
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
// Every worker answers every epoch, also where it has no piece of it, or the caller answers in its place. So
// the job needs no lock: when the caller has seen done == e * (W-1), no worker reads the job any more, and it
// may be overwritten.
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
// for its turn, in turns.hpp) is on one word, and its sleep is announced in a second one: futex_word.hpp says
// why no wake-up is lost.
//
// Cache lines. A warm run moves two lines between processors: the job with its epoch (caller to workers),
// and the count of answers (workers to caller). Everything else is read-mostly or the caller's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include <strata/devices/host/futex_word.hpp>
#include <strata/devices/host/other_programs.hpp>
#include <strata/devices/host/turns.hpp>
#include <strata/devices/host/worker_pool.hpp>

namespace strata::inline STRATA_ABI::detail {

struct WorkerPool::Team {
  Turns turns;  // written by the submitters

  // Written by the caller, read by the workers.
  struct alignas(cache_line) Job {
    ChunkRange range;
    ChunkFunction function;
    int workers = 0;  // that have parts of it, the others only answer
    FutexWord epoch{1};
  } job;
  static_assert(sizeof(Job) == cache_line);

  // Written by the workers, read by the caller.
  struct alignas(cache_line) Answers {
    FutexWord done{0};
  } answers;

  // The last epoch of which a worker's part was claimed; written by the worker, or by the caller in its
  // place.
  struct alignas(cache_line) Claim {
    FutexWord epoch{1};
  };
  std::vector<Claim> claims;  // of each worker

  // The next piece of a Dynamic job.
  struct alignas(cache_line) Dispenser {
    std::atomic<ChunkPlan::Count> next{0};
  } dispenser;

  // Written only when a thread sleeps or throws.
  struct alignas(cache_line) Events {
    FutexWord sleepers{0};
    FutexWord caller_sleeps{0};
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

  // worker_team.cpp: start and end, epochs
  void start();
  void stop();
  bool forked() const;
  void work(int worker);
  int workers_now();
  std::uint32_t publish(const ChunkRange& range, ChunkFunction function, int workers);
  std::uint32_t await_epoch(std::uint32_t seen, bool looks);
  void answer(std::uint32_t epoch);
  void await_answers(std::uint32_t epoch);
  // The value of `done` when every worker has answered the epoch.
  std::uint32_t all_answers(std::uint32_t epoch) const {
    return epoch * static_cast<std::uint32_t>(options.workers - 1);
  }

  // worker_parts.cpp: parts of a job
  bool claim(int worker, std::uint32_t epoch);
  void execute(const ChunkPlan& plan, Schedule schedule, ChunkFunction function, int worker);
  void execute_parts(const ChunkPlan& plan, Schedule schedule, ChunkFunction function, int first, int self,
                     int runners);
  void take_over(const ChunkPlan& plan, Schedule schedule, ChunkFunction function, std::uint32_t epoch);
  void capture_exception();
  std::exception_ptr take_error();
};

}  // namespace strata::inline STRATA_ABI::detail
