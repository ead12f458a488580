// The files and options of strata-simulate: what they say, and what is wrong with them.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/simulator/simulator.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/algorithms/tasks/task_scope.hpp>
#include <strata/core/bytes.hpp>
#include <strata/miniapps/simulate/graph_file.hpp>
#include <strata/miniapps/simulate/machine_file.hpp>
#include <strata/miniapps/simulate/settings.hpp>

#include "core/random.hpp"
#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata::literals;
using namespace strata::simulate;
using miniapp::UsageError;
using strata_tests::message_of;
using tasks::host;
using tasks::none;
using tasks::TaskError;

// A file that is there as long as this is.
class File {
 public:
  explicit File(const std::string& text) : path_(testing::TempDir() + "strata_simulate_test.json") {
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::string two_devices = R"({
  "name": "two",
  "devices": [{"name": "gpu", "count": 2, "memory": "1 MiB", "rates": {"gemm": 2e9, "*": 1e9}}],
  "links": [{"name": "bus", "bytes_per_second": 1e6, "latency": 0.5, "duplex": false, "joins": [["host", "*"]]},
            {"name": "peer", "bytes_per_second": 4e6, "separate": true, "joins": [["*", "*"]]}]})";

TEST(MachineFile, DescribesDevicesAndLinks) {
  const File file(two_devices);

  const tasks::Machine machine = read_machine(file.path(), 2, 0);

  ASSERT_EQ(machine.num_devices(), 2);
  EXPECT_EQ(machine.device(1).name, "gpu:1");
  EXPECT_EQ(machine.device(1).memory, 1_MiB);
  EXPECT_EQ(machine.device(0).rates.at("gemm"), 2e9);
  ASSERT_EQ(machine.links().size(), 2u);
  EXPECT_FALSE(machine.links()[0].duplex);
  EXPECT_EQ(machine.links()[1].name, "peer 0-1");
  EXPECT_TRUE(machine.links()[1].duplex);
  EXPECT_EQ(machine.link_between(host, 1), 0);
  EXPECT_EQ(machine.link_between(1, 0), 1);
  EXPECT_DOUBLE_EQ(machine.copy_seconds(host, 0, 1000000), 1.5);
}

TEST(MachineFile, HasFewerDevicesAndOtherMemoriesWhereAskedFor) {
  const File file(two_devices);
  const tasks::Machine machine = read_machine(file.path(), 1, 77);
  EXPECT_EQ(machine.num_devices(), 1);
  EXPECT_EQ(machine.device(0).memory, 77);
  EXPECT_EQ(machine.links().size(), 1u);
  EXPECT_NE(message_of<UsageError>([&] { read_machine(file.path(), 3, 0); }).find("--devices 3"),
            std::string::npos);
}

TEST(MachineFile, SaysWhatIsMissing) {
  const auto message = [](const std::string& text) {
    const File file(text);
    return message_of<UsageError>([&] { read_machine(file.path(), 1, 0); });
  };
  EXPECT_NE(message("{").find("is not JSON"), std::string::npos);
  EXPECT_NE(message("{}").find("needs \"devices\""), std::string::npos);
  EXPECT_NE(message(R"({"devices": [{"name": "a", "memory": "1 MiB"}]})").find("needs \"rates\""),
            std::string::npos);
  EXPECT_NE(message(R"({"devices": [{"name": "a", "memory": "1 Mi", "rates": {}}]})").find("1 Mi"),
            std::string::npos);
  const std::string device =
      R"({"name": "m", "devices": [{"name": "a", "memory": 8, "rates": {"*": 1}}], "links": [)";
  EXPECT_NE(message(device + R"({"name": "l", "bytes_per_second": "x", "joins": []}]})").find("wrong type"),
            std::string::npos);
  EXPECT_NE(
      message(device + R"({"name": "l", "bytes_per_second": 1, "joins": [["host", 5]]}]})").find("device 5"),
      std::string::npos);
  EXPECT_NE(
      message(device + R"({"name": "l", "bytes_per_second": 1, "joins": [["disk", 0]]}]})").find("\"disk\""),
      std::string::npos);
  EXPECT_NE(
      message(R"({"devices": [{"name": "a", "count": 0, "memory": 8, "rates": {}}]})").find("\"count\""),
      std::string::npos);
  EXPECT_NE(message_of<UsageError>([] { read_machine("nothing.json", 1, 0); }).find("nothing.json"),
            std::string::npos);
}

TEST(MachineFile, WithoutALinkIsNoMachine) {
  const File file(R"({"name": "m", "devices": [{"name": "a", "memory": 8, "rates": {"*": 1}}]})");
  EXPECT_NE(
      message_of<TaskError>([&] { read_machine(file.path(), 1, 0); }).find("no link joins the device \"a\""),
      std::string::npos);
}

TEST(GraphFile, DescribesTasksInProgramOrder) {
  const File file(R"({"arrays": [{"name": "a", "bytes": "1 KiB"}, {"name": "b", "bytes": 5}],
    "tasks": [{"name": "fill", "work": 3, "out": ["a"]},
              {"name": "add", "kernel": "k", "work": 2, "in": ["a"], "inout": ["b"]},
              {"name": "last", "kernel": "k", "work": 0, "after": ["fill"]}]})");

  const tasks::TaskDag graph = read_graph(file.path());

  ASSERT_EQ(graph.num_tasks(), 3);
  EXPECT_EQ(graph.array(0).bytes, 1024);
  EXPECT_EQ(graph.predecessors(1), std::vector<tasks::TaskId>{0});
  EXPECT_EQ(graph.predecessors(2), std::vector<tasks::TaskId>{0});
  EXPECT_EQ(graph.kernels(), (std::vector<std::string>{"fill", "k"}));
  EXPECT_EQ(graph.task(1).accesses[1].mode, AccessMode::InOut);
}

TEST(GraphFile, HasUpdatesWhoseOrderIsFree) {
  const File file(R"({"arrays": [{"name": "sum", "bytes": 8}],
    "tasks": [{"name": "clear", "work": 1, "out": ["sum"]},
              {"name": "one", "work": 1, "commute": ["sum"]},
              {"name": "two", "work": 1, "commute": ["sum"]},
              {"name": "end", "work": 1, "in": ["sum"]}]})");

  const tasks::TaskDag graph = read_graph(file.path());

  EXPECT_TRUE(graph.task(1).accesses[0].commutes);
  EXPECT_EQ(graph.task(1).accesses[0].mode, AccessMode::InOut);
  EXPECT_EQ(graph.predecessors(1), std::vector<tasks::TaskId>{0});
  EXPECT_EQ(graph.predecessors(2), std::vector<tasks::TaskId>{0}) << "they do not wait for each other";
  EXPECT_EQ(graph.predecessors(3), (std::vector<tasks::TaskId>{1, 2}));
}

struct AddTo {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += x(i); }
};

TEST(GraphFile, IsWhatAGraphOfTasksWrites) {
  using Doubles = CoherentArray<double, rank<1>>;
  const Doubles x("x", 100), same_label("x", 50), number("x#1", 10), empty("empty", 0), sum("sum", 100);
  strata::TaskGraph graph("g");
  const TaskHandle first = graph.launch("add \"it\"", 100, AddTo{}, in(x), commute(sum));
  graph.launch("add \"it\"", 100, AddTo{}, in(x), commute(sum)).work(1e15);
  graph.launch("add", 50, AddTo{}, in(sum), inout(same_label)).after(first);
  graph.launch("add", 10, AddTo{}, in(x), inout(number));
  graph.launch("add", 0, AddTo{}, in(x), inout(empty));
  const File file("");
  graph.write_json(file.path());

  const tasks::TaskDag read = read_graph(file.path());

  ASSERT_EQ(read.num_tasks(), 5);
  EXPECT_EQ(read.num_arrays(), 4) << "arrays of one label are several, and nothing uses an empty one";
  EXPECT_EQ(read.kernels(), (std::vector<std::string>{"add \"it\"", "add"}));
  EXPECT_EQ(read.task(1).work, 1e15);
  EXPECT_TRUE(read.predecessors(1).empty());
  EXPECT_EQ(read.predecessors(2), (std::vector<tasks::TaskId>{0, 1}));
  EXPECT_EQ(read.bytes_of(2), 1200);
  EXPECT_EQ(read.bytes_of(3), 880);
}

// A machine of a device that is of a kind, and one whose rates are given.
std::string machine_of(const std::string& kind, const std::string& rates) {
  return R"({"name": "m", "devices": [{"name": "a", )" + kind + R"("memory": 8000, "rates": )" + rates +
         R"(}], "links": [{"name": "l", "bytes_per_second": 1e9, "joins": [["host", 0]]}]})";
}

TEST(GraphFile, HasWhatTasksTook) {
  using Doubles = CoherentArray<double, rank<1>>;
  const Doubles x("x", 100), y("y", 100), z("z", 10);
  strata::TaskGraph graph("g");
  graph.launch("add", 100, AddTo{}, in(x), inout(y));
  graph.launch("add", 10, AddTo{}, in(x), inout(z)).work(50);  // was not measured
  TaskCosts costs;
  costs.add("Cuda", "add", 1600, 0.25);
  costs.add("Threads", "add", 1600, 4);
  const File file("");
  graph.write_json(file.path(), costs);
  MeasuredKernels measured;
  const tasks::TaskDag read = read_graph(file.path(), &measured);
  const auto seconds = [&](const std::string& kind, tasks::TaskId task) {
    const File machine(machine_of(kind, R"({"add": 100})"));
    return read_machine(machine.path(), 1, 0, measured).run_seconds(read, task, 0);
  };

  EXPECT_DOUBLE_EQ(seconds(R"("kind": "Cuda", )", 0), 0.25);
  EXPECT_DOUBLE_EQ(seconds(R"("kind": "Threads", )", 0), 4);
  EXPECT_DOUBLE_EQ(seconds(R"("kind": "Tbb", )", 0), 16) << "1600 bytes at the rate of the file";
  EXPECT_DOUBLE_EQ(seconds("", 0), 16);
  EXPECT_DOUBLE_EQ(seconds(R"("kind": "Cuda", )", 1), 0.5);
}

// Seconds of the first task of a graph.
double seconds_on(const std::string& machine, const std::string& graph) {
  MeasuredKernels measured;
  const File graph_file(graph);
  const tasks::TaskDag read = read_graph(graph_file.path(), &measured);
  const File machine_file(machine);
  return read_machine(machine_file.path(), 1, 0, measured).run_seconds(read, 0, 0);
}

TEST(GraphFile, HasTasksOfNoWorkThatTookTime) {
  const std::string graph =
      R"({"arrays": [], "tasks": [{"name": "t", "kernel": "k", "work": 0, "seconds": {"Cuda": 0.25}}]})";

  EXPECT_DOUBLE_EQ(seconds_on(machine_of(R"("kind": "Cuda", )", "{}"), graph), 0.25);
  EXPECT_LT(seconds_on(machine_of(R"("kind": "Tbb", )", R"({"k": 1})"), graph), 1e-90);
  EXPECT_LT(seconds_on(machine_of("", R"({"*": 1e-9})"), graph), 1e-90);
}

TEST(MachineFile, SaysWhereAGraphHasNoTimesOfAKindOfDevice) {
  const std::string graph =
      R"({"arrays": [], "tasks": [{"name": "t", "kernel": "k", "work": 8, "seconds": {"Cuda": 0.25, "Tbb": 1}}]})";
  const auto said = [&](const std::string& kind) {
    testing::internal::CaptureStderr();
    seconds_on(machine_of(kind, R"({"*": 1})"), graph);
    return testing::internal::GetCapturedStderr();
  };

  EXPECT_EQ(said(R"("kind": "Cuda", )"), "");
  EXPECT_NE(
      said(R"("kind": "cuda", )").find(R"(is of the kind "cuda", and the graph has times of "Cuda", "Tbb")"),
      std::string::npos);
  EXPECT_NE(said(R"("knid": "Cuda", )").find(R"(the device "a" has no "kind", and)"), std::string::npos);
  const std::string text =
      message_of<UsageError>([&] { seconds_on(machine_of("", R"({"other": 1})"), graph); });
  EXPECT_NE(text.find(R"(no rate of the kernel "k" on any device)"), std::string::npos) << text;
}

// A scope forgets tasks that are over, and arrays that are gone: the file has them all.
TEST(GraphFile, IsWhatRanInAScope) {
  using Doubles = CoherentArray<double, rank<1>>;
  const Doubles x("x", 100), y("y", 100);
  const File file("");
  TaskRunOptions options;
  options.json = file.path();
  options.window = 1;
  TaskScope scope("s", on(Emulated{0}), options);
  const TaskHandle first = scope.launch("add", 100, AddTo{}, in(x), inout(y));
  for (int k = 0; k < 10; ++k) {
    const Doubles temporary("temporary", 100);
    scope.launch("add", 100, AddTo{}, in(x), inout(temporary));
  }
  scope.launch("last", 100, AddTo{}, in(x), commute(y)).after(first);
  scope.wait();

  MeasuredKernels measured;
  const tasks::TaskDag read = read_graph(file.path(), &measured);

  ASSERT_EQ(read.num_tasks(), 12);
  EXPECT_EQ(read.num_arrays(), 12);
  EXPECT_EQ(read.predecessors(11), std::vector<tasks::TaskId>{0});
  EXPECT_TRUE(read.task(11).accesses[1].commutes);
  const File machine(
      R"({"name": "m", "devices": [{"name": "a", "kind": "Emulated", "memory": 8000, "rates": {"*": 1}}],
    "links": [{"name": "l", "bytes_per_second": 1e9, "joins": [["host", 0]]}]})");
  EXPECT_LT(read_machine(machine.path(), 1, 0, measured).run_seconds(read, 0, 0), 1) << "1600 by the rate";
}

// Random graphs that ran are read with the tasks and the accesses that they had, and simulated whole.
TEST(GraphFile, HasTheTasksAndAccessesOfRandomGraphs) {
  using Doubles = CoherentArray<double, rank<1>>;
  strata_tests::Random draw;
  const File file("");
  for (int trial = 0; trial < strata_tests::trials(40); ++trial) {
    std::vector<Doubles> arrays;
    for (index_t k = draw(2, 6); k > 0; --k) arrays.emplace_back("x", draw(1, 50));
    strata::TaskGraph graph("random");
    std::vector<std::vector<std::pair<AccessMode, index_t>>> expected;
    std::vector<bool> commutes;
    const index_t count = draw(1, 20), last = std::ssize(arrays) - 1;
    for (index_t k = 0; k < count; ++k) {
      const index_t first = draw(0, last), second = (first + draw(1, last)) % (last + 1);
      const Doubles &x = arrays[static_cast<std::size_t>(first)],
                    &y = arrays[static_cast<std::size_t>(second)];
      const auto nothing = [](const auto&...) {};
      commutes.push_back(draw(0, 1) == 0);
      if (commutes.back()) graph.call("nothing", nothing, in(x), commute(y));
      else graph.call("nothing", nothing, in(x), inout(y));
      expected.push_back({{AccessMode::In, x.extent(0) * 8}, {AccessMode::InOut, y.extent(0) * 8}});
    }
    TaskRunOptions options;
    const std::vector<std::string> names = tasks::scheduler_names();
    options.scheduler = names[static_cast<std::size_t>(draw(0, std::ssize(names) - 1))];
    options.window = static_cast<int>(draw(1, 20));
    options.json = file.path();

    graph.run(on(Emulated{0}), options);
    MeasuredKernels measured;
    const tasks::TaskDag read = read_graph(file.path(), &measured);

    ASSERT_EQ(read.num_tasks(), count);
    for (tasks::TaskId task = 0; task < count; ++task) {
      const std::vector<tasks::TaskAccess>& accesses = read.task(task).accesses;
      ASSERT_EQ(accesses.size(), 2u);
      for (std::size_t k = 0; k < 2; ++k) {
        ASSERT_EQ(accesses[k].mode, expected[static_cast<std::size_t>(task)][k].first);
        ASSERT_EQ(read.array(accesses[k].array).bytes, expected[static_cast<std::size_t>(task)][k].second);
      }
      ASSERT_EQ(accesses[1].commutes, commutes[static_cast<std::size_t>(task)]);
    }
    const tasks::Machine machine("m", {{"a", 1000, {{"*", 1e9}}}}, {{"l", 1e9, 0, true}}, {{host, 0, 0}});
    const tasks::Simulation simulated =
        tasks::simulate(read, machine, *tasks::make_scheduler(options.scheduler));
    ASSERT_EQ(simulated.order.size(), static_cast<std::size_t>(count)) << options.scheduler;
  }
}

TEST(GraphFile, IsNotWrittenOfARunThatFailed) {
  const CoherentArray<double, rank<1>> x("x", 100);
  strata::TaskGraph graph("g");
  graph.call(
      "wrong", [](const auto&...) { throw std::runtime_error("no luck"); }, inout(x));
  const File file("as it was");
  TaskRunOptions options;
  options.json = file.path();
  EXPECT_THROW(graph.run(on(Emulated{0}), options), TaskFailed);
  EXPECT_NE(message_of<UsageError>([&] { read_graph(file.path()); }).find("is not JSON"), std::string::npos);
}

TEST(GraphFile, SaysWhatIsWrong) {
  const auto read = [](const std::string& tasks) {
    const File file(R"({"arrays": [{"name": "a", "bytes": 1}], "tasks": )" + tasks + "}");
    read_graph(file.path());
  };
  const File took_nothing(R"({"arrays": [], "tasks": [{"name": "t", "work": 1, "seconds": {"Cuda": 0}}]})");
  MeasuredKernels measured;
  EXPECT_NE(message_of<UsageError>([&] {
              read_graph(took_nothing.path(), &measured);
            }).find("times of tasks are more than 0"),
            std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] {
              read(R"([{"name": "t", "work": 1, "in": ["x"]}])");
            }).find("\"x\", which is not there"),
            std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] { read(R"([{"name": "t"}])"); }).find("needs \"work\""),
            std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] {
              read(R"([{"name": "t", "work": 1}, {"name": "t", "work": 1}])");
            }).find("twice"),
            std::string::npos);
  EXPECT_NE(
      message_of<UsageError>([&] { read(R"([{"name": "t", "work": 1, "commute": ["y"]}])"); }).find("\"y\""),
      std::string::npos);
  const File twice(R"({"arrays": [{"name": "a", "bytes": 1}, {"name": "a", "bytes": 2}], "tasks": []})");
  EXPECT_NE(message_of<UsageError>([&] { read_graph(twice.path()); }).find("arrays have names of their own"),
            std::string::npos);
  EXPECT_NE(message_of<TaskError>([&] {
              read(R"([{"name": "t", "work": 1, "after": ["u"]}, {"name": "u", "work": 1, "after": ["t"]}])");
            }).find("cycle"),
            std::string::npos);
}

TEST(Memory, IsReadInBinaryAndDecimalUnits) {
  EXPECT_EQ(memory_from_string("2000 MiB"), 2000_MiB);
  EXPECT_EQ(memory_from_string("2000 MB"), 2000000000);
  EXPECT_EQ(memory_from_string("1.5GB"), 1500000000);
  EXPECT_EQ(memory_from_string("77"), 77);
  for (const char* text : {"", "MB", "-1 MB", "x", "5 XB", "1e30 GB"})
    EXPECT_THROW(memory_from_string(text), UsageError) << text;
}

TEST(SimulateSettings, ThatDoNotFitEachOtherAreErrors) {
  const auto message = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "strata-simulate");
    return message_of<UsageError>([&] {
      SimulateSettings settings;
      miniapp::Options options("strata-simulate", "Simulates.");
      declare(options, settings);
      options.parse(static_cast<int>(arguments.size()), arguments.data());
      require_valid(settings);
    });
  };
  EXPECT_NE(message({}).find("say what to run"), std::string::npos);
  EXPECT_NE(message({"lu", "--tiles", "4"}).find("--machine"), std::string::npos);
  EXPECT_NE(message({"lu", "--machine", "m"}).find("--tiles N"), std::string::npos);
  EXPECT_NE(message({"g.json", "--machine", "m", "--tiles", "4"}).find("not for a file"), std::string::npos);
  EXPECT_NE(message({"g.json", "--machine", "m", "--priorities", "parsec"}).find("for cholesky"),
            std::string::npos);
  EXPECT_NE(message({"lu", "--machine", "m", "--tiles", "4", "--priorities", "parsec"}).find("for cholesky"),
            std::string::npos);
  EXPECT_NE(
      message({"lu", "--machine", "m", "--tiles", "4", "--tasks-queued", "2"}).find("not for data-aware"),
      std::string::npos);
  EXPECT_NE(message({"lu", "--machine", "m", "--tiles", "4", "--tasks-queued", "-1"}).find("0 to 1000000"),
            std::string::npos);
  EXPECT_NE(message({"g.json", "--machine", "m", "--order", "o.json"}).find("--timeline"), std::string::npos);
  EXPECT_NE(message({"lu", "--machine", "m", "--tiles", "4", "--memory-tiles", "0.5"}).find("at least 1"),
            std::string::npos);
  EXPECT_NE(message({"lu", "--machine", "m", "--tiles", "4", "--memory", "1 MiB", "--memory-tiles", "9"})
                .find("not both"),
            std::string::npos);
  EXPECT_NE(message({"lu", "--machine", "m", "--tiles", "4", "--scheduler", "fifo"}).find("data-aware"),
            std::string::npos);
}

}  // namespace
