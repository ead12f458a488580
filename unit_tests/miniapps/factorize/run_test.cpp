// Runs of strata-factorize: what they report, write and find wrong.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include <strata/algorithms/linear/tiled/tiled_files.hpp>
#include <strata/algorithms/tasks/plan/tiled.hpp>
#include <strata/devices/emulated/device.hpp>
#include <strata/miniapps/factorize/operations.hpp>
#include <strata/miniapps/factorize/picture.hpp>
#include <strata/miniapps/factorize/run.hpp>
#include <strata/miniapps/factorize/verify.hpp>
#include <strata/miniapps/simulate/graph_file.hpp>

#include "messages.hpp"
#include "miniapps/factorize/run_reports.hpp"

namespace {

using namespace strata;
using namespace strata::factorize;
using strata_tests::expect_parts;
using strata_tests::message_of;

constexpr Operation operations[] = {Operation::Cholesky, Operation::Lu,   Operation::LuNoPivot,
                                    Operation::Gemm,     Operation::Syrk, Operation::Trsm};

FactorizeRequest request_for(Operation operation, index_t order, index_t tile) {
  FactorizeRequest request;
  request.operation = operation;
  request.input = operation == Operation::Lu ? "random" : "spd";
  request.order = order;
  request.tile = tile;
  request.scheduler = "data-aware";
  request.kernels = "strata";
  request.verify = true;
  request.quiet = true;
  return request;
}

using strata_tests::report_of;
using strata_tests::result_of;

// A folder that is there as long as this is.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "strata_factorize_run") {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};
std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(FactorizeRun, EveryOperationPassesItsChecksInALittleMemory) {
  for (const Operation operation : operations)
    for (const bool is_double : {false, true}) {
      FactorizeRequest request = request_for(operation, 90, 16);
      request.is_double = is_double;
      request.memory_limit = 12 * 16 * 16 * (is_double ? 8 : 4);

      const miniapp::RunReport report = report_of("emulated", request);

      EXPECT_TRUE(report.passed()) << name_of(operation);
      EXPECT_EQ(report.checks.size(), operation < Operation::Gemm ? 2U : 1U);
      EXPECT_LT(result_of(report, "residual"), residual_limit(operation, 90, is_double, false));
      EXPECT_GT(result_of(report, "bytes_to_devices"), 0);
      EXPECT_GT(result_of(report, "bytes_from_devices"), 0);
      EXPECT_EQ(result_of(report, "memory_bytes"), static_cast<double>(request.memory_limit));
      EXPECT_EQ(report.figures.size(), 1U);
    }
}

TEST(FactorizeRun, DevicesAndTheHostShareTheWork) {
  FactorizeRequest request = request_for(Operation::Cholesky, 200, 16);
  request.devices = 2;
  request.with_host = true;
  const miniapp::RunReport report = report_of("emulated", request);
  EXPECT_EQ(report.device, "2 x Emulated and Threads");
  EXPECT_TRUE(report.passed());
  double tasks = 0;
  for (const char* device : {"Emulated{0}", "Emulated{1}", "Threads"})
    tasks += result_of(report, std::string("tasks on ") + device);
  EXPECT_EQ(tasks, result_of(report, "tasks"));
}

TEST(FactorizeRun, TheSmallestMatricesWork) {
  for (const Operation operation : operations)
    for (const index_t order : {1, 2})
      for (const char* device : {"serial", "emulated"})
        EXPECT_TRUE(report_of(device, request_for(operation, order, 1)).passed())
            << name_of(operation) << order;
}

TEST(FactorizeRun, TilesLargerThanTheMatrixAreSaid) {
  const miniapp::RunReport report = report_of("serial", request_for(Operation::Cholesky, 20, 100));
  EXPECT_TRUE(report.passed());
  ASSERT_FALSE(report.notes.empty());
  expect_parts(report.notes.front(), {"tiles of 100 are larger than the matrix"});
  expect_parts(report.mesh.source, {"order 20 in 1 x 1 tiles of 20"});
}

// What a wrong result, or a wrong solution, comes to.
TEST(FactorizeRun, WrongResultsFailTheirChecks) {
  for (const Operation operation : operations) {
    const FactorizeRequest request = request_for(operation, 60, 16);
    const auto input = make_input(request);
    const auto right = make_generated(false, 60, 2);
    TaskWatch watch("eager", false);
    const auto on_serial = make_operations<double>("serial", request, watch);
    const bool is_lower = operation == Operation::Cholesky || operation == Operation::Trsm;
    const auto make = [&](const char* name, bool is_lower_one) {
      return is_lower_one ? on_serial->lower_matrix(name, 60, 16) : on_serial->matrix(name, 60, 60, 16);
    };
    const auto a = make("a", is_lower), b = make("b", false), c = make("c", operation == Operation::Syrk);
    fill(a, *input, [](index_t) {});
    fill(b, *right, [](index_t) {});
    if (operation == Operation::Cholesky) on_serial->cholesky(a);
    if (operation == Operation::Lu || operation == Operation::LuNoPivot)
      on_serial->lu(a, operation == Operation::Lu);
    if (operation == Operation::Gemm) on_serial->gemm(a, b, c);
    if (operation == Operation::Syrk) on_serial->syrk(a, c);
    if (operation == Operation::Trsm) on_serial->trsm(a, b);
    const auto& result = operation == Operation::Trsm ? b : operation >= Operation::Gemm ? c : a;
    const auto checks = [&] {
      miniapp::RunReport report;
      verify(Computed<double>{request, *input, right.get(), result}, *on_serial, report);
      return report;
    };
    EXPECT_TRUE(checks().passed()) << name_of(operation);

    result.tile(2, 1).read_write()(3, 4) += 1e-9;

    const miniapp::RunReport wrong = checks();
    EXPECT_FALSE(wrong.passed()) << name_of(operation);
    for (const miniapp::Check& check : wrong.checks) EXPECT_FALSE(check.passed) << check.name;
  }
}

TEST(FactorizeRun, TooLittleMemoryIsRefusedBeforeAnythingIsFilled) {
  const auto message = [](Operation operation, index_t order, index_t limit) {
    FactorizeRequest request = request_for(operation, order, 16);
    request.memory_limit = limit;
    return message_of<miniapp::UsageError>([&] { report_of("emulated", request); });
  };
  expect_parts(message(Operation::Cholesky, 90, 6143),
               {"three tiles of 16 x 16, 6 KiB (6144 bytes)", "smaller tiles"});
  expect_parts(message(Operation::Gemm, 10, 2000), {"three tiles of 10 x 10, 2.34 KiB"});
  expect_parts(message(Operation::Syrk, 90, 6000), {"three tiles"});
  expect_parts(message(Operation::LuNoPivot, 90, 6000), {"three tiles"});
  expect_parts(message(Operation::Lu, 90, 13567), {"a panel of 90 x 16 and a tile, 13.25 KiB"});
}

// Of what the host may hold, before there is a file.
TEST(FactorizeRun, TooLittleMemoryOfTheHostIsRefusedBeforeAnythingIsMade) {
  const Folder folder;
  for (const Operation operation : operations) {
    FactorizeRequest request = request_for(operation, 40, 16);
    request.home = "file";
    request.folder = folder.file("tiles");
    request.host_memory = 5000;

    const std::string text = message_of<miniapp::UsageError>([&] { report_of("serial", request); });

    expect_parts(text, {"--host-memory 4.88 KiB: a task uses", "smaller tiles (--tile)"});
    EXPECT_FALSE(std::filesystem::exists(request.folder)) << name_of(operation);
    request.host_memory = std::stoll(text.substr(text.find(" (") + 2));
    EXPECT_TRUE(report_of("serial", request).passed()) << name_of(operation);
    std::filesystem::remove_all(request.folder);
  }
}

// ... and with what the message asks for it runs.
TEST(FactorizeRun, TheLeastMemoryIsEnough) {
  for (const Operation operation : operations)
    for (const index_t order : {10, 25, 90}) {
      FactorizeRequest request = request_for(operation, order, 16);
      request.memory_limit = 1;
      const std::string text = message_of<miniapp::UsageError>([&] { report_of("emulated", request); });
      request.memory_limit = std::stoll(text.substr(text.find(" (") + 2));
      EXPECT_TRUE(report_of("emulated", request).passed()) << name_of(operation) << ", " << order;
    }
}

TEST(FactorizeRun, TilesAreInPinnedMemoryOfAnyDeviceThatHasSuch) {
  FactorizeRequest request = request_for(Operation::Cholesky, 20, 16);
  request.home = "pinned";
  for (const int devices : {1, 2}) {
    request.devices = devices;
    EXPECT_TRUE(report_of("emulated", request).passed());
  }

  TaskWatch watch(request.scheduler, false);
  const auto made = make_operations<double>("emulated", request, watch);
  const auto a = made->matrix("a", 20, 20, 16);

  EXPECT_EQ(made->place().home, "pinned");
  const char* reason = "";
  const auto* const pinned = Emulated{}.backend().shared_memory(strata::detail::SharedMemory::Pinned, reason);
  EXPECT_GE(pinned->used(), 20U * 20 * sizeof(double));
}

TEST(FactorizeRun, WhatHostsDoNotHaveIsRefused) {
  const auto message = [](const auto& change) {
    FactorizeRequest request = request_for(Operation::Cholesky, 20, 16);
    change(request);
    return message_of<miniapp::UsageError>([&] { report_of("threads", request); });
  };
  expect_parts(message([](auto& r) { r.memory_limit = 1 << 20; }), {"no memory of its own"});
  expect_parts(message([](auto& r) { r.devices = 2; }), {"is one device"});
  expect_parts(message([](auto& r) { r.with_host = true; }), {"is the host"});
  expect_parts(message([](auto& r) { r.home = "pinned"; }), {"--home pinned"});
  expect_parts(message([](auto& r) {
                 r.is_double = false;
                 r.tf32 = true;
               }),
               {"GPUs round to TF32, and Threads is none"});
  expect_parts(message([](auto& r) { r.order = 1 << 24; }), {"order 16777216 needs", "--home file:FOLDER"});
  FactorizeRequest request = request_for(Operation::Cholesky, 20, 16);
  request.kernels = "vendor";
  expect_parts(message_of<miniapp::UsageError>([&] { report_of("emulated", request); }),
               {"--kernels vendor"});
}

TEST(FactorizeRun, MatricesWithoutFactorsAreNamedByRow) {
  const std::string path = testing::TempDir() + "strata_factorize_run.mtx";
  std::ofstream(path) << "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 4\n2 2 5\n3 3 -1\n";
  FactorizeRequest request = request_for(Operation::Cholesky, 0, 2);
  request.input = path;
  expect_parts(message_of<Error>([&] { report_of("serial", request); }), {"pivot of row 2, in tile (1, 1)"});
  std::ofstream(path) << "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 4\n2 2 5\n";
  request.operation = Operation::Lu;
  expect_parts(message_of<Error>([&] { report_of("serial", request); }), {"singular", "column 2"});
  std::ofstream(path) << "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n2 2 5\n2 1 1\n";
  request.operation = Operation::Cholesky;
  expect_parts(message_of<InputError>([&] { report_of("serial", request); }), {"not symmetric", "take lu"});
  std::remove(path.c_str());
}

// Of each step every tile once, on one of the devices; and the graph is that which is known of the operation.
TEST(FactorizeRun, OrderGraphAndPictureAreThoseOfTheTasks) {
  const Folder folder;
  for (const Operation operation :
       {Operation::Cholesky, Operation::LuNoPivot, Operation::Gemm, Operation::Syrk}) {
    FactorizeRequest request = request_for(operation, 96, 16);
    request.devices = 2;
    request.is_double = false;
    request.window = 25;  // several
    request.memory_limit = 12 * 16 * 16 * 4;
    request.graph = folder.file("graph.json");
    request.task_order = folder.file("order.json");
    request.picture = folder.file("picture.svg");

    const miniapp::RunReport report = report_of("emulated", request);

    EXPECT_EQ(report.files.size(), 3U);
    const std::map<Operation, tasks::TiledKind> kinds{{Operation::Cholesky, tasks::TiledKind::Cholesky},
                                                      {Operation::LuNoPivot, tasks::TiledKind::Lu},
                                                      {Operation::Gemm, tasks::TiledKind::Gemm},
                                                      {Operation::Syrk, tasks::TiledKind::Syrk}};
    const tasks::TiledGraph known = tasks::tiled_graph(kinds.at(operation), 6, 16);
    const tasks::TaskDag graph = simulate::read_graph(request.graph);
    ASSERT_EQ(graph.num_tasks(), known.graph.num_tasks()) << name_of(operation);
    EXPECT_EQ(result_of(report, "tasks"), known.graph.num_tasks());
    double work = 0, known_work = 0;
    for (int task = 0; task < graph.num_tasks(); ++task) {
      work += graph.task(task).work;
      known_work += known.graph.task(task).work;
    }
    EXPECT_NEAR(work / known_work, 1, 0.1);

    std::multiset<std::string> wanted;
    for (const tasks::TilePosition& at : known.positions)
      wanted.insert(std::to_string(at.k) + "," + std::to_string(at.m) + "," + std::to_string(at.n));
    const std::string order = content_of(request.task_order);
    expect_parts(order, {"\"workload\": \"" + std::string(name_of(operation)), "\"tiles\": 6",
                         "\"columns\": [\"device\", \"k\", \"m\", \"n\"]"});
    std::istringstream list(order.substr(order.find("\"order\": [") + 10));
    std::multiset<std::string> found;
    bool is_on[2] = {false, false};
    for (std::string entry; std::getline(list, entry, ']') && entry.find('[') != std::string::npos;) {
      entry = entry.substr(entry.find('[') + 1);
      is_on[entry.at(0) - '0'] = true;
      found.insert(entry.substr(2));
    }
    EXPECT_EQ(found, wanted) << name_of(operation);
    // The few outputs of a window of products are one package, where a link costs more than the work.
    EXPECT_TRUE((is_on[0] && is_on[1]) || operation == Operation::Gemm) << name_of(operation);

    const std::string picture = content_of(request.picture);
    expect_parts(picture, {"<svg xmlns=", "Emulated{0}, step 1", "Emulated{1}, step 1", "of other devices",
                           "tiles that fit a memory", "</svg>"});
  }
}

// Few tiles: each file of them is waited for until it is on the disk.
TEST(FactorizeRun, TilesInFilesTakeTheMemoryThatTheyMayHave) {
  for (const Operation operation : operations) {
    const Folder folder;
    const bool has_device = operation == Operation::Lu || operation == Operation::Syrk;
    FactorizeRequest request = request_for(operation, 40, 16);
    request.home = "file";
    request.folder = folder.file("tiles (1, 2)");
    request.host_memory = 14 * 16 * 16 * 8;
    request.task_order = folder.file("order.json");
    if (has_device) request.memory_limit = 6 * 16 * 16 * 8;

    const miniapp::RunReport report = report_of(has_device ? "emulated" : "serial", request);

    EXPECT_TRUE(report.passed()) << name_of(operation);
    EXPECT_GT(report.seconds_of("save"), 0);
    // Positions are known by the names of files as by those of tiles.
    EXPECT_NE(content_of(request.task_order).find(",2,2]"), std::string::npos);
  }
}

TEST(FactorizeRun, MatricesInFilesAreReplacedOnlyWhenThatIsAskedFor) {
  const Folder folder;
  FactorizeRequest request = request_for(Operation::Cholesky, 10, 16);
  request.home = "file";
  request.folder = folder.file("tiles");
  EXPECT_TRUE(report_of("serial", request).passed());
  expect_parts(message_of<miniapp::UsageError>([&] { report_of("serial", request); }),
               {"there is a matrix in " + request.folder + "/a already", "--overwrite"});
  request.overwrites = true;
  EXPECT_TRUE(report_of("serial", request).passed());
  request.folder = "/nonexistent/folder";
  expect_parts(message_of<Error>([&] { report_of("serial", request); }), {"/nonexistent/folder"});
}

// Each has a folder in that of --home, so that none replaces what another one has left.
TEST(FactorizeRun, DevicesWithRunsOfTheirOwnHaveFoldersOfTheirOwn) {
  const Folder folder;
  FactorizeRequest request = request_for(Operation::Syrk, 10, 16);
  request.home = "file";
  request.folder = folder.file("tiles");
  const auto input = make_input(request);
  for (const char* device : {"serial", "emulated:0"}) {
    miniapp::RunReport report;
    run_request(device, request, *input, true, report);
    EXPECT_TRUE(report.passed());
  }
  for (const char* matrix : {"serial/a", "serial/c", "emulated-0/a", "emulated-0/c"})
    EXPECT_EQ(open_tiled_files<double>(request.folder + "/" + matrix, for_reading).rows(), 10);
  const FactorizeRequest again = request_on("emulated:0", request, true);
  expect_parts(message_of<miniapp::UsageError>([&] { require_no_matrices(again); }),
               {"there is a matrix in " + request.folder + "/emulated-0/a already", "--overwrite"});
  EXPECT_NO_THROW(require_no_matrices(request_on("threads", request, true)));
  EXPECT_EQ(request_on("threads", request, false).folder, request.folder);
}

// Of matrices of zeros, by which nothing can be divided.
TEST(FactorizeRun, ProductsThatAreZeroPassTheirChecks) {
  const std::string path = testing::TempDir() + "strata_factorize_zero.mtx";
  std::ofstream(path) << "%%MatrixMarket matrix coordinate real general\n20 20 0\n";
  for (const Operation operation : {Operation::Gemm, Operation::Syrk}) {
    FactorizeRequest request = request_for(operation, 0, 16);
    request.input = path;

    const miniapp::RunReport report = report_of("serial", request);

    EXPECT_TRUE(report.passed()) << name_of(operation);
    EXPECT_EQ(result_of(report, "residual"), 0);
  }
  std::remove(path.c_str());
}

TEST(OrderPicture, ColoursAreOfWhenTasksEnded) {
  // The last of 24 tasks is at the tile (1, 0) of the first step.
  std::vector<TileTask> order(23, TileTask{0, 7, 7, 7});
  order.front() = {0, 0, 0, 0};
  order.push_back({0, 0, 1, 0});
  const std::string picture = order_picture(
      {"a <title>", 2, 2, 2, false, [](int k, int m, int n) { return n <= m && n >= k; }, {"one"}, 0}, order);
  expect_parts(picture, {"a &lt;title>", "tasks 1 to 2<", "tasks 23 to 24<", "step 1", "step 2"});
  // Two shades of a colour that two tasks share: the first is light, the second as it is.
  expect_parts(picture, {"x=\"16\" y=\"62\" width=\"120.2\" height=\"120.2\" fill=\"#f4a6a6\"",
                         "x=\"16\" y=\"182\" width=\"120.2\" height=\"120.2\" fill=\"#ff90b0\"",
                         // not there yet
                         "x=\"136\" y=\"182\" width=\"120.2\" height=\"120.2\" fill=\"#e6e6e6\""});
  EXPECT_EQ(picture.find("tiles that fit a memory"), std::string::npos);
}

}  // namespace
