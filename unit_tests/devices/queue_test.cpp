// Queues and events, on every device: what holds whether work is done at once or later.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/random.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class QueueTest : public ::testing::Test {
 public:
  using Array = MDArray<int, D, rank<1>>;
};
TYPED_TEST_SUITE(QueueTest, TestDevices, DeviceName);

struct Set {
  int value;
  STRATA_FUNCTION void operator()(index_t i, const auto& x) const { x(i) = value; }
};
struct Append {
  STRATA_FUNCTION void operator()(index_t i, const auto& x) const { x(i) = 10 * x(i) + 1; }
};

template <class V>
std::vector<int> elements(const V& x) {
  const auto host = on_host(x);
  std::vector<int> all;
  for (index_t i = 0; i < host.extent(0); ++i) all.push_back(host(i));
  return all;
}

TYPED_TEST(QueueTest, NewQueueIsIdleAndOfItsDevice) {
  const Queue<TypeParam> queue;

  EXPECT_TRUE(queue.idle());
  EXPECT_TRUE(queue.device() == TypeParam{});
  EXPECT_NO_THROW(queue.wait());
}

TYPED_TEST(QueueTest, CopiesOfAHandleShareTheQueueAndNewOnesDoNot) {
  const Queue<TypeParam> first, second;
  const Queue<TypeParam> copy = first;

  EXPECT_TRUE(copy == first);
  EXPECT_FALSE(second == first);
  EXPECT_FALSE(first == default_queue<TypeParam>());
  EXPECT_TRUE(default_queue<TypeParam>() == default_queue<TypeParam>());
}

TYPED_TEST(QueueTest, DefaultQueueIsSharedByAllThreads) {
  const Queue<TypeParam> mine = default_queue<TypeParam>();
  bool same = false;

  std::thread([&] { same = default_queue<TypeParam>() == mine; }).join();

  EXPECT_TRUE(same);
}

TYPED_TEST(QueueTest, LaunchesOnAQueueAreDoneInOrderWhenItWasWaitedFor) {
  const Queue<TypeParam> queue;
  const auto x = create<typename TestFixture::Array>("x", 50, on(queue));

  for (int k = 0; k < 5; ++k) parallel_for(on(queue), 50, with(Append{}, x));
  queue.wait();

  EXPECT_TRUE(queue.idle());
  EXPECT_EQ(elements(x), std::vector<int>(50, 11111));
}

// Also where another thread enqueues it while the wait begins: here a function of the host that waits for it.
TYPED_TEST(QueueTest, AWaitForAnEventDoesNotWaitForWorkThatIsEnqueuedAfterIt) {
  using Clock = std::chrono::steady_clock;
  const Queue<TypeParam> queue;
  const auto x = create<typename TestFixture::Array>("x", 50, on(queue));
  for (int trial = 0; trial < 50; ++trial) {
    parallel_for(on(queue), 50, with(Set{trial}, x));
    const Event event = queue.record();
    std::atomic<bool> has_waited = false, is_late = false;
    std::thread other([&] {
      then_host(queue, [&] {
        const auto limit = Clock::now() + std::chrono::seconds(5);
        while (!has_waited && Clock::now() < limit) std::this_thread::yield();
        is_late = !has_waited;
      });
    });
    event.wait();
    has_waited = true;
    other.join();
    queue.wait();
    ASSERT_FALSE(is_late) << trial;
  }
}

TYPED_TEST(QueueTest, RecordedEventIsCompleteWhenTheWorkBeforeItIsDone) {
  const Queue<TypeParam> queue;
  const auto x = create<typename TestFixture::Array>("x", 50, on(queue));

  parallel_for(on(queue), 50, with(Set{3}, x));
  const Event event = queue.record();
  event.wait();

  EXPECT_TRUE(event.complete());
  EXPECT_NO_THROW(event.wait()) << "an event may be waited for again";
  const Queue<TypeParam> other;
  const auto host = create<typename TestFixture::Array::HostMirror>("host", 50);
  deep_copy(other, host, x);
  other.wait();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(host(i), 3);
}

// To the host go elements that lie apart, by functions of the host on GPUs; back go a few that lie together,
// from pageable memory, which CUDA may read when the copy is enqueued.
TYPED_TEST(QueueTest, ACopyToTheDeviceBringsWhatCopiesBeforeItWriteToTheHost) {
  using Device1 = typename TestFixture::Array;
  const index_t n = 200'000;
  const Queue<TypeParam> queue, other;
  const auto x = create<Device1>("x", n, on(queue)), few = create<Device1>("few", 8, on(queue));
  const auto host = create<MDArray<int, Serial, rank<2>>>("host", n, 4);
  const auto row = subview(host, n - 2, everything);
  for (int k = 1; k < 20; ++k) {
    parallel_for(on(queue), n, with(Set{k}, x));
    deep_copy(queue, subview(host, everything, 1), x);
    other.wait_for(queue.record());
    deep_copy(other, subview(few, range(0, 4)), row);
    other.wait();
    EXPECT_EQ(elements(few), (std::vector<int>{0, k, 0, 0, 0, 0, 0, 0}));
    queue.wait();
  }
}

// The same of what functions of the host write, that of a graph too.
TYPED_TEST(QueueTest, ACopyToTheDeviceBringsWhatFunctionsBeforeItWrite) {
  const Queue<TypeParam> queue, other;
  const auto few = create<typename TestFixture::Array>("few", 3, on(queue));
  const auto host = create<MDArray<int, Serial, rank<1>>>("host", 3);
  int written = 0;
  const auto write = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int i = 0; i < 3; ++i) host(i) = ++written;
  };
  const auto graph = record(queue, [&] { then_host(queue, write); });
  for (int k = 0; k < 6; ++k) {
    if (k % 2 == 0) then_host(queue, write);
    else graph.launch(queue);
    const auto& copying = k % 3 == 0 ? queue : other;
    copying.wait_for(queue.record());
    deep_copy(copying, few, host);
    copying.wait();
    EXPECT_EQ(elements(few), (std::vector<int>{3 * k + 1, 3 * k + 2, 3 * k + 3}));
  }
}

// What each has enqueued is there for readers on another queue, which nothing else orders after it.
TYPED_TEST(QueueTest, WaitsOfSeveralThreadsEndWhenTheWorkOfEachIsDone) {
  using D = TypeParam;
  using Array = typename TestFixture::Array;
  const Queue<D> queue;
  std::atomic<int> wrong = 0;
  const auto work = [&](int number) {
    Random draw;
    const Queue<D> reader;
    const index_t most = is_asynchronous<D> && !std::is_same_v<D, Emulated>
                             ? 8'000'000
                             : 20'000;  // some take longer than a thread polls for their end
    const auto x = create<Array>("x", most), host = create<Array>("x", 1);
    for (int k = 1; k <= trials(60) + 1; ++k) {
      const int value = 1000 * number + k;
      const index_t n = draw(0, 3) == 0 ? most : draw(1, 1000);
      parallel_for(on(queue), n, with(Set{value}, x));
      switch (draw(0, 2)) {
        case 0:
          queue.wait();
          break;
        case 1:
          queue.record().wait();
          break;
        default:
          wait(D{});
      }
      deep_copy(reader, host, subview(x, range(n - 1, n)));
      reader.wait();
      if (elements(host)[0] != value) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(QueueTest, EventThatWasNeverRecordedIsComplete) {
  const Queue<TypeParam> queue;
  const Event nothing;

  EXPECT_TRUE(nothing.complete());
  EXPECT_NO_THROW(nothing.wait());
  EXPECT_NO_THROW(queue.wait_for(nothing));
}

TYPED_TEST(QueueTest, WaitForOrdersTwoQueues) {
  const Queue<TypeParam> first, second;
  const auto x = create<typename TestFixture::Array>("x", 2000);

  for (int k = 0; k < 100; ++k) {
    parallel_for(on(first), 2000, with(Set{k}, x));
    second.wait_for(first.record());
    parallel_for(on(second), 2000, with(Append{}, x));
    first.wait_for(second.record());
  }
  first.wait();

  EXPECT_EQ(elements(x), std::vector<int>(2000, 991));
}

TYPED_TEST(QueueTest, EventsOfAnotherKindOfDeviceOrderTheWork) {
  const auto x = create<typename TestFixture::Array>("x", 100);
  const auto host = create<typename TestFixture::Array::HostMirror>("host", 100);
  const Queue<TypeParam> queue;
  const Queue<Serial> serial;

  parallel_for(on(queue), 100, with(Set{6}, x));
  deep_copy(queue, host, x);
  serial.wait_for(queue.record());
  parallel_for(on(serial), 100, with(Append{}, host));
  queue.wait_for(serial.record());
  deep_copy(queue, x, host);
  queue.wait();

  EXPECT_EQ(elements(x), std::vector<int>(100, 61));
}

TYPED_TEST(QueueTest, EventOutlivesItsQueue) {
  Event event;
  const auto x = create<typename TestFixture::Array>("x", 10);
  {
    const Queue<TypeParam> queue;
    parallel_for(on(queue), 10, with(Set{1}, x));
    event = queue.record();
  }

  event.wait();

  EXPECT_TRUE(event.complete());
  EXPECT_EQ(elements(x), std::vector<int>(10, 1));
}

TYPED_TEST(QueueTest, QueueOfAnInstanceThatDoesNotExistIsAnError) {
  EXPECT_THROW(Queue<TypeParam>{TypeParam(TypeParam::count())}, NoSuchDevice);
  EXPECT_THROW(TypeParam(-1), NoSuchDevice);
}

// ---- what listeners hear

class Fences : public Listener {
 public:
  Fences() { add_listener(*this); }
  ~Fences() override { remove_listener(*this); }
  void on_event(const HookEvent& event) override {
    if (event.kind != EventKind::BeginFence && event.kind != EventKind::EndFence) return;
    heard.push_back((event.kind == EventKind::BeginFence ? "begin " : "end ") + std::string(event.label) +
                    " " + event.device);
    queues.push_back(event.queue);
    ids.push_back(event.id);
  }
  std::vector<std::string> heard;
  std::vector<std::uint64_t> queues, ids;
};

TYPED_TEST(QueueTest, ListenersHearOfFencesWithLabelDeviceAndQueue) {
  const Queue<TypeParam> queue;
  const Fences fences;

  queue.wait("my fence");
  default_queue<TypeParam>().wait();
  wait(TypeParam{}, "all of it");

  const std::string device = strata_tests::device_name<TypeParam>();
  EXPECT_EQ(fences.heard,
            (std::vector<std::string>{"begin my fence " + device, "end my fence " + device,
                                      "begin Queue::wait " + device, "end Queue::wait " + device,
                                      "begin all of it " + device, "end all of it " + device}));
  EXPECT_EQ(fences.queues[0], queue.state().id());
  EXPECT_NE(fences.queues[0], 0u);
  EXPECT_EQ(fences.queues[2], 0u) << "the default queue";
  EXPECT_EQ(fences.ids[0], fences.ids[1]);
  EXPECT_NE(fences.ids[0], fences.ids[2]);
}

// ---- several instances, where a device has them

template <class D>
class InstancesTest : public ::testing::Test {};
TYPED_TEST_SUITE(InstancesTest, TestDevices, DeviceName);

TYPED_TEST(InstancesTest, EventsOrderQueuesOfDifferentInstances) {
  if (TypeParam::count() < 2) GTEST_SKIP() << "one instance";
  using Array = MDArray<int, TypeParam, rank<1>>;
  const TypeParam here(0), there(1);
  const Queue<TypeParam> first(here), second(there);
  const auto x = create<Array>("x", 1000, on(here)), y = create<Array>("y", 1000, on(there));

  for (int k = 0; k < 20; ++k) {
    parallel_for(on(first), 1000, with(Set{k}, x));
    second.wait_for(first.record());
    deep_copy(second, y, x);
    parallel_for(on(second), 1000, with(Append{}, y));
    first.wait_for(second.record());
    deep_copy(first, x, y);
  }
  first.wait();

  EXPECT_EQ(elements(x), std::vector<int>(1000, 191));
}

// ---- kernels that throw

#ifndef __CUDACC__

template <class D>
class QueueErrors : public ::testing::Test {};
TYPED_TEST_SUITE(QueueErrors, HostThreadDevices, DeviceName);

TYPED_TEST(QueueErrors, OfAKernelAreThrownOnceByTheLaunchOrTheNextWait) {
  const Queue<TypeParam> queue;
  const auto broken = [](index_t i) {
    if (i == 5) throw std::runtime_error("item 5");
  };
  int thrown = 0;
  const auto count = [&](auto action) {
    try {
      action();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "item 5");
      ++thrown;
    }
  };

  count([&] { parallel_for(on(queue), 10, broken); });
  EXPECT_EQ(thrown, is_asynchronous<TypeParam> ? 0 : 1);
  count([&] { queue.wait(); });
  count([&] { queue.wait(); });
  count([&] { wait(TypeParam{}); });

  EXPECT_EQ(thrown, 1);
}

TYPED_TEST(QueueErrors, AFenceThatThrowsEndsForListeners) {
  const Queue<TypeParam> queue;
  try {
    parallel_for(on(queue), 1, [](index_t) { throw std::runtime_error("broken"); });
  } catch (const std::runtime_error&) {
  }
  const Fences fences;

  try {
    queue.wait("broken fence");
  } catch (const std::runtime_error&) {
  }

  EXPECT_EQ(fences.heard.size(), 2u);
}

#endif

}  // namespace
