// Random graphs of tasks in which some fail, with hints, contributions, tasks that are to wait for others,
// and a task that adds tasks, beside a thread that uses other arrays, on devices that may be full at any
// moment: exactly what depends on failures is dropped, and all other values are those of the tasks that ran.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include <strata/views/coherent/whole_copies.hpp>

#include "algorithms/tasks/failing_model.hpp"
#include "algorithms/tasks/full_devices.hpp"

namespace {

using namespace strata_tests;
using Step = TaskProgram::Step;
using Numbers = GraphModel::Numbers;

// On a host: does what a call does, and adds tasks.
struct AddsTasks {
  AddHashTwice update;
  std::function<void()> add;
  void operator()(const Queue<AnyHost>& queue, const auto& x, const auto& y) const {
    update(queue, x, y);
    add();
  }
};

// Launches over an array of its own, until it is told to stop. What it reads without an error is right.
class UserBeside {
 public:
  ~UserBeside() {
    stops_ = true;
    thread_.join();
  }

 private:
  struct AddOne {
    STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += 1; }
  };

  void run() const {
    while (!stops_) try {
        use_array();
      } catch (const Error&) {
      }
    for (int device = 0; device < 2; ++device)
      for (bool again = true; again;) try {
          again = false;
          wait(Emulated{device});
        } catch (const Error&) {
          again = true;
        }
  }
  static void use_array() {
    const Words x("of a user beside", 20);
    constexpr Word launches = 6;
    for (Word k = 0; k < launches; ++k) launch(on(Emulated{static_cast<int>(k / 3)}), 20, AddOne{}, inout(x));
    const auto view = x.read();
    for (index_t i = 0; i < 20; ++i) ASSERT_EQ(view(i), launches);
  }

  std::atomic<bool> stops_ = false;
  std::thread thread_{[this] { run(); }};
};

class FailingGraph {
 public:
  explicit FailingGraph(Random& draw) : draw_(draw), program_(TaskProgram::draw(draw, 25, draw(0, 1) == 0)) {
    add_rewrites();
    first_added_ = program_.steps.size();
    if (draw_(0, 2) == 0) add_adder();
    for (Step& step : program_.steps) {
      // A halo of no rows has rows all the same.
      if (step.kind == Step::Kind::Neighbours && step.begin == step.end)
        step.begin = step.end == 0 ? step.end++ : step.end - 1;
      step.fails = step.kind == Step::Kind::Call && draw_(0, 5) == 0;
      to_fail_ += step.fails ? 1 : 0;
    }
    arrays_ = initial_arrays(program_);
    for (std::size_t k = 0; k < first_added_; ++k) add(k);
    if (adder_ == none && draw_(0, 5) == 0)
      hint(static_cast<std::size_t>(draw_(0, std::ssize(arrays_) - 1)), true);
    model_.join_all();
  }

  void run() {
    const index_t arrays = draw_(3, 12),
                  budget = program_.items * static_cast<index_t>(sizeof(Word)) * arrays;
    history_ += "devices have room for " + std::to_string(arrays) + " arrays\n";
    for (int k = 0; k < Emulated::count(); ++k) coherent::set_budget(Emulated{k}, budget);
    options_ = random_options(draw_, static_cast<int>(program_.steps.size()));
    injects_ = draw_(0, 1) == 0;
    if (draw_(0, 3) == 0) full_.emplace(draw_, static_cast<int>(program_.steps.size()), options_);
    if (full_) history_ += full_->text() + "\n";
    std::vector<std::uint64_t> losses;
    for (const Words& array : arrays_) losses.push_back(losses_of(array));
    const std::unique_ptr<UserBeside> beside(draw_(0, 2) == 0 ? new UserBeside : nullptr);
    if (beside) history_ += "beside a user of other arrays\n";
    for (int faults = injects_ ? static_cast<int>(draw_(1, 3)) : 0; faults > 0; --faults)
      emulated::fail(static_cast<emulated::Fault>(draw_(0, 2)), static_cast<int>(draw_(1, 40)));
    try {
      const TaskReport report = run_anywhere();
      end_faults();
      ASSERT_EQ(to_fail_, 0);
      add_added_to_model();
      ASSERT_EQ(report.tasks,
                std::count_if(model_.tasks().begin(), model_.tasks().end(),
                              [](const auto& task) { return task.kind != GraphModel::Task::Kind::Discard; }));
      ASSERT_TRUE(has_values_without({}, {})) << options_.scheduler;
    } catch (const TaskFailed& error) {
      end_faults();
      ASSERT_TRUE(any_may_fail_ || to_fail_ > 0) << error.what();
      for (std::size_t a = 0; a < arrays_.size(); ++a)
        if (losses_of(arrays_[a]) != losses[a]) lossy_.insert(a);
      check(error);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  /// What the graph is, for whoever looks for a fault.
  std::string text() const {
    std::string text = history_ + "a window of " + std::to_string(options_.window) + ", " +
                       std::to_string(options_.queues) + " queues, by " + options_.scheduler +
                       (injects_ ? ", with injected failures" : "") + "\n";
    for (std::size_t k = first_added_; k < program_.steps.size(); ++k) text += "added: " + text_of(k) + "\n";
    return text;
  }
  /// Whether something failed, and it was known exactly what was to be dropped.
  bool is_exact() const { return is_exact_; }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  // ---- the graph

  static Step whole_write(std::size_t x, std::size_t y, index_t items, Word seed) {
    return {Step::Kind::Write, x, y, 0, 0, items, seed, Step::Update::InOrder};
  }
  // Now and then an array is written as a whole: its values may be discarded before.
  void add_rewrites() {
    std::vector<Step> steps;
    for (const Step& step : program_.steps) {
      if (draw_(0, 7) == 0) {
        const std::size_t y =
            static_cast<std::size_t>(draw_(0, static_cast<index_t>(program_.num_arrays) - 1));
        steps.push_back(whole_write((y + 1) % program_.num_arrays, y, program_.items,
                                    static_cast<Word>(draw_(0, 1 << 30))));
        discards_before_.insert(steps.size() - 1);
      }
      steps.push_back(step);
    }
    program_.steps = steps;
  }
  // One of the calls adds some more steps at the end.
  void add_adder() {
    for (std::size_t k = 0; k < program_.steps.size(); ++k)
      if (program_.steps[k].kind == Step::Kind::Call && (adder_ == none || draw_(0, 1) == 0)) adder_ = k;
    if (adder_ == none) return;
    program_.steps[adder_].update = Step::Update::InOrder;
    const TaskProgram more = TaskProgram::draw(draw_, 6, true);
    for (Step step : more.steps) {
      const std::size_t n = program_.num_arrays, first = step.x % n;
      step.x = first;
      step.y = (first + 1) % n;
      step.z = (first + 2) % n;
      step.begin = 0;
      step.end = program_.items;
      program_.steps.push_back(step);
    }
  }
  std::string text_of(std::size_t k) const {
    return label_of(k) + " " + TaskProgram::text_of(program_.steps[k]) + (k == adder_ ? " adds" : "");
  }
  static std::string label_of(std::size_t step) { return "step " + std::to_string(step); }

  void add(std::size_t k) {
    const Step& step = program_.steps[k];
    if (discards_before_.count(k) > 0) hint(step.y, true);
    else if (draw_(0, 9) == 0) hint(static_cast<std::size_t>(draw_(0, std::ssize(arrays_) - 1)), false);
    handles_.push_back(k == adder_ ? graph_.call(label_of(k),
                                                 AddsTasks{{step.seed, step.fails}, [this] { add_more(); }},
                                                 in(arrays_[step.x]), inout(arrays_[step.y]))
                                   : add_step(graph_, step, arrays_, label_of(k)));
    numbers_.push_back(model_.add(k, label_of(k)));
    history_ += text_of(k) + "\n";
    if (draw_(0, 5) == 0) {
      const index_t priority = draw_(-3, 3);
      handles_.back().priority(static_cast<double>(priority));
      history_ += "  of priority " + std::to_string(priority) + "\n";
    }
    if (k == 0 || draw_(0, 5) > 0) return;
    const std::size_t before = static_cast<std::size_t>(draw_(0, static_cast<index_t>(k) - 1));
    handles_[k].after(handles_[before]);
    model_.set_after(numbers_[k], numbers_[before]);
    history_ += "  after " + label_of(before) + "\n";
  }
  void hint(std::size_t array, bool discards) {
    if (discards) graph_.discard(arrays_[array]);
    else graph_.wont_use(arrays_[array]);
    model_.add_hint(array, discards);
    history_ += (discards ? "discard x" : "no use of x") + std::to_string(array) + "\n";
  }
  // In the graph, by a thread of the run.
  void add_more() {
    for (std::size_t k = first_added_; k < program_.steps.size(); ++k)
      add_step(graph_, program_.steps[k], arrays_, label_of(k));
  }
  void add_added_to_model() {
    for (std::size_t k = first_added_; k < program_.steps.size(); ++k) model_.add(k, label_of(k));
    model_.join_all();
  }

  TaskReport run_anywhere() {
    const auto run = [&](const auto& place) {
      any_may_fail_ = injects_ || (full_ && full_->are_all_of(place));
      return graph_.run(place, options_);
    };
    if (adder_ == none) return at_some_place<Emulated>(draw_, run);
    switch (draw_(0, 2)) {  // it needs a host
      case 0:
        return run(on(Threads{}));
      case 1:
        return run(across(Emulated{0}, Threads{}));
      default:
        return run(across(Emulated{0}, Emulated{1}, Serial{}));
    }
  }
  void end_faults() {
    emulated::clear_faults();
    full_.reset();
  }

  // ---- what came of it

  static std::uint64_t losses_of(const Words& array) { return detail::WholeCopies::losses(*array.state()); }

  static std::ptrdiff_t count_of(const std::vector<std::string>& labels, const std::string& label) {
    return std::count(labels.begin(), labels.end(), label);
  }

  void check(const TaskFailed& error) {
    const auto names = [](const std::vector<std::string>& labels, std::size_t step) {
      return count_of(labels, label_of(step)) > 0;
    };
    if (!error.failed.empty()) {
      ASSERT_NE(std::string(error.what()).find("\"" + error.failed.front() + "\""), std::string::npos)
          << error.what();
    }
    if (adder_ != none && !names(error.failed, adder_) && !names(error.dropped, adder_)) add_added_to_model();
    std::set<std::size_t> lost;
    for (std::size_t a = 0; a < arrays_.size(); ++a)
      if (std::count(error.lost.begin(), error.lost.end(), arrays_[a].label()) > 0) lost.insert(a);
    if (!any_may_fail_) {
      for (const std::size_t a : lost)
        ASSERT_TRUE(lossy_.count(a) == 1 || was_to_be_new(a, error)) << error.what();
    }
    // Private copies are lost only where they were still to be joined.
    for (const std::string& label : error.lost)
      if (label.starts_with("contributions to ")) {
        ASSERT_GT(count_of(error.failed, "join " + label) + count_of(error.dropped, "join " + label), 0)
            << error.what();
      }
    // The values of the last way to explain which tasks failed and were dropped that is right itself.
    ::testing::AssertionResult values = ::testing::AssertionFailure() << "others depend on what failed";
    ASSERT_TRUE(Explanations(model_, error).any([&](const Numbers& failed, const Numbers& dropped) {
      return is_explained(failed, dropped) && (values = has_values_without(united(failed, dropped), lost));
    })) << values.message()
        << "\n"
        << error.what() << "\nby " << options_.scheduler;
  }
  // By a task that was dropped, and was to write all of it, or by one that failed while it wrote: what else
  // had its values may have been given up.
  bool was_to_be_new(std::size_t a, const TaskFailed& error) const {
    for (std::size_t k = 0; k < program_.steps.size(); ++k) {
      const bool has_failed = count_of(error.failed, label_of(k)) > 0;
      if (!has_failed && count_of(error.dropped, label_of(k)) == 0) continue;
      for (const TaskProgram::Use& use : program_.uses_of(program_.steps[k]))
        if (use.array == a && use.writes && (has_failed || !use.reads)) return true;
    }
    return false;
  }
  static Numbers united(Numbers a, const Numbers& b) {
    a.insert(b.begin(), b.end());
    return a;
  }
  bool is_explained(const Numbers& failed, const Numbers& dropped) {
    for (std::size_t number = 0; number < model_.tasks().size(); ++number) {
      const GraphModel::Task& task = model_.tasks()[number];
      const bool fails = task.kind == GraphModel::Task::Kind::Step && program_.steps[task.step].fails;
      if (fails && failed.count(number) + dropped.count(number) != 1) return false;
      if (!fails && !any_may_fail_ && failed.count(number) > 0) return false;
    }
    // Private copies do not say whether they lost something; with nothing injected, only failed tasks do it.
    std::set<std::size_t> lossy = lossy_;
    for (std::size_t number = 0; number < model_.tasks().size(); ++number)
      if (injects_ || failed.count(number) > 0)
        for (const TaskProgram::Use& use : model_.tasks()[number].uses)
          if (use.writes && model_.is_copy(use.array)) lossy.insert(use.array);
    const Numbers least = model_.dependents_of(failed), most = model_.dependents_of(failed, lossy);
    is_exact_ = least == most;
    return std::includes(dropped.begin(), dropped.end(), least.begin(), least.end()) &&
           std::includes(most.begin(), most.end(), dropped.begin(), dropped.end());
  }
  ::testing::AssertionResult has_values_without(const Numbers& left_out,
                                                const std::set<std::size_t>& lost) const {
    const std::vector<std::vector<Word>> expected = model_.values(left_out);
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      if (lost.count(a) > 0 || expected[a].empty()) continue;
      const std::vector<Word> seen = values_of(arrays_[a]);
      if (!detail::WholeCopies::lacking(*arrays_[a].state()).empty())
        return ::testing::AssertionFailure() << "x" << a << " is lost";
      for (index_t i = 0; i < program_.items; ++i)
        if (seen[static_cast<std::size_t>(i)] != expected[a][static_cast<std::size_t>(i)])
          return ::testing::AssertionFailure() << "x" << a << " differs at " << i;
    }
    return ::testing::AssertionSuccess();
  }

  // Errors are those of the user beside.
  static std::vector<Word> values_of(const Words& array) {
    for (int attempts = 0;; ++attempts) try {
        std::vector<Word> values;
        const auto view = array.read();
        for (index_t i = 0; i < array.extent(0); ++i) values.push_back(view(i));
        return values;
      } catch (const Error&) {
        if (attempts == 100) throw;
      }
  }

  Random& draw_;
  std::string history_;
  TaskProgram program_;
  std::size_t first_added_ = 0, adder_ = none;
  std::set<std::size_t> discards_before_;  // steps
  int to_fail_ = 0;
  std::vector<Words> arrays_;
  GraphModel model_{program_};
  TaskGraph graph_{"failing"};
  std::vector<TaskHandle> handles_;
  std::vector<std::size_t> numbers_;  // of steps, in the model
  TaskRunOptions options_;
  bool injects_ = false, is_exact_ = false;
  std::optional<FullDevices> full_;
  bool any_may_fail_ = false;    // not only tasks that are to
  std::set<std::size_t> lossy_;  // arrays of which values were lost, at some time
};

void run_failing_programs(int count) {
  Random draw;
  int exact = 0;
  for (int trial = 0; trial < count && !::testing::Test::HasFailure(); ++trial) {
    FailingGraph graph(draw);
    graph.run();
    exact += graph.is_exact() ? 1 : 0;
    if (::testing::Test::HasFailure()) std::printf("%s", graph.text().c_str());
  }
  std::printf("%d graphs, in %d of which something failed and it was known exactly what was to be dropped\n",
              count, exact);
  EXPECT_GE(exact, count / 25);
  for (int k = 0; k < Emulated::count(); ++k) {
    EXPECT_NO_THROW(wait(Emulated{k})) << "an error was left over";
    coherent::set_budget(Emulated{k}, index_t{1} << 40);
  }
}
struct Throws {
  void operator()(const auto&, const auto&) const { throw std::runtime_error("it was to fail"); }
};
TEST(FailingTaskGraphs, DropWhatIsToComeAfterATaskThatWritesNothing) {
  const Words x("x", 10), y("y", 10);
  TaskGraph graph("failing");
  const TaskHandle bad = graph.call("bad", Throws{}, in(x));
  graph.launch("after", 10, AddHash{1}, in(x), inout(y)).after(bad);
  try {
    graph.run(across(Emulated{0}, Threads{}));
    FAIL() << "nothing was thrown";
  } catch (const TaskFailed& error) {
    EXPECT_EQ(error.failed, std::vector<std::string>{"bad"});
    EXPECT_EQ(error.dropped, std::vector<std::string>{"after"});
  }
}

// The next task writes all, and does not wait for one that uses no element.
TEST(TaskGraphsWithHints, DiscardNoValuesOfLaterTasks) {
  const Words x("x", 10), y("y", 10), z("z", 10);
  TaskGraph graph("discards");
  const TaskHandle slow = graph.call(
      "slow",
      [](const Queue<AnyHost>&, const auto&) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); },
      inout(z));
  graph.launch("of nothing", range(5, 5), AddHash{1}, in(x), inout(y)).after(slow);
  graph.discard(y);
  graph.launch("anew", 10, Write{2}, in(x), out(y));
  graph.run(across(Emulated{0}, Threads{}), "eager");
  const auto view = y.read();
  for (index_t i = 0; i < 10; ++i) ASSERT_EQ(view(i), hash(2, 0));
}

TEST(TaskGraphsWithHints, TasksAddTasksThatContribute) {
  const Words x("x", 10), y("y", 10), z("z", 10);
  TaskGraph graph("adds");
  const auto add = [&] {
    for (Word k = 1; k <= 6; ++k) graph.launch("contributes", 10, AddHash{k}, in(x), reduce(y));
  };
  graph.call("adds", AddsTasks{{1, false}, add}, in(x), inout(z));
  graph.run(across(Emulated{0}, Threads{}));
  Word sum = 0;
  for (Word k = 1; k <= 6; ++k) sum += hash(k, 0);
  const auto view = y.read();
  for (index_t i = 0; i < 10; ++i) ASSERT_EQ(view(i), sum);
}

TEST(FailingTaskGraphs, LoseNothingThatTheyDoNotSay) { run_failing_programs(trials(260)); }
TEST(FailingTaskGraphs, LoseNothingThatTheyDoNotSaySlow) { run_failing_programs(20000); }

}  // namespace
