// The memories of GPUs: the books of what arrays hold, the limit, what waits in quarantine, pinned and
// managed arrays. CTest runs these tests once with Strata's slabs and once with CUDA's pool.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "devices/cuda/arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

TEST(CudaMemory, BooksWhatArraysHoldAndReusesWhatWasFreed) {
  const auto before = cuda::memory_statistics(Cuda{});
  const double* address = nullptr;
  std::size_t held = 0;
  {
    const auto x = create<GpuArray>("x", 1 << 20);
    address = x.data();
    const auto with_x = cuda::memory_statistics(Cuda{});
    EXPECT_EQ(with_x.used - before.used, std::size_t{8} << 20);
    EXPECT_EQ(with_x.blocks - before.blocks, 1U);
    held = with_x.held;
    if (settings().cuda_allocator == "async") wait(Cuda{});
  }
  const auto y = create<GpuArray>("y", 1 << 20, uninitialized);

  if (settings().cuda_allocator == "slabs") EXPECT_EQ(y.data(), address);
  EXPECT_EQ(cuda::memory_statistics(Cuda{}).held, held);
}

TEST(CudaMemory, ComesFromWhereTheSettingSays) {
  const auto x = create<GpuArray>("x", 1 << 20);
  const auto now = cuda::memory_statistics(Cuda{});
  std::uint64_t pooled = 0;
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &pooled), cudaSuccess);

  if (settings().cuda_allocator == "async") {
    EXPECT_GE(pooled, now.used);
    EXPECT_EQ(now.slabs, 0U);
  } else {
    EXPECT_EQ(pooled, 0U);
    EXPECT_GE(now.slabs, 1U);
  }
  EXPECT_GE(now.held, now.used);
}

TEST(CudaMemory, TrimGivesBackWhatArraysHeld) {
  { const auto x = create<GpuArray>("x", 1 << 24); }
  wait(Cuda{});
  const std::size_t held = cuda::memory_statistics(Cuda{}).held;

  const std::size_t given = cuda::trim(Cuda{});

  EXPECT_GE(given, std::size_t{1} << 27);
  EXPECT_EQ(cuda::memory_statistics(Cuda{}).held, held - given);
}

TEST(CudaMemory, ALimitMakesAllocationsFailWithTheLargestArraysNamed) {
  const auto x = create<GpuArray>("the large one", 1 << 20);
  cuda::trim(Cuda{});
  cuda::set_memory_limit(Cuda{}, cuda::memory_statistics(Cuda{}).held + (std::size_t{4} << 20));

  std::string message;
  try {
    const auto y = create<GpuArray>("too much", index_t{1} << 27);
  } catch (const OutOfMemory& error) {
    message = error.what();
  }
  cuda::set_memory_limit(Cuda{}, 0);

  EXPECT_NE(message.find("\"too much\""), std::string::npos) << message;
  EXPECT_NE(message.find("\"the large one\" 8388608 bytes"), std::string::npos) << message;
  EXPECT_NO_THROW(static_cast<void>(create<GpuArray>("enough", 1 << 20)));
}

TEST(CudaMemory, ABlockFreedUnderQueuedWorkIsNotGivenToAnotherQueue) {
  const Queue<Cuda> first, second;
  const auto result = create<GpuArray>("result", 32);
  for (int round = 0; round < 10; ++round) {
    {
      const auto x = create<GpuArray>("x", 32);
      parallel_for(on(first), 32, with(Slow{}, x));
      deep_copy(first, result, x);
    }
    const auto y = create<GpuArray>("y", 32, uninitialized);
    parallel_for(on(second), 32, with(Fill{-1}, y));
    first.wait();
    second.wait();
    const auto host = create_mirror_and_copy(result);
    ASSERT_GT(host(31), 0) << "round " << round;
  }
}

TEST(CudaMemory, PinnedAndManagedArraysAreReachedByHostAndKernels) {
  const auto pinned = create<MDArray<double, CudaPinned, rank<1>>>("pinned", 1000);
  const auto managed = create<MDArray<double, CudaManaged, rank<1>>>("managed", 1000);
  pinned(3) = 7;
  parallel_for(1000, with(Fill{2}, managed));
  wait(Cuda{});
  managed(3) += pinned(3);
  parallel_for(4, with(Fill{5}, pinned));
  wait(Cuda{});

  EXPECT_EQ(managed(3), 9);
  EXPECT_EQ(managed(999), 2);
  EXPECT_EQ(pinned(3), 5);
  EXPECT_EQ(pinned(4), 0);
}

struct Prefixes {
  STRATA_FUNCTION void operator()(index_t i, auto y, auto& sum, bool final) const {
    sum += 1;
    if (final) y(i) = sum;
  }
};

// The total comes last: with it the host may read what the scan wrote.
template <class T>
void expect_prefixes_with_the_total() {
  constexpr index_t n = 1'000'003;
  const auto pinned = create<MDArray<T, CudaPinned, rank<1>>>("pinned", n);
  for (int round = 0; round < 20; ++round) {
    for (index_t i = 0; i < n; ++i) pinned(i) = 0;
    T total = 0;

    parallel_scan(n, with(Prefixes{}, pinned), Sum(total));

    index_t wrong = 0;
    for (index_t i = 0; i < n; ++i) wrong += pinned(i) != static_cast<T>(i + 1);
    ASSERT_EQ(total, n);
    ASSERT_EQ(wrong, 0) << "round " << round;
  }
}

template <class D>
void expect_alias() {
  typename MDArray<double, D, rank<1>>::HostMirror mirror;
  {
    const auto x = create<MDArray<double, D, rank<1>>>("x", 100);
    parallel_for(100, with(Fill{2}, x));
    mirror = create_mirror_and_copy(x);  // waits for the kernel
    EXPECT_EQ(mirror(0), 2);
    EXPECT_EQ(mirror.data(), x.data());
    EXPECT_EQ(create_mirror_view(x).data(), x.data());
  }
  EXPECT_EQ(mirror(99), 2);  // the mirror keeps the memory
}
TEST(CudaMemory, MirrorViewsOfPinnedAndManagedArraysAreTheArraysThemselves) {
  expect_alias<CudaPinned>();
  expect_alias<CudaManaged>();
}

template <class D>
void expect_mirror_on_its_gpu() {
  const auto x = create<MDArray<double, D, rank<1>>>("x", 100);
  parallel_for(100, with(Slow{}, x));
  const auto mirror = create_mirror_and_copy(D{}, x);
  EXPECT_EQ(mirror.data(), x.data());
  EXPECT_GT(mirror(0), 1);  // the kernel is done
  if (Cuda::count() < 2) return;
  const auto there = create_mirror_and_copy(D{1}, x);
  EXPECT_NE(there.data(), x.data());
  EXPECT_EQ(there.allocation().get()->space.instance, 1);
  EXPECT_EQ(there(99), x(99));
}
TEST(CudaMemory, MirrorsOnADeviceAreTheArrayOfItsOwnGpuWhoseKernelsAreDone) {
  expect_mirror_on_its_gpu<CudaPinned>();
  expect_mirror_on_its_gpu<CudaManaged>();
}

TEST(CudaMemory, APinnedArrayHoldsItsPrefixesWhenTheTotalIsThere) {
  expect_prefixes_with_the_total<int>();
  expect_prefixes_with_the_total<double>();
}

// ---- Hints for managed memory

using ManagedMatrix = MDArray<double, CudaManaged, rank<2>>;

struct AddOneToRows {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    for (int j = 0; j < x.extent(1); ++j) x(i, j) += 1;
  }
};

TEST(CudaManagedHints, WhatIsPrefetchedToTheGpuAndBackIsTheSame) {
  const auto x = create<ManagedMatrix>("x", 1000, 300);
  for (int i = 0; i < 1000; ++i)
    for (int j = 0; j < 300; ++j) x(i, j) = 1000 * i + j;
  const Queue<Cuda> queue;

  const bool taken = cuda::prefetch(x, Cuda{}, queue);
  parallel_for(on(queue), 1000, with(AddOneToRows{}, x));
  EXPECT_EQ(cuda::prefetch(x, Serial{}, queue), taken);
  queue.wait();

  for (int i = 0; i < 1000; ++i)
    for (int j = 0; j < 300; ++j) ASSERT_EQ(x(i, j), 1000 * i + j + 1);
}

// Where the last prefetch of a range put it: the number of a GPU, cudaCpuDeviceId for the host.
int place_of_last_prefetch(const void* begin, std::size_t bytes) {
  int place = -77;
  EXPECT_EQ(
      cudaMemRangeGetAttribute(&place, sizeof place, cudaMemRangeAttributeLastPrefetchLocation, begin, bytes),
      cudaSuccess);
  return place;
}

TEST(CudaManagedHints, PrefetchMovesThePartThatTheViewShows) {
  const auto x = create<ManagedMatrix>("x", 1 << 16, 8);  // a column has 512 KiB, whole pages
  const std::size_t column = sizeof(double) << 16;
  if (!cuda::prefetch(x, Serial{})) GTEST_SKIP() << "this system takes no hints";

  ASSERT_TRUE(cuda::prefetch(subview(x, everything, range(2, 4)), Cuda{}));
  wait(Cuda{});

  EXPECT_EQ(place_of_last_prefetch(&x(0, 0), column), cudaCpuDeviceId);
  EXPECT_EQ(place_of_last_prefetch(&x(0, 2), 2 * column), 0);
  EXPECT_EQ(place_of_last_prefetch(&x(0, 4), 4 * column), cudaCpuDeviceId);
}

TEST(CudaManagedHints, AdviceIsInForceUntilItsOpposite) {
  const auto x = create<ManagedMatrix>("x", 1 << 16, 8);
  deep_copy(x, 2.0);
  const auto read_mostly = [&] {
    int value = -1;
    EXPECT_EQ(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributeReadMostly, x.data(),
                                       sizeof(double) << 19),
              cudaSuccess);
    return value;
  };
  if (!cuda::advise(x, cuda::Advice::ReadMostly)) GTEST_SKIP() << "this system takes no hints";
  EXPECT_EQ(read_mostly(), 1);
  EXPECT_TRUE(cuda::advise(x, cuda::Advice::NotReadMostly));
  EXPECT_EQ(read_mostly(), 0);
  for (const auto advice : {cuda::Advice::PreferredLocation, cuda::Advice::NoPreferredLocation,
                            cuda::Advice::AccessedBy, cuda::Advice::NotAccessedBy}) {
    EXPECT_TRUE(cuda::advise(x, advice, Cuda{}));
    EXPECT_TRUE(cuda::advise(x, advice, Serial{}));
  }

  parallel_for(1 << 16, with(AddOneToRows{}, x));
  wait(Cuda{});
  EXPECT_EQ(x(0, 0), 3);
  EXPECT_EQ(x((1 << 16) - 1, 7), 3);
}

TEST(CudaManagedHints, NullAndEmptyArraysNeedNone) {
  EXPECT_NO_THROW(cuda::prefetch(ManagedMatrix(), Cuda{}));
  EXPECT_NO_THROW(cuda::prefetch(create<ManagedMatrix>("empty", 0, 3), Cuda{}));
  EXPECT_NO_THROW(cuda::advise(ManagedMatrix(), cuda::Advice::ReadMostly));
}

TEST(CudaManagedHints, APrefetchCannotBeRecorded) {
  const auto x = create<ManagedMatrix>("x", 1000, 300);
  const Queue<Cuda> queue;
  if (!cuda::prefetch(x, Serial{}, queue)) GTEST_SKIP() << "this system takes no hints";

  EXPECT_THROW(static_cast<void>(record(queue, [&] { cuda::prefetch(x, Cuda{}, queue); })), Error);
}

TEST(CudaQueues, WorkOnAnAdoptedStreamIsInItsOrder) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  {
    const Queue<Cuda> queue = cuda::adopt_stream(stream);
    const auto x = create<GpuArray>("x", 100);
    parallel_for(on(queue), 100, with(Fill{4}, x));
    double value = 0;
    ASSERT_EQ(cudaMemcpyAsync(&value, x.data() + 99, sizeof value, cudaMemcpyDeviceToHost,
                              cuda::native_stream(queue)),
              cudaSuccess);
    queue.wait();

    EXPECT_EQ(cuda::native_stream(queue), stream);
    EXPECT_EQ(value, 4);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
