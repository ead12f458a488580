// Whether the calling thread runs the function of a task.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// While it lives the calling thread runs the function of a task, which may use its views only: launches over
/// coherent arrays and views for the host throw Error.
class TaskFunctionScope {
 public:
  TaskFunctionScope();
  ~TaskFunctionScope();
  TaskFunctionScope(const TaskFunctionScope&) = delete;
  TaskFunctionScope& operator=(const TaskFunctionScope&) = delete;

 private:
  bool before_;
};
/// While it lives that is not so: for arrays that a task function's own calls make, as to add tasks may.
class OutsideTaskFunction {
 public:
  OutsideTaskFunction();
  ~OutsideTaskFunction();
  OutsideTaskFunction(const OutsideTaskFunction&) = delete;
  OutsideTaskFunction& operator=(const OutsideTaskFunction&) = delete;

 private:
  bool before_;
};
/// Throws Error in the function of a task; `what` uses arrays.
void require_no_task_function(const char* what);

}  // namespace strata::inline STRATA_ABI::detail
