// Whether the calling thread runs tasks: the one that drives a run, and workers of hosts.
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Then it does not wait until other tasks are done: they may wait for it.
bool runs_tasks();

/// While it lives, the calling thread does.
class RunsTasks {
 public:
  RunsTasks();
  ~RunsTasks();
  RunsTasks(const RunsTasks&) = delete;
  RunsTasks& operator=(const RunsTasks&) = delete;

 private:
  bool before_;
};

}  // namespace strata::inline STRATA_ABI::detail
