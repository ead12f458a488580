// Views of memory that kernels on Emulated and the host reach, pinned or managed, as kernels see them.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using strata_tests::expect_parts;
using strata_tests::message_of;
using KernelView = MDArray<int, Emulated, rank<1>>;
using OnHost = MDArray<int, Serial, rank<1>>;
constexpr index_t n = 40000;

struct Add {
  int value;
  index_t shift = 0;
  void operator()(index_t i, const KernelView& x) const { x(i + shift) += value; }
};

class ViewsOfSharedMemory : public ::testing::TestWithParam<detail::SharedMemory> {
 protected:
  detail::DeviceInstance& memory(int instance) const {
    const char* reason = nullptr;
    return *Emulated{instance}.backend().shared_memory(GetParam(), reason);
  }
};

TEST_P(ViewsOfSharedMemory, KernelsOfAllInstancesAndTheHostReachTheSameElements) {
  detail::DeviceInstance& managed = memory(0);
  const detail::AllocationRef record(managed.allocate({n * sizeof(int), "x", sizeof(int), nullptr}));
  auto* const data = static_cast<int*>(record.get()->data);
  const OnHost host(record, data, OnHost::mapping_type(RankExtents<1>(n)));
  for (index_t i = 0; i < n; ++i) host(i) = int(i);

  for (const int instance : {0, 1}) {
    auto* const there =
        Emulated{instance}.backend().address_in_kernels(reinterpret_cast<char*>(data), managed.space());
    const KernelView x(record, reinterpret_cast<int*>(there), KernelView::mapping_type(RankExtents<1>(n)));
    const Queue<Emulated> queue(Emulated{instance});
    parallel_for(on(queue), n, with(Add{1}, x));
    queue.wait();
  }

  for (index_t i = 0; i < n; ++i) ASSERT_EQ(host(i), int(i) + 2);
}

TEST_P(ViewsOfSharedMemory, ABadAccessIsFoundInCheckedBuilds) {
  if constexpr (!checked_build) GTEST_SKIP() << "bounds are checked in checked builds only";
  detail::DeviceInstance& managed = memory(1);
  const detail::AllocationRef record(managed.allocate({n * sizeof(int), "x", sizeof(int), nullptr}));
  auto* const there =
      Emulated{1}.backend().address_in_kernels(static_cast<char*>(record.get()->data), managed.space());
  const KernelView x(record, reinterpret_cast<int*>(there), KernelView::mapping_type(RankExtents<1>(n)));
  const Queue<Emulated> queue(Emulated{1});

  parallel_for(on(queue), n, with(Add{1, 1}, x));

  expect_parts(message_of<OutOfBounds>([&] { queue.wait(); }), {"(40000)", "[0, 40000)"});
}

TEST_P(ViewsOfSharedMemory, CopiesBetweenThemAndPlainArraysNeedNoQueueOfOnesOwn) {
  detail::DeviceInstance& managed = memory(0);
  const detail::AllocationRef record(managed.allocate({n * sizeof(int), "x", sizeof(int), nullptr}));
  const OnHost x(record, static_cast<int*>(record.get()->data), OnHost::mapping_type(RankExtents<1>(n)));
  const auto plain = create<MDArray<int, Serial, rank<1>>>("plain", n, uninitialized);
  const auto own = create<MDArray<int, Emulated, rank<1>>>("own", n, uninitialized);

  deep_copy(x, 3);
  deep_copy(own, x);
  deep_copy(x, 4);
  deep_copy(plain, own);
  EXPECT_EQ(plain(n - 1), 3);
  deep_copy(plain, x);
  EXPECT_EQ(plain(n - 1), 4);
  deep_copy(plain, 5);
  deep_copy(x, plain);
  EXPECT_EQ(x(n - 1), 5);
}

INSTANTIATE_TEST_SUITE_P(Of, ViewsOfSharedMemory,
                         ::testing::Values(detail::SharedMemory::Pinned, detail::SharedMemory::Managed),
                         [](const auto& kind) {
                           return kind.param == detail::SharedMemory::Pinned ? "Pinned" : "Managed";
                         });

}  // namespace
