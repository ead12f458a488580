// Devices that cannot reserve addresses: arrays have blocks there, and grow into larger ones, to which their
// values move.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <strata/views/coherent/coherence.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;

// Beyond what is small, and allocated at once.
constexpr index_t n = mebi, half = n / 2;

class CoherentGrowth : public CoherentTest {
 protected:
  void SetUp() override {
    emulated::Config config = machine(2);
    config.capacity = 64 * mebi;
    emulated::configure(config);
    // All addresses are taken.
    for (int i = 0; i < config.count; ++i)
      for (std::size_t bytes = std::size_t{1} << 32; bytes > 0; bytes /= 2)
        while (detail::Ref<detail::ReservedMemory> taken =
                   Emulated{i}.backend().reserve({bytes, "taken", 1, nullptr}))
          taken_.push_back(taken);
  }
  void TearDown() override {
    taken_.clear();
    CoherentTest::TearDown();
  }

 private:
  std::vector<detail::Ref<detail::ReservedMemory>> taken_;
};

// How many of the elements are not expected(i).
template <class F>
index_t wrong_values(const Numbers& x, const F& expected) {
  const auto view = x.read();
  index_t wrong = 0;
  for (index_t i = 0; i < x.extent(0); ++i) wrong += view(i) != expected(i);
  return wrong;
}

TEST_F(CoherentGrowth, MovesWhatTheDeviceHas) {
  const Numbers x("x", n, uninitialized);
  launch(on(Emulated{0}), half, Iota{0}, out(x));
  launch(on(Emulated{0}), range(half, n), Iota{7}, out(x));
  launch(on(Emulated{0}), n, AddTo{1}, inout(x));

  EXPECT_EQ(x.counters().same_device.bytes, 8U * half);
  EXPECT_EQ(wrong_values(x, [](index_t i) { return i + (i < half ? 1 : 8); }), 0);
}

// Adds 1 and the values, once the gate is open.
std::atomic<bool> gate_is_open, kernel_has_begun;
struct AddBehindTheGate {
  void operator()(auto index, auto x, std::int64_t& sum) const {
    const index_t i = static_cast<index_t>(index);
    kernel_has_begun = true;
    while (!gate_is_open) std::this_thread::yield();
    sum += ++x(i);
  }
};

TEST_F(CoherentGrowth, WaitsForALaunchWithAResultThatWorksInTheOldBlock) {
  const Numbers x("x", n);
  gate_is_open = kernel_has_begun = false;
  std::int64_t sum = 0;
  std::thread first(
      [&] { launch_reduce(on(Emulated{0}).named("sum"), half, AddBehindTheGate{}, Sum(sum), inout(x)); });
  while (!kernel_has_begun) std::this_thread::yield();
  std::atomic<bool> grown = false;
  std::thread second([&] {
    launch(on(Emulated{0}).named("grow"), range(half, n), Iota{7}, out(x));
    grown = true;
  });

  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(grown);
  gate_is_open = true;
  first.join();
  second.join();

  EXPECT_EQ(sum, half);
  EXPECT_EQ(wrong_values(x, [](index_t i) { return i < half ? 1 : 7 + i; }), 0);
}

TEST_F(CoherentGrowth, DoesNotWaitWhereTheBlockHasRoom) {
  const Numbers x("x", n);
  launch(on(Emulated{0}), n, ReadOnly{}, in(x));
  gate_is_open = kernel_has_begun = false;
  std::int64_t sum = 0;
  std::thread first(
      [&] { launch_reduce(on(Emulated{0}).named("sum"), half, AddBehindTheGate{}, Sum(sum), inout(x)); });
  while (!kernel_has_begun) std::this_thread::yield();

  launch(on(Emulated{0}).named("other half"), range(half, n), Iota{7}, out(x));

  gate_is_open = true;
  first.join();
  EXPECT_EQ(wrong_values(x, [](index_t i) { return i < half ? 1 : 7 + i; }), 0);
}

// Refuses the `fails`-th copy.
class RefusingQueue : public detail::QueueState {
 public:
  RefusingQueue(const detail::Ref<detail::QueueState>& queue, int fails) : queue_(queue), fails_(fails) {}
  detail::DeviceInstance& instance() override { return queue_->instance(); }
  std::uint64_t id() const override { return queue_->id(); }
  void wait() override { queue_->wait(); }
  bool idle() const override { return queue_->idle(); }
  detail::Ref<detail::EventState> record() override { return queue_->record(); }
  void wait_for(const detail::Ref<detail::EventState>& event) override { queue_->wait_for(event); }
  void copy(const detail::CopySide& to, const detail::CopySide& from, std::size_t element_bytes) override {
    if (--fails_ == 0) throw CopyError("refused");
    queue_->copy(to, from, element_bytes);
  }
  void fill(const detail::CopySide& to, const void* value, std::size_t element_bytes) override {
    queue_->fill(to, value, element_bytes);
  }

 private:
  detail::Ref<detail::QueueState> queue_;
  int fails_;
};

TEST_F(CoherentGrowth, ThatFailsLeavesTheOldBlock) {
  const Numbers x("x", n, uninitialized);
  launch(on(Emulated{0}), half / 2, Iota{0}, out(x));
  launch(on(Emulated{1}), range(half / 4, half / 2), Iota{0}, out(x));
  launch(on(Emulated{0}), range(half / 2, half), Iota{0}, out(x));  // two parts, which move one by one
  ASSERT_EQ(x.where(line(0, half)).size(), 3U);
  const index_t before = coherent::resident_bytes(Emulated{0});
  detail::Ref<detail::QueueState>& queue = detail::Coherence::get().memories[1].peer.made();
  const detail::Ref<detail::QueueState> kept = queue;

  for (const int copy : {1, 2}) {
    queue = detail::Ref<detail::QueueState>(new RefusingQueue(kept, copy));
    EXPECT_THROW(launch(on(Emulated{0}), range(half, n), Iota{0}, out(x)), CopyError);
    EXPECT_EQ(coherent::resident_bytes(Emulated{0}), before);
  }

  queue = kept;
  launch(on(Emulated{0}), range(half, n), Iota{0}, out(x));
  launch(on(Emulated{0}), n, AddTo{1}, inout(x));
  EXPECT_EQ(wrong_values(x, [](index_t i) { return i + 1; }), 0);
}

// The values are in neither block as a whole then.
TEST_F(CoherentGrowth, WhoseCopiesFailLaterSaysWhatIsLost) {
  const Numbers x("x", n, uninitialized);
  launch(on(Emulated{0}), half, Iota{0}, out(x));
  emulated::fail(emulated::Fault::Copy, 1);
  launch(on(Emulated{0}), range(half, n), Iota{0}, out(x));

  const std::string message = message_of<DataLost>([&] { x.flush(); });

  EXPECT_TRUE(has(message, to_string(line(0, half)) + " of \"x\""));
  launch(on(Emulated{0}), half, Iota{0}, out(x));
  EXPECT_EQ(wrong_values(x, [](index_t i) { return i; }), 0);
}

}  // namespace
