// Reserved memory of GPUs: the limit, what is in quarantine, memory that gives way, kernels of other GPUs.
// What holds on every device is tested in devices/reserved_memory_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "devices/cuda/arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using Reserved = strata::detail::Ref<strata::detail::ReservedMemory>;

constexpr std::size_t mebi = std::size_t{1} << 20;

Reserved reserve(std::size_t bytes, int gpu = 0) {
  return Cuda(gpu).backend().reserve({bytes, "parts", sizeof(double), nullptr});
}
GpuArray part(const Reserved& memory, std::size_t begin, std::size_t end) {
  return GpuArray(reinterpret_cast<double*>(static_cast<char*>(memory->data()) + begin),
                  static_cast<index_t>((end - begin) / sizeof(double)));
}
double last(const GpuArray& x) {
  double value = 0;
  EXPECT_EQ(cudaMemcpy(&value, x.data() + x.extent(0) - 1, sizeof value, cudaMemcpyDefault), cudaSuccess);
  return value;
}

TEST(CudaReserved, SmallArraysAndMemoriesOfTheHostAreAllocatedWhole) {
  EXPECT_FALSE(reserve(4 * mebi - 1));
  EXPECT_TRUE(reserve(4 * mebi));
  EXPECT_FALSE(CudaPinned{}.backend().reserve({64 * mebi, "x", 8, nullptr}));
  EXPECT_FALSE(CudaManaged{}.backend().reserve({64 * mebi, "x", 8, nullptr}));
}

TEST(CudaReserved, MayBeLargerThanTheGpu) {
  const std::size_t physical = cuda::memory_statistics(Cuda{}).physical;
  const Reserved memory = reserve(4 * physical);
  ASSERT_TRUE(memory);

  EXPECT_FALSE(memory->commit(0, 2 * physical));
  EXPECT_EQ(memory->committed(), 0U);
  ASSERT_TRUE(memory->commit(3 * physical, 3 * physical + mebi));
  const GpuArray x = part(memory, 3 * physical, 3 * physical + mebi);
  parallel_for(x.extent(0), with(Fill{4}, x));
  wait(Cuda{});

  EXPECT_EQ(last(x), 4);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CudaReserved, TheLimitHoldsAndWhatFailsLeavesEverythingAsItWas) {
  wait(Cuda{});
  cuda::trim(Cuda{});
  const Reserved memory = reserve(1024 * mebi);
  ASSERT_TRUE(memory->commit(0, 8 * mebi));
  const GpuArray x = part(memory, 0, 8 * mebi);
  parallel_for(x.extent(0), with(Fill{7}, x));
  const auto before = cuda::memory_statistics(Cuda{});
  const std::size_t base = settings().cuda_allocator == "slabs" ? before.held : before.used;
  cuda::set_memory_limit(Cuda{}, base + 64 * mebi);

  EXPECT_FALSE(memory->commit(0, 128 * mebi));
  const auto failed = cuda::memory_statistics(Cuda{});
  EXPECT_TRUE(memory->commit(100 * mebi, 150 * mebi));
  EXPECT_FALSE(memory->commit(200 * mebi, 250 * mebi));
  EXPECT_THROW(static_cast<void>(create<GpuArray>("too much", 128 << 17)), OutOfMemory);
  cuda::set_memory_limit(Cuda{}, 0);

  EXPECT_EQ(failed.used, before.used);
  EXPECT_EQ(failed.held, before.held);
  EXPECT_EQ(cuda::memory_statistics(Cuda{}).used - before.used, memory->committed() - 8 * mebi);
  wait(Cuda{});
  EXPECT_EQ(last(x), 7);
  EXPECT_TRUE(memory->commit(0, 128 * mebi));
}

TEST(CudaReserved, SlabsThatNobodyUsesGiveWay) {
  if (settings().cuda_allocator != "slabs") GTEST_SKIP() << "arrays come from CUDA's pool";
  wait(Cuda{});
  { const auto x = create<GpuArray>("x", 256 << 17); }
  wait(Cuda{});
  const Reserved memory = reserve(512 * mebi);
  cuda::set_memory_limit(Cuda{}, cuda::memory_statistics(Cuda{}).held);

  const bool done = memory->commit(0, 256 * mebi);
  cuda::set_memory_limit(Cuda{}, 0);

  EXPECT_TRUE(done);
}

TEST(CudaReserved, IsInQuarantineUntilItsWorkIsDone) {
  wait(Cuda{});
  const auto before = cuda::memory_statistics(Cuda{});
  const Queue<Cuda> queue;
  const auto result = create<GpuArray>("result", 32);
  std::size_t bytes = 0;
  {
    const Reserved memory = reserve(64 * mebi);
    ASSERT_TRUE(memory->commit(0, 16 * mebi));
    bytes = memory->committed();
    const GpuArray x = part(memory, 0, 32 * sizeof(double));
    parallel_for(on(queue), 32, with(Fill{1}, x));
    parallel_for(on(queue), 32, with(Slow{}, x));
    deep_copy(queue, result, x);
  }
  const auto under_way = cuda::memory_statistics(Cuda{});
  const bool idle = queue.idle();
  queue.wait();
  const auto after = cuda::memory_statistics(Cuda{});

  if (!idle) {
    EXPECT_EQ(under_way.quarantined - before.quarantined, bytes);
  }
  EXPECT_EQ(after.quarantined, 0U);
  EXPECT_EQ(after.used, before.used + 512) << "the result";
  EXPECT_GT(last(result), 1);
}

TEST(CudaReserved, LibrariesFindDeviceMemoryThere) {
  const Reserved memory = reserve(64 * mebi, Cuda::count() - 1);
  ASSERT_TRUE(memory->commit(8 * mebi, 16 * mebi));
  cudaPointerAttributes attributes{};

  ASSERT_EQ(cudaPointerGetAttributes(&attributes, static_cast<char*>(memory->data()) + 9 * mebi),
            cudaSuccess);

  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, Cuda::count() - 1);
}

TEST(CudaReserved, MatricesWhoseRowsLieApartAreCopied) {
  using Matrix = MDArray<double, Cuda, rank<2>>;  // layout left
  const Reserved memory = reserve(64 * mebi);
  ASSERT_TRUE(memory->commit(0, 32 * mebi));
  const Matrix x(static_cast<double*>(memory->data()), 2048, 2048);
  const auto host = create<Matrix::HostMirror>("host", 1000, 2048);
  for (int i = 0; i < 1000; ++i)
    for (int j = 0; j < 2048; ++j) host(i, j) = 10000.0 * i + j;
  const auto rows = subview(x, range(7, 1007), everything);

  deep_copy(rows, host);
  const auto back = create<Matrix::HostMirror>("back", 1000, 2048);
  deep_copy(back, rows);

  index_t wrong = 0;
  for (int i = 0; i < 1000; ++i)
    for (int j = 0; j < 2048; ++j) wrong += back(i, j) != host(i, j);
  EXPECT_EQ(wrong, 0);
}

class CudaReservedPeers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Cuda::count() < 2) GTEST_SKIP() << "there are fewer than two GPUs";
    // Opens the link, each way.
    for (const int from : {0, 1})
      if (Cuda(1 - from).backend().copy_cost(Cuda(from).backend()).bytes_per_second == 0)
        GTEST_SKIP() << "the GPUs have no link";
  }
};

TEST_F(CudaReservedPeers, PeerCopiesReachWhatHasMemoryAndWhatGetsItLater) {
  const Reserved here = reserve(64 * mebi, 0), there = reserve(64 * mebi, 1);
  for (const std::size_t k : {std::size_t{0}, std::size_t{16}, std::size_t{40}}) {
    ASSERT_TRUE(here->commit(k * mebi, (k + 16) * mebi));
    ASSERT_TRUE(there->commit(k * mebi, (k + 16) * mebi));
    const GpuArray x = part(here, k * mebi, (k + 16) * mebi), y = part(there, k * mebi, (k + 16) * mebi);
    parallel_for(on(Cuda(0)), x.extent(0), with(Fill{double(k)}, x));
    wait(Cuda(0));
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);

    EXPECT_EQ(cudaMemcpyPeerAsync(y.data(), 1, x.data(), 0, 16 * mebi, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(last(y), double(k));
    parallel_for(on(Cuda(1)), y.extent(0), with(Fill{-1}, y));
    wait(Cuda(1));
    EXPECT_EQ(cudaMemcpyAsync(x.data(), y.data(), 16 * mebi, cudaMemcpyDefault, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(last(x), -1);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
}

TEST_F(CudaReservedPeers, ColumnsThatLieApartAreCopiedByKernels) {
  using Matrix = MDArrayIn<LayoutLeft, double, Cuda, rank<2>>;
  using Other = MDArrayIn<LayoutRight, double, Cuda, rank<2>>;
  const Reserved here = reserve(64 * mebi, 0), there = reserve(64 * mebi, 1);
  ASSERT_TRUE(here->commit(0, 8 * mebi));
  ASSERT_TRUE(there->commit(0, 8 * mebi));
  using strata::detail::AllocationRef;
  const Matrix x(AllocationRef::of(here->allocation()), static_cast<double*>(here->data()),
                 Matrix::mapping_type(Matrix::extents_type(1024, 1024)));
  const Other y(AllocationRef::of(there->allocation()), static_cast<double*>(there->data()),
                Other::mapping_type(Other::extents_type(1024, 1024)));
  const auto host = create_mirror_view(x);
  for (int i = 0; i < 1024; ++i)
    for (int j = 0; j < 1024; ++j) host(i, j) = 10000.0 * i + j;
  deep_copy(x, host);

  deep_copy(y, x);

  const auto back = create_mirror_and_copy(y);
  index_t wrong = 0;
  for (int i = 0; i < 1024; ++i)
    for (int j = 0; j < 1024; ++j) wrong += back(i, j) != host(i, j);
  EXPECT_EQ(wrong, 0);
}

TEST(CudaCopyCosts, AreMeasuredInPinnedMemoryAndLeaveNothingInUse) {
  wait(Cuda{});
  const auto before = cuda::memory_statistics(Cuda{});

  const auto up = Cuda{}.backend().copy_cost(Serial{}.backend());
  const auto pinned = Cuda{}.backend().copy_cost(CudaPinned{}.backend());
  const auto down = CudaPinned{}.backend().copy_cost(Cuda{}.backend());

  EXPECT_GT(up.bytes_per_second, 1e8);
  EXPECT_EQ(pinned.bytes_per_second, up.bytes_per_second);
  EXPECT_EQ(down.bytes_per_second, Cuda{}.backend().copy_cost_to_host().bytes_per_second);
  EXPECT_EQ(cuda::memory_statistics(Cuda{}).used, before.used);
}

}  // namespace
