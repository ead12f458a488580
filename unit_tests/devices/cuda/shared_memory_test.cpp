// Memory that the host and kernels of GPUs share: where it comes from, and how pages are moved and advised on
// as launches declare their use of them. The plans are tested in devices/page_advice_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "devices/cuda/arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using strata::detail::DeviceInstance;
using strata::detail::ManagedRange;
using strata::detail::SharedMemory;
using Managed = MDArray<double, CudaManaged, rank<1>>;

constexpr std::size_t mebi = std::size_t{1} << 20, run = 2 * mebi;

struct AddOne {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) += 1; }
};

// Elements [begin, end) of an array.
ManagedRange range_of(const Managed& x, index_t begin, index_t end, bool reads, bool writes,
                      bool has_other_users = false) {
  return {reinterpret_cast<char*>(x.data() + begin), static_cast<std::size_t>(end - begin) * sizeof(double),
          reads, writes, has_other_users};
}
template <class T>
T attribute(cudaMemRangeAttribute which, const void* data, std::size_t bytes) {
  T value{};
  EXPECT_EQ(cudaMemRangeGetAttribute(&value, sizeof value, which, data, bytes), cudaSuccess);
  return value;
}
int last_prefetch(const void* data, std::size_t bytes) {
  return attribute<int>(cudaMemRangeAttributeLastPrefetchLocation, data, bytes);
}
bool is_read_mostly(const void* data, std::size_t bytes) {
  return attribute<int>(cudaMemRangeAttributeReadMostly, data, bytes) != 0;
}
int preferred_place(const void* data, std::size_t bytes) {
  return attribute<int>(cudaMemRangeAttributePreferredLocation, data, bytes);
}
int accessing_place(const void* data, std::size_t bytes) {
  return attribute<int>(cudaMemRangeAttributeAccessedBy, data, bytes);
}
std::size_t prefetch(const Queue<Cuda>& queue, const std::vector<ManagedRange>& ranges,
                     bool to_host = false) {
  return queue.state().prefetch(ranges.data(), static_cast<int>(ranges.size()), to_host);
}

TEST(CudaSharedMemory, BelongsToTheSameGpu) {
  const int last = Cuda::count() - 1;
  const char* reason = nullptr;
  for (DeviceInstance* from :
       {&Cuda(last).backend(), &CudaPinned(last).backend(), &CudaManaged(last).backend()}) {
    EXPECT_EQ(from->shared_memory(SharedMemory::Pinned, reason), &CudaPinned(last).backend());
    EXPECT_EQ(from->shared_memory(SharedMemory::Managed, reason), &CudaManaged(last).backend());
  }
  EXPECT_EQ(reason, nullptr);
}

TEST(CudaSharedMemory, KernelsReachItAtTheAddressOfTheHost) {
  DeviceInstance& gpu = Cuda{}.backend();
  char here = 0;
  int reaches_all = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&reaches_all, cudaDevAttrPageableMemoryAccess, 0), cudaSuccess);

  EXPECT_EQ(gpu.address_in_kernels(&here, CudaPinned{}.backend().space()), &here);
  EXPECT_EQ(gpu.address_in_kernels(&here, CudaManaged{}.backend().space()), &here);
  EXPECT_EQ(gpu.address_in_kernels(&here, Serial{}.backend().space()), reaches_all != 0 ? &here : nullptr);
  EXPECT_EQ(gpu.address_in_kernels(&here, gpu.space()), nullptr) << "is not the host's";

  const auto pinned = create<MDArray<double, CudaPinned, rank<1>>>("pinned", 100);
  void* device_address = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(&device_address, pinned.data(), 0), cudaSuccess);
  EXPECT_EQ(device_address, pinned.data());
}

TEST(CudaSharedMemory, WhereHostAndKernelsMayMeetIsWhatTheDriverSays) {
  int concurrent = -1;
  ASSERT_EQ(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0), cudaSuccess);

  EXPECT_EQ(Cuda{}.backend().has_concurrent_managed_access(), concurrent != 0);
  EXPECT_FALSE(CudaManaged{}.backend().page_moves(nullptr).is_known);
}

TEST(CudaManagedMemory, EachArrayHasRunsOfItsOwn) {
  std::vector<Managed> arrays;
  std::set<std::uintptr_t> runs;
  std::size_t expected = 0;

  for (const index_t n : {1, 512, 512, 100000, 262144, 262145, 3, 1000000}) {
    arrays.push_back(create<Managed>("x", n));
    const auto begin = reinterpret_cast<std::uintptr_t>(arrays.back().data());
    EXPECT_EQ(begin % run, 0U) << n;
    for (std::uintptr_t k = begin / run; k * run < begin + static_cast<std::size_t>(n) * 8; ++k, ++expected)
      runs.insert(k);
  }

  EXPECT_EQ(runs.size(), expected);
}

TEST(CudaManagedMemory, MoreThanTheCardHasIsRefusedWithTheReason) {
  std::size_t free = 0, all = 0;
  static_cast<void>(Cuda{}.backend());
  ASSERT_EQ(cudaMemGetInfo(&free, &all), cudaSuccess);
  const auto part = static_cast<index_t>(free / 8 * 6 / 10);
  const auto refusal = [](index_t n) -> std::string {
    try {
      const auto x = create<Managed>("too large", n, uninitialized);
    } catch (const OutOfMemory& error) {
      return error.what();
    }
    return "";
  };

  EXPECT_NE(refusal(static_cast<index_t>(all / 8 + 1)).find("fits on the card"), std::string::npos);
  std::optional<Managed> first =
      create<Managed>("first", part, uninitialized);  // whose pages are nowhere yet
  EXPECT_NE(refusal(part).find("fits on the card"), std::string::npos);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  first.reset();
  EXPECT_EQ(refusal(part), "");
}

class CudaPrefetch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Cuda{}.backend().has_concurrent_managed_access()) GTEST_SKIP() << "this system takes no hints";
  }
  static constexpr index_t n = 1 << 20;  // 8 MiB
  static constexpr std::size_t bytes = n * sizeof(double);
  const Queue<Cuda> queue;
};

TEST_F(CudaPrefetch, MovesThePagesOfWhatIsReadAndBack) {
  const auto x = create<Managed>("x", n);
  for (index_t i = 0; i < n; ++i) x(i) = static_cast<double>(i);

  EXPECT_EQ(prefetch(queue, {range_of(x, 0, n, true, true)}), bytes);
  parallel_for(on(queue), n, with(AddOne{}, x));
  EXPECT_EQ(last_prefetch(x.data(), bytes), 0);
  EXPECT_EQ(prefetch(queue, {range_of(x, 0, n, true, false)}, true), bytes);
  queue.wait();

  EXPECT_EQ(last_prefetch(x.data(), bytes), cudaCpuDeviceId);
  index_t wrong = 0;
  for (index_t i = 0; i < n; ++i) wrong += x(i) != static_cast<double>(i + 1);
  EXPECT_EQ(wrong, 0);
}

TEST_F(CudaPrefetch, WaitsForTheWorkBefore) {
  const auto x = create<Managed>("x", n);
  parallel_for(on(queue), n, with(Fill{1}, x));
  parallel_for(on(queue), 32, with(Slow{}, x));
  prefetch(queue, {range_of(x, 0, n, true, false)}, true);
  queue.wait();

  EXPECT_GT(x(0), 1000);
  EXPECT_EQ(x(n - 1), 1);
}

TEST_F(CudaPrefetch, MovesPartsWithAtMostTwoMebibytesMore) {
  const auto x = create<Managed>("x", 4 * n);
  EXPECT_EQ(prefetch(queue, {range_of(x, 0, 4 * n, true, false)}, true), 4 * bytes);
  const index_t half = n / 2;

  const std::size_t moved = prefetch(
      queue, {range_of(x, 100, half, true, true), range_of(x, 3 * n + 100, 3 * n + half + 100, true, true)});
  queue.wait();

  EXPECT_GE(moved, bytes);
  EXPECT_LE(moved, bytes + 2 * run);
  EXPECT_EQ(last_prefetch(&x(100), bytes / 4), 0);
  EXPECT_EQ(last_prefetch(&x(n), bytes), cudaCpuDeviceId);
  EXPECT_EQ(last_prefetch(&x(3 * n + 100), bytes / 4), 0);
}

TEST_F(CudaPrefetch, WhatIsOverwrittenIsDiscardedAndWhatLiesBesideItIsNot) {
  const auto x = create<Managed>("x", n);
  for (index_t i = 0; i < n; ++i) x(i) = 5;
  const index_t first = 100, last = n - 1000;

  const std::size_t moved = prefetch(queue, {range_of(x, first, last, false, true)});
  const auto middle = subview(x, range(first, last));
  parallel_for(on(queue), last - first, with(Fill{7}, middle));
  prefetch(queue, {range_of(x, 0, n, true, false)}, true);
  queue.wait();

  EXPECT_LE(moved, bytes);
  if (moved < bytes) {
    EXPECT_LE(moved, 2 * run) << "the runs at the ends";
  }
  index_t wrong = 0;
  for (index_t i = 0; i < n; ++i) wrong += x(i) != (i >= first && i < last ? 7 : 5);
  EXPECT_EQ(wrong, 0);
}

TEST_F(CudaPrefetch, ArraysThatAreOverwrittenAsAWholeHoldWhatTheLaunchWrote) {
  for (const index_t size : {index_t{1}, index_t{512}, n / 8 + 3, n, n + 1}) {
    const auto x = create<Managed>("x", size);
    for (int round = 1; round < 4; ++round) {
      for (index_t i = 0; i < size; ++i) x(i) = -1;
      prefetch(queue, {range_of(x, 0, size, false, true)});
      parallel_for(on(queue), size, with(Fill{double(round)}, x));
      prefetch(queue, {range_of(x, 0, size, true, false)}, true);
      queue.wait();
      index_t wrong = 0;
      for (index_t i = 0; i < size; ++i) wrong += x(i) != round;
      ASSERT_EQ(wrong, 0) << size << " in round " << round;
    }
  }
}

TEST_F(CudaPrefetch, PagesThatSeveralReadAreReadMostlyUntilOneWrites) {
  const auto x = create<Managed>("x", n);
  deep_copy(x, 2.0);

  prefetch(queue, {range_of(x, 0, n, true, false, true)});
  EXPECT_TRUE(is_read_mostly(x.data(), bytes));
  prefetch(queue, {range_of(x, 0, n / 4, true, true)});  // 2 MiB
  EXPECT_FALSE(is_read_mostly(x.data(), bytes / 4));
  EXPECT_TRUE(is_read_mostly(&x(n / 4), bytes / 4 * 3));
  parallel_for(on(queue), n / 4, with(AddOne{}, x));
  prefetch(queue, {range_of(x, 0, n, true, true)}, true);
  queue.wait();

  EXPECT_FALSE(is_read_mostly(x.data(), bytes)) << "the host writes";
  EXPECT_EQ(x(0), 3);
  EXPECT_EQ(x(n - 1), 2);
}

TEST_F(CudaPrefetch, PagesThatThisGpuWritesAndOthersUseStayHere) {
  const auto x = create<Managed>("x", n);
  prefetch(queue, {range_of(x, 0, n, true, true)});
  EXPECT_EQ(preferred_place(x.data(), bytes), cudaInvalidDeviceId);

  prefetch(queue, {range_of(x, 0, n / 2, true, true, true)});
  queue.wait();

  EXPECT_EQ(preferred_place(x.data(), bytes / 2), 0);
  EXPECT_EQ(preferred_place(&x(n / 2), bytes / 2), cudaInvalidDeviceId);
}

TEST_F(CudaPrefetch, SmallArraysAreMovedWithoutAdvice) {
  const auto x = create<Managed>("x", 100);
  prefetch(queue, {range_of(x, 0, 100, true, false, true)});
  queue.wait();

  EXPECT_FALSE(is_read_mostly(x.data(), 4096));
  EXPECT_EQ(last_prefetch(x.data(), 4096), 0);
}

TEST_F(CudaPrefetch, AdviceOfTheProgramEndsWithTheArray) {
  const double* address = nullptr;
  {
    const auto x = create<Managed>("x", 100);
    cuda::advise(x, cuda::Advice::ReadMostly);
    cuda::advise(x, cuda::Advice::PreferredLocation);
    EXPECT_TRUE(is_read_mostly(x.data(), 4096));
    address = x.data();
  }
  wait(Cuda{});

  const auto x = create<Managed>("x", 100);
  EXPECT_EQ(x.data(), address) << "the test is of memory that is used again";
  EXPECT_FALSE(is_read_mostly(address, 4096));
  EXPECT_EQ(preferred_place(address, 4096), cudaInvalidDeviceId);
}

// What is reached at the host stays there, for a kernel that reads and writes it; and advice on that ends
// with the array, too.
TEST_F(CudaPrefetch, WhatStaysWithTheHostIsReachedThere) {
  const double* address = nullptr;
  {
    const auto x = create<Managed>("x", 100);
    for (index_t i = 0; i < 100; ++i) x(i) = 1;
    ManagedRange range = range_of(x, 0, 100, true, true);
    range.stays = range.at_host = true;
    const int before = last_prefetch(x.data(), 800);  // of arrays that had the memory before
    EXPECT_EQ(prefetch(queue, {range}), 800U);
    EXPECT_EQ(accessing_place(x.data(), 800), 0);
    for (int k = 0; k < 3; ++k) {
      parallel_for(on(queue), 100, with(AddOne{}, x));
      queue.wait();
      x(7) = x(7) + 1;
    }
    EXPECT_EQ(x(7), 1 + 2 * 3);
    EXPECT_EQ(x(99), 1 + 3);
    EXPECT_EQ(last_prefetch(x.data(), 800), before);
    address = x.data();
  }
  wait(Cuda{});

  const auto x = create<Managed>("x", 100);
  EXPECT_EQ(x.data(), address) << "the test is of memory that is used again";
  EXPECT_EQ(accessing_place(x.data(), 800), cudaInvalidDeviceId);
}

TEST_F(CudaPrefetch, TheHostWaitsForWhatItOverwritesToo) {
  const auto x = create<Managed>("x", n);
  prefetch(queue, {range_of(x, 0, n, true, true)});
  parallel_for(on(queue), n, with(Fill{1}, x));

  EXPECT_GE(prefetch(queue, {range_of(x, 0, n, false, true)}, true), bytes);
  queue.wait();
  for (index_t i = 0; i < n; ++i) x(i) = static_cast<double>(i);
  prefetch(queue, {range_of(x, 0, n, true, true)});
  parallel_for(on(queue), n, with(AddOne{}, x));
  queue.wait();

  index_t wrong = 0;
  for (index_t i = 0; i < n; ++i) wrong += x(i) != static_cast<double>(i + 1);
  EXPECT_EQ(wrong, 0);
}

TEST_F(CudaPrefetch, IsLeftOutOfRecordings) {
  const auto x = create<Managed>("x", n);
  prefetch(queue, {range_of(x, 0, n, true, false)}, true);
  std::size_t moved = 1;

  const auto graph = record(queue, [&] {
    moved = prefetch(queue, {range_of(x, 0, n, true, true)});
    parallel_for(on(queue), n, with(AddOne{}, x));
  });
  graph.launch(queue);
  queue.wait();

  EXPECT_EQ(moved, 0U);
  EXPECT_EQ(last_prefetch(x.data(), bytes), cudaCpuDeviceId);
  EXPECT_EQ(x(n - 1), 1);
}

TEST_F(CudaPrefetch, NothingIsNothing) {
  const auto x = create<Managed>("x", n);

  EXPECT_EQ(prefetch(queue, {}), 0U);
  EXPECT_EQ(prefetch(queue, {range_of(x, 5, 5, true, true)}), 0U);
}

TEST_F(CudaPrefetch, OfMemoryThatIsNotManagedIsAnError) {
  std::vector<double> pageable(1000);
  int reaches_all = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&reaches_all, cudaDevAttrPageableMemoryAccess, 0), cudaSuccess);
  if (reaches_all != 0) GTEST_SKIP() << "all memory is managed here";

  EXPECT_THROW(prefetch(queue, {{reinterpret_cast<char*>(pageable.data()), 8000, true, false}}), KernelError);
}

TEST_F(CudaPrefetch, AQueueOfAnotherGpuMovesThePagesThere) {
  if (Cuda::count() < 2) GTEST_SKIP() << "there are fewer than two GPUs";
  const Queue<Cuda> other(Cuda(1));
  const auto x = create<Managed>("x", n);
  deep_copy(x, 2.0);
  wait(Cuda{});

  EXPECT_EQ(prefetch(other, {range_of(x, 0, n, true, true)}), bytes);
  parallel_for(on(other), n, with(AddOne{}, x));
  other.wait();

  EXPECT_EQ(last_prefetch(x.data(), bytes), 1);
  EXPECT_EQ(x(n - 1), 3);
}

}  // namespace
