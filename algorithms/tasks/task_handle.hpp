// TaskHandle: names a task of a graph or a scope.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>
#include <strata/core/ref.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

class TaskGraphState;

/// What came of a task of a scope, which forgets it when it is over: for those that are to wait for it. The
/// thread that runs the tasks uses it.
class TaskOutcome : public RefCounted {
 public:
  bool is_not_done = false;  ///< it failed, or was dropped
};

}  // namespace detail

/// A task of a graph, as long as the graph lives; Error after its clear(). Of a scope it is for after() only:
/// the task itself may have begun, and Error says so.
class TaskHandle {
 public:
  /// Of ready tasks, those of higher priority run first; if no task of a graph has a priority, those with the
  /// longest path to the end. Error for NaN.
  TaskHandle priority(double value) const;
  /// The work of the task, for estimates, in floating-point operations. Without it they use its bytes.
  /// Error unless it is above 0 and finite.
  TaskHandle work(double operations) const;
  /// It also waits for `other`, a task before it of the same graph. Error for others.
  TaskHandle after(const TaskHandle& other) const;

 private:
  friend class TaskGraph;
  friend class NewTask;
  TaskHandle(detail::TaskGraphState& graph, int number, int clears,
             const detail::Ref<detail::TaskOutcome>& outcome = {})
      : graph_(&graph), number_(number), clears_(clears), outcome_(outcome) {}

  detail::TaskGraphState* graph_;
  int number_;
  int clears_;  // of the graph, when it was added
  detail::Ref<detail::TaskOutcome> outcome_;
};

}  // namespace strata::inline STRATA_ABI
