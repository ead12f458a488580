// What fails while other threads wait for queues, or make directories true again: nobody reads values that a
// failure has left, and only what is nowhere is called lost.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <strata/views/coherent/whole_copies.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;

void wait_until(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

// Kernels that go on when they may.
struct FailWhenTold {
  const std::atomic<bool>* may_go_on;
  void operator()(auto, const auto&...) const {
    wait_until(*may_go_on);
    throw KernelError("the first one failed");
  }
};
struct EndWhenTold {
  const std::atomic<bool>* may_end;
  void operator()(index_t) const { wait_until(*may_end); }
};

class FailuresBeside : public CoherentTest {
 protected:
  static constexpr index_t n = 100;

  /// Of two launches on one queue, over halves of an array, the first fails, another thread has its error,
  /// and the second is done; then use(x) is the first to need both. Copies to the host have run by then.
  static void is_told_by(const std::function<void(const Numbers&)>& use) {
    const Numbers x("x", n);
    std::atomic<bool> may_fail = false, may_go_on = false, waits = false;
    const Queue<Emulated> queue(Emulated{0}), other(Emulated{1});
    launch(on(queue), range(0, n / 2), FailWhenTold{&may_fail}, inout(x));
    std::thread waiting([&] {
      waits = true;
      EXPECT_THROW(queue.wait(), KernelError);
    });
    wait_until(waits);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it is for the first launch only
    parallel_for(on(other), 1, EndWhenTold{&may_go_on});
    queue.wait_for(other.record());
    launch(on(queue), range(n / 2, n), AddTo{1}, inout(x));

    std::thread telling([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // by then the use waits
      may_fail = true;
      waiting.join();
      may_go_on = true;
    });
    std::string told;
    try {
      use(x);
    } catch (const Error& error) {
      told = error.what();
    }
    telling.join();

    EXPECT_TRUE(has(told, "the first one failed"));
    EXPECT_TRUE(has(told, "[0, 50) of \"x\""));
    const auto view = x.read(line(n / 2, n));
    for (index_t i = n / 2; i < n; ++i) ASSERT_EQ(view(i), 1) << i;
  }
};

TEST_F(FailuresBeside, AreMetByTheHostThoughTheLastLaunchOfTheQueueIsDone) {
  is_told_by([](const Numbers& x) { static_cast<void>(x.read()); });
}

TEST_F(FailuresBeside, AreMetByAKernelOnAHostThoughTheLastLaunchOfTheQueueIsDone) {
  is_told_by([](const Numbers& x) { launch(on(Serial{}), n, AddTo{1}, inout(x)); });
}

TEST_F(FailuresBeside, AreMetByWhoeverNeedsTheRoomThoughTheLastLaunchOfTheQueueIsDone) {
  const Numbers y("y", n);
  is_told_by([&](const Numbers&) {
    coherent::set_budget(Emulated{0}, n * index_t{sizeof(std::int64_t)});
    launch(on(Emulated{0}), n, AddTo{1}, inout(y));
  });
}

// Who asks about a launch is told what became of it, also where its event says nothing, or another thread has
// recovered by then.
TEST_F(FailuresBeside, OfALaunchAreKnownWhoeverHasMetThem) {
  const Numbers x("x", n), y("y", n);
  std::atomic<bool> may_fail = false;
  const auto failed = detail::WholeCopies::launched_by(
      [&] { launch(on(Emulated{0}), n, FailWhenTold{&may_fail}, inout(x)); });
  const auto done = detail::WholeCopies::launched_by([&] { launch(on(Emulated{1}), n, AddTo{1}, inout(y)); });
  may_fail = true;
  std::thread([] { EXPECT_TRUE(detail::WholeCopies::recover()); }).join();

  EXPECT_THROW(failed.event->wait(), KernelError);
  EXPECT_FALSE(failed.is_done());
  EXPECT_NO_THROW(done.event->wait());
  EXPECT_TRUE(done.is_done());
  EXPECT_THROW(wait(Emulated{0}), KernelError) << "the queue tells the thread whose work it was";
  EXPECT_THROW(x.flush(), KernelError);
}

TEST_F(FailuresBeside, OfWhatALaunchNeededAreKnownThoughItIsDone) {
  const Numbers x("x", n);
  emulated::fail(emulated::Fault::Kernel, 1);
  launch(on(Emulated{0}), n, AddTo{1}, inout(x));
  EXPECT_THROW(wait(Emulated{0}), KernelError);  // from now on the queue works again
  const auto spoiled =
      detail::WholeCopies::launched_by([&] { launch(on(Emulated{0}), n, AddTo{1}, inout(x)); });

  EXPECT_NO_THROW(spoiled.event->wait());
  EXPECT_FALSE(spoiled.is_done());
  EXPECT_EQ(values(x), std::vector<std::int64_t>(n, 0)) << "as before both";
}

// On the host: waits until the other thread has met the failure.
struct WriteMeanwhile {
  std::atomic<bool>* has_begun;
  const std::atomic<bool>* is_met;
  bool fails;
  void operator()(auto i, const auto& x) const {
    x(i) = 100 + static_cast<index_t>(i);
    if (static_cast<index_t>(i) < 50) return;
    *has_begun = true;
    wait_until(*is_met);
    if (fails) throw KernelError("the host failed");
  }
};

// A kernel on a host writes what another failure loses meanwhile.
class FailuresBesideAHost : public CoherentTest {
 protected:
  static constexpr index_t n = 100;

  void TearDown() override {
    x = z = {};
    CoherentTest::TearDown();
  }
  /// A launch that fails is to update x and z; while a host writes [50, 100) of x, another thread meets that.
  /// Then the host's kernel goes on, or fails.
  void write_meanwhile(bool fails) {
    std::atomic<bool> may_fail = false;
    for (const Numbers& array : {x, z}) launch(on(Emulated{0}), n, Iota{0}, out(array));
    wait(Emulated{0});
    launch(on(Emulated{0}), n, FailWhenTold{&may_fail}, inout(x), inout(z));
    std::thread other([&] {
      wait_until(has_begun);
      may_fail = true;
      EXPECT_THROW(z.flush(), DataLost);
      is_met = true;
    });
    const WriteMeanwhile kernel{&has_begun, &is_met, fails};
    if (fails) EXPECT_THROW(launch(across(Emulated{0}, Threads{}), n, kernel, out(x)), KernelError);
    else launch(across(Emulated{0}, Threads{}), n, kernel, out(x));
    other.join();
    EXPECT_THROW(wait(Emulated{0}), KernelError) << "the queue tells the thread whose work it was";
  }

  std::atomic<bool> has_begun = false, is_met = false;
  static void fail_beside(const Numbers& array) {
    emulated::fail(emulated::Fault::Kernel, 1);
    launch(on(Emulated{0}), n, Iota{0}, out(array));
    EXPECT_THROW(array.flush(), KernelError);
  }
  Numbers x{"x", n}, z{"z", n};
};

TEST_F(FailuresBesideAHost, LoseNothingOfWhatItWrites) {
  write_meanwhile(false);

  const std::string told = message_of<DataLost>([&] { x.flush(); });
  EXPECT_TRUE(has(told, "[0, 50) of \"x\""));
  EXPECT_TRUE(has(told, "[0, 100) of \"z\""));
  const auto view = x.read(line(50, n));
  for (index_t i = 50; i < n; ++i) ASSERT_EQ(view(i), 100 + i);
}

TEST_F(FailuresBesideAHost, LoseWhatItWasToWriteWhereItFails) {
  write_meanwhile(true);

  const std::string told = message_of<DataLost>([&] { x.flush(); });
  EXPECT_TRUE(has(told, "[0, 50) of \"x\""));
  EXPECT_TRUE(has(told, "to write anew [50, 100) of \"x\""));
  ASSERT_EQ(x.where(x.domain()).size(), 1U);
  EXPECT_TRUE(x.where(x.domain()).front().memories.empty());
}

// A kernel on a host writes anew what a device alone has, which gives its copy up. Then other work fails, and
// the kernel, too. From a failure met before all that nothing is left to be found out of x.
TEST_F(FailuresBesideAHost, LoseWhatADeviceHasGivenUpMeanwhile) {
  launch(on(Emulated{0}), n, Iota{0}, out(x));
  fail_beside(Numbers("other", n));
  std::thread other([&] {
    wait_until(has_begun);
    detail::WholeCopies::evict(*x.state(), Emulated{0}.backend());
    fail_beside(z);
    is_met = true;
  });
  EXPECT_THROW(launch(on(Serial{}), n, WriteMeanwhile{&has_begun, &is_met, true}, out(x)), KernelError);
  other.join();

  const std::string told = message_of<DataLost>([&] { x.flush(); });
  EXPECT_TRUE(has(told, "to write anew [0, 100) of \"x\""));
  ASSERT_EQ(x.where(x.domain()).size(), 1U);
  EXPECT_TRUE(x.where(x.domain()).front().memories.empty());
}

// The same, but the other work fails first: from then on the copy of the device passes for the values of x.
// It does not go where the kernel writes.
class FailuresBeforeAnEviction : public FailuresBesideAHost, public testing::WithParamInterface<bool> {
 protected:
  void write_beside_an_eviction(bool fails) {
    launch(on(Emulated{0}), n, Iota{0}, out(x));
    std::thread other([&] {
      wait_until(has_begun);
      fail_beside(z);
      if (GetParam()) detail::WholeCopies::evict(*x.state(), Emulated{0}.backend());
      else detail::WholeCopies().store(*x.state(), Emulated{0}.backend());
      is_met = true;
    });
    const WriteMeanwhile kernel{&has_begun, &is_met, fails};
    if (fails) EXPECT_THROW(launch(on(Serial{}), n, kernel, out(x)), KernelError);
    else launch(on(Serial{}), n, kernel, out(x));
    other.join();
  }
};

TEST_P(FailuresBeforeAnEviction, LeaveWhatAHostWrites) {
  write_beside_an_eviction(false);

  const auto view = x.read();
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(view(i), 100 + i);
}

TEST_P(FailuresBeforeAnEviction, LoseTheLastCopyWhereTheKernelFails) {
  write_beside_an_eviction(true);

  if (!GetParam()) {  // the device has it still
    const auto view = x.read();
    for (index_t i = 0; i < n; ++i) ASSERT_EQ(view(i), i);
    return;
  }
  EXPECT_TRUE(has(message_of<DataLost>([&] { x.flush(); }), "to write anew [0, 100) of \"x\""));
  ASSERT_EQ(x.where(x.domain()).size(), 1U);
  EXPECT_TRUE(x.where(x.domain()).front().memories.empty());
}

INSTANTIATE_TEST_SUITE_P(, FailuresBeforeAnEviction, testing::Bool(),
                         [](const auto& info) { return info.param ? "Evicted" : "Stored"; });

}  // namespace
