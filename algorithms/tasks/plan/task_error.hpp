// TaskError: what the graph, the machine and the schedulers of tasks report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// A graph of tasks, a machine or a scheduler is not what a run needs; the message names the tasks and
/// arrays.
class TaskError : public Error {
  using Error::Error;
};

}  // namespace strata::inline STRATA_ABI::tasks
