// What the applications of Dastgeer and Kessler (IJPP 44, 2016, section 5) copy and allocate on emulated
// devices, exactly. plan/counts_test.cpp has the same numbers of the logic alone, beside those of the paper's
// protocol, the sums of its Table 1. All values are checked against the same program on the host.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "views/coherent/transfer_sums.hpp"

namespace {

using namespace coherent_testing;

// The applications. MapArray of the paper: `full` may be read anywhere, of `part` and `to` a device has its
// block. Values are whatever tells old ones from new ones.
template <int Words>
struct Item {
  std::uint32_t word[Words];
};
template <class T>
STRATA_FUNCTION void mix(T& value, const T& anywhere, const T& own, index_t i) {
  constexpr auto words = static_cast<index_t>(sizeof(value.word) / sizeof(value.word[0]));
  for (index_t w = 0; w < words; ++w)
    value.word[w] = 3 * anywhere.word[w] + 5 * own.word[words - 1 - w] + static_cast<std::uint32_t>(i + w);
}
STRATA_FUNCTION index_t partner(index_t i, index_t n) { return (7 * i + 3) % n; }
struct MapArray {
  STRATA_FUNCTION void operator()(auto index, auto full, auto part, auto to) const {
    const index_t i = static_cast<index_t>(index);
    mix(to(i), full(partner(i, full.extent(0))), part(i), i);
  }
  STRATA_FUNCTION void operator()(auto index, auto full, auto part) const {
    const index_t i = static_cast<index_t>(index);
    const auto own = part(i);
    mix(part(i), full(partner(i, full.extent(0))), own, i);
  }
};
struct Generate {
  STRATA_FUNCTION void operator()(auto index, auto x) const {
    const index_t i = static_cast<index_t>(index);
    auto& item = x(i);
    for (auto& word : item.word) word = static_cast<std::uint32_t>(11 * i);
  }
};
struct Update {
  STRATA_FUNCTION void operator()(auto i, auto x) const {
    for (auto& word : x(i).word) ++word;
  }
};

// The same program on the host alone.
template <class T>
struct Reference {
  std::vector<T> values;
  explicit Reference(index_t n) : values(static_cast<std::size_t>(n)) {}
  template <class F>
  void each(const F& f) {
    for (std::size_t i = 0; i < values.size(); ++i) f(values[i], i);
  }
  void generate() {
    each([](T& v, std::size_t i) {
      for (auto& word : v.word) word = static_cast<std::uint32_t>(11 * i);
    });
  }
  void map_array(const Reference& full, const Reference& part) {
    each([&](T& v, std::size_t i) {
      const T own = part.values[i];
      mix(v,
          full.values[static_cast<std::size_t>(
              partner(static_cast<index_t>(i), static_cast<index_t>(values.size())))],
          own, static_cast<index_t>(i));
    });
  }
};
template <class T>
void expect_equal(const CoherentArray<T, rank<1>>& x, const Reference<T>& expected) {
  const auto view = x.read();
  index_t wrong = 0;
  for (index_t i = 0; i < x.extent(0); ++i)
    wrong += std::memcmp(&view(i), &expected.values[static_cast<std::size_t>(i)], sizeof(T)) != 0;
  EXPECT_EQ(wrong, 0) << "elements of \"" << x.label() << "\"";
}

struct Setting {
  int devices;
  auto where() const { return across(emulated_devices(devices)); }
};

TransferCounters nbody(const Setting& setting) {
  using Body = Item<22>;
  const index_t n = 1000;
  const CoherentArray<Body, rank<1>> v0("v0", n, uninitialized), v1("v1", n, uninitialized);
  Reference<Body> r0(n), r1(n);
  launch(setting.where(), n, Generate{}, out(v0));
  launch(setting.where(), n, Generate{}, out(v1));
  r0.generate();
  r1.generate();
  for (int iteration = 0; iteration < 11; ++iteration) {
    launch(setting.where(), n, MapArray{}, in(v0, everything), inout(v1));
    launch(setting.where(), n, MapArray{}, in(v1, everything), inout(v0));
    r1.map_array(r0, r1);
    r0.map_array(r1, r0);
  }
  expect_equal(v0, r0);
  return v0.counters() + v1.counters();
}

// The last element is the number of the step; the host fills the matrix, devices the indices.
TransferCounters lu(const Setting& setting) {
  using Number = Item<1>;
  const index_t rows = 20, n = rows * rows + 1;
  const CoherentArray<Number, rank<1>> a("a", n), factors("factors", n, uninitialized);
  const CoherentArray<Number, rank<1>> indices("indices", n, uninitialized);
  Reference<Number> ra(n), rf(n), ri(n);
  launch(setting.where(), n, Generate{}, out(indices));
  ri.generate();
  for (int step = 0; step < rows; ++step) {
    launch(setting.where(), n, MapArray{}, in(a, everything), in(indices), out(factors));
    launch(setting.where(), n, MapArray{}, in(factors, everything), in(indices), out(a));
    rf.map_array(ra, ri);
    ra.map_array(rf, ri);
  }
  expect_equal(a, ra);
  return a.counters() + factors.counters() + indices.counters();
}

TransferCounters sph(const Setting& setting) {
  using Particle = Item<25>;
  const index_t n = 500;
  const CoherentArray<Particle, rank<1>> f1("f1", n, uninitialized), f2("f2", n, uninitialized);
  Reference<Particle> r1(n), r2(n);
  launch(setting.where(), n, Generate{}, out(f1));
  launch(setting.where(), n, Copy{}, in(f1), out(f2));
  launch(setting.where(), n, MapArray{}, in(f2, everything), inout(f1));
  r1.generate();
  r2.generate();
  r1.map_array(r2, r1);
  for (int step = 0; step < 50; ++step) {
    launch(setting.where(), n, MapArray{}, in(f1, everything), inout(f2));
    launch(setting.where(), n, MapArray{}, in(f2, everything), inout(f1));
    launch(setting.where(), n, Update{}, inout(f1));
    r2.map_array(r1, r2);
    r1.map_array(r2, r1);
    r1.each([](Particle& p, std::size_t) {
      for (auto& word : p.word) ++word;
    });
  }
  expect_equal(f1, r1);
  return f1.counters() + f2.counters();
}

class CoherentApplications : public CoherentCounters {
 protected:
  template <class Program>
  static TransferCounters run(const Program& program, int devices, double peer) {
    leave_nothing();
    emulated::configure(machine(devices, peer));
    return program(Setting{devices});
  }
  template <class Program>
  static void expect(const Program& program, int devices, double peer, const Sums& sums) {
    EXPECT_EQ(sums_of(run(program, devices, peer), 1), sums);
  }
};

TEST_F(CoherentApplications, NBody) {
  expect(nbody, 2, none, {1936000, 0, 0, 2024000, 352000});
  expect(nbody, 2, fast, {0, 0, 1936000, 88000, 352000});
}
TEST_F(CoherentApplications, NBodyOnFourDevices) {
  expect(nbody, 4, none, {5808000, 0, 0, 2024000, 704000});
  expect(nbody, 4, fast, {0, 0, 5808000, 88000, 704000});
}
TEST_F(CoherentApplications, NumbersOfCopiesAndAllocationsOfNBody) {
  const TransferCounters regions = run(nbody, 2, fast);
  EXPECT_EQ(regions.peer.count, 44U);
  EXPECT_EQ(regions.device_to_host.count, 2U);
  EXPECT_EQ(run(nbody, 4, fast).allocated.count, 16U);
}
// Of the matrix and the factors a device has all, of the indices its block: the table of the design has 1604
// bytes more on two devices, as it counts all of the indices on each.
TEST_F(CoherentApplications, Lu) {
  expect(lu, 2, none, {65764, 0, 0, 64160, 8020});
  expect(lu, 2, slow, {3208, 0, 62556, 1604, 8020});
}
TEST_F(CoherentApplications, ABroadcastOfLuLeavesTheHostOnce) {
  expect(lu, 2, fast, {1604, 0, 64160, 1604, 8020});
}
// What little there is takes as long as the latencies: without broadcasts only where a copy from device to
// device takes longer than three from the host, one after the other.
TEST_F(CoherentApplications, LuOnFourDevices) {
  constexpr double too_slow = 20e6;
  expect(lu, 4, none, {194084, 0, 0, 64160, 14436});
  expect(lu, 4, too_slow, {6416, 0, 187668, 1604, 14436});
}
// While the first device sends to the second one, the host sends to the third: the fourth has it after two
// copies then, and would after three if it left the host but once.
TEST_F(CoherentApplications, ABroadcastOfLuToFourDevicesLeavesTheHostTwice) {
  expect(lu, 4, fast, {3208, 0, 190876, 1604, 14436});
}
TEST_F(CoherentApplications, Sph) {
  expect(sph, 2, none, {5050000, 0, 0, 5100000, 200000});
  expect(sph, 2, fast, {0, 0, 5050000, 50000, 200000});
}
TEST_F(CoherentApplications, SphOnFourDevices) {
  expect(sph, 4, none, {15150000, 0, 0, 5100000, 400000});
  expect(sph, 4, fast, {0, 0, 15150000, 50000, 400000});
}

}  // namespace
