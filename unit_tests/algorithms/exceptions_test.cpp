// What goes wrong: kernels that throw, several threads at once, work after the end of the runtime.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

// ---- kernels that throw

#ifndef __CUDACC__

template <class D>
class Exceptions : public ::testing::Test {};
TYPED_TEST_SUITE(Exceptions, HostThreadDevices, DeviceName);

struct KernelFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ThrowAt {
  index_t at;
  STRATA_FUNCTION void operator()(index_t i) const {
    if (i == at) throw KernelFailed("item " + std::to_string(i));
  }
};

// Runs the launch and, where it only enqueues, the wait that throws; gives the message, or "" for none.
template <class D, class F>
std::string failure_of(const F& submit) {
  if constexpr (is_asynchronous<D>) {
    submit();
    try {
      wait(D{});
    } catch (const KernelFailed& e) {
      return e.what();
    }
  } else {
    try {
      submit();
    } catch (const KernelFailed& e) {
      wait(D{});
      return e.what();
    }
  }
  return "";
}

TYPED_TEST(Exceptions, OfAKernelComeFromTheLaunchOrTheNextWait) {
  using D = TypeParam;
  for (const index_t at : {0, 511, 4098}) {
    const std::string expected = "item " + std::to_string(at);

    EXPECT_EQ(failure_of<D>([=] { parallel_for(on(D{}), 4099, ThrowAt{at}); }), expected);
    EXPECT_EQ(failure_of<D>([=] { parallel_for(on(D{}), range(4099).dynamic(10), ThrowAt{at}); }), expected);
    EXPECT_EQ(failure_of<D>([=] {
                parallel_for(on(D{}), mdrange({4099, 3}), [=](index_t i, index_t j) {
                  if (j == 2) ThrowAt{at}(i);
                });
              }),
              expected);
    EXPECT_EQ(failure_of<D>([=] { parallel_for(on(D{}), 4099, ThrowAt{-1}); }), "");
  }
}

TYPED_TEST(Exceptions, OfReductionsAndScansComeFromTheCallThatWaits) {
  using D = TypeParam;
  int sum = -7;
  const auto reducing = [](index_t i, int& s) {
    ThrowAt{700}(i);
    ++s;
  };
  const auto scanning = [](index_t i, int& s, bool) {
    ThrowAt{700}(i);
    ++s;
  };

  EXPECT_THROW(parallel_reduce(on(D{}), 1021, reducing, Sum(sum)), KernelFailed);
  EXPECT_THROW(parallel_scan(on(D{}), 1021, scanning, Sum(sum)), KernelFailed);
  EXPECT_EQ(sum, -7);

  parallel_reduce(on(D{}), 700, reducing, Sum(sum));
  EXPECT_EQ(sum, 700);
}

TYPED_TEST(Exceptions, ReachTheHostOnceAndTheDeviceWorksOn) {
  using D = TypeParam;
  const auto x = create<Vector<int, D>>("x", 1021);
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(failure_of<D>([=] { parallel_for(on(D{}), 1021, ThrowAt{3}); }), "item 3");
    EXPECT_NO_THROW(wait(D{}));

    parallel_for(on(D{}), 1021, [=](int i) { x(i) += i; });

    const auto values = values_of(x);
    for (int i = 0; i < 1021; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], round * i);
  }
}

TYPED_TEST(Exceptions, PoisonOneQueueAndDropWhatIsBehindThem) {
  using D = TypeParam;
  if constexpr (!is_asynchronous<D>) {
    GTEST_SKIP() << "launches on this device are done when they return";
  } else {
    const Queue<D> broken, whole;
    const auto x = create<Vector<int, D>>("x", 100);
    const auto y = create<Vector<int, D>>("y", 100);
    std::atomic<int> dropped = 0;
    std::atomic<int>* const count = &dropped;

    parallel_for(on(broken), 100, [=](int i) { x(i) += 1; });
    parallel_for(on(broken), 100, ThrowAt{50});
    for (int k = 0; k < 5; ++k)
      parallel_for(on(broken), 100, [=](int i) {
        x(i) += 100;
        ++*count;
      });
    deep_copy(broken, x, -1);
    parallel_for(on(whole), 100, [=](int i) { y(i) += 1; });

    EXPECT_NO_THROW(whole.wait());
    EXPECT_THROW(broken.wait(), KernelFailed);
    EXPECT_NO_THROW(broken.wait());
    EXPECT_EQ(dropped, 0);
    for (const int v : values_of(x)) ASSERT_EQ(v, 1);
    for (const int v : values_of(y)) ASSERT_EQ(v, 1);

    parallel_for(on(broken), 100, [=](int i) { x(i) += 10; });
    broken.wait();
    for (const int v : values_of(x)) ASSERT_EQ(v, 11);
  }
}

TYPED_TEST(Exceptions, OfAQueueThatDiesDoNotEscapeItsDestructor) {
  using D = TypeParam;
  const auto x = create<Vector<int, D>>("x", 100);
  {
    const Queue<D> queue;
    if constexpr (is_asynchronous<D>) parallel_for(on(queue), 100, ThrowAt{50});
  }

  EXPECT_NO_THROW(wait(D{}));
  for (const int v : values_of(x)) ASSERT_EQ(v, 0);
}

TYPED_TEST(Exceptions, OfOtherTypesKeepTheirType) {
  using D = TypeParam;
  int sum = 0;

  EXPECT_THROW(
      {
        parallel_for(on(D{}), 10, [](int i) {
          if (i == 5) throw std::bad_alloc();
        });
        wait(D{});
      },
      std::bad_alloc);
  parallel_reduce(
      on(D{}), 10, [](int i, int& s) { s += i; }, Sum(sum));

  EXPECT_EQ(sum, 45);
}

TEST(ExceptionsOfEmulated, InjectedKernelFailuresNameTheKernelAndCountOnce) {
  const auto x = create<Vector<int, Emulated>>("x", 100);
  emulated::fail(emulated::Fault::Kernel, 2);

  for (int k = 0; k < 3; ++k) parallel_for("step", on(Emulated{}), 100, [=](int i) { x(i) += 1; });
  try {
    wait(Emulated{});
    FAIL() << "nothing was thrown";
  } catch (const KernelError& e) {
    EXPECT_NE(std::string(e.what()).find("step"), std::string::npos) << e.what();
  }
  parallel_for("step", on(Emulated{}), 100, [=](int i) { x(i) += 10; });

  for (const int v : values_of(x)) ASSERT_EQ(v, 11);
  emulated::clear_faults();
}

TYPED_TEST(Exceptions, OfOneThreadDoNotReachAnotherOnAHostDevice) {
  using D = TypeParam;
  if constexpr (is_asynchronous<D>) {
    GTEST_SKIP() << "threads that wait for one queue share its errors";
  } else {
    std::atomic<int> wrong = 0, thrown = 0;
    const auto work = [&](bool throws) {
      for (int round = 0; round < 200; ++round) {
        try {
          parallel_for(on(D{}), 1021, ThrowAt{throws ? 77 : -1});
          wrong += throws;
        } catch (const KernelFailed&) {
          thrown += 1;
          wrong += !throws;
        }
      }
    };
    std::thread other(work, true);
    work(false);
    other.join();

    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(thrown, 200);
  }
}

#endif

// ---- several host threads

struct AddIndexAnd {
  int summand;
  STRATA_FUNCTION void operator()(int i, auto x) const { x(i) += i + summand; }
};
struct SumElements {
  STRATA_FUNCTION void operator()(int i, auto x, std::int64_t& sum) const { sum += x(i); }
};

template <class D>
class SeveralThreads : public ::testing::Test {};
TYPED_TEST_SUITE(SeveralThreads, TestDevices, DeviceName);

TYPED_TEST(SeveralThreads, MaySubmitToOneDeviceAtOnce) {
  using D = TypeParam;
  constexpr int rounds = 200, n = 1021;
  std::atomic<int> ready = 0;
  std::vector<std::string> failures(2);
  std::vector<Vector<std::int64_t, D>> arrays;
  for (int t = 0; t < 2; ++t) arrays.push_back(create<Vector<std::int64_t, D>>("x", n));

  const auto work = [&](int t) {
    try {
      const auto x = arrays[static_cast<std::size_t>(t)];
      for (++ready; ready < 2;) std::this_thread::yield();
      for (int round = 0; round < rounds; ++round) {
        std::int64_t sum = 0;
        parallel_for(on(D{}), n, with(AddIndexAnd{t}, x));
        parallel_reduce(on(D{}), n, with(SumElements{}, x), Sum(sum));
        const std::int64_t expected = std::int64_t{round + 1} * (n * (n - 1) / 2 + n * t);
        if (sum != expected) failures[static_cast<std::size_t>(t)] = "round " + std::to_string(round);
      }
    } catch (const std::exception& e) {
      failures[static_cast<std::size_t>(t)] = e.what();
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();

  EXPECT_EQ(failures[0], "");
  EXPECT_EQ(failures[1], "");
}

// ---- after the end of the runtime, in a process of its own

struct DoNothing {
  STRATA_FUNCTION void operator()(auto) const {}
  STRATA_FUNCTION void operator()(auto, int&) const {}
  STRATA_FUNCTION void operator()(auto, int&, bool) const {}
};

// Whether f throws RuntimeEnded with a message that names the remedy.
template <class F>
bool ends(const char* what, const F& f) {
  try {
    f();
  } catch (const RuntimeEnded& e) {
    if (std::string(e.what()).find("finalize") != std::string::npos) return true;
    std::fprintf(stderr, "%s: the message says no remedy: %s\n", what, e.what());
    return false;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: another exception: %s\n", what, e.what());
    return false;
  }
  std::fprintf(stderr, "%s: accepted after the end\n", what);
  return false;
}

template <class D, bool UsedBefore>
[[noreturn]] void use_after_end() {
  bool good = true;
  {
    Vector<int, D> x;
    if (UsedBefore) {
      x = create<Vector<int, D>>("x", 1000);
      parallel_for(on(D{}), 1000, with(AddIndexAnd{0}, x));
    }

    finalize();
    finalize();

    int sum = 0;
    good &= runtime_ended();
    good &= ends("a launch", [] { parallel_for(on(D{}), 10, DoNothing{}); });
    good &= ends("a reduction", [&] { parallel_reduce(on(D{}), 10, DoNothing{}, Sum(sum)); });
    good &= ends("a scan", [&] { parallel_scan(on(D{}), 10, DoNothing{}, Sum(sum)); });
    good &= ends("an allocation", [] { static_cast<void>(create<Vector<int, D>>("y", 10)); });
    good &= ends("an allocation without filling",
                 [] { static_cast<void>(create<Vector<int, D>>("y", 10, uninitialized)); });
    good &= ends("a queue", [] { static_cast<void>(Queue<D>()); });
    if (UsedBefore) {
      good &= ends("a copy", [&] { deep_copy(x, 3); });
      const auto shared = x;
      good &= x.use_count() == 2;
    }
  }  // the array goes after the end
  std::exit(good ? 0 : 1);
}

template <class D>
class RuntimeEndTest : public ::testing::Test {};
TYPED_TEST_SUITE(RuntimeEndTest, TestDevices, DeviceName);

TYPED_TEST(RuntimeEndTest, MakesNewWorkAnErrorAndLetsArraysGo) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT((use_after_end<TypeParam, true>()), ::testing::ExitedWithCode(0), "");
}

TYPED_TEST(RuntimeEndTest, BeforeTheFirstUseMakesThatAnError) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT((use_after_end<TypeParam, false>()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
