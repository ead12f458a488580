// Random graphs of tasks over coherent arrays, and the same program one task after the other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/algorithms/tasks/task_scope.hpp>

#include "algorithms/tasks/plan/drawn_scheduler.hpp"
#include "core/random.hpp"
#include "test_devices.hpp"

namespace strata_tests {

using namespace strata;

using Word = std::uint64_t;

STRATA_FUNCTION constexpr Word hash(Word a, Word b) {
  return (a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdULL;
}

struct MixThree {  // z = f(x, y, z)
  Word seed;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, auto z) const {
    const index_t k = i;
    z(i) = hash(hash(seed + static_cast<Word>(k), x(i)), hash(y(i), z(i)));
  }
};
struct Write {  // y = f(x)
  Word seed;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = hash(seed, x(i)); }
};
struct WriteNeighbours {  // y = f(x and its neighbours, round the array)
  Word seed;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    const index_t k = i;
    y(i) = hash(hash(seed, x(k - 1)), hash(x(k), x(k + 1)));
  }
};
struct AddHash {  // y += f(x): the order of such tasks is free
  Word seed;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += hash(seed, x(i)); }
};
// The same as a function that launches twice on its queue, or throws.
struct AddHashTwice {
  Word seed;
  bool fails;
  void operator()(const auto& queue, const auto& x, const auto& y) const {
    if (fails) throw std::runtime_error("it was to fail");
    parallel_for(on(queue), x.extent(0), with(AddHash{seed}, x, y));
    parallel_for(on(queue), x.extent(0), with(AddHash{seed + 1}, x, y));
  }
};

struct TaskProgram {
  struct Step {
    enum class Kind { Mix, Write, Neighbours, Add, Call } kind;
    std::size_t x, y, z;
    index_t begin, end;
    Word seed;
    enum class Update { InOrder, Commute, Reduce } update;  // of Add and Call
    bool fails = false;                                     // it throws, and does nothing
  };
  std::size_t num_arrays;
  index_t items;
  std::vector<Step> steps;

  static TaskProgram draw(Random& draw, int most_tasks, bool whole_arrays) {
    TaskProgram program{static_cast<std::size_t>(draw(3, 9)), draw(8, 200), {}};
    const index_t count = draw(1, most_tasks), last = static_cast<index_t>(program.num_arrays) - 1;
    for (index_t k = 0; k < count; ++k) {
      Step step{static_cast<Step::Kind>(draw(0, 4)),
                0,
                0,
                0,
                0,
                program.items,
                static_cast<Word>(draw(0, 1 << 30)),
                static_cast<Step::Update>(draw(0, 2))};
      const std::size_t first = static_cast<std::size_t>(draw(0, last));
      const std::size_t shift = static_cast<std::size_t>(draw(1, last - 1));
      step.x = first;
      step.y = (first + shift) % program.num_arrays;
      step.z = (step.y + 1) % program.num_arrays == step.x ? (step.y + 2) % program.num_arrays
                                                           : (step.y + 1) % program.num_arrays;
      const bool can_be_part = step.kind != Step::Kind::Call &&
                               !(step.kind == Step::Kind::Add && step.update != Step::Update::InOrder);
      if (!whole_arrays && can_be_part && draw(0, 1) == 0) {
        step.begin = draw(0, program.items - 1);
        step.end = draw(step.begin, program.items);
      }
      program.steps.push_back(step);
    }
    return program;
  }

  /// For whoever looks for a fault.
  static std::string text_of(const Step& step) {
    static const char* const kinds[] = {"mix", "write", "neighbours", "add", "call"};
    static const char* const updates[] = {"in order", "commute", "reduce"};
    return kinds[static_cast<int>(step.kind)] + (" x" + std::to_string(step.x)) + ", x" +
           std::to_string(step.y) + (step.kind == Step::Kind::Mix ? ", x" + std::to_string(step.z) : "") +
           " [" + std::to_string(step.begin) + ", " + std::to_string(step.end) + ") " +
           updates[static_cast<int>(step.update)] + (step.fails ? " fails" : "");
  }
  std::string text() const {
    std::string text = std::to_string(items) + " rows\n";
    for (std::size_t k = 0; k < steps.size(); ++k)
      text += "step " + std::to_string(k) + " " + text_of(steps[k]) + "\n";
    return text;
  }

  // Rows [begin, end) of an array that a step uses.
  struct Use {
    std::size_t array;
    index_t begin, end;
    bool reads, writes, commutes;
  };
  std::vector<Use> uses_of(const Step& step) const {
    std::vector<Use> uses;
    const auto add = [&](std::size_t array, index_t begin, index_t end, bool reads, bool writes,
                         bool commutes) {
      if (begin < end) uses.push_back({array, begin, end, reads, writes, commutes});
    };
    const bool commutes = step.update == Step::Update::Commute;
    if (step.kind == Step::Kind::Neighbours && step.begin < step.end) {
      add(step.x, std::max<index_t>(step.begin - 1, 0), std::min(step.end + 1, items), true, false, false);
      if (step.begin == 0) add(step.x, items - 1, items, true, false, false);
      if (step.end == items) add(step.x, 0, 1, true, false, false);
    } else {
      add(step.x, step.begin, step.end, true, false, false);
    }
    switch (step.kind) {
      case Step::Kind::Mix:
        add(step.y, step.begin, step.end, true, false, false);
        add(step.z, step.begin, step.end, true, true, false);
        break;
      case Step::Kind::Write:
      case Step::Kind::Neighbours:
        add(step.y, step.begin, step.end, false, true, false);
        break;
      case Step::Kind::Add:
      case Step::Kind::Call:
        add(step.y, step.begin, step.end, true, true, commutes);
        break;
    }
    return uses;
  }
  static Word initial(std::size_t array, index_t i) { return hash(array + 1, static_cast<Word>(i)); }

  /// What a step makes of row i of the array that it writes: its values are `out`.
  Word result(const Step& step, index_t i, const std::vector<Word>& x, const std::vector<Word>& y,
              const std::vector<Word>& out) const {
    const std::size_t k = static_cast<std::size_t>(i), n = static_cast<std::size_t>(items);
    switch (step.kind) {
      case Step::Kind::Mix:
        return hash(hash(step.seed + k, x[k]), hash(y[k], out[k]));
      case Step::Kind::Write:
        return hash(step.seed, x[k]);
      case Step::Kind::Neighbours:
        return hash(hash(step.seed, x[(k + n - 1) % n]), hash(x[k], x[(k + 1) % n]));
      case Step::Kind::Add:
        return out[k] + hash(step.seed, x[k]);
      case Step::Kind::Call:
        break;
    }
    return out[k] + hash(step.seed, x[k]) + hash(step.seed + 1, x[k]);
  }

  std::vector<std::vector<Word>> initial_values() const {
    std::vector<std::vector<Word>> values(num_arrays);
    for (std::size_t a = 0; a < num_arrays; ++a)
      for (index_t i = 0; i < items; ++i) values[a].push_back(initial(a, i));
    return values;
  }
  /// Steps that `left_out` has are not done.
  std::vector<std::vector<Word>> run_in_order(const std::set<std::size_t>& left_out = {}) const {
    std::vector<std::vector<Word>> values = initial_values();
    for (std::size_t number = 0; number < steps.size(); ++number) {
      if (left_out.count(number) > 0) continue;
      const Step& step = steps[number];
      std::vector<Word>& out = values[step.kind == Step::Kind::Mix ? step.z : step.y];
      for (index_t i = step.begin; i < step.end; ++i)
        out[static_cast<std::size_t>(i)] = result(step, i, values[step.x], values[step.y], out);
    }
    return values;
  }
};

using Words = CoherentArray<Word, rank<1>>;

inline std::vector<Words> initial_arrays(const TaskProgram& program) {
  std::vector<Words> arrays;
  for (std::size_t a = 0; a < program.num_arrays; ++a) {
    arrays.emplace_back(("x" + std::to_string(a)).c_str(), program.items);
    const auto view = arrays.back().write();
    for (index_t i = 0; i < program.items; ++i) view(i) = TaskProgram::initial(a, i);
  }
  return arrays;
}

template <class F>
auto add_update(const TaskProgram::Step& step, const Words& array, const F& add) {
  switch (step.update) {
    case TaskProgram::Step::Update::InOrder:
      break;
    case TaskProgram::Step::Update::Commute:
      return add(commute(array));
    case TaskProgram::Step::Update::Reduce:
      return add(reduce(array));
  }
  return add(inout(array));
}

/// To a graph or a scope.
template <class Tasks>
auto add_step(Tasks& graph, const TaskProgram::Step& step, const std::vector<Words>& arrays,
              const std::string& label) {
  using Kind = TaskProgram::Step::Kind;
  const Words &x = arrays[step.x], &y = arrays[step.y], &z = arrays[step.z];
  const Range work = range(step.begin, step.end);
  switch (step.kind) {
    case Kind::Mix:
      return graph.launch(label, work, MixThree{step.seed}, in(x), in(y), inout(z));
    case Kind::Write:
      return graph.launch(label, work, Write{step.seed}, in(x), out(y, own));
    case Kind::Neighbours:
      return graph.launch(label, work, WriteNeighbours{step.seed}, in(x, halo(1, 1, edge::cyclic)),
                          out(y, own));
    case Kind::Add:
      break;
    case Kind::Call:
      return add_update(step, y, [&](const auto& update) {
        return graph.call(label, AddHashTwice{step.seed, step.fails}, in(x), update);
      });
  }
  return add_update(step, y, [&](const auto& update) {
    return graph.launch(label, work, AddHash{step.seed}, in(x), update);
  });
}

inline ::testing::AssertionResult has_values(const std::vector<Words>& arrays,
                                             const std::vector<std::vector<Word>>& expected,
                                             const std::set<std::string>& left_out = {}) {
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    if (left_out.count(arrays[a].label()) > 0) continue;
    const auto view = arrays[a].read();
    for (index_t i = 0; i < arrays[a].extent(0); ++i)
      if (view(i) != expected[a][static_cast<std::size_t>(i)])
        return ::testing::AssertionFailure() << "array " << a << " differs at " << i;
  }
  return ::testing::AssertionSuccess();
}

/// By a scheduler of a name, or an object: of the program, or one of the names.
inline TaskRunOptions random_options(Random& draw, int num_tasks) {
  const std::vector<std::string> names = tasks::scheduler_names();
  TaskRunOptions options;
  options.scheduler = names[static_cast<std::size_t>(draw(0, static_cast<index_t>(names.size()) - 1))];
  switch (draw(0, 5)) {
    case 0:
      options.scheduler = "an object that decides by chance";
      options.set_scheduler(DrawnScheduler(static_cast<std::uint64_t>(draw(0, 1 << 30))));
      break;
    case 1:
      options.make_scheduler = [name = options.scheduler](const tasks::SchedulerOptions& its) {
        return tasks::make_scheduler(name, its).release();
      };
      break;
    default:
      break;
  }
  options.window = static_cast<int>(draw(0, 2) == 0 ? draw(1, 8) : draw(1, 2 * num_tasks));
  options.queues = static_cast<int>(draw(1, 4));
  options.on_host = draw(0, 1) == 0;
  return options;
}

template <class D, class F>
TaskReport at_some_place(Random& draw, const F& run) {
  const int most = D::count();
  if (most >= 2 && draw(0, 2) == 0) {
    std::vector<D> devices;
    for (int k = 0; k < std::min(most, 3); ++k) devices.push_back(D(k));
    return run(across(devices));
  }
  if constexpr (std::is_same_v<D, AnyHost>) {
    if (draw(0, 2) == 0) return run(across(D{}, Emulated{0}, Emulated{1}));
  } else {
    if (draw(0, 2) == 0) return run(across(D{}, Emulated{1}, Threads{}));
    if (draw(0, 2) == 0) return run(across(D{}, Serial{}));
  }
  return run(on(D{}));
}
template <class D>
TaskReport run_somewhere(TaskGraph& graph, Random& draw, const TaskRunOptions& options) {
  return at_some_place<D>(draw, [&](const auto& place) { return graph.run(place, options); });
}

}  // namespace strata_tests
