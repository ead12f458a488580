// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/tasks/running_tasks.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {
thread_local const TaskGraphState* running_tasks = nullptr;
}

bool runs_tasks() { return running_tasks != nullptr; }
bool runs_tasks_of(const TaskGraphState& tasks) { return running_tasks == &tasks; }

RunsTasks::RunsTasks(const TaskGraphState& tasks) : before_(running_tasks) { running_tasks = &tasks; }
RunsTasks::~RunsTasks() { running_tasks = before_; }

}  // namespace strata::inline STRATA_ABI::detail
