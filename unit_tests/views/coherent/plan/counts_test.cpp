// What is copied, exactly, in small programs: the scenarios of the design, and the applications of Dastgeer
// and Kessler (IJPP 44, 2016, section 5), whose Table 1 these sums are, for the paper's protocol and for
// regions. Every read is checked for old values as well (machine.hpp).
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "views/coherent/byte_sums.hpp"
#include "views/coherent/plan/machine.hpp"

namespace {

using namespace strata_tests;
constexpr AccessMode in = AccessMode::In, out = AccessMode::Out, inout = AccessMode::InOut;

Box line(index_t begin, index_t end) { return Box({begin}, {end}); }
// Block g of n elements over G devices, the last one takes what is left; device g's memory is g + 1.
Box block(index_t n, index_t devices, index_t g) {
  const index_t each = n / devices;
  return line(g * each, g + 1 == devices ? n : (g + 1) * each);
}

Sums sums_of(const Machine& machine) {
  const Counts& c = machine.counts();
  const auto at = [](index_t bytes) { return static_cast<std::uint64_t>(bytes); };
  return {at(c.to_device), at(c.within), at(c.peer), at(c.to_host), at(c.allocated)};
}

// The same program under both protocols.
template <class Program>
void expect_sums(const Program& program, int devices, bool peer, const Sums& exact, const Sums& regions) {
  ExactMachine paper(devices, peer);
  program(paper);
  EXPECT_EQ(sums_of(paper), exact) << "the paper's protocol";
  RegionMachine ours(devices, peer);
  program(ours);
  EXPECT_EQ(sums_of(ours), regions) << "regions";
}

TEST(CoherentCounts, WhatIsCurrentIsNotCopiedAgain) {
  const auto program = [](Machine& m) {
    const int a = m.array(line(0, 10), 1, true);
    m.call({{a, 1, line(0, 10), in}});
    m.call({{a, 1, line(5, 10), out}});
    m.call({{a, 1, line(0, 10), in}});
  };
  expect_sums(program, 1, true, {15, 5, 0, 0, 15}, {10, 0, 0, 0, 10});
}

TEST(CoherentCounts, AWriteOfTheHostCostsWhatItWrites) {
  const auto program = [](Machine& m) {
    const int a = m.array(line(0, 1000), 1, true);
    m.call({{a, 1, line(0, 1000), inout}});
    m.call({{a, host_memory, line(3, 4), out}});
    m.call({{a, 1, line(0, 1000), in}});
  };
  expect_sums(program, 1, true, {2000, 0, 0, 1000, 1000}, {1001, 0, 0, 0, 1000});
}

TEST(CoherentCounts, AReadOfTheHostCostsWhatItReads) {
  const auto program = [](Machine& m) {
    const int a = m.array(line(0, 1000), 1, true);
    m.call({{a, 1, line(0, 1000), inout}});
    for (index_t i = 0; i < 10; ++i) m.call({{a, host_memory, line(i, i + 1), in}});
  };
  expect_sums(program, 1, true, {1000, 0, 0, 1000, 1000}, {1000, 0, 0, 10, 1000});
}

TEST(CoherentCounts, PartsOfWhatADeviceHasAreThere) {
  const auto program = [](Machine& m) {
    const int a = m.array(line(0, 10), 1, true);
    m.call({{a, 1, line(0, 10), inout}});
    m.call({{a, 1, line(5, 10), inout}});
    m.call({{a, 1, line(3, 7), inout}});
  };
  expect_sums(program, 1, true, {12, 7, 0, 8, 19}, {10, 0, 0, 0, 10});
}

TEST(CoherentCounts, AWriteOfAPartKeepsTheRest) {
  const auto program = [](Machine& m) {
    const int a = m.array(line(0, 10), 1, true);
    m.call({{a, 1, line(0, 10), out}});
    m.call({{a, 1, line(5, 10), out}});
    m.call({{a, host_memory, line(0, 10), in}});
  };
  expect_sums(program, 1, true, {0, 0, 0, 10, 15}, {0, 0, 0, 10, 10});
}

TEST(CoherentCounts, FewerElementsThanDevices) {
  const auto program = [](Machine& m) {
    const int a = m.array(line(0, 1), 1, true);
    for (int t = 0; t < 3; ++t)
      m.call(std::vector<Access>{{a, 1, Box::none(1), inout}, {a, 2, line(0, 1), inout}});
    m.call({{a, host_memory, line(0, 1), in}});
  };
  expect_sums(program, 2, true, {1, 0, 0, 1, 1}, {1, 0, 0, 1, 1});
}

// Three points, two arrays in turn.
void stencil(Machine& m) {
  const index_t n = 1000;
  const int a = m.array(line(0, n), 1, true), b = m.array(line(0, n), 1, false);
  const auto halo = [&](index_t g) { return g == 0 ? line(0, n / 2 + 1) : line(n / 2 - 1, n); };
  int from = a, to = b;
  for (int t = 0; t < 10; ++t) {
    m.call({{from, 1, halo(0), in},
            {to, 1, block(n, 2, 0), out},
            {from, 2, halo(1), in},
            {to, 2, block(n, 2, 1), out}});
    std::swap(from, to);
  }
  m.call({{from, host_memory, line(0, n), in}});
}
TEST(CoherentCounts, AStencilExchangesItsHalos) {
  expect_sums(stencil, 2, true, {1002, 9000, 18, 1000, 4004}, {1002, 0, 18, 1000, 2004});
}
TEST(CoherentCounts, AStencilExchangesItsHalosThroughTheHost) {
  expect_sums(stencil, 2, false, {1020, 9000, 0, 10000, 4004}, {1020, 0, 0, 1018, 2004});
}

TEST(CoherentCounts, ASplitThatMovesCostsTheDifference) {
  const auto program = [](Machine& m) {
    const int a = m.array(line(0, 1000), 1, true);
    for (int t = 0; t < 10; ++t) {
      const index_t split = t % 2 == 0 ? 500 : 600;
      m.call({{a, 1, line(0, split), inout}, {a, 2, line(split, 1000), inout}});
    }
    m.call({{a, host_memory, line(0, 1000), in}});
  };
  expect_sums(program, 2, true, {3400, 6100, 500, 3400, 2000}, {1000, 0, 900, 1000, 1100});
}

TEST(CoherentCounts, AStencilSplitByColumns) {
  RegionMachine m(2, true);
  const Box all = Box::from_extents({100, 80});
  const int a = m.array(all, 1, true), b = m.array(all, 1, false);
  const auto halo = [&](int g) { return g == 0 ? Box({0, 0}, {100, 41}) : Box({0, 39}, {100, 80}); };
  const auto own = [&](int g) { return g == 0 ? Box({0, 0}, {100, 40}) : Box({0, 40}, {100, 80}); };
  int from = a, to = b;
  for (int t = 0; t < 10; ++t) {
    m.call({{from, 1, halo(0), in}, {from, 2, halo(1), in}, {to, 1, own(0), out}, {to, 2, own(1), out}});
    std::swap(from, to);
  }
  m.call({{from, host_memory, all, in}});
  EXPECT_EQ(m.counts().to_device, 8200);
  EXPECT_EQ(m.counts().peer, 1800);
  EXPECT_EQ(m.counts().copies_peer, 18);  // a column each
  EXPECT_EQ(m.counts().to_host, 8000);
}

// MapArray of the paper: `full` may be read anywhere, of `part` and `to` a device has its block.
std::vector<Access> map_array(index_t n, int devices, int full, int part, int to) {
  std::vector<Access> accesses;
  for (int g = 0; g < devices; ++g) {
    const Box own = block(n, devices, g);
    accesses.push_back({full, g + 1, line(0, n), in});
    if (part == to) {
      accesses.push_back({part, g + 1, own, inout});
    } else {
      accesses.push_back({part, g + 1, own, in});
      accesses.push_back({to, g + 1, own, out});
    }
  }
  return accesses;
}
std::vector<Access> blocks_of(index_t n, int devices, int array, AccessMode use) {
  std::vector<Access> accesses;
  for (int g = 0; g < devices; ++g) accesses.push_back({array, g + 1, block(n, devices, g), use});
  return accesses;
}

auto nbody(int devices) {
  return [=](Machine& m) {
    const index_t n = 1000;
    const int v0 = m.array(line(0, n), 88, false), v1 = m.array(line(0, n), 88, false);
    m.call(blocks_of(n, devices, v0, out));
    m.call(blocks_of(n, devices, v1, out));
    for (int iteration = 0; iteration < 11; ++iteration) {
      m.call(map_array(n, devices, v0, v1, v1));
      m.call(map_array(n, devices, v1, v0, v0));
    }
    m.call({{v0, host_memory, line(0, n), in}});
  };
}
TEST(CoherentCounts, NBody) {
  expect_sums(nbody(2), 2, false, {1936000, 1936000, 0, 2024000, 528000}, {1936000, 0, 0, 2024000, 352000});
}
TEST(CoherentCounts, NBodyWithPeerCopies) {
  expect_sums(nbody(2), 2, true, {0, 1936000, 1936000, 88000, 528000}, {0, 0, 1936000, 88000, 352000});
}
TEST(CoherentCounts, NBodyOnFourDevices) {
  expect_sums(nbody(4), 4, false, {5808000, 1936000, 0, 2024000, 880000}, {5808000, 0, 0, 2024000, 704000});
}
TEST(CoherentCounts, NBodyOnFourDevicesWithPeerCopies) {
  expect_sums(nbody(4), 4, true, {0, 1936000, 5808000, 88000, 880000}, {0, 0, 5808000, 88000, 704000});
}
TEST(CoherentCounts, NumbersOfCopiesAndAllocationsOfNBody) {
  ExactMachine paper(2, false);
  nbody(2)(paper);
  EXPECT_EQ(paper.counts().copies_to_device, 44);
  EXPECT_EQ(paper.counts().copies_within, 44);
  EXPECT_EQ(paper.counts().copies_to_host, 46);
  EXPECT_EQ(paper.counts().allocations, 8);
  ExactMachine with_peer(2, true);
  nbody(2)(with_peer);
  EXPECT_EQ(with_peer.counts().copies_within, 44);
  EXPECT_EQ(with_peer.counts().copies_peer, 44);
  EXPECT_EQ(with_peer.counts().copies_to_host, 2);
  RegionMachine ours(2, true);
  nbody(2)(ours);
  EXPECT_EQ(ours.counts().copies_peer, 44);
  EXPECT_EQ(ours.counts().copies_to_host, 2);
  EXPECT_EQ(ours.counts().allocations, 4);
  ExactMachine four(4, true);
  nbody(4)(four);
  EXPECT_EQ(four.counts().allocations, 16);
}

// Doolittle's factors: the last element is the number of the step.
void lu(Machine& m) {
  const index_t rows = 20, n = rows * rows + 1;
  const int a = m.array(line(0, n), 4, true), factors = m.array(line(0, n), 4, false);
  const int indices = m.array(line(0, n), 4, false);
  m.call(blocks_of(n, 2, indices, out));
  for (int step = 0; step < rows; ++step) {
    m.call(map_array(n, 2, a, indices, factors));
    m.call(map_array(n, 2, factors, indices, a));
  }
  m.call({{a, host_memory, line(0, n), in}});
}
// The memory: of A and the factors all on both devices, of the indices a block on each, which is all that a
// device asks for: 5 arrays.
TEST(CoherentCounts, Lu) {
  expect_sums(lu, 2, false, {65764, 62556, 0, 64160, 11228}, {65764, 0, 0, 64160, 8020});
}
TEST(CoherentCounts, LuWithPeerCopies) {
  expect_sums(lu, 2, true, {3208, 62556, 62556, 1604, 11228}, {3208, 0, 62556, 1604, 8020});
}
TEST(CoherentCounts, ABroadcastLeavesTheHostOnce) {
  RegionMachine m(2, true, CopyPlanner::Broadcast::Yes);
  lu(m);
  EXPECT_EQ(m.counts().allocations, 6);
  EXPECT_EQ(m.counts().to_device, 1604);
  EXPECT_EQ(m.counts().peer, 64160);
  EXPECT_EQ(m.counts().to_host, 1604);
}

// The shock tube.
void sph(Machine& m) {
  const index_t n = 500;
  const int f1 = m.array(line(0, n), 100, false), f2 = m.array(line(0, n), 100, false);
  m.call(blocks_of(n, 2, f1, out));
  m.call({{f1, 1, block(n, 2, 0), in},
          {f2, 1, block(n, 2, 0), out},
          {f1, 2, block(n, 2, 1), in},
          {f2, 2, block(n, 2, 1), out}});
  m.call(map_array(n, 2, f2, f1, f1));
  for (int step = 0; step < 50; ++step) {
    m.call(map_array(n, 2, f1, f2, f2));
    m.call(map_array(n, 2, f2, f1, f1));
    m.call(blocks_of(n, 2, f1, inout));
  }
  m.call({{f1, host_memory, line(0, n), in}});
}
TEST(CoherentCounts, Sph) {
  expect_sums(sph, 2, false, {5050000, 5050000, 0, 5100000, 300000}, {5050000, 0, 0, 5100000, 200000});
}
TEST(CoherentCounts, SphWithPeerCopies) {
  expect_sums(sph, 2, true, {0, 5050000, 5050000, 50000, 300000}, {0, 0, 5050000, 50000, 200000});
}

}  // namespace
