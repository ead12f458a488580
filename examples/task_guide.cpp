// The code of docs/tasks.md. Everything here is compiled and run as a test; the regions between the marks are
// shown there. A whole program is task_graphs.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <strata/strata.hpp>
#include <strata/tasks.hpp>

using namespace strata;

namespace {

void check(bool good) {
  if (!good) throw std::runtime_error("task_guide: a result is wrong");
}

// clang-format off
using Array = CoherentArray<double, rank<1>>;

struct Fill {
  double value;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = value; }
};
struct Axpy {
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};

//! [function]
struct Smooth {                                             // a function of a queue and of views
  void operator()(const auto& queue, const auto& x, const auto& y) const {
    const index_t n = x.extent(0);
    parallel_for(on(queue), n, with(Fill{0}, y));           // enqueued, or on a host done
    for (int k = 0; k < 3; ++k) parallel_for(on(queue), n, with(Axpy{0.25}, x, y));
  }
};
//! [function]

void first(index_t n) {
//! [first]
  const Array x("x", n), y("y", n), z("z", n);
  TaskGraph graph("first");
  graph.launch("fill", n, Fill{2}, out(x));                 // a kernel, a range, accesses, as launch() takes
  graph.call("smooth", Smooth{}, in(x), out(y));            // a function
  graph.launch("axpy", n, Axpy{3}, in(x), inout(z));        // may run before "smooth", or beside it
  graph.launch("axpy", n, Axpy{1}, in(y), inout(z));        // waits for both of these
  const TaskReport report = graph.run(across(Emulated{0}, Emulated{1}, Threads{}));
  std::fputs(report.text().c_str(), stdout);
//! [first]
  check(z(n - 1) == 7.5 && report.tasks == 4);
}

void commuting(index_t n) {
  std::vector<Array> parts;
  for (int k = 0; k < 4; ++k) {
    parts.emplace_back("part", n);
    parts.back()(0) = k;
  }
  const Array sum("sum", n);
//! [commuting]
  TaskGraph graph("sum");
  for (const Array& part : parts)
    graph.launch("add", n, Axpy{1}, in(part), commute(sum));                 // in any order, one at a time
//! [commuting]
  graph.run(on(Emulated{0}));
  check(sum(0) == 6.0);
}

void contributing(index_t n) {
  const std::vector<Array> parts = {Array("part", n), Array("part", n), Array("part", n)};
  for (const Array& part : parts) part(0) = 2;
  const Array sum("sum", n), y("y", n);
//! [contributing]
  TaskGraph graph("sum");
  for (const Array& part : parts)
    graph.launch("add", n, Axpy{1}, in(part), reduce(sum));                  // at once, on several devices
  graph.launch("use", n, Axpy{1}, in(sum), inout(y));       // the sum is whole
//! [contributing]
  graph.run(across(Emulated{0}, Emulated{1}));
  check(y(0) == 6.0);
}

void parts(index_t n) {
//! [parts]
  const Array x("x", n), y("y", n);
  TaskGraph graph("halves");
  graph.launch("fill", range(0, n / 2), Fill{1}, out(x));   // rows [0, n / 2) of x, as the range says
  graph.launch("fill", range(n / 2, n), Fill{2}, out(x));   // does not wait for the task before it
  graph.launch("axpy", range(0, n / 2), Axpy{1}, in(x), inout(y));           // waits for the first one only
  graph.call("all", Smooth{}, in(x), out(y));               // a call is of whole arrays; waits for all three
//! [parts]
  graph.run(across(Emulated{0}, Emulated{1}));
  check(y(n - 1) == 1.5);
}

//! [versions]
struct Print {                                              // for hosts only, as it takes their queue
  void operator()(const Queue<AnyHost>&, const auto& x) const { std::printf("x(0) is %g\n", x(0)); }
};
//! [versions]

void versions(index_t n) {
  const Array x("x", n);
//! [places]
  TaskGraph graph("where");
  graph.launch<DeviceList<Emulated>>("fill", n, Fill{4}, out(x));            // nowhere else
  graph.call("print", Print{}, in(x));
  graph.run(across(Emulated{0}, Threads{}));                // each runs on one of these
//! [places]
}

void order(index_t n) {
  const Array x("x", n), y("y", n), z("z", n);
//! [handles]
  TaskGraph graph("handles");
  const TaskHandle first = graph.launch("fill", n, Fill{1}, out(x)).priority(2);
  graph.launch("fill", n, Fill{1}, out(y)).after(first);    // though they share nothing
  graph.launch("axpy", n, Axpy{1}, in(x), inout(z)).work(2.0 * double(n));   // floating-point operations
//! [handles]
//! [options]
  coherent::set_budget(Emulated{0}, 2 * n * index_t(sizeof(double)));        // room for two arrays
  TaskRunOptions options;
  options.scheduler = "dmdas";                              // one of tasks::scheduler_names()
  options.queues = 2;                                       // tasks at a time on a device
  options.on_host = true;                                   // the host has all values in the end
  graph.run(on(Emulated{0}), options);
  graph.run(on(Emulated{0}), "darts-corrected");            // again, and only the scheduler is another
//! [options]
  check(z(n - 1) == 2.0);
}

void hints(index_t n) {
  const Array x("x", n), y("y", n), z("z", n);
//! [hints]
  TaskGraph graph("hints");
  graph.launch("fill", n, Fill{1}, out(x));
  graph.launch("axpy", n, Axpy{1}, in(x), inout(y));
  graph.discard(x);                                         // nobody needs its values: nothing is copied
  graph.launch("axpy", n, Axpy{1}, in(y), inout(z));
  graph.wont_use(y);                                        // not soon: the host gets it, others the room
//! [hints]
  check(graph.run(on(Emulated{0})).tasks == 3 && z(0) == 1.0);
}

void learning(index_t n) {
  const std::string path = (std::filesystem::temp_directory_path() / "strata_task_guide_costs.txt").string();
  const Array x("x", n);
  TaskGraph graph("learning");
  for (int k = 0; k < 20; ++k) graph.launch("fill", n, Fill{1}, out(x));
//! [costs]
  TaskCosts costs;
  if (std::filesystem::exists(path)) costs.read(path);      // what runs before measured
  TaskRunOptions options;
  options.costs = &costs;
  graph.run(on(Emulated{0}), options);                      // estimates with it, and adds to it
  costs.write(path);
//! [costs]
  check(costs.seconds("Emulated", "fill", n * index_t(sizeof(double))) > 0);
  std::filesystem::remove(path);
}

void files(index_t n) {
  const std::string path = (std::filesystem::temp_directory_path() / "strata_task_guide_").string();
  const Array sum("sum", n);
//! [files]
  std::vector<Array> blocks;                                // each in a file
  for (int k = 0; k < 8; ++k)
    blocks.push_back(file_array<double, rank<1>>(path + std::to_string(k), n, overwrite));
  TaskGraph graph("files");
  for (const Array& block : blocks) graph.launch("fill", n, Fill{1}, out(block));
  for (const Array& block : blocks) graph.launch("add", n, Axpy{1}, in(block), inout(sum));
  TaskRunOptions options;
  options.host_memory = 4 * n * index_t(sizeof(double));    // of sum and three blocks at a time
  graph.run(on(Threads{}), options);
//! [files]
  check(sum(n - 1) == 8.0);
  blocks.clear();
  graph.clear();
  for (int k = 0; k < 8; ++k) std::filesystem::remove(path + std::to_string(k));
}

//! [growing]
struct Refine {                                             // on a host: adds tasks where they are needed
  TaskGraph* graph;
  Array y;
  void operator()(const Queue<AnyHost>&, const auto& x) const {
    if (x(0) > 1) graph->launch("more", y.extent(0), Fill{x(0)}, out(y));
  }
};
//! [growing]

void growing(index_t n) {
  const Array x("x", n), y("y", n);
  TaskGraph graph("growing");
  graph.launch("fill", n, Fill{2}, out(x));
  graph.call("refine", Refine{&graph, y}, in(x));
  check(graph.run(across(Emulated{0}, Threads{})).tasks == 3 && y(0) == 2.0);
}

void filling(index_t n) {
  const Array x("x", n);
//! [scope]
  TaskRunOptions options;
  options.window = 1000;                                    // so many may wait for those that run
  TaskScope scope("time steps", across(Emulated{0}, Threads{}), options);
  const TaskHandle first = scope.launch("fill", n, Fill{1}, out(x));         // begins soon
  for (int step = 0; step < 5000; ++step) {
    const Array change("change", n);                        // goes with the last task that uses it
    scope.launch("fill", n, Fill{0.5}, out(change)).after(first).priority(1);
    scope.launch("axpy", n, Axpy{1}, in(change), inout(x));
    scope.discard(change);
    if (step % 1000 == 0) std::printf("x(0) is %g\n", double(x(0)));        // waits for the tasks so far that use x
  }
  const TaskReport report = scope.wait();                   // throws TaskFailed
//! [scope]
  check(report.tasks == 10001 && x(0) == 2501.0);
}

//! [throws]
struct Throws {
  void operator()(const auto&, const auto&) const { throw std::runtime_error("the input is wrong"); }
};
//! [throws]

void failing(index_t n) {
  const Array x("x", n), y("y", n), z("z", n);
//! [failing]
  TaskGraph graph("failing");
  graph.call("read", Throws{}, out(x));
  graph.launch("axpy", n, Axpy{1}, in(x), inout(y));        // depends on it: dropped
  graph.launch("fill", n, Fill{5}, out(z));                 // does not: runs
  try {
    graph.run(across(Emulated{0}, Threads{}));
  } catch (const TaskFailed& error) {
    std::printf("%s\n", error.what());
    for (const std::string& label : error.lost) std::printf("write %s anew\n", label.c_str());
  }
//! [failing]
  check(z(0) == 5.0 && y(0) == 0.0);
}

void writing(index_t n) {
  const Array x("x", n);
  TaskGraph graph("writing");
  graph.launch("fill", n, Fill{2}, out(x));
  const std::string path = (std::filesystem::temp_directory_path() / "strata_task_guide.json").string();
//! [json]
  graph.write_json(path);                                   // strata-simulate graph.json --machine ...
//! [json]
  std::filesystem::remove(path);
}

void run() {
  const index_t n = 1000;
  first(n);
  commuting(n);
  contributing(n);
  parts(n);
  versions(n);
  order(n);
  hints(n);
  learning(n);
  files(n);
  growing(n);
  filling(n);
  failing(n);
  writing(n);
}
// clang-format on

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, run); }
