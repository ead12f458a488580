// Whose tasks the calling thread runs: so do the one that drives a run, and workers of hosts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

class TaskGraphState;

/// Whether it runs any; of these. It does not wait until other ones of these are done: they may wait for it.
bool runs_tasks();
bool runs_tasks_of(const TaskGraphState& tasks);

/// While it lives, the calling thread does.
class RunsTasks {
 public:
  explicit RunsTasks(const TaskGraphState& tasks);
  ~RunsTasks();
  RunsTasks(const RunsTasks&) = delete;
  RunsTasks& operator=(const RunsTasks&) = delete;

 private:
  const TaskGraphState* before_;
};

}  // namespace strata::inline STRATA_ABI::detail
