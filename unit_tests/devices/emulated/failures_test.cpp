// Failures of Emulated: whichever operation fails, the error is typed and thrown once, arrays are as they
// were, nothing is lost, and the device works again.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <thread>

#include "devices/emulated/fixture.hpp"

namespace {

using namespace emulated_testing;
using HostArray = MDArray<int, Serial, rank<1>>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class EmulatedFailures : public EmulatedTest {};

// ---- whose errors they are

// Threads come and go, and ids come again: calls f on one that has the id of one that failed and has ended.
template <class F>
void with_id_of_a_failed_thread(const Array& x, const F& f) {
  emulated::fail(emulated::Fault::Kernel, 1);
  std::thread::id failed;
  std::thread([&] {
    failed = std::this_thread::get_id();
    parallel_for("fails", x.extent(0), with(AddAll{1}, x));
  }).join();
  // The error is this thread's; that of the other one, which has not asked, stays.
  EXPECT_THROW(wait(Emulated{}), KernelError);
  bool met = false;
  for (int k = 0; k < 1000 && !met; ++k)
    std::thread([&] {
      met = std::this_thread::get_id() == failed;
      if (met) f();
    }).join();
  if (!met) GTEST_SKIP() << "no id came again";
}

TEST_F(EmulatedFailures, OfAThreadThatHasEndedAreNotThoseOfOneWithItsId) {
  const auto x = create<Array>("x", 100);
  with_id_of_a_failed_thread(x, [&] {
    parallel_for("good", 100, with(AddAll{1}, x));
    EXPECT_NO_THROW(wait(Emulated{}));
  });
}
TEST_F(EmulatedFailures, OfAThreadThatHasEndedAreNotInEventsOfOneWithItsId) {
  const auto x = create<Array>("x", 100);
  const Queue<Emulated> queue = default_queue(Emulated{});
  with_id_of_a_failed_thread(x, [&] {
    parallel_for("good", 100, with(AddAll{1}, x));
    const Event event = queue.record();
    EXPECT_NO_THROW(event.wait());
    EXPECT_EQ(event.state()->outcome(), detail::EventState::Outcome::Done);
  });
}

// ---- every operation of a small pipeline

constexpr index_t n = 100;

// 3 allocations; 3 copies; 3 kernels. y = 2 x + 3, by way of the device.
void pipeline(const HostArray& x, const HostArray& y) {
  const Queue<Emulated> queue;
  const auto a = create<Array>("a", n, uninitialized), b = create<Array>("b", n, uninitialized);
  deep_copy(queue, a, x);
  parallel_for("copy", on(queue), n,
               with([](index_t i, const Array& u, const Array& v) { v(i) = u(i); }, a, b));
  parallel_for("add", on(queue), n,
               with([](index_t i, const Array& u, const Array& v) { v(i) += u(i); }, a, b));
  const auto c = create<Array>("c", n, uninitialized);
  deep_copy(queue, c, b);
  parallel_for("shift", on(queue), n, with(AddAll{3}, c));
  deep_copy(queue, y, c);
  queue.wait();
}

template <class E>
void fail_each(emulated::Fault what, int operations) {
  const auto x = create<HostArray>("x", n), y = create<HostArray>("y", n);
  for (int i = 0; i < n; ++i) x(i) = i;
  for (int k = 1; k <= operations; ++k) {
    SCOPED_TRACE(k);
    deep_copy(y, -1);
    emulated::fail(what, k);

    EXPECT_TRUE(contains(message_of<E>([&] { pipeline(x, y); }), "failure injected"));

    EXPECT_NO_THROW(wait(Emulated{})) << "told twice";
    EXPECT_EQ(emulated::used(0), 0);
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(x(i), i);
      ASSERT_EQ(y(i), -1);
    }
    pipeline(x, y);
    for (int i = 0; i < n; ++i) ASSERT_EQ(y(i), 2 * i + 3);
  }
  emulated::fail(what, operations + 1);
  EXPECT_NO_THROW(pipeline(x, y)) << "the pipeline has more operations than were tried";
}

TEST_F(EmulatedFailures, AnyAllocationMayFail) { fail_each<OutOfMemory>(emulated::Fault::Allocation, 3); }
TEST_F(EmulatedFailures, AnyCopyMayFail) { fail_each<CopyError>(emulated::Fault::Copy, 3); }
TEST_F(EmulatedFailures, AnyKernelMayFail) { fail_each<KernelError>(emulated::Fault::Kernel, 3); }

TEST_F(EmulatedFailures, FailedKernelNamesItselfAndTouchesNothing) {
  const auto x = create<Array>("x", n);
  emulated::fail(emulated::Fault::Kernel, 2);

  parallel_for("first", n, with(SetAll{1}, x));
  parallel_for("second", n, with(SetAll{2}, x));
  parallel_for("third", n, with(SetAll{3}, x));
  const std::string text = message_of<KernelError>([] { wait(Emulated{}); });

  EXPECT_TRUE(contains(text, "kernel second on Emulated{0}")) << text;
  EXPECT_EQ(elements(x), std::vector<int>(n, 1));
}

TEST_F(EmulatedFailures, FailedBlockingCopyIsToldByTheCopyAndOnlyThere) {
  const auto x = create<Array>("x", n);
  const auto host = create<HostArray>("host x", n);
  deep_copy(x, 5);
  emulated::fail(emulated::Fault::Copy, 1);

  const std::string text = message_of<CopyError>([&] { deep_copy(x, host); });

  EXPECT_TRUE(contains(text, "\"host x\" in Host to \"x\" in Emulated{0}")) << text;
  EXPECT_NO_THROW(wait(Emulated{}));
  EXPECT_EQ(elements(x), std::vector<int>(n, 5));
}

TEST_F(EmulatedFailures, FaultsOccurOnceAndCanBeCalledOff) {
  EXPECT_THROW(emulated::fail(emulated::Fault::Copy, 0), Error);
  emulated::fail(emulated::Fault::Allocation, 1);
  EXPECT_THROW((void)create<Array>("x", n), OutOfMemory);
  EXPECT_NO_THROW((void)create<Array>("x", n));
  emulated::fail(emulated::Fault::Allocation, 1);
  emulated::clear_faults();
  EXPECT_NO_THROW((void)create<Array>("x", n));
}

// ---- exceptions of kernels, and what depends on them

TEST_F(EmulatedFailures, ExceptionOfAKernelIsThrownOnceAndDropsWhatIsBehindIt) {
  const Queue<Emulated> queue;
  const auto x = create<Array>("x", n);
  Gate gate;

  gate.hold(queue);
  parallel_for(on(queue), n, with(Throwing{"kernel broke"}, x));
  parallel_for(on(queue), n, with(SetAll{1}, x));
  gate.open();

  EXPECT_EQ(message_of<std::runtime_error>([&] { queue.wait(); }), "kernel broke");
  EXPECT_NO_THROW(queue.wait());
  EXPECT_EQ(elements(x), std::vector<int>(n, 0));
  parallel_for(on(queue), n, with(SetAll{2}, x));
  queue.wait();
  EXPECT_EQ(elements(x), std::vector<int>(n, 2));
}

TEST_F(EmulatedFailures, WorkSubmittedAfterTheFailureButBeforeAWaitIsDroppedToo) {
  const Queue<Emulated> queue;
  const auto x = create<Array>("x", n);

  parallel_for(on(queue), n, with(Throwing{"broke"}, x));
  while (!queue.idle()) std::this_thread::yield();
  parallel_for(on(queue), n, with(SetAll{1}, x));

  EXPECT_THROW(queue.wait(), std::runtime_error);
  EXPECT_EQ(elements(x), std::vector<int>(n, 0));
}

TEST_F(EmulatedFailures, DependentsOfAnEventAreDroppedAndTold) {
  const Queue<Emulated> source(Emulated{0}), dependent(Emulated{1}), independent(Emulated{1});
  const auto x = create<Array>("x", n, on(Emulated{0}));
  const auto y = create<Array>("y", n, on(Emulated{1})), z = create<Array>("z", n, on(Emulated{1}));

  parallel_for(on(source), n, with(Throwing{"source broke"}, x));
  const Event event = source.record();
  dependent.wait_for(event);
  parallel_for(on(dependent), n, with(SetAll{1}, y));
  parallel_for(on(independent), n, with(SetAll{1}, z));

  EXPECT_EQ(message_of<std::runtime_error>([&] { dependent.wait(); }), "source broke");
  EXPECT_NO_THROW(independent.wait());
  EXPECT_EQ(message_of<std::runtime_error>([&] { event.wait(); }), "source broke");
  EXPECT_TRUE(event.complete());
  EXPECT_EQ(message_of<std::runtime_error>([&] { source.wait(); }), "source broke");
  EXPECT_NO_THROW(source.wait());
  EXPECT_EQ(elements(y), std::vector<int>(n, 0));
  EXPECT_EQ(elements(z), std::vector<int>(n, 1));
}

TEST_F(EmulatedFailures, OwnEventOfAQueueDoesNotBringBackAnErrorThatWasThrown) {
  const Queue<Emulated> queue;
  const auto x = create<Array>("x", n);
  parallel_for(on(queue), n, with(Throwing{"broke"}, x));
  const Event event = queue.record();
  EXPECT_THROW(queue.wait(), std::runtime_error);

  queue.wait_for(event);
  parallel_for(on(queue), n, with(SetAll{1}, x));

  EXPECT_NO_THROW(queue.wait());
  EXPECT_EQ(elements(x), std::vector<int>(n, 1));
}

TEST_F(EmulatedFailures, BlockingCopyThrowsTheErrorOfItsSourceOnceAndSparesTheDestinationsQueue) {
  const auto x = create<Array>("x", n, on(Emulated{0})), y = create<Array>("y", n, on(Emulated{1}));

  parallel_for(n, with(Throwing{"source broke"}, x));

  EXPECT_EQ(message_of<std::runtime_error>([&] { deep_copy(y, x); }), "source broke");
  EXPECT_NO_THROW(wait(Emulated{0}));
  EXPECT_NO_THROW(wait(Emulated{1}));
}

TEST_F(EmulatedFailures, WaitForAnInstanceThrowsOneErrorAndLeavesTheOthersWithTheirQueues) {
  const Queue<Emulated> first, second;
  const auto x = create<Array>("x", n);

  parallel_for(on(first), n, with(Throwing{"first"}, x));
  parallel_for(on(second), n, with(Throwing{"second"}, x));

  EXPECT_EQ(message_of<std::runtime_error>([] { wait(Emulated{}); }), "first");
  EXPECT_TRUE(second.idle());
  EXPECT_NO_THROW(first.wait());
  EXPECT_EQ(message_of<std::runtime_error>([&] { second.wait(); }), "second");
}

TEST_F(EmulatedFailures, ThreadWhoseWorkWasDroppedIsToldEvenIfAnotherTookTheError) {
  const Queue<Emulated> queue;
  const auto x = create<Array>("x", n);
  parallel_for(on(queue), n, with(Throwing{"broke"}, x));
  parallel_for(on(queue), n, with(SetAll{1}, x));

  std::thread([&] { EXPECT_THROW(queue.wait(), std::runtime_error); }).join();

  EXPECT_EQ(message_of<std::runtime_error>([&] { queue.wait(); }), "broke");
  EXPECT_NO_THROW(queue.wait());
}

// What recovers arrays has to know it: what began may have written.
TEST_F(EmulatedFailures, EventSaysWhatBecameOfItsThreadsWork) {
  const Queue<Emulated> queue;
  const auto x = create<Array>("x", n);
  using Outcome = strata::detail::EventState::Outcome;
  const auto error_is_taken = [&] {
    std::thread([&] { EXPECT_THROW(queue.wait(), std::runtime_error); }).join();
  };

  parallel_for(on(queue), n, with(Throwing{"broke"}, x));
  const auto failed = queue.state().record();
  parallel_for(on(queue), n, with(SetAll{1}, x));
  const auto dropped = queue.state().record();
  parallel_for(on(queue), n, with(SetAll{2}, x));
  error_is_taken();
  parallel_for(on(queue), n, with(SetAll{3}, x));
  const auto in_part = queue.state().record();
  while (!queue.idle()) std::this_thread::yield();
  parallel_for(on(queue), n, with(SetAll{4}, x));
  std::thread([&] { parallel_for(on(queue), n, with(Throwing{"of another thread"}, x)); }).join();
  const auto done = queue.state().record();

  EXPECT_THROW(failed->wait(), std::runtime_error);
  EXPECT_EQ(failed->outcome(), Outcome::Failed);
  EXPECT_THROW(dropped->wait(), std::runtime_error);
  EXPECT_EQ(dropped->outcome(), Outcome::Dropped);
  EXPECT_THROW(in_part->wait(), std::runtime_error);
  EXPECT_EQ(in_part->outcome(), Outcome::Failed);
  EXPECT_THROW(done->wait(), std::runtime_error);
  EXPECT_EQ(done->outcome(), Outcome::Done);
  EXPECT_THROW(queue.wait(), std::runtime_error);
  EXPECT_EQ(elements(x), std::vector<int>(n, 4));
}

TEST_F(EmulatedFailures, ReductionIntoTheHostThrowsTheErrorOfItsKernelOnce) {
  const auto x = create<Array>("x", n);
  int sum = 0;
  const auto kernel = [](index_t i, const Array& u, int& value) {
    if (i == 77) throw std::runtime_error("item 77");
    value += u(i);
  };

  EXPECT_EQ(message_of<std::runtime_error>([&] { parallel_reduce(n, with(kernel, x), Sum(sum)); }),
            "item 77");

  EXPECT_NO_THROW(wait(Emulated{}));
}

TEST_F(EmulatedFailures, DestroyedKernelsOfADroppedLaunchMayFreeArrays) {
  // A kernel that owns an array by other means than a captured view; freeing it takes locks.
  struct Owner {
    std::shared_ptr<Array> owned;
    void operator()(index_t) const {}
  };
  const Queue<Emulated> queue;
  const auto x = create<Array>("x", n);

  parallel_for(on(queue), n, with(Throwing{"broke"}, x));
  for (int k = 0; k < 10; ++k)
    parallel_for(on(queue), 1, Owner{std::make_shared<Array>(create<Array>("owned", n, uninitialized))});

  EXPECT_THROW(queue.wait(), std::runtime_error);
}

// ---- memory

TEST_F(EmulatedFailures, ExceededCapacitySaysWhatWasAskedForAndListsTheLargestArrays) {
  const auto small = create<Array>("small one", 1000);
  const auto large = create<Array>("large one", 500000);
  const auto elsewhere = create<Array>("elsewhere", 500000, on(Emulated{1}));

  const std::string text = message_of<OutOfMemory>([] { (void)create<Array>("too much", 900000); });

  for (const char* part :
       {"3600000 bytes for \"too much\"", "900000 elements of 4 bytes", "Emulated{0}",
        "of 4194304 bytes are in use", "\"large one\" 2000000 bytes", "\"small one\" 4000 bytes"})
    EXPECT_TRUE(contains(text, part)) << part << " is missing in: " << text;
  EXPECT_LT(text.find("large one"), text.find("small one"));
  EXPECT_FALSE(contains(text, "elsewhere")) << text;
}

TEST_F(EmulatedFailures, CapacityCanBeLoweredAndRaisedAgain) {
  const auto x = create<Array>("x", 1024);
  emulated::set_capacity(0, 4096);

  EXPECT_THROW((void)create<Array>("y", 1), OutOfMemory);
  EXPECT_NO_THROW((void)create<Array>("y", 1, on(Emulated{1})));
  emulated::set_capacity(0, 4096 + 256);
  EXPECT_NO_THROW((void)create<Array>("y", 1));
  emulated::set_capacity(0, 0);
  EXPECT_THROW((void)create<Array>("y", 1), OutOfMemory);
  EXPECT_EQ(elements(x), std::vector<int>(1024, 0));

  EXPECT_THROW(emulated::set_capacity(0, 4 * mebi + (mebi << 10)), SettingError);
  EXPECT_THROW(emulated::set_capacity(0, -1), SettingError);
  EXPECT_THROW(emulated::set_capacity(3, 1), NoSuchDevice);
  emulated::set_capacity(0, 4 * mebi);
}

// ---- wrong accesses; each in a process of its own

using EmulatedFailuresDeathTest = EmulatedFailures;

TEST_F(EmulatedFailuresDeathTest, AccessFromTheHostNamesArrayIndexAndInstance) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto x = create<MDArray<double, Emulated, rank<2>>>("pressure", 10, 4, on(Emulated{1}));

  EXPECT_DEATH(*static_cast<volatile double*>(&x(7, 3)) = 1,
               "a host thread accessed element \\(7, 3\\) .*\"pressure\" on Emulated.1.");
}

TEST_F(EmulatedFailuresDeathTest, AccessFromAKernelOfAnotherInstanceNamesBoth) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Smuggled {
    const int* there;
    void operator()(index_t i, const Array& here) const { here(i) = *detail::emulated_resolve(there + 5); }
  };
  const auto here = create<Array>("here", 10, on(Emulated{0}));
  const auto there = create<Array>("temperature", 10, on(Emulated{1}));

  EXPECT_DEATH(
      {
        parallel_for(10, with(Smuggled{there.data()}, here));
        wait(Emulated{});
      },
      "a kernel on Emulated.0. accessed element 5 .*\"temperature\" on Emulated.1.");
}

}  // namespace
