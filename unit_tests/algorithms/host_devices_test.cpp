// Serial, Threads and Tbb are distinct types that work, each and as AnyHost: every way to launch, once. All
// else about them is tested on AnyHost, which CTest runs as each of the three.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/team.hpp>
#include <strata/version.hpp>
#include <strata/views/scatter_view.hpp>

#include "algorithms/arrays.hpp"
#include "test_devices.hpp"

#ifndef __CUDACC__
namespace {

using namespace strata;
using namespace strata_tests;

constexpr index_t n = 1013;

// A host device, launched on as itself or as AnyHost.
template <class Host, class Launched>
struct As {
  using host = Host;
  using type = Launched;
};
struct HostName {
  template <class P>
  static std::string GetName(int) {
    return P::host::name + std::string(std::is_same_v<typename P::type, AnyHost> ? "ByAnyHost" : "ByType");
  }
};
using Hosts = ::testing::Types<As<Serial, Serial>, As<Serial, AnyHost>, As<Threads, Threads>,
#if STRATA_HAS_TBB
                               As<Tbb, Tbb>, As<Tbb, AnyHost>,
#endif
                               As<Threads, AnyHost>>;

static_assert(!std::is_same_v<Serial, Threads> && !std::is_same_v<Serial, AnyHost>);
static_assert(!std::is_same_v<MDArray<int, Serial>, MDArray<int, Threads>>);
#if STRATA_HAS_TBB
static_assert(!std::is_same_v<Tbb, Threads> && !std::is_same_v<Tbb, Serial>);
#endif

// The devices on which launches begin while it lives.
struct LaunchedOn : Listener {
  std::vector<std::string> devices;
  LaunchedOn() { add_listener(*this); }
  ~LaunchedOn() override { remove_listener(*this); }
  void on_event(const HookEvent& e) override {
    if (e.kind == EventKind::BeginFor || e.kind == EventKind::BeginReduce || e.kind == EventKind::BeginScan ||
        e.kind == EventKind::BeginGraph)
      devices.push_back(e.device);
  }
};

// Every test launches on `device` only: what listeners hear is its name.
template <class P>
class HostDevices : public ::testing::Test {
 protected:
  using D = typename P::type;
  using Numbers = Vector<std::int64_t, D>;
  void TearDown() override {
    EXPECT_FALSE(heard_.devices.empty());
    for (const std::string& name : heard_.devices) EXPECT_EQ(name, P::host::name);
  }

  const D device{typename P::host()};
  const Numbers x = make_vector<std::int64_t, D>(n, [](index_t i) { return i % 7; });
  const Numbers y = make_vector<std::int64_t, D>(n, [](index_t) { return 1; });

 private:
  LaunchedOn heard_;
};
TYPED_TEST_SUITE(HostDevices, Hosts, HostName);

std::vector<std::int64_t> expected(std::int64_t factor, std::int64_t start) {
  std::vector<std::int64_t> values;
  for (index_t i = 0; i < n; ++i) values.push_back(start + factor * (i % 7));
  return values;
}
constexpr std::int64_t total = n / 7 * 21 + (n % 7) * (n % 7 - 1) / 2;  // of i % 7

struct Axpy {
  std::int64_t a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};
template <class Array>
struct AxpyFunctor {
  using device_type = typename Array::device_type;
  Array x, y;
  STRATA_FUNCTION void operator()(index_t i) const { y(i) += 3 * x(i); }
};

TYPED_TEST(HostDevices, RunLoops) {
  parallel_for(on(this->device), n, with(Axpy{2}, this->x, this->y));
  launch(on(this->device), range(0, n).dynamic(), Axpy{1}, in(this->x), inout(this->y));
  EXPECT_EQ(values_of(this->y), expected(3, 1));

  parallel_for(on(this->device), n, AxpyFunctor<typename TestFixture::Numbers>{this->x, this->y});

  EXPECT_EQ(values_of(this->y), expected(6, 1));
}

struct Mark {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const { a(i, j) += 100 * i + j; }
};

TYPED_TEST(HostDevices, RunBoxes) {
  const auto a = create<MDArray<index_t, typename TestFixture::D, rank<2>>>("a", 17, 9);

  parallel_for(on(this->device), mdrange({17, 9}), with(Mark{}, a));

  for (index_t i = 0; i < 17; ++i)
    for (index_t j = 0; j < 9; ++j) ASSERT_EQ(a(i, j), 100 * i + j);
}

struct Add {
  STRATA_FUNCTION void operator()(auto i, auto x, std::int64_t& sum) const { sum += x(i); }
};
struct AddPlace {
  STRATA_FUNCTION void operator()(index_t i, index_t j, std::int64_t& sum) const { sum += 10 * i + j; }
};
struct Histogram {
  using value_type = std::int64_t[];
  index_t value_count;
  STRATA_FUNCTION void operator()(index_t i, auto x, std::int64_t* bins) const { bins[x(i)] += 1; }
  STRATA_FUNCTION void init(std::int64_t* bins) const {
    for (index_t k = 0; k < value_count; ++k) bins[k] = 0;
  }
  STRATA_FUNCTION void join(std::int64_t* bins, const std::int64_t* other) const {
    for (index_t k = 0; k < value_count; ++k) bins[k] += other[k];
  }
};

TYPED_TEST(HostDevices, Reduce) {
  std::int64_t sum = 0, of_box = 0, bins[7] = {};

  parallel_reduce(on(this->device), n, with(Add{}, this->x), Sum(sum));
  parallel_reduce(on(this->device), mdrange({4, 5}), AddPlace{}, Sum(of_box));
  parallel_reduce(on(this->device), n, with(Histogram{7}, this->x), bins);

  EXPECT_EQ(sum, total);
  EXPECT_EQ(of_box, 10 * 6 * 5 + 10 * 4);
  for (index_t k = 0; k < 7; ++k) EXPECT_EQ(bins[k], n / 7 + (k < n % 7));
}

struct Prefix {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, std::int64_t& sum, bool final) const {
    sum += x(i);
    if (final) y(i) = sum;
  }
};

TYPED_TEST(HostDevices, Scan) {
  std::int64_t sum = 0, so_far = 0;

  parallel_scan(on(this->device), n, with(Prefix{}, this->x, this->y), Sum(sum));

  EXPECT_EQ(sum, total);
  const auto prefixes = values_of(this->y);
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(prefixes[static_cast<std::size_t>(i)], so_far += i % 7) << i;
}

struct SumOfTeam {
  STRATA_FUNCTION void operator()(const auto& member, auto x, auto y) const {
    std::int64_t sum = 0;
    parallel_reduce(
        team_range(member, 100), [&](index_t k, std::int64_t& s) { s += x(k); }, sum);
    single(per_team(member), [&] { y(member.league_rank()) = sum; });
  }
};

TYPED_TEST(HostDevices, RunTeams) {
  parallel_for(on(this->device), teams(5, 4), with(SumOfTeam{}, this->x, this->y));

  const auto sums = values_of(this->y);
  for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(sums[k], 14 * 21 + 1);
}

TYPED_TEST(HostDevices, LaunchOverCoherentArrays) {
  const CoherentArray<std::int64_t, rank<1>> from("x", n), to("y", n);
  {
    const auto host = from.write();
    for (index_t i = 0; i < n; ++i) host(i) = i % 7;
  }
  std::int64_t sum = 0;

  launch(on(this->device), n, Axpy{2}, in(from), inout(to));
  launch_reduce(on(this->device), n, Add{}, Sum(sum), in(to));

  EXPECT_EQ(sum, 2 * total);
}

TYPED_TEST(HostDevices, ReplayGraphs) {
  using Device = typename TestFixture::D;
  const Queue<Device> queue(this->device);

  const Graph<Device> graph = record(queue, [&] {
    parallel_for(on(queue), n, with(Axpy{1}, this->x, this->y));
    parallel_for(on(queue), n, with(Axpy{1}, this->x, this->y));
  });
  EXPECT_EQ(values_of(this->y), expected(0, 1));
  for (int k = 0; k < 3; ++k) graph.launch(queue);
  queue.wait();

  EXPECT_EQ(values_of(this->y), expected(6, 1));
}

// Copies go between the types, too.
TYPED_TEST(HostDevices, CopyToAllOthers) {
  const Queue<typename TestFixture::D> queue(this->device);
  AllDevices::for_each([&]<class Other>(const Other&) {
    const auto there = create<Vector<std::int64_t, Other>>("there", n);
    deep_copy(there, this->x);
    deep_copy(this->y, 0);
    deep_copy(this->y, there);
    EXPECT_EQ(values_of(this->y), expected(1, 0)) << Other::name;
  });

  deep_copy(queue, this->y, 5);
  parallel_for(on(queue), n, with(Axpy{1}, this->x, this->y));

  EXPECT_EQ(values_of(this->y), expected(1, 5));
}

template <class S>
struct Count {
  S bins;
  STRATA_FUNCTION void operator()(index_t i) const { bins(i % 7) += 1; }
};

TYPED_TEST(HostDevices, Scatter) {
  const auto bins = create<typename TestFixture::Numbers>("bins", 7);
  const auto scatter = scatter_view(on(this->device), bins);

  parallel_for(on(this->device), n, Count<decltype(scatter)>{scatter});
  contribute(scatter);

  const auto counts = values_of(bins);
  for (index_t k = 0; k < 7; ++k) EXPECT_EQ(counts[static_cast<std::size_t>(k)], n / 7 + (k < n % 7));
}

struct ThrowAt {
  index_t where;
  STRATA_FUNCTION void operator()(index_t i) const {
    if (i == where) throw std::runtime_error("thrown");
  }
};

TYPED_TEST(HostDevices, ThrowWhatKernelsThrow) {
  EXPECT_THROW(parallel_for(on(this->device), n, ThrowAt{500}), std::runtime_error);
}

}  // namespace
#endif
