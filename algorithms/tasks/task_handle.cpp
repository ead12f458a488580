// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/algorithms/tasks/task_handle.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

TaskHandle TaskHandle::priority(double value) const {
  graph_->require_known(clears_);
  graph_->set_priority(number_, value);
  return *this;
}
TaskHandle TaskHandle::work(double operations) const {
  graph_->require_known(clears_);
  graph_->set_work(number_, operations);
  return *this;
}
TaskHandle TaskHandle::after(const TaskHandle& other) const {
  if (other.graph_ != graph_)
    throw Error("a task of the graph \"" + graph_->label + "\" is to wait for one of \"" +
                other.graph_->label + "\": tasks wait for those of their own graph");
  graph_->require_known(clears_);
  graph_->require_known(other.clears_);
  graph_->add_after(number_, other.number_, other.outcome_);
  return *this;
}

}  // namespace strata::inline STRATA_ABI
