// Heat problems that go through their device in slices, or are in parts on several devices: the bits of the
// same problems in core, the former within the memory that they may take.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include <unistd.h>

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/devices/emulated/control.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>
#include <strata/miniapps/thermal/placed_mesh.hpp>
#include <strata/miniapps/thermal/run.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using namespace strata::thermal;

using Nodes = std::vector<std::array<double, 3>>;
using Elements = std::vector<std::array<int, 8>>;
void write_mesh(const std::string& path, const Nodes& nodes, const Elements& elements) {
  std::ofstream file(path);
  file.precision(17);
  file << "MeshVersionFormatted 2\nDimension 3\nVertices\n" << nodes.size() << "\n";
  for (const auto& x : nodes) file << x[0] << " " << x[1] << " " << x[2] << " 0\n";
  file << "Hexahedra\n" << elements.size() << "\n";
  for (const auto& e : elements) {
    for (const int n : e) file << n + 1 << " ";
    file << "1\n";
  }
  file << "End\n";
}

// A bar of 5 x 4 x 60 elements whose nodes and elements are numbered at random, as a file.
std::string shuffled_bar(const std::string& name) {
  const std::string path = ::testing::TempDir() + "shuffled_bar_" + name + ".mesh";
  const int nx = 6, ny = 5, nz = 61;
  std::mt19937 random(7);
  std::vector<int> number(static_cast<std::size_t>(nx * ny * nz));
  for (std::size_t k = 0; k < number.size(); ++k) number[k] = static_cast<int>(k);
  std::shuffle(number.begin(), number.end(), random);
  Nodes nodes(number.size());
  Elements elements;
  const auto node = [&](int i, int j, int k) {
    return number[static_cast<std::size_t>(i + nx * (j + ny * k))];
  };
  for (int k = 0; k < nz; ++k)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        nodes[static_cast<std::size_t>(node(i, j, k))] = {0.2 * i, 0.17 * j + 0.01 * i * i, 0.11 * k};
        if (i + 1 < nx && j + 1 < ny && k + 1 < nz)
          elements.push_back({node(i, j, k), node(i + 1, j, k), node(i + 1, j + 1, k), node(i, j + 1, k),
                              node(i, j, k + 1), node(i + 1, j, k + 1), node(i + 1, j + 1, k + 1),
                              node(i, j + 1, k + 1)});
      }
  std::shuffle(elements.begin(), elements.end(), random);
  write_mesh(path, nodes, elements);
  return path;
}

// 50 elements around an axis, in two layers: the row of the node in the middle has 303 entries, too many for
// the places of elements in it.
std::string wheel(const std::string& name) {
  const std::string path = ::testing::TempDir() + "wheel_" + name + ".mesh";
  constexpr int sectors = 50, ring = 2 * sectors + 1;
  Nodes nodes;
  Elements elements;
  for (int layer = 0; layer < 3; ++layer) {
    nodes.push_back({0, 0, 0.5 * layer});
    for (int k = 0; k < 2 * sectors; ++k) {
      const double angle = 3.14159265358979 * k / sectors, radius = k % 2 == 0 ? 1 : 1.05;
      nodes.push_back({radius * std::cos(angle), radius * std::sin(angle), 0.5 * layer});
    }
  }
  for (int layer = 0; layer < 2; ++layer)
    for (int k = 0; k < sectors; ++k) {
      const int base = ring * layer, a = base + 1 + 2 * k, c = base + 1 + (2 * k + 2) % (2 * sectors);
      elements.push_back({base, a, a + 1, c, base + ring, a + ring, a + 1 + ring, c + ring});
    }
  write_mesh(path, nodes, elements);
  return path;
}

struct Case {
  const char* name;
  std::string mesh;
  double beta = 0, sink = 0;
  double dt = 0;
  linear::Preconditioner preconditioner = linear::Preconditioner::Jacobi;
  std::string type = "double";
  bool has_inflows = false;  // and jumps to what is given
};

HeatRequest request_of(const Case& c) {
  HeatRequest request;
  request.mesh = c.mesh;
  request.type = c.type;
  request.problem = [c](const auto& names, const auto& ids) {
    Problem problem = uniform({2, 1, 5}, c.beta, c.sink)(names, ids);
    problem.has_inflows = c.has_inflows;
    return problem;
  };
  if (c.has_inflows) request.solve.start = GivenStart::Jump;
  request.solve.preconditioner = c.preconditioner;
  // Bits are compared, for which some iterations do.
  request.solve.tolerance = c.type == "float" ? 1e-4 : 1e-6;
  request.solve.newton_tolerance = c.type == "float" ? 1e-3 : 1e-5;
  return request;
}

// All that a problem says.
struct Found {
  std::vector<double> temperatures, numbers;
  HeatSystem system;
};
Found solved(Heat& heat, const Case& c) {
  heat.set_temperature(1);
  heat.give("z<=min", 3);
  heat.give("x>=max & z>=max-0.5", -1);
  if (c.has_inflows) {
    heat.add_inflow("x<=min", {0, 4, 2});
    heat.add_inflow("z>=max", {3, 0, 0});
  }
  Found found;
  if (c.dt > 0) {
    for (int s = 0; s < 3; ++s) heat.step(c.dt);
  } else {
    heat.solve_steady();
  }
  found.temperatures = heat.temperatures();
  found.system = heat.system();
  const LinearResidual residual = heat.residual();
  const HeatState state = heat.state(c.dt);
  found.numbers = {residual.residual,  residual.right_hand_side,
                   residual.magnitude, state.least,
                   state.mean,         state.greatest,
                   state.volume,       state.source,
                   state.sink,         state.stored,
                   state.rounding};
  found.numbers.insert(found.numbers.end(), state.flows.begin(), state.flows.end());
  found.numbers.insert(found.numbers.end(), state.inflows.begin(), state.inflows.end());
  found.numbers.push_back(static_cast<double>(heat.statistics().cg_iterations));
  found.numbers.push_back(static_cast<double>(heat.statistics().newton_steps));
  return found;
}

template <class A>
bool same_bits(const std::vector<A>& a, const std::vector<A>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(A)) == 0;
}
void expect_same(const Found& streamed, const Found& in_core, const std::string& what) {
  EXPECT_TRUE(same_bits(streamed.temperatures, in_core.temperatures)) << what << ": temperatures";
  EXPECT_EQ(streamed.system.row_map, in_core.system.row_map) << what;
  EXPECT_EQ(streamed.system.entries, in_core.system.entries) << what;
  EXPECT_TRUE(same_bits(streamed.system.values, in_core.system.values)) << what << ": matrix";
  EXPECT_TRUE(same_bits(streamed.system.b, in_core.system.b)) << what << ": b";
  EXPECT_EQ(streamed.numbers, in_core.numbers) << what;
}

// About what a problem has allocated in core, in bytes.
index_t in_core_bytes(const Heat& heat, bool is_float) {
  const index_t number = is_float ? 4 : 8;
  return heat.setup().elements * (72 * number + 32 + 64 + 36) + heat.setup().nodes * (27 * (number + 4) + 32);
}

bool says(const std::vector<std::string>& remarks, const std::string& part) {
  return std::any_of(remarks.begin(), remarks.end(),
                     [&](const std::string& remark) { return remark.find(part) != std::string::npos; });
}

template <class D>
class ThermalStreamed : public ::testing::Test {
 public:
  static std::unique_ptr<Heat> make(const Case& c, index_t limit = 0) {
    HeatRequest request = request_of(c);
    request.memory_limit = limit;
    return make_heat(D{}, request);
  }
};
TYPED_TEST_SUITE(ThermalStreamed, TestDevices, DeviceName);

TYPED_TEST(ThermalStreamed, TheBitsOfTheProblemInCore) {
  const std::string bar = shuffled_bar(strata_tests::device_name<TypeParam>()), box = "box:5x5x60",
                    bent = "box:5x4x60:1,1,6:random=0.15";
  const Case cases[] = {
      {"steady", box},
      {"distorted", bent},
      {"without preconditioner", bent, 0, 0, 0, linear::Preconditioner::None},
      {"chebyshev", bar, 0, 0, 0, linear::Preconditioner::Chebyshev},
      {"shuffled", bar},
      {"nonlinear", bent, 0.1},
      {"sink", bar, 0, 0.05},
      {"in time", bent, 0, 0, 0.01},
      {"in time, shuffled, chebyshev", bar, 0, 0, 0.01, linear::Preconditioner::Chebyshev},
      {"nonlinear in time", bar, 0.1, 0.02, 0.01},
      {"float", bar, 0, 0, 0, linear::Preconditioner::Jacobi, "float"},
      {"nonlinear float", bent, 0.1, 0, 0, linear::Preconditioner::Jacobi, "float"},
      {"inflows", bar, 0, 0, 0, linear::Preconditioner::Jacobi, "double", true},
      {"inflows in time", bar, 0.1, 0.02, 0.01, linear::Preconditioner::Jacobi, "double", true}};
  for (const Case& c : cases) {
    const auto in_core = this->make(c);
    const index_t limit = in_core_bytes(*in_core, c.type == "float") * 2 / 5;
    const auto streamed = this->make(c, limit);

    const Found expected = solved(*in_core, c), found = solved(*streamed, c);

    expect_same(found, expected, c.name);
    EXPECT_TRUE(streamed->setup().is_streamed);
    EXPECT_GT(streamed->streamed().bytes_to_device, 2 * limit) << c.name;
    EXPECT_TRUE(says(streamed->setup().remarks, c.mesh == bar ? "Cuthill-McKee, where" : "mesh's own order"))
        << c.name;
  }
  std::remove(bar.c_str());
}

// On hosts, and where there are several devices of the kind.
TYPED_TEST(ThermalStreamed, InPartsTheBitsOfTheProblemInCore) {
  const std::string bar = shuffled_bar(std::string("parts_") + strata_tests::device_name<TypeParam>()),
                    round = wheel(std::string("parts_") + strata_tests::device_name<TypeParam>()),
                    bent = "box:5x4x60:1,1,6:random=0.15";
  const Case cases[] = {
      {"steady", bent},
      {"long rows", round},
      {"shuffled, chebyshev", bar, 0, 0, 0, linear::Preconditioner::Chebyshev},
      {"in time", bent, 0, 0, 0.01},
      {"nonlinear in time", bar, 0.1, 0.02, 0.01},
      {"nonlinear float", bent, 0.1, 0, 0, linear::Preconditioner::Jacobi, "float"},
      {"inflows", bent, 0, 0, 0, linear::Preconditioner::Jacobi, "double", true},
      {"inflows in time", bar, 0.1, 0, 0.01, linear::Preconditioner::Jacobi, "double", true}};
  const int most = TypeParam::memory_space::host_accessible ? 3 : std::min(TypeParam::count(), 3);
  for (const Case& c : cases)
    for (int devices = 2; devices <= most; ++devices) {
      const auto in_core = this->make(c);
      HeatRequest request = request_of(c);
      request.devices = devices;
      const auto parts = make_heat(TypeParam{}, request);

      const Found expected = solved(*in_core, c), found = solved(*parts, c);

      expect_same(found, expected, c.name);
      EXPECT_FALSE(parts->setup().is_streamed);
      EXPECT_EQ(parts->setup().device.find(std::to_string(devices) + " x "), 0u) << parts->setup().device;
    }
  HeatRequest request = request_of(cases[0]);
  request.devices = 1000;
  if (!TypeParam::memory_space::host_accessible) {
    EXPECT_NE(message_of<NoSuchDevice>([&] { make_heat(TypeParam{}, request); }).find("--devices 1000"),
              std::string::npos);
  }
  std::remove(bar.c_str());
  std::remove(round.c_str());
  if (most < 2) GTEST_SKIP() << "there is one device";
}

TEST(PlacedParts, AreWholeBlocksOfRowsAndCutWhereSumsAreIfTheyAreLarge) {
  for (const char* const box : {"box:2x1x1", "box:7x6x5", "box:40x40x40"}) {
    const PlacedMesh mesh = make_placed_mesh(box, 0, {});
    for (const std::size_t devices : {1, 2, 3, 4}) {
      const std::vector<double> sizes = part_sizes(mesh, devices);
      ASSERT_EQ(sizes.size(), devices);
      index_t sum = 0;
      for (std::size_t k = 0; k + 1 < devices; ++k) {
        sum += static_cast<index_t>(sizes[k]);
        EXPECT_EQ(sum % row_block, 0) << box << ", " << devices;
      }
      EXPECT_EQ(sum + static_cast<index_t>(sizes.back()), mesh.nodes) << box << ", " << devices;
      if (mesh.nodes >= 16384 * static_cast<index_t>(devices)) {
        EXPECT_EQ(sizes, reduction_sizes(mesh.nodes, devices)) << devices;
      }
    }
  }
}

// Parts that are cut where sums are, and rows that several threads of a GPU take.
TYPED_TEST(ThermalStreamed, LargePartsHaveTheBitsOfTheProblemInCoreSlow) {
  const Case c{"large", "box:32x32x40:1,1,2:random=0.15"};
  const int most = TypeParam::memory_space::host_accessible ? 2 : std::min(TypeParam::count(), 2);
  if (most < 2) GTEST_SKIP() << "there is one device";
  HeatRequest request = request_of(c);
  request.devices = most;
  const auto in_core = this->make(c), parts = make_heat(TypeParam{}, request);
  expect_same(solved(*parts, c), solved(*in_core, c), c.name);
}

TYPED_TEST(ThermalStreamed, TheStagesOfASteadySolveInCore) {
  const Case c{"stages", "box:5x4x100:1,1,10:random=0.15"};
  const auto in_core = this->make(c), streamed = this->make(c, in_core_bytes(*in_core, false) / 4);
  std::vector<double> load(static_cast<std::size_t>(in_core->setup().nodes));
  for (std::size_t n = 0; n < load.size(); ++n) load[n] = 0.01 * static_cast<double>(n % 13);
  std::vector<Found> found;
  std::vector<double> coupling;
  for (Heat* heat : {in_core.get(), streamed.get()}) {
    heat->give("z<=min", load);
    heat->give("z>=max", 3);
    heat->set_temperatures(load);
    heat->assemble();
    heat->assemble();
    coupling.push_back(heat->greatest_coupling());
    heat->add_load(load);
    Found at{{}, {}, heat->system()};
    heat->eliminate();
    heat->solve();
    at.temperatures = heat->temperatures();
    found.push_back(at);
  }

  expect_same(found[1], found[0], "stages");
  EXPECT_EQ(coupling[1], coupling[0]);
  EXPECT_EQ(streamed->mesh().coordinates, in_core->mesh().coordinates);
}

// A first limit that is too small names one that is not.
TYPED_TEST(ThermalStreamed, ALimitThatIsTooSmallNamesTheLeast) {
  const Case c{"small", "box:4x4x60:1,1,6", 0.1};

  const std::string message = message_of<OutOfMemory>([&] { this->make(c, 10000); });

  const std::size_t at = message.find("the least is ");
  ASSERT_NE(at, std::string::npos) << message;
  const index_t least = std::stoll(message.substr(at + 13));
  EXPECT_GT(least, 10000);
  EXPECT_NE(message_of<OutOfMemory>([&] { this->make(c, least * 9 / 10); }).find("the least is"),
            std::string::npos);
  const auto heat = this->make(c, least), in_core = this->make(c);
  expect_same(solved(*heat, c), solved(*in_core, c), "the least");
}

TYPED_TEST(ThermalStreamed, WhatNeedsAllOfTheMatrixIsRefused) {
  HeatRequest request = request_of({"refused", "box:4x4x4"});
  request.memory_limit = index_t{1} << 24;
  request.solve.assembly = Assembly::Atomic;
  EXPECT_NE(message_of<SettingError>([&] { make_heat(TypeParam{}, request); }).find("--assembly gather"),
            std::string::npos);
  request.solve.assembly = Assembly::Gather;
  request.solve.backend = linear::Backend::Vendor;
  EXPECT_NE(message_of<SettingError>([&] { make_heat(TypeParam{}, request); }).find("--spmv strata"),
            std::string::npos);
}

#ifndef __CUDACC__

// One device with so much memory, as long as this lives.
class SmallDevice {
 public:
  explicit SmallDevice(index_t capacity) : before_(emulated::config()) {
    emulated::Config config = before_;
    config.count = 1;
    config.capacity = capacity;
    emulated::configure(config);
  }
  ~SmallDevice() { emulated::configure(before_); }

 private:
  emulated::Config before_;
};

TEST(ThermalStreamedEmulated, NeverTakesMoreThanTheLimit) {
  const std::string bar = shuffled_bar("limit_" + std::to_string(getpid()));
  for (const Case& c : {Case{"steady", bar}, Case{"nonlinear in time", bar, 0.1, 0.02, 0.01},
                        Case{"chebyshev", "box:5x5x100", 0, 0, 0.01, linear::Preconditioner::Chebyshev},
                        Case{"float", bar, 0.1, 0, 0, linear::Preconditioner::Jacobi, "float"},
                        Case{"inflows", bar, 0, 0, 0.01, linear::Preconditioner::Jacobi, "double", true}}) {
    const SmallDevice device(index_t{64} << 20);
    index_t limit = 0;
    {
      HeatRequest request = request_of(c);
      request.memory_limit = 1;
      const std::string message = message_of<OutOfMemory>([&] { make_heat(Emulated{}, request); });
      limit = std::stoll(message.substr(message.find("the least is ") + 13));
      request.memory_limit = limit;
      EXPECT_EQ(emulated::peak(0), 0) << c.name;
      const auto heat = make_heat(Emulated{}, request);
      solved(*heat, c);
      wait(Emulated{});
    }
    EXPECT_LE(emulated::peak(0), limit) << c.name;
    EXPECT_GT(emulated::peak(0), limit / 2) << c.name;
  }
  std::remove(bar.c_str());
}

TEST(ThermalStreamedEmulated, WhatDoesNotFitStreamsByItselfAndSaysSo) {
  const Case c{"too large", "box:5x5x100", 0, 0, 0.01};
  Found expected;
  {
    const auto heat = make_heat(AnyHost(Threads{}), request_of(c));
    expected = solved(*heat, c);
  }
  for (const index_t capacity : {index_t{3} << 18, index_t{3} << 19}) {
    const SmallDevice device(capacity);
    {
      const auto heat = make_heat(Emulated{}, request_of(c));
      EXPECT_TRUE(heat->setup().is_streamed);
      EXPECT_TRUE(says(heat->setup().remarks, "does not fit Emulated"));
      const Found found = solved(*heat, c);
      EXPECT_TRUE(same_bits(found.temperatures, expected.temperatures));
      wait(Emulated{});
    }
    EXPECT_LE(emulated::peak(0), capacity);
  }
  {
    const SmallDevice device(index_t{1} << 16);
    EXPECT_NE(message_of<OutOfMemory>([&] { make_heat(Emulated{}, request_of(c)); }).find("the least is"),
              std::string::npos);
  }
  {
    const SmallDevice device(index_t{1} << 19);
    HeatRequest request = request_of(c);
    request.solve.assembly = Assembly::Fused;
    EXPECT_THROW(make_heat(Emulated{}, request), OutOfMemory);
  }
}

TEST(ThermalStreamedEmulated, ARunReportsWhatGoesThrough) {
  ThermalSettings settings;
  settings.common.mesh = "box:4x4x40";
  settings.common.quiet = true;
  settings.common.memory_limit = "700KiB";
  miniapp::RunReport report;

  run_problem([](const HeatRequest& request) { return make_heat(Emulated{}, request); }, settings, "",
              report);

  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(says(report.notes, "within 700 KiB of Emulated"));
  EXPECT_TRUE(says(report.notes, "mesh's own order, where an element spans 32 of 1025 nodes"));
  const auto bytes =
      std::find_if(report.results.begin(), report.results.end(),
                   [](const miniapp::Figure& figure) { return figure.name == "to the device in slices"; });
  ASSERT_NE(bytes, report.results.end());
  EXPECT_GT(bytes->value, 700 * 1024);
}

#endif

}  // namespace
