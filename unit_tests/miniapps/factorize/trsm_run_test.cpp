// Triangular systems by strata-factorize: all of them, on devices of all kinds, and what is wrong with them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include <strata/algorithms/linear/tiled/tiled_files.hpp>
#include <strata/miniapps/factorize/elements.hpp>
#include <strata/miniapps/factorize/operations.hpp>
#include <strata/miniapps/factorize/run.hpp>
#include <strata/miniapps/simulate/graph_file.hpp>

#include "messages.hpp"
#include "miniapps/factorize/run_reports.hpp"

namespace {

using namespace strata;
using namespace strata::factorize;
using strata_tests::expect_parts;
using strata_tests::message_of;

FactorizeRequest request_for(const TriangularRequest& system, index_t order, index_t rhs) {
  FactorizeRequest request;
  request.operation = Operation::Trsm;
  request.system = system;
  request.input = "spd";
  request.order = order;
  request.rhs = rhs;
  request.tile = 16;
  request.scheduler = "data-aware";
  request.kernels = "strata";
  request.verify = true;
  request.quiet = true;
  return request;
}
// All that there are.
std::vector<TriangularRequest> all_systems() {
  std::vector<TriangularRequest> systems;
  for (int bits = 0; bits < 16; ++bits)
    systems.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0});
  return systems;
}
std::string text_of(const TriangularRequest& s) {
  return std::string(s.from_right ? "right " : "left ") + (s.upper ? "upper " : "lower ") +
         (s.transpose ? "transposed " : "") + (s.unit_diagonal ? "unit" : "");
}

using strata_tests::report_of;
using strata_tests::result_of;
bool has_note(const miniapp::RunReport& report, const std::string& part) {
  return std::any_of(report.notes.begin(), report.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

class FactorizeTrsm : public testing::Test {
 protected:
  FactorizeTrsm() { std::filesystem::create_directories(folder_); }
  ~FactorizeTrsm() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  std::string content_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }
  // A file of MatrixMarket with the elements of a dense matrix of order 3, column by column.
  std::string matrix(const std::string& elements) const {
    std::ofstream(file("a.mtx")) << "%%MatrixMarket matrix array real general\n3 3\n" << elements << "\n";
    return file("a.mtx");
  }

  const std::string folder_ = testing::TempDir() + "strata_factorize_trsm";
};

TEST_F(FactorizeTrsm, EverySystemPassesItsCheckInALittleMemoryOfTwoDevices) {
  for (const TriangularRequest& system : all_systems())
    for (const bool is_double : {false, true}) {
      FactorizeRequest request = request_for(system, 90, 40);
      request.is_double = is_double;
      request.devices = 2;
      request.memory_limit = 12 * 16 * 16 * (is_double ? 8 : 4);

      const miniapp::RunReport report = report_of("emulated", request);

      EXPECT_TRUE(report.passed()) << text_of(system);
      EXPECT_LT(result_of(report, "residual"), residual_limit(Operation::Trsm, 90, is_double, false));
      EXPECT_GT(result_of(report, "residual"), 0);
      EXPECT_TRUE(has_note(report, system.from_right ? "B has 40 x 90 elements" : "B has 90 x 40 elements"));
      EXPECT_TRUE(has_note(report, system.upper ? "the upper triangle" : "the lower triangle"));
      // n^2 operations for each right-hand side.
      EXPECT_NEAR(report.figures.at(0).value * result_of(report, "seconds"), 90.0 * 90 * 40, 1);
    }
}

// X itself, without what --verify computes: by substitution.
TEST_F(FactorizeTrsm, TheSolutionIsThatOfTheTriangleThatIsAskedFor) {
  const index_t n = 40, rhs = 5;
  for (const TriangularRequest& system : all_systems()) {
    FactorizeRequest request = request_for(system, n, rhs);
    request.home = "file";
    request.folder = file("home");
    request.overwrites = true;
    EXPECT_TRUE(report_of("serial", request).passed());

    const auto input = make_input(request);
    const auto right = make_random(system.from_right ? rhs : n, system.from_right ? n : rhs, 2);
    const auto element = [](const MatrixInput& of, index_t i, index_t j) {
      double value = 0;
      of.read(i, j, 1, &value);
      return value;
    };
    // op(A), from the right its transpose.
    const bool flips = system.transpose != system.from_right;
    const auto a = [&](index_t i, index_t j) {
      if (flips) std::swap(i, j);
      if (system.unit_diagonal && i == j) return 1.0;
      return (system.upper ? j >= i : j <= i) ? element(*input, i, j) : 0.0;
    };
    const bool is_lower = system.upper == flips;
    Vectors expected(n, rhs);
    for (index_t c = 0; c < rhs; ++c)
      for (index_t step = 0; step < n; ++step) {
        const index_t i = is_lower ? step : n - 1 - step;
        double rest = system.from_right ? element(*right, c, i) : element(*right, i, c);
        for (index_t k = 0; k < n; ++k)
          if (k != i) rest -= a(i, k) * expected(k, c);
        expected(i, c) = rest / a(i, i);
      }
    const auto x = open_tiled_files<double>(file("home/b"), for_reading);
    EXPECT_EQ(x.rows(), system.from_right ? rhs : n);
    x.read([&](index_t i, index_t j, double value) {
      EXPECT_NEAR(value, system.from_right ? expected(j, i) : expected(i, j), 1e-12) << text_of(system);
    });
  }
}

TEST_F(FactorizeTrsm, DevicesAndTheHostShareTheWork) {
  FactorizeRequest request = request_for({}, 200, 0);
  request.devices = 3;
  request.with_host = true;
  const miniapp::RunReport report = report_of("emulated", request);
  EXPECT_TRUE(report.passed());
  double tasks = 0;
  for (const char* device : {"Emulated{0}", "Emulated{1}", "Emulated{2}", "Threads"})
    tasks += result_of(report, std::string("tasks on ") + device);
  EXPECT_EQ(tasks, result_of(report, "tasks"));
  EXPECT_TRUE(has_note(report, "B has 200 x 200 elements"));
}

// In each step k every tile of X that is not known yet, once; panels are those of the first steps.
TEST_F(FactorizeTrsm, OrderGraphAndPictureAreThoseOfTheTasks) {
  for (const TriangularRequest& system : all_systems()) {
    FactorizeRequest request = request_for(system, 80, 40);  // 5 x 3 tiles, from the right 3 x 5
    request.devices = 2;
    request.graph = file("graph.json");
    request.task_order = file("order.json");
    request.picture = file("picture.svg");

    const miniapp::RunReport report = report_of("emulated", request);

    EXPECT_EQ(report.files.size(), 3U);
    EXPECT_EQ(simulate::read_graph(request.graph).num_tasks(), 45);
    std::multiset<std::string> wanted;
    const bool forward = system.from_right != (system.upper == system.transpose);
    for (int k = 0; k < 5; ++k)
      for (int along = forward ? k : 0; along < (forward ? 5 : k + 1); ++along)
        for (int j = 0; j < 3; ++j)
          wanted.insert(std::to_string(k) + "," + std::to_string(system.from_right ? j : along) + "," +
                        std::to_string(system.from_right ? along : j));
    const std::string order = content_of("order.json");
    expect_parts(order, {"\"workload\": \"trsm\", \"tiles\": 5"});
    std::istringstream list(order.substr(order.find("\"order\": [") + 10));
    std::multiset<std::string> found;
    for (std::string entry; std::getline(list, entry, ']') && entry.find('[') != std::string::npos;)
      found.insert(entry.substr(entry.find('[') + 3));
    EXPECT_EQ(found, wanted) << text_of(system);

    // At the first step all tiles are updated, on one of the two devices.
    const std::string picture = content_of("picture.svg");
    const std::string tile = "width=\"48.2\"";
    std::size_t tiles = 0;
    for (std::size_t at = picture.find(tile); at != std::string::npos; at = picture.find(tile, at + 1))
      ++tiles;
    EXPECT_EQ(tiles, 2U * 15) << text_of(system);
    std::size_t other = 0;
    const std::string grey = tile + " height=\"48.2\" fill=\"#e6e6e6\"";
    for (std::size_t at = picture.find(grey); at != std::string::npos; at = picture.find(grey, at + 1))
      ++other;
    EXPECT_EQ(other, 15U) << text_of(system);
  }
}

TEST_F(FactorizeTrsm, FewRightHandSidesTakeLessMemoryThanIsSaid) {
  for (const bool from_right : {false, true})
    for (const index_t order : {10, 90}) {
      FactorizeRequest request = request_for({.from_right = from_right}, order, 3);
      request.memory_limit = 1;
      const std::string text = message_of<miniapp::UsageError>([&] { report_of("emulated", request); });
      expect_parts(text, {order == 10  ? "a tile of 10 x 10 and one with 3"
                          : from_right ? "a tile of 16 x 16 and two with 3 rows, 2.75 KiB (2816 bytes)"
                                       : "a tile of 16 x 16 and two with 3 columns, 2.75 KiB (2816 bytes)"});
      request.memory_limit = std::stoll(text.substr(text.find(" (") + 2));
      EXPECT_TRUE(report_of("emulated", request).passed()) << order;
    }
}

TEST_F(FactorizeTrsm, MatricesInFilesAreReplacedOnlyWhenThatIsAskedFor) {
  FactorizeRequest request = request_for({.upper = true}, 20, 0);
  request.home = "file";
  request.folder = file("tiles");
  request.host_memory = 4 * 16 * 16 * 8;
  EXPECT_TRUE(report_of("serial", request).passed());
  EXPECT_EQ(open_tiled_files<double>(file("tiles/b"), for_reading).columns(), 20);
  std::filesystem::remove_all(file("tiles/a"));
  expect_parts(message_of<miniapp::UsageError>([&] { report_of("serial", request); }),
               {"there is a matrix in " + request.folder + "/b already", "--overwrite"});
}

// As BLAS has it: nothing looks for zeros, and what comes of them is found by the check.
TEST_F(FactorizeTrsm, AZeroOnTheDiagonalFailsTheCheckAndIsSaid) {
  FactorizeRequest request = request_for({}, 0, 2);
  request.input = matrix("4 1 1  0 0 1  0 0 2");
  for (const char* device : {"serial", "emulated"}) {
    const miniapp::RunReport report = report_of(device, request);
    EXPECT_FALSE(report.passed());
    EXPECT_TRUE(has_note(report, "X is not finite: A has a zero on its diagonal"));
  }
  request.system.unit_diagonal = true;  // which is not read
  EXPECT_TRUE(report_of("serial", request).passed());
  EXPECT_FALSE(has_note(report_of("serial", request), "not finite"));
  // The largest solution that float has is 3.4e38.
  request.input = matrix("1e-30 0 1e30  0 1 0  0 0 1e-30");
  request.system.unit_diagonal = false;
  EXPECT_FALSE(has_note(report_of("serial", request), "not finite"));
  request.is_double = false;
  const miniapp::RunReport report = report_of("serial", request);
  EXPECT_FALSE(report.passed());
  EXPECT_TRUE(has_note(report, "solutions too large for --type float"));
}

// Neither in the solution nor in the norms of the check.
TEST_F(FactorizeTrsm, TheOtherTriangleDoesNotCount) {
  FactorizeRequest request = request_for({}, 0, 0);
  request.input = matrix("2 1 1  7 3 1  8 9 4");
  const double lower = result_of(report_of("serial", request), "norm");
  request.input = matrix("2 1 1  0 3 1  0 0 4");
  EXPECT_EQ(result_of(report_of("serial", request), "norm"), lower);
  request.system.upper = true;  // now it is the diagonal
  EXPECT_NE(result_of(report_of("serial", request), "norm"), lower);
}

}  // namespace
