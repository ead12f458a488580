// System-wide atomics, and what is made of them, hammered by 16 host threads and a device at once; and which
// memory is refused.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/index_queue.hpp>
#include <strata/views/system_atomics.hpp>
#include <strata/views/system_flag.hpp>
#include <strata/views/ticket_counter.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using strata_tests::expect_parts;
using strata_tests::message_of;

template <class T>
using Line = CoherentArray<T, rank<1>>;

constexpr int host_threads = 16;

/// Runs `work(thread)` on the host threads and the kernel on the device, all at once.
template <class D, class Kernel>
void run_at_once(index_t items, const Kernel& kernel, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < host_threads; ++t) threads.emplace_back(work, t);
  parallel_for(on(D{}), items, kernel);
  for (std::thread& thread : threads) thread.join();
  wait(D{});
}

/// An array that host threads and D share.
template <class D, class T>
Line<T> shared_line(const char* label, index_t size) {
  return Line<T>(label, size, MemoryMode::Managed, main_in(D{}));
}

template <class D>
class SystemWide : public ::testing::Test {};
TYPED_TEST_SUITE(SystemWide, strata_tests::TestDevices, strata_tests::DeviceName);

// ---- operations

constexpr index_t device_items = 4096, items_a_thread = 128;
constexpr index_t all_items = device_items + host_threads * items_a_thread;
enum Element { Added, Subtracted, Least, Greatest, Token, Taken, Counted, Anded, Ored, Xored, elements };

template <class T>
struct EveryOperation {
  SystemAtomics<T> x;
  STRATA_FUNCTION void operator()(auto index) const {
    const index_t i = index;
    x(Added).fetch_add(T(1), order_acq_rel);
    x(Subtracted).fetch_sub(T(1));
    x(Least).fetch_min(static_cast<T>(100 + i));
    x(Greatest).fetch_max(static_cast<T>(i), order_seq_cst);
    x(Taken).fetch_add(x(Token).exchange(static_cast<T>(i % 3), order_acquire));
    T seen = x(Counted).load();
    while (!x(Counted).compare_exchange(seen, seen + T(1), order_release)) {
    }
    if constexpr (std::is_integral_v<T>) {
      x(Anded).fetch_and(static_cast<T>(~(T(1) << (i % 30))));
      x(Ored).fetch_or(static_cast<T>(T(1) << (i % 30)));
      x(Xored).fetch_xor(static_cast<T>(T(1) << (i % 16)));
    }
  }
};

template <class D, class T>
void expect_every_operation() {
  SCOPED_TRACE(typeid(T).name());
  const Line<T> array = shared_line<D, T>("values", elements);
  array(Subtracted) = T(all_items);
  array(Least) = T(50000);
  array(Anded) = static_cast<T>((1 << 30) - 1);

  const EveryOperation<T> operate{system_atomics(array, D{})};
  run_at_once<D>(device_items, operate, [&](int thread) {
    const index_t begin = device_items + thread * items_a_thread;
    for (index_t i = begin; i < begin + items_a_thread; ++i) operate(i);
  });

  const auto x = array.read();
  index_t given = 0;
  for (index_t i = 0; i < all_items; ++i) given += i % 3;
  EXPECT_EQ(x(Added), T(all_items));
  EXPECT_EQ(x(Subtracted), T(0));
  EXPECT_EQ(x(Least), T(100));
  EXPECT_EQ(x(Greatest), T(all_items - 1));
  EXPECT_EQ(x(Token) + x(Taken), T(given)) << "a value was taken twice, or lost";
  EXPECT_EQ(x(Counted), T(all_items));
  if (!std::is_integral_v<T>) return;
  EXPECT_EQ(x(Anded), T(0));
  EXPECT_EQ(x(Ored), T((1 << 30) - 1));
  index_t odd = 0;
  for (index_t i = 0; i < all_items; ++i) odd ^= index_t{1} << (i % 16);
  EXPECT_EQ(x(Xored), T(odd));
}

TYPED_TEST(SystemWide, NoUpdateOfHostOrDeviceIsLost) {
  expect_every_operation<TypeParam, std::int32_t>();
  expect_every_operation<TypeParam, std::uint32_t>();
  expect_every_operation<TypeParam, std::int64_t>();
  expect_every_operation<TypeParam, std::uint64_t>();
  expect_every_operation<TypeParam, float>();
  expect_every_operation<TypeParam, double>();
}

// ---- tickets

struct TakeAll {
  TicketCounter tickets;
  SystemAtomics<std::int32_t> taken;
  STRATA_FUNCTION void operator()(auto) const {
    for (index_t first = tickets.take(3); first < taken.size(); first = tickets.take(3))
      for (index_t i = first; i < first + 3 && i < taken.size(); ++i) taken(i).fetch_add(1);
  }
};

TYPED_TEST(SystemWide, EachTicketIsTakenOnce) {
  constexpr index_t tickets = 5000;
  const auto next = shared_line<TypeParam, std::int64_t>("next", 1);
  const auto taken = shared_line<TypeParam, std::int32_t>("taken", tickets);
  const TakeAll take{TicketCounter(system_atomics(next, TypeParam{})), system_atomics(taken, TypeParam{})};

  run_at_once<TypeParam>(64, take, [&](int) { take(0); });

  EXPECT_GE(take.tickets.taken(), tickets);
  const auto x = taken.read();
  for (index_t i = 0; i < tickets; ++i) ASSERT_EQ(x(i), 1) << i;
}

// ---- queues

constexpr index_t pushed_by_device = 256, pushed_by_thread = 100;
constexpr index_t pushed_by_all = pushed_by_device + (host_threads - 1) * pushed_by_thread;

struct PushOne {
  IndexQueue queue;
  STRATA_FUNCTION void operator()(auto index) const {
    const index_t i = index;
    while (!queue.try_push(i)) {
    }
  }
};

TYPED_TEST(SystemWide, AQueueGivesEachNumberOnceInTheOrderOfItsThread) {
  const auto words = shared_line<TypeParam, std::int64_t>("queue", IndexQueue::words(37));
  const PushOne push{IndexQueue(system_atomics(words, TypeParam{}))};
  EXPECT_EQ(push.queue.capacity(), 37);
  std::vector<index_t> popped;

  run_at_once<TypeParam>(pushed_by_device, push, [&](int thread) {
    const index_t begin = pushed_by_device + (thread - 1) * pushed_by_thread;
    if (thread == 0) {
      for (index_t i = 0; std::ssize(popped) < pushed_by_all;)
        if (push.queue.try_pop(i)) popped.push_back(i);
        else std::this_thread::yield();
    } else {
      for (index_t i = begin; i < begin + pushed_by_thread; ++i)
        while (!push.queue.try_push(i)) std::this_thread::yield();
    }
  });

  std::vector<int> times(pushed_by_all, 0);
  std::vector<index_t> last(host_threads, -1);
  for (const index_t i : popped) {
    ++times.at(static_cast<std::size_t>(i));
    if (i < pushed_by_device) continue;
    index_t& before = last[static_cast<std::size_t>((i - pushed_by_device) / pushed_by_thread)];
    EXPECT_LT(before, i);
    before = i;
  }
  for (const int n : times) ASSERT_EQ(n, 1);
  index_t none = 0;
  EXPECT_FALSE(push.queue.try_pop(none));
}

struct PopSome {
  IndexQueue queue;
  SystemAtomics<std::int64_t> sums;  // of the numbers, and how many
  STRATA_FUNCTION void operator()(auto) const {
    for (index_t i = 0; queue.try_pop(i);) {
      sums(0).fetch_add(i);
      sums(1).fetch_add(1);
    }
  }
};

TYPED_TEST(SystemWide, HostAndDevicePopFromOneQueue) {
  constexpr index_t numbers = 3000;
  const auto words = shared_line<TypeParam, std::int64_t>("queue", IndexQueue::words(numbers));
  const auto sums = shared_line<TypeParam, std::int64_t>("sums", 2);
  const PopSome pop{IndexQueue(system_atomics(words, TypeParam{})), system_atomics(sums, TypeParam{})};
  for (index_t i = 0; i < numbers; ++i) ASSERT_TRUE(pop.queue.try_push(i));
  EXPECT_FALSE(pop.queue.try_push(0)) << "a queue that is full took a number";

  run_at_once<TypeParam>(100, pop, [&](int) { pop(0); });
  pop(0);  // what others were just about to fill or free

  EXPECT_EQ(sums(0), numbers * (numbers - 1) / 2);
  EXPECT_EQ(sums(1), numbers);
  for (index_t lap = 0; lap < 5; ++lap) {  // it is as new
    ASSERT_TRUE(pop.queue.try_push(lap));
    index_t i = -1;
    ASSERT_TRUE(pop.queue.try_pop(i));
    EXPECT_EQ(i, lap);
  }
}

// ---- flags

constexpr index_t rounds = 40;

// Writes at even steps what it makes of what the host wrote at odd ones.
struct Answer {
  SystemFlag flag;
  SystemAtomics<std::int64_t> data;
  STRATA_FUNCTION void operator()(auto) const {
    for (index_t k = 0; k < rounds; ++k) {
      flag.wait_for(2 * k + 1);
      data(0).store(data(0).load() * 2);
      flag.raise(2 * k + 2);
    }
  }
};

TYPED_TEST(SystemWide, HostAndDeviceWaitForEachOther) {
  const auto step = shared_line<TypeParam, std::int64_t>("step", 1);
  const auto data = shared_line<TypeParam, std::int64_t>("data", 1);
  const Answer answer{SystemFlag(system_atomics(step, TypeParam{})), system_atomics(data, TypeParam{})};
  std::vector<index_t> answers;

  std::thread asks([&] {
    for (index_t k = 0; k < rounds; ++k) {
      answer.data(0).store(k);
      answer.flag.raise(2 * k + 1);
      answer.flag.wait_for(2 * k + 2);
      answers.push_back(answer.data(0).load());
    }
  });
  parallel_for(on(TypeParam{}), 1, answer);
  asks.join();
  wait(TypeParam{});

  for (index_t k = 0; k < rounds; ++k) EXPECT_EQ(answers[static_cast<std::size_t>(k)], 2 * k);
  answer.flag.raise(3);
  EXPECT_EQ(answer.flag.raised(), 2 * rounds) << "a flag went down";
}

// ---- memory

TYPED_TEST(SystemWide, MemoryOfEveryModeIsTakenOrRefusedAsTheDeviceSays) {
  for (const MemoryMode mode : {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed,
                                MemoryMode::Mapped, MemoryMode::Explicit, MemoryMode::Implicit}) {
    SCOPED_TRACE(to_string(mode));
    const Line<std::int32_t> x("x", 3, mode, main_in(TypeParam{}));
    const char* reason = "";
    const bool fit = TypeParam{}.backend().has_system_atomics(x.state()->main.space, reason);
    const auto share = [&] { return system_atomics(x, TypeParam{}); };
    if (fit) EXPECT_EQ(share().size(), 3);
    else expect_parts(message_of<Error>(share), {"system_atomics: \"x\"", reason});
    EXPECT_NO_THROW(system_atomics(x)) << "for the host alone";
  }
}

class SystemAtomicsRefused : public ::testing::Test {
 protected:
  void SetUp() override {
    emulated::Config config = emulated::default_config();
    config.host_atomics = false;
    emulated::configure(config);
  }
  void TearDown() override { emulated::configure(emulated::default_config()); }
};

TEST_F(SystemAtomicsRefused, WhereALinkHasNoAtomicsWithWhatToUseInstead) {
  const Line<int> pinned("pinned", 1, MemoryMode::Mapped, main_in(Emulated{0}));
  expect_parts(
      message_of<Error>([&] { system_atomics(pinned, Serial{}, Emulated{0}); }),
      {"\"pinned\", in the memory mode mapped (EmulatedPinned memory), cannot be shared with Emulated{0}",
       "its link to the host has no atomic operations",
       "create it with MemoryMode::Managed and main_in(Emulated{0})"});
  const Line<int> smart("smart", 1);
  expect_parts(message_of<Error>([&] { system_atomics(smart, Emulated{0}); }),
               {"memory mode smart (Host memory)", "has no atomic operations"});
  const Line<int> managed("managed", 1, MemoryMode::Managed, main_in(Emulated{0}));
  EXPECT_NO_THROW(system_atomics(managed, Serial{}, Emulated{0}));
  EXPECT_NO_THROW(system_atomics(pinned, Serial{}, Threads{}));
}

struct Iota {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = index_t(i); }
};

TEST(SystemAtomicsOfAnArray, HaveItsCurrentValues) {
  const Line<std::int64_t> x("x", 100);
  launch(on(Emulated{0}), 100, Iota{}, out(x));
  const auto values = system_atomics(x, Threads{});
  for (index_t i = 0; i < 100; ++i) EXPECT_EQ(values(i).fetch_add(1), i);
  EXPECT_EQ(x(5), 6);
  EXPECT_EQ(values.part(10, 5)(2).load(), 13);
  EXPECT_EQ(values.part(10, 5).size(), 5);
}

TEST(SystemAtomicsOfAnArray, NeedAnArrayThatNobodyLooksAt) {
  expect_parts(message_of<Error>([] { system_atomics(Line<int>()); }), {"array"});
  const Line<int> x("x", 1);
  const auto view = x.read();
  EXPECT_THROW(system_atomics(x), AccessConflict);
}

TEST(SystemAtomicsOfAnArray, OfRankZeroAreOneElement) {
  const CoherentArray<float, rank<0>> x("x");
  system_atomics(x, Threads{})(0).store(2.5F);
  EXPECT_EQ(x(), 2.5F);
}

}  // namespace
