// A team of threads that runs the pieces of an index range: the engine of the Threads device (one pinned,
// process-wide pool) and of every emulated device (an unpinned pool of its own, whose threads are prepared
// by a start hook). Private to the devices: included by .cpp files only.
//
// Who runs: the thread that calls run() is worker 0, the pool's own threads are workers 1 to size() - 1. Any
// thread may call; calls from several threads take turns in the order in which they came.
// Nested calls: run() inside a region of the same pool runs inline, on the calling worker. Inside a region
// of another pool it takes its turn like any other call, so two pools must not wait for each other in a ring.
// Memory order: everything the caller did before run() happens before every piece, and every piece happens
// before the return of run().
// First touch: Schedule::Static cuts equal ranges into equal pieces and gives piece k to worker k modulo
// size(), every time; in a pinned pool worker k > 0 stays on one processor, so memory that a worker touched
// first stays near to it. Worker 0 is the caller, which is never pinned. With a `slice_ns` that holds for the
// workers to which the same memory is near, as a whole.
// Short runs: with a `share_ns` the team learns what runs of a kernel cost, and as many threads run as have
// that much work: for the shortest the caller alone. They run the pieces of the others in the way of the next
// lines. Other programs: a team that waits for a worker whose processor they have is slower than one thread.
// With `shares_processors` as many threads run as there is room for beside them (one: the caller runs alone),
// and the caller runs the pieces of workers that have not begun when it has run its own. A thread then runs
// pieces of several workers, each in the name of the worker whose it is: pieces and their workers stay the
// same. Unequal processors: with a `slice_ns` parts of static runs that are long, as far as the team has
// learned, are cut into slices, and workers that are done take those that slower ones have not begun; not
// while some values belong to workers (host/worker_copies.hpp). Idle: threads look for work for `spin_us`,
// then sleep in the kernel until there is some; at once where the system has taken the processor away
// meanwhile, as others want it. Lifetime: the destructor waits for the pool's threads; no thread may be
// inside run() by then. fork(): the child has no workers. There run() runs inline on its caller, without
// taking turns, and the destructor does not wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <strata/devices/chunk.hpp>

namespace strata::inline STRATA_ABI::detail {

class WorkerPool {
 public:
  struct Options {
    /// Size of the team, the calling thread included; 0: one per processor the process may use.
    int workers = 0;
    /// Binds each thread of the pool to one of the inherited processors, beginning after the one the
    /// constructing thread is on. Otherwise the threads may use all inherited processors.
    bool pin = false;
    /// Microseconds to look for work, or for the end of it, before sleeping.
    int spin_us = 100;
    /// Whether the team makes room for other programs that want its processors.
    bool shares_processors = false;
    /// Nanoseconds of work for which a worker takes part: a run that costs less than so much for each goes
    /// over fewer. 0: all that have pieces take part in every run.
    int share_ns = 0;
    /// Nanoseconds of work of a slice of a worker's part, which another may take; 0, or without a
    /// `share_ns`: parts have no slices.
    int slice_ns = 0;
    /// The number of the memory that is near to each worker; of a pinned pool empty: as the system says.
    std::vector<int> nodes = {};
    /// Called once on every thread of the pool (workers 1 and up, not the callers of run()) before the
    /// constructor returns. What it throws, the constructor throws.
    std::function<void(int worker)> on_start = {};
  };

  /// Starts the threads and waits until they are ready. Throws Error if a number is negative or if the
  /// system does not give as many threads; none is left running then.
  explicit WorkerPool(Options options);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// The number of workers, the calling thread included.
  int size() const;

  /// Runs every piece of the range (see ChunkPlan) and returns when all are done. Pieces must not wait for
  /// each other. A range of one piece runs inline and wakes no thread; an empty one returns at once. The
  /// first exception of a piece is thrown here, once the whole team has stopped; pieces that had not begun by
  /// then are dropped.
  void run(const ChunkRange& range, ChunkFunction function);

  /// The worker that the calling thread is in its innermost region, of whichever pool; -1 outside.
  static int current_worker();

  /// Whether the calling thread is inside a region of this pool.
  bool in_region() const;

 private:
  struct Team;
  std::unique_ptr<Team> team_;
};

}  // namespace strata::inline STRATA_ABI::detail
