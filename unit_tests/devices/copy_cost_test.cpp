// What copies cost, and times between events, on every device.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using strata::detail::CopyCost;
using strata::detail::DeviceInstance;

template <class D>
class CopyCosts : public ::testing::Test {};
template <class D>
class TimedEvents : public ::testing::Test {
 public:
  using Array = MDArray<double, D, rank<1>>;
};
TYPED_TEST_SUITE(CopyCosts, TestDevices, DeviceName);
TYPED_TEST_SUITE(TimedEvents, TestDevices, DeviceName);

void expect_cost(CopyCost cost) {
  EXPECT_GE(cost.seconds, 0);
  EXPECT_LT(cost.seconds, 1);
  EXPECT_GT(cost.bytes_per_second, 1e6);
}

TYPED_TEST(CopyCosts, AreKnownBetweenTheHostAndMemoryOfItsOwn) {
  DeviceInstance& device = TypeParam{}.backend();
  const CopyCost up = device.copy_cost(Serial{}.backend()), down = device.copy_cost_to_host();

  if (TypeParam::memory_space::host_accessible) {
    EXPECT_EQ(up.bytes_per_second, 0) << "there is nothing to copy";
    EXPECT_EQ(down.bytes_per_second, 0);
    return;
  }
  expect_cost(up);
  expect_cost(down);
  expect_cost(device.copy_cost(device));
  const CopyCost again = device.copy_cost(Serial{}.backend());
  EXPECT_EQ(again.seconds, up.seconds) << "kept";
  EXPECT_EQ(again.bytes_per_second, up.bytes_per_second);
}

TYPED_TEST(CopyCosts, AreKnownBetweenInstancesAndTheSameForEveryThread) {
  if (TypeParam::count() < 2) GTEST_SKIP() << "there is one instance";
  CopyCost costs[2] = {};

  std::thread other([&] { costs[0] = TypeParam(1).backend().copy_cost(TypeParam(0).backend()); });
  costs[1] = TypeParam(1).backend().copy_cost(TypeParam(0).backend());
  other.join();

  EXPECT_EQ(costs[0].bytes_per_second, costs[1].bytes_per_second);
  EXPECT_EQ(costs[0].seconds, costs[1].seconds);
  if (costs[0].bytes_per_second > 0) expect_cost(costs[0]);  // 0: there is no link
  EXPECT_NO_THROW(wait(TypeParam(1)));
}

TYPED_TEST(CopyCosts, FromTheMemoryOfAnotherKindThereIsNoWay) {
  DeviceInstance& device = TypeParam{}.backend();

  if constexpr (std::string_view(TypeParam::name) != "Emulated") {
    EXPECT_EQ(device.copy_cost(Emulated{}.backend()).bytes_per_second, 0);
  }
}

struct Iterate {
  STRATA_FUNCTION void operator()(index_t i, const auto& x) const {
    for (int k = 0; k < 1000; ++k) x(i) = x(i) * 0.5 + 1;
  }
};

TYPED_TEST(TimedEvents, TellTheTimeOfTheWorkBetweenThem) {
  const Queue<TypeParam> queue;
  const auto x = create<typename TestFixture::Array>("x", 10000);

  const auto first = queue.state().record_timed();
  const auto second = queue.state().record_timed();
  parallel_for(on(queue), 10000, with(Iterate{}, x));
  const auto third = queue.state().record_timed();
  parallel_for(on(queue), 10000, with(Iterate{}, x));
  parallel_for(on(queue), 10000, with(Iterate{}, x));
  const auto fourth = queue.state().record_timed();
  queue.wait();

  ASSERT_TRUE(fourth->complete());
  const double none = second->seconds_since(*first), one = third->seconds_since(*second),
               two = fourth->seconds_since(*third), all = fourth->seconds_since(*first);
  EXPECT_GE(none, 0);
  EXPECT_GT(one, 0);
  EXPECT_GT(two, 0);
  EXPECT_LT(all, 60);
  EXPECT_NEAR(all, none + one + two, 1e-5 + all * 1e-3);
  EXPECT_LT(none, all);
}

TYPED_TEST(TimedEvents, WithoutTimesNothingIsKnown) {
  const Queue<TypeParam> queue;
  const auto timed = queue.state().record_timed();
  const auto plain = queue.state().record();
  queue.wait();

  if (std::string_view(TypeParam::name) != "Emulated") {  // whose events all have virtual times
    EXPECT_EQ(plain->seconds_since(*timed), -1);
  }
  const auto other = [&]() -> strata::detail::Ref<strata::detail::EventState> {
    if constexpr (std::string_view(TypeParam::name) == "Emulated")
      return Serial{}.backend().default_queue().record_timed();
    else return Emulated{}.backend().default_queue().record_timed();
  }();
  EXPECT_EQ(timed->seconds_since(*other), -1);
}

}  // namespace
