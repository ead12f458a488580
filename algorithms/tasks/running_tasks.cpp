#include <strata/algorithms/tasks/running_tasks.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {
thread_local bool does_run_tasks = false;
}

bool runs_tasks() { return does_run_tasks; }

RunsTasks::RunsTasks() : before_(does_run_tasks) { does_run_tasks = true; }
RunsTasks::~RunsTasks() { does_run_tasks = before_; }

}  // namespace strata::inline STRATA_ABI::detail
