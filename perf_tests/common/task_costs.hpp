// What a task of a graph costs beside its kernel: tasks that do next to nothing, on small arrays that are all
// on the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/algorithms/tasks/task_scope.hpp>

#include "common/contest.hpp"
#include "starpu/starpu_tasks.hpp"

namespace perf {

struct UpdateOne {  // two of them cannot change places
  STRATA_FUNCTION void operator()(auto i, auto a, auto b, auto c) const { c(i) = 3 * c(i) + a(i) + b(i); }
};
struct CallNothing {
  static inline std::atomic<long> calls = 0;
  void operator()(const auto&, const auto&, const auto&, const auto&) const { ++calls; }
};

/// Updates of one of 100 numbers by two others, at random, as one after the other does them.
class NumberUpdates {
 public:
  using Word = std::uint32_t;
  using Step = NumberTask;
  static constexpr std::size_t num_arrays = 100;

  explicit NumberUpdates(std::size_t count) {
    std::mt19937 draw(1);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t a = draw() % num_arrays, b = (a + 1 + draw() % (num_arrays / 2 - 1)) % num_arrays;
      steps.push_back({a, b, (b + 1 + draw() % (num_arrays / 2 - 1)) % num_arrays});
    }
  }
  static Word first_value(std::size_t array) { return static_cast<Word>(array + 1); }
  /// The numbers after `times` runs.
  std::vector<Word> values_after(long times) const {
    std::vector<Word> values;
    for (std::size_t k = 0; k < num_arrays; ++k) values.push_back(first_value(k));
    for (; times > 0; --times)
      for (const Step& s : steps) values[s.c] = 3 * values[s.c] + values[s.a] + values[s.b];
    return values;
  }

  std::vector<Step> steps;
};

/// Bytes of memory that the process has, and had at most since forget_peak_memory().
struct ProcessMemory {
  double now = 0, peak = 0;
};
inline ProcessMemory process_memory() {
  ProcessMemory memory;
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("VmRSS:", 0) == 0) memory.now = 1024 * std::stod(line.substr(6));
    if (line.rfind("VmHWM:", 0) == 0) memory.peak = 1024 * std::stod(line.substr(6));
  }
  return memory;
}
inline void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

template <class D>
class EmptyTasks {
  using Word = NumberUpdates::Word;
  using Numbers = strata::CoherentArray<Word, strata::rank<1>>;
  using Plain = strata::MDArray<Word, D, strata::rank<1>>;
  enum class Kind { Launches, Chain, Calls };

 public:
  EmptyTasks(const Options& options, Report& report) : options_(options), report_(report) {}

  /// Microseconds a task, by scheduler, and of the same launches without a graph.
  void run() {
    using namespace strata;
    const NumberUpdates updates(10'000);
    const std::vector<Numbers> x = numbers();
    std::vector<Plain> plain;
    for (std::size_t k = 0; k < NumberUpdates::num_arrays; ++k) {
      plain.push_back(create<Plain>("plain", 1));
      deep_copy(plain.back(), NumberUpdates::first_value(k));
    }
    TaskGraph launches("launches"), chain("chain"), calls("calls");
    add_tasks(launches, updates, x, Kind::Launches);
    add_tasks(chain, updates, x, Kind::Chain);
    add_tasks(calls, updates, x, Kind::Calls);
    long runs = 0, plain_runs = 0, runs_of_calls = 0;
    CallNothing::calls = 0;

    Race race;
    const int on_views = race.add([&] {
      for (const auto& s : updates.steps)
        parallel_for(1, with(UpdateOne{}, plain[s.a], plain[s.b], plain[s.c]));
      wait(D{});
      ++plain_runs;
    });
    const int bare = race.add([&] {
      for (const auto& s : updates.steps)
        launch(on(D{}), 1, UpdateOne{}, in(x[s.a]), in(x[s.b]), inout(x[s.c]));
      wait(D{});
      ++runs;
    });
    const int adding = race.add([&] {
      TaskGraph graph("added");
      add_tasks(graph, updates, x, Kind::Launches);
    });
    struct Entry {
      std::string name;
      int competitor;
      std::vector<double> decisions;
    };
    std::deque<Entry> entries;
    for (const auto& [kind, graph, count] :
         {std::tuple("task, ", &launches, &runs), std::tuple("task of a chain, ", &chain, &runs),
          std::tuple("call that does nothing, ", &calls, &runs_of_calls)})
      for (const char* const scheduler : {"eager", "dmdas", "lws", "darts", "data-aware"}) {
        Entry& entry = entries.emplace_back(Entry{std::string(kind) + scheduler, 0, {}});
        entry.competitor = race.add([&entry, graph = graph, count = count, scheduler] {
          entry.decisions.push_back(graph->run(on(D{}), scheduler).decision_seconds);
          ++*count;
        });
      }
    const int by_graph = race.add([&] {
      TaskGraph graph("added and run");
      add_tasks(graph, updates, x, Kind::Calls);
      graph.run(on(D{}));
      ++runs_of_calls;
    });
    const int by_scope = race.add([&] {
      TaskScope scope("scope", on(D{}));
      add_tasks(scope, updates, x, Kind::Calls);
      scope.wait();
      ++runs_of_calls;
    });
    const std::unique_ptr<StarpuTasks> starpu = std::is_same_v<D, Serial> || is_gpu<D>
                                                    ? make_starpu_tasks(is_gpu<D>, NumberUpdates::num_arrays)
                                                    : nullptr;
    long runs_of_starpu = 0;
    const int by_starpu = !starpu ? -1 : race.add([&] {
      starpu->run(updates.steps);
      ++runs_of_starpu;
    });
    race.run(options_.reps_or(is_gpu<D> ? 5 : 3), 60);

    const std::size_t n = updates.steps.size();
    add("parallel_for over views", n, race[on_views], none);
    add("launch over coherent arrays", n, race[bare], race.speedup(bare, on_views));
    add("adding a task", n, race[adding], none);
    for (const Entry& entry : entries) {
      add(entry.name, n, race[entry.competitor], race.speedup(entry.competitor, bare));
      add(entry.name + ": decisions", n, statistics(entry.decisions), none);
    }
    const double to_starpu = starpu ? race.speedup(by_graph, by_starpu) : none;
    add("call that does nothing, added and run", n, race[by_graph], to_starpu);
    add("call that does nothing, by a scope", n, race[by_scope],
        starpu ? race.speedup(by_scope, by_starpu) : none);
    if (starpu) {
      add(starpu->name() + ", a task that does nothing", n, race[by_starpu], none);
      report_.check(starpu->calls() == runs_of_starpu * static_cast<long>(n), "StarPU");
    }
    std::vector<Word> on_plain;
    for (const Plain& array : plain) on_plain.push_back(create_mirror_and_copy(array)(0));
    report_.check(values_of(x) == updates.values_after(runs), std::string("tasks on ") + D::name);
    report_.check(on_plain == updates.values_after(plain_runs), std::string("parallel_for on ") + D::name);
    report_.check(CallNothing::calls == runs_of_calls * static_cast<long>(n),
                  std::string("calls on ") + D::name);
  }

  /// 10^5 and 10^6 tasks in windows of 10^4, of a graph and of a scope: what a task takes, and the memory
  /// that a run needs beside the graph, are to be the same.
  void run_long() {
    const NumberUpdates few(100'000), many(1'000'000);
    strata::TaskRunOptions run;
    run.window = 10'000;
    // Scopes first: a graph leaves free memory, in which they would fit.
    const LongRun scopes[] = {run_long_scope(few, run), run_long_scope(many, run)};
    const LongRun graphs[] = {run_long_graph(few, run), run_long_graph(many, run)};
    check_growth("long run", graphs[0], graphs[1]);
    check_growth("long scope", scopes[0], scopes[1]);
  }

 private:
  static std::vector<Numbers> numbers() {
    std::vector<Numbers> x;
    for (std::size_t k = 0; k < NumberUpdates::num_arrays; ++k) {
      x.emplace_back("x", 1);
      x.back().write()(0) = NumberUpdates::first_value(k);
    }
    return x;
  }
  static std::vector<Word> values_of(const std::vector<Numbers>& x) {
    std::vector<Word> values;
    for (const Numbers& array : x) values.push_back(array.read()(0));
    return values;
  }
  struct LongRun {
    double seconds;  // of a task
    double bytes;    // beside the graph
  };
  // Memory is that of two windows, of 2 KiB a task at most, and time linear, as far as a machine that others
  // use shows it.
  void check_growth(const std::string& what, const LongRun& of_few, const LongRun& of_many) {
    constexpr double window_bytes = 2 * 10'000 * 2048.0, more_time = 1.5;
    report_.check(of_many.bytes <= of_few.bytes + window_bytes,
                  what + ": memory that does not grow with the number of tasks");
    report_.check(of_many.seconds <= more_time * of_few.seconds, what + ": time that is linear in it");
  }
  LongRun run_long_graph(const NumberUpdates& updates, const strata::TaskRunOptions& run) {
    const std::vector<Numbers> x = numbers();
    const double before = process_memory().now;
    strata::TaskGraph graph("long");
    add_tasks(graph, updates, x, Kind::Launches);
    forget_peak_memory();
    const double of_graph = process_memory().now - before;
    const strata::TaskReport ran = graph.run(strata::on(D{}), run);
    const double of_run = process_memory().peak - before - of_graph;
    const std::string name = "long run, " + run.scheduler;
    const std::size_t n = updates.steps.size();
    add(name, n, statistics({ran.seconds}), none);
    add(name + ": decisions", n, statistics({ran.decision_seconds}), none);
    add_memory(name + ": memory of the graph", n, of_graph);
    add_memory(name + ": memory of the run", n, of_run);
    report_.check(values_of(x) == updates.values_after(1), name + " on " + D::name);
    return {ran.seconds / static_cast<double>(n), of_run};
  }
  LongRun run_long_scope(const NumberUpdates& updates, const strata::TaskRunOptions& run) {
    const std::vector<Numbers> x = numbers();
    const double before = process_memory().now;
    forget_peak_memory();
    strata::TaskScope scope("long", strata::on(D{}), run);
    add_tasks(scope, updates, x, Kind::Launches);
    const strata::TaskReport ran = scope.wait();
    const std::string name = "long scope, " + run.scheduler;
    const std::size_t n = updates.steps.size();
    add(name, n, statistics({ran.seconds}), none);
    const double bytes = process_memory().peak - before;
    add_memory(name + ": memory", n, bytes);
    report_.check(values_of(x) == updates.values_after(1), name + " on " + D::name);
    return {ran.seconds / static_cast<double>(n), bytes};
  }
  void add_memory(const std::string& name, std::size_t n, double bytes) {
    report_.add({name, D::name, static_cast<strata::index_t>(n), "", {}, bytes / 1e6, "MB", none, none});
  }

  template <class Tasks>
  static void add_tasks(Tasks& graph, const NumberUpdates& updates, const std::vector<Numbers>& x,
                        Kind kind) {
    std::optional<strata::TaskHandle> last;
    for (const auto& s : updates.steps) {
      const auto a = strata::in(x[s.a]), b = strata::in(x[s.b]);
      const auto c = strata::inout(x[s.c]);
      if (kind == Kind::Calls) graph.call("nothing", CallNothing{}, a, b, c);
      else if (const auto& task = graph.launch("update", 1, UpdateOne{}, a, b, c); kind == Kind::Chain) {
        if (last) task.after(*last);
        last = task;
      }
    }
  }
  // `time` is of `n` tasks.
  void add(const std::string& name, std::size_t n, Statistics time, double ratio) {
    time.median /= static_cast<double>(n);
    time.min /= static_cast<double>(n);
    time.p90 /= static_cast<double>(n);
    report_.add(
        {name, D::name, static_cast<strata::index_t>(n), "", time, time.median * 1e6, "us", none, ratio});
  }

  const Options& options_;
  Report& report_;
};

}  // namespace perf
