// Shared launches of host threads and each device, over arrays of every memory mode.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/sharing/dynamic.hpp>

#include "algorithms/arrays.hpp"
#include "core/random.hpp"
#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
template <class T>
using Line = CoherentArray<T, rank<1>>;

struct Fill {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = 3 * index_t(i) + 1; }
};
struct AddRow {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += 2 * x(i); }
};
struct ThreePoints {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i - 1) + x(i) + x(i + 1); }
};
struct AddIndex {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x) const {
    x(i, j) += static_cast<float>(i + 1000 * j);
  }
};
struct Mixed {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};

template <class D>
class SharedLaunch : public ::testing::Test {};
TYPED_TEST_SUITE(SharedLaunch, strata_tests::TestDevices, strata_tests::DeviceName);

// So that small tests have several parts.
constexpr DynamicOptions many_parts{.host_seconds = 1e-5, .device_seconds = 1e-6, .parts_ahead = 2};

TYPED_TEST(SharedLaunch, ComputesTheSameInEveryMemoryMode) {
  constexpr index_t n = 20000;
  const auto both = across(Threads{}, TypeParam{}).dynamic(many_parts);
  for (const MemoryMode mode : {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed,
                                MemoryMode::Mapped, MemoryMode::Implicit}) {
    SCOPED_TRACE(to_string(mode));
    const Line<std::int64_t> x("x", n, mode, main_in(TypeParam{})), y("y", n, mode, main_in(TypeParam{}));
    launch(both, n, Fill{}, out(x));
    const SharedReport report = launch(both.named("add"), range(7, n - 5), AddRow{}, in(x), inout(y));
    EXPECT_EQ(report.items, n - 12);
    EXPECT_EQ(report.devices[0].items + report.devices[1].items, n - 12);
    launch(both, range(1, n - 1), ThreePoints{}, in(y, halo(1, 1)), out(x));
    const auto view = x.read(), before = y.read();
    const auto y_at = [](index_t i) { return i < 7 || i >= n - 5 ? 0 : 2 * (3 * i + 1); };
    for (index_t i = 0; i < n; ++i) {
      ASSERT_EQ(before(i), y_at(i)) << i;
      const bool is_inner = i > 0 && i < n - 1;
      ASSERT_EQ(view(i), is_inner ? y_at(i - 1) + y_at(i) + y_at(i + 1) : 3 * i + 1) << i;
    }
  }
}

TYPED_TEST(SharedLaunch, OverManagedArraysIsClaimedByKernels) {
  constexpr index_t n = 1'100'003;  // enough for a GPU's kernels
  DynamicOptions options = many_parts;
  options.claimed_by = ClaimedBy::Kernels;
  const auto both = across(Threads{}, TypeParam{}).weighted({1, 1}).dynamic(options);
  const Line<std::int64_t> x("x", n, MemoryMode::Managed, main_in(TypeParam{})),
      y("y", n, MemoryMode::Managed, main_in(TypeParam{}));
  const CoherentArray<float, rank<2>, LayoutRight> a("a", 9000, 30, MemoryMode::Managed,
                                                     main_in(TypeParam{}));
  for (int round = 0; round < 3; ++round) {
    launch(both, n, Fill{}, out(x));
    const SharedReport report = launch(both, range(7, n - 5), AddRow{}, in(x), inout(y));
    EXPECT_EQ(report.devices[0].items + report.devices[1].items, n - 12) << report.explain();
    if (!std::is_same_v<TypeParam, AnyHost> && !checked_build) {
      EXPECT_TRUE(report.kernels_claimed);
    }
    launch(both, mdrange({1, 2}, {8999, 30}), AddIndex{}, inout(a));
  }
  launch(both, range(1, n - 1), ThreePoints{}, in(y, halo(1, 1)), out(x));
  const auto view = x.read(), before = y.read();
  const auto rows = a.read();
  const auto y_at = [](index_t i) { return i < 7 || i >= n - 5 ? 0 : 6 * (3 * i + 1); };
  index_t wrong = 0;
  for (index_t i = 0; i < n; ++i) {
    const bool is_inner = i > 0 && i < n - 1;
    wrong += before(i) != y_at(i);
    wrong += view(i) != (is_inner ? y_at(i - 1) + y_at(i) + y_at(i + 1) : 3 * i + 1);
  }
  for (index_t i = 0; i < 9000; ++i)
    for (index_t j = 0; j < 30; ++j)
      wrong += rows(i, j) != (i > 0 && i < 8999 && j > 1 ? static_cast<float>(3 * (i + 1000 * j)) : 0);
  EXPECT_EQ(wrong, 0);
}

// Kernels on hosts fail at one item, devices do not: none has one of its own to fail with.
struct AddOrFail {
  index_t fails_at;
  STRATA_FUNCTION void operator()(auto i, auto x) const {
#if !defined(__CUDA_ARCH__)
    if (index_t(i) == fails_at) throw std::runtime_error("a kernel of the test");
#endif
    x(i) += 5;
  }
};

// Places of one to three parts, weights, speeds that are learned, modes, ranges, sizes of parts and who
// claims them.
class RandomShared {
 public:
  template <class D>
  void run_one() {
    constexpr index_t n = 5000;
    constexpr MemoryMode modes[] = {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed,
                                    MemoryMode::Mapped, MemoryMode::Implicit};
    const auto mode = [&] { return modes[draw_(0, 4)]; };
    const MemoryMode mode_of_x = mode();
    const Line<std::int64_t> x("x", n, mode_of_x, main_in(D{})), y("y", n, mode(), main_in(D{}));
    launch(on(D{}), n, Fill{}, out(x));
    launch(on(D{}), n, Fill{}, out(y));
    const index_t first = draw_(1, n - 1), last = std::min<index_t>(n - 1, first + draw_(0, n));
    const Range r = range(first, last);
    const index_t what = draw_(0, 3), fails_at = draw_(0, 3) == 0 ? draw_(first, last) : -1;
    double expected = 0, sum = 0;
    if (what == 3) launch_reduce(on(Serial{}), r, Mixed{}, Sum(expected), in(x));
    SharedReport report;
    bool has_failed = false, is_lost = false;
    std::string failure;
    const auto where = place<D>();
    SCOPED_TRACE(parts_ + "x " + to_string(mode_of_x) + ", rows " + std::to_string(first) + " to " +
                 std::to_string(last) + ", fails at " + std::to_string(fails_at));
    try {
      const auto run = [&](const auto& place) {
        if (what == 0) report = launch(place, r, AddOrFail{fails_at}, inout(x));
        if (what == 1) report = launch(place, r, AddRow{}, in(x), inout(y));
        if (what == 2) report = launch(place, r, ThreePoints{}, in(x, halo(1, 1)), inout(y));
        if (what == 3) report = launch_reduce(place, r, Mixed{}, Sum(sum), in(x));
      };
      run(where);
    } catch (const std::exception& error) {  // the kernel's own, or what it may have lost
      has_failed = true;
      failure = error.what();
      ASSERT_TRUE(what == 0 && fails_at >= first) << error.what();
      is_lost = dynamic_cast<const DataLost*>(&error) != nullptr;
      strata_tests::expect_parts(error.what(), {is_lost ? "of \"x\"" : "a kernel of the test"});
    }
    if (!has_failed) {
      index_t items = 0;
      for (const auto& device : report.devices) items += device.items;
      EXPECT_EQ(items, last - first) << report.explain();
    }
    EXPECT_EQ(sum, expected);

    const auto filled = [](index_t i) { return 3 * i + 1; };
    const auto is_right = [&](index_t i, std::int64_t of_x, std::int64_t of_y) {
      const bool is_inner = i >= first && i < last;
      const index_t added = is_inner && what == 0 ? 5 : 0, more = !is_inner   ? 0
                                                                  : what == 1 ? 2 * filled(i)
                                                                  : what == 2 ? filled(i - 1) + filled(i + 1)
                                                                              : 0;
      return (of_x == filled(i) + added || (has_failed && of_x == filled(i))) && of_y == filled(i) + more;
    };
    if (has_failed) {  // what is lost is said once: by the launch, or by the first view
      try {
        static_cast<void>(x.read());
        EXPECT_FALSE(is_lost && checked_build);
      } catch (const NeverWritten&) {
        EXPECT_TRUE(is_lost) << failure;
      } catch (const DataLost&) {
        EXPECT_FALSE(is_lost) << failure;
      }
    }
    const auto right = y.read();
    for (const Residence& part : x.where(x.domain())) {
      if (part.memories.empty() && has_failed) continue;  // what the kernel has written may be lost
      const auto left = x.read(part.box);
      for (index_t i = part.box.lower(0); i < part.box.upper(0); ++i)
        ASSERT_TRUE(is_right(i, left(i), right(i)))
            << what << ": " << i << ", " << left(i) << ", " << right(i) << ", " << failure;
    }
  }

 private:
  template <class D>
  SharedAcross<Serial, Threads, D> place() {
    Across<Serial, Threads, D> parts;
    parts_.clear();
    for (index_t k = draw_(1, 3); k > 0; --k) {
      const index_t kind = draw_(0, 3);
      parts_ += kind == 0 ? "Serial, " : kind == 1 ? "Threads, " : "D, ";
      if (kind == 0) parts.places.push_back(on(Serial{}));
      else if (kind == 1) parts.places.push_back(on(Threads{}));
      else parts.places.push_back(on(D{}));
    }
    const std::size_t count = parts.places.size();
    if (draw_(0, 2) == 0) {
      std::vector<double> weights(count);
      for (double& weight : weights) weight = static_cast<double>(draw_(0, 5));
      weights[static_cast<std::size_t>(draw_(0, std::ssize(weights) - 1))] += 1;
      parts = parts.weighted(weights);
    }
    if (draw_(0, 1) == 0) {
      balances_[count].speeds(count);
      parts = parts.adaptive(balances_[count]);
    }
    const bool by_kernels = draw_(0, 1) == 0;
    if (by_kernels) parts_ += "claimed by kernels, ";
    return parts.dynamic({.host_seconds = static_cast<double>(draw_(0, 3)) * 1e-6,
                          .device_seconds = static_cast<double>(draw_(0, 3)) * 1e-7,
                          .parts_ahead = static_cast<int>(draw_(1, 4)),
                          .claimed_by = by_kernels ? ClaimedBy::Kernels : ClaimedBy::HostThread});
  }

  strata_tests::Random draw_;
  Balance balances_[4];  // by the number of parts
  std::string parts_;    // what was drawn
};

TYPED_TEST(SharedLaunch, OfRandomKindsGivesTheRightValues) {
  RandomShared random;
  for (int trial = 0; trial < strata_tests::trials(400) && !this->HasFailure(); ++trial) {
    SCOPED_TRACE(trial);
    random.run_one<TypeParam>();
  }
}

// Parts of a host whose kernel has thrown are not for the hosts that wait for something to do.
TEST(FailedSharedLaunch, DoesNotRepeatThePartOfAKernelThatThrew) {
  constexpr index_t n = 64;
  std::atomic<int> runs[n];
  for (int trial = 0; trial < 100; ++trial) {
    const Line<std::int64_t> x("x", n);
    for (auto& run : runs) run = 0;
    const auto kernel = [&runs](auto i, auto) {
      ++runs[index_t(i)];
      if (index_t(i) != 0) return;
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // until the others wait
      throw std::runtime_error("a kernel of the test");
    };
    EXPECT_THROW(launch(across(Serial{}, Serial{}, Serial{}).dynamic(many_parts), n, kernel, inout(x)),
                 std::exception);  // the kernel's, or of what it has lost
    for (index_t i = 0; i < n; ++i) ASSERT_LE(runs[i], 1) << i << " in trial " << trial;
  }
}

TYPED_TEST(SharedLaunch, ReducesInTheBitsOfOneDevice) {
  constexpr index_t n = 300'007;
  const Line<double> x("x", n);
  {
    const auto view = x.write();
    for (index_t i = 0; i < n; ++i) view(i) = strata_tests::mixed_number(i);
  }
  for (const Range r : {range(0, n), range(1, n - 3), range(777, 778), range(500, 150'003)}) {
    double expected = 0, sum = 0;
    launch_reduce(on(Serial{}), r, Mixed{}, Sum(expected), in(x));
    const auto report =
        launch_reduce(across(Threads{}, TypeParam{}).dynamic(many_parts), r, Mixed{}, Sum(sum), in(x));
    EXPECT_EQ(sum, expected) << r.first << " " << r.last << report.explain();
  }
}

}  // namespace
