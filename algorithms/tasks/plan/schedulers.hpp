// The schedulers of Strata, by their names: those of StarPU and PaRSEC that the paper on DARTS compares, as
// their sources behave, DARTS, and our own.
//
//   eager            one queue in the order of release; arrays come when their task is next
//   eager-prefetch   each device takes a long part of that queue, whose arrays are prefetched, and runs of it
//                    what lacks least
//   lws              a queue a device, by priority; idle ones steal from their neighbours
//   lfq              a short queue a device, by priority; the rest in one queue of all
//   dmda, dmdas      tasks go at once to the device that is expected to finish them first, and are prefetched
//                    there; of its queue it runs what lacks least. dmdas sorts queues by priority, and
//                    chooses within the highest
//   ap               by priority, on the device of what a task writes
//   darts            chooses the array to load that frees most tasks, then runs these; as published
//   darts-lru        the same, with the eviction of the others
//   darts-corrected  without the errors of the published code
//   data-aware       our own: packages of outputs that stay until they are finished (data_aware.cpp); where
//                    all arrays fit, as dmdas, and where accesses have no structure, as darts-corrected
//                    (data_aware_choice.cpp)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <strata/algorithms/tasks/plan/scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// Options of schedulers.
struct SchedulerOptions {
  std::vector<double> priorities;  ///< of all tasks, the higher the sooner; empty: bottom levels
  int tasks_ahead =
      0;  ///< tasks that a device has at a time; 0: what each scheduler's paper or program takes
  int tasks_queued = 0;  ///< of eager-prefetch: tasks that a device takes out of the queue of all before they
                         ///< are its next ones, and prefetches; 0: 1000, as in the paper's runs of Cholesky
};

/// In the order of the head of the file.
std::vector<std::string> scheduler_names();

/// A scheduler for one run. TaskError for other names, which lists these.
std::unique_ptr<TaskScheduler> make_scheduler(const std::string& name, const SchedulerOptions& options = {});

}  // namespace strata::inline STRATA_ABI::tasks
