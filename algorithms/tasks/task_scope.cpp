// SPDX-License-Identifier: Apache-2.0
#include <future>
#include <optional>
#include <thread>

#include <strata/algorithms/tasks/running_tasks.hpp>
#include <strata/algorithms/tasks/task_executor.hpp>
#include <strata/algorithms/tasks/task_feed.hpp>
#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/algorithms/tasks/task_scope.hpp>
#include <strata/core/error.hpp>
#include <strata/core/unheard_errors.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/noted_wait.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI {

using detail::ArrayHold;
using detail::TaskEntry;

class TaskScope::Tasks final : public detail::TaskAdder {
 public:
  Tasks(std::string label, const std::vector<detail::TaskPart>& parts, const TaskRunOptions& options)
      : TaskAdder(state),
        state(std::move(label), true),
        feed_(state, options.window, options.watchdog_seconds),
        executor_(
            state, parts, options, [this] { join_contributions(nullptr); }, &feed_) {
    thread_ = std::thread([this] { run(); });
    is_ready_.get_future().wait();
  }

  bool was_waited_for() const { return !thread_.joinable(); }
  void end() {
    const detail::NotedWait wait(detail::acting_thread(), executor_.arrays().owner(),
                                 detail::NotedWait::Kind::Endless,
                                 "a thread waits for " + executor_.arrays().what());
    std::exception_ptr error;
    try {
      join_contributions(nullptr);
    } catch (...) {
      error = std::current_exception();
    }
    feed_.end();
    thread_.join();
    if (!error_) error_ = error;  // else the run was over, as its own error says
  }
  /// After end().
  TaskReport report() const {
    for (const detail::Ref<detail::CoherentState>& array : executor_.reported_arrays())
      detail::WholeCopies::set_reported(*array);
    if (error_) std::rethrow_exception(error_);
    return *report_;
  }
  detail::TaskFeed& feed() { return feed_; }

  detail::TaskGraphState state;

 private:
  void run() {
    executor_.arrays().set_owner();
    feed_.set_runner();
    is_ready_.set_value();
    try {
      report_ = executor_.run();
    } catch (...) {
      error_ = std::current_exception();
    }
    feed_.stop(error_);
    executor_.release();
  }

  static std::vector<ArrayHold> holds_of(const detail::UsedArray* arrays, std::size_t count) {
    std::vector<ArrayHold> holds;
    for (std::size_t k = 0; k < count; ++k)
      if (arrays[k].array != nullptr)
        holds.push_back({detail::Ref<detail::CoherentState>(arrays[k].array), arrays[k].is_to_write});
    return holds;
  }
  // Of what a thread adds the arrays are held, first of all, in its turn: what others wait for ends with the
  // tasks so far.
  void hold_in_turn(std::vector<ArrayHold>&& holds) {
    if (detail::runs_tasks()) executor_.arrays().hold_later(holds);
    else executor_.arrays().hold(std::move(holds));
  }
  void hold(std::vector<ArrayHold>&& holds) {
    if (detail::runs_tasks()) executor_.arrays().hold_later(holds);
    else executor_.arrays().hold_at_once(std::move(holds));
  }

  void begin_adding(const detail::UsedArray* arrays, std::size_t count) override {
    feed_.begin_adding();
    try {
      hold_in_turn(holds_of(arrays, count));
    } catch (...) {
      feed_.end_adding();
      throw;
    }
  }
  void end_adding(const detail::UsedArray* arrays, std::size_t count) noexcept override {
    executor_.arrays().release(holds_of(arrays, count));
    feed_.end_adding();
  }
  void adding(const TaskEntry& entry) override {
    executor_.check(entry);
    std::vector<ArrayHold> holds;
    for (const detail::TaskUse& use : entry.uses) holds.push_back(hold_of(use));
    hold(std::move(holds));
  }
  void added() override { feed_.changed(); }
  void begin_contributions(detail::CoherentState& array) override {
    hold({{detail::Ref<detail::CoherentState>(&array), true}});
  }
  void end_contributions(detail::CoherentState& array) noexcept override {
    executor_.arrays().release({{detail::Ref<detail::CoherentState>(&array), true}});
  }

  detail::TaskFeed feed_;
  detail::TaskExecutor executor_;
  std::optional<TaskReport> report_;
  std::exception_ptr error_;
  std::promise<void> is_ready_;  // of the thread, which may still be in set_value() when others go on
  std::thread thread_;
};

NewTask::~NewTask() {
  task_.graph_->close(task_.number_);
  feed_.changed();
}
const NewTask& NewTask::priority(double value) const {
  task_.priority(value);
  return *this;
}
const NewTask& NewTask::work(double operations) const {
  task_.work(operations);
  return *this;
}
const NewTask& NewTask::after(const TaskHandle& other) const {
  task_.after(other);
  return *this;
}

TaskScope::TaskScope(std::string label, const std::vector<detail::TaskPart>& parts,
                     const TaskRunOptions& options)
    : tasks_(new Tasks(std::move(label), parts, options)) {}

TaskScope::~TaskScope() {
  if (!tasks_->was_waited_for()) {
    tasks_->end();
    try {
      tasks_->report();
    } catch (...) {
      detail::print_unheard_error("the scope \"" + tasks_->state.label + "\"", std::current_exception());
    }
  }
  delete tasks_;
}

TaskReport TaskScope::wait() {
  if (tasks_->was_waited_for())
    throw Error("wait() of \"" + tasks_->state.label +
                "\" is called a second time: its report is that of the first one");
  if (detail::runs_tasks_of(tasks_->state))
    throw Error(
        "wait() of \"" + tasks_->state.label +
        "\" is called by one of its tasks, for which it would wait: let the thread that has the scope "
        "call it");
  tasks_->end();
  return tasks_->report();
}

long TaskScope::size() const { return tasks_->state.num_tasks(); }
std::size_t TaskScope::num_kept() const { return tasks_->state.num_kept(); }
detail::TaskAdder& TaskScope::adder() { return *tasks_; }
NewTask TaskScope::new_task(int number) {
  return {tasks_->state, tasks_->feed(), number, tasks_->state.outcome_of(number)};
}

}  // namespace strata::inline STRATA_ABI
