// Kernels that reach the host's memory over the link: with how many blocks they run, that they compute each
// item once, and that the host has what they wrote with their result.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "devices/cuda/arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

constexpr double unit = 4096;  // more than values are, less than one over their precision

STRATA_FUNCTION double blocks_of_grid() {
#if defined(__CUDA_ARCH__)
  return gridDim.x;
#else
  return 0;
#endif
}
struct AddAndCountBlocks {
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& y) const {
    y(i) += x(i) + static_cast<typename Y::value_type>(unit * blocks_of_grid());
  }
};

struct WriteAndCount {
  double value;
  STRATA_FUNCTION void operator()(auto i, const auto& x, std::int64_t& count) const {
    x(i) = value;
    ++count;
  }
  STRATA_FUNCTION void operator()(auto i, auto j, const auto& x, std::int64_t& count) const {
    x(i, j) = value;
    ++count;
  }
};
struct SumAndStore {
  STRATA_FUNCTION void operator()(index_t i, const auto& x, double& sum) const {
    sum += x(i);
    x(i) = 0;
  }
};

int attribute(cudaDeviceAttr which) {
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, which, 0), cudaSuccess);
  return value;
}
// A block for each multiprocessor, or several, with 128 KiB of numbers of type T on their way.
template <class T = double>
index_t most_blocks() {
  const index_t multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  const index_t at_once = multiprocessors * 256 * index_t{sizeof(T)};
  return multiprocessors * (((index_t{128} << 10) - 1) / at_once + 1);
}
// GPUs that use the host's page tables have another link.
class CudaLinkKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (attribute(cudaDevAttrPageableMemoryAccessUsesHostPageTables) != 0) GTEST_SKIP();
  }
};
template <class V>
void fill(const V& x) {
  for (index_t i = 0; i < x.extent(0); ++i) x(i) = static_cast<typename V::value_type>(i % 1000);
}
// The blocks that added x to y over [begin, end), where y was x; 0 if items differ. Exact for up to 4,096
// blocks in float.
template <class V>
index_t blocks_seen(const V& y, index_t begin, index_t end) {
  index_t blocks = -1;
  for (index_t i = 0; i < y.extent(0); ++i) {
    const auto was = static_cast<double>(i % 1000), value = static_cast<double>(y(i));
    const bool in_range = i >= begin && i < end;
    const double seen = in_range ? (value - 2 * was) / unit : 0;
    if (in_range && blocks < 0) blocks = static_cast<index_t>(seen);
    if (!in_range && value != was) return 0;
    if (in_range && seen != static_cast<double>(blocks)) return 0;
  }
  return blocks;
}

const auto plain = [](const auto& work) { return work; };

// y += x over [begin, end), of n elements each.
template <class T>
index_t blocks_over(MemoryMode mode_of_x, MemoryMode mode_of_y, index_t n, index_t begin, index_t end,
                    const auto& hinted) {
  const CoherentArray<T, rank<1>> x("x", n, mode_of_x, main_in(Cuda{})),
      y("y", n, mode_of_y, main_in(Cuda{}));
  fill(x.write().view());
  fill(y.write().view());
  launch(on(Cuda{}), hinted(range(begin, end)), AddAndCountBlocks{}, in(x), inout(y));
  return blocks_seen(y.read().view(), begin, end);
}

TEST_F(CudaLinkKernels, HaveFewBlocks) {
  const bool stays = Cuda{}.backend().bytes_reached_at_host() >= std::size_t{16} << 20;
  std::mt19937 draw(7);
  const index_t full = most_blocks() * 256;
  for (const index_t count : {index_t{1}, index_t{255}, index_t{256}, full - 1, full, full + 1, 2 * full,
                              4 * full + 17, 30 * full + 255, index_t(draw() % 2000000 + 1)}) {
    const auto begin = static_cast<index_t>(draw() % 70), after = static_cast<index_t>(draw() % 70);
    const index_t n = begin + count + after, end = begin + count;
    SCOPED_TRACE(std::to_string(count) + " items from " + std::to_string(begin));
    const auto is_few = [&](index_t blocks, index_t most) {
      EXPECT_GE(blocks, 1) << "values are wrong";
      EXPECT_LE(blocks, most);
      if (count >= 256 * most) EXPECT_GE(blocks, most - most / 8) << "multiprocessors without work";
    };

    is_few(blocks_over<double>(MemoryMode::Mapped, MemoryMode::Mapped, n, begin, end, plain), most_blocks());
    is_few(blocks_over<float>(MemoryMode::Mapped, MemoryMode::Mapped, n, begin, end, plain),
           most_blocks<float>());
    if (stays && n * 8 <= index_t{16} << 20)
      is_few(blocks_over<double>(MemoryMode::Managed, MemoryMode::Mapped, n, begin, end, plain),
             most_blocks());
  }
}

TEST_F(CudaLinkKernels, WithOtherArraysOrHintsHaveAllBlocks) {
  const index_t most = most_blocks(), n = most * 2048;
  const auto of_mapped = [&](const auto& hinted) {
    return blocks_over<double>(MemoryMode::Mapped, MemoryMode::Mapped, n, 0, n, hinted);
  };
  const CoherentArray<double, rank<1>> y("y", n, MemoryMode::Mapped, main_in(Cuda{}));
  const auto on_host = create<MDArray<double, CudaPinned, rank<1>>>("on host", n);
  const auto x = create<GpuArray>("x", n);
  fill(y.write().view());
  fill(on_host);
  deep_copy(x, on_host);

  EXPECT_GT(blocks_over<double>(MemoryMode::Pinned, MemoryMode::Mapped, n, 0, n, plain), most);
  EXPECT_GT(blocks_over<double>(MemoryMode::Mapped, MemoryMode::Smart, n, 0, n, plain), most);
  EXPECT_LE(blocks_over<double>(MemoryMode::Mapped, MemoryMode::Mapped, n, 0, n, plain), most);
  launch(on(Cuda{}), n, AddAndCountBlocks{}, in(x), inout(y));
  EXPECT_GT(blocks_seen(y.read().view(), 0, n), most) << "beside a view";
  const CoherentArray<double, rank<1>> z("z", n, MemoryMode::Mapped, main_in(Cuda{}));
  fill(y.write().view());
  fill(z.write().view());
  launch(on(Cuda{}), n, AddAndCountBlocks{}, in(z, everything), inout(y));
  EXPECT_GT(blocks_seen(y.read().view(), 0, n), most) << "with elements that all items may read";
  EXPECT_GT(of_mapped([](const auto& work) { return block_size(256, work); }), most);
  EXPECT_GT(of_mapped([](const auto& work) { return prefer_occupancy(100, work); }), most);
}

// What a launch says of its arrays holds for it alone, also where it takes no kernel.
TEST_F(CudaLinkKernels, AreNoOthersAfterThem) {
  const index_t most = most_blocks(), n = most * 2048;
  const CoherentArray<double, rank<1>> x("x", n, MemoryMode::Mapped, main_in(Cuda{}));
  fill(x.write().view());
  const auto expect_all = [&] {
    EXPECT_GT(blocks_over<double>(MemoryMode::Smart, MemoryMode::Smart, n, 0, n, plain), most);
  };
  double sum = 0;

  launch_reduce(on(Cuda{}), n, SumAndStore{}, Sum(sum), inout(x));
  EXPECT_GT(sum, 0);
  expect_all();
  launch(on(Cuda{}), range(5, 5), AddAndCountBlocks{}, in(x), inout(x));
  expect_all();
}

// By one warp, one block, a cluster and a grid, and over a box by two kernels. What is written last is looked
// at first.
bool all_are(const auto& x, double value) {
  index_t others = 0;
  for (index_t i = static_cast<index_t>(x.size()) - 1; i >= 0; --i) others += x.data()[i] != value;
  return others == 0;
}
template <class Memory>
void expect_written() {
  for (const index_t n : {1, 32, 33, 512, 513, 4096, 65'000, 300'000}) {
    const auto x = create<MDArray<double, Memory, rank<1>>>("x", n);
    for (int round = 1; round <= 10; ++round) {
      std::int64_t count = 0;
      parallel_reduce(on(Cuda{}), n, with(WriteAndCount{double(round)}, x), Sum(count));
      ASSERT_TRUE(all_are(x, round)) << n << " items, round " << round;
      ASSERT_EQ(count, n);
    }
  }
  const index_t rows = 4099, columns = 80;
  const auto x = create<MDArrayIn<LayoutLeft, double, Memory, rank<2>>>("x", rows, columns);
  for (int round = 1; round <= 10; ++round) {
    std::int64_t count = 0;
    parallel_reduce(on(Cuda{}), mdrange({rows, columns}), with(WriteAndCount{double(round)}, x), Sum(count));
    ASSERT_TRUE(all_are(x, round)) << "a box, round " << round;
    ASSERT_EQ(count, rows * columns);
  }
}
TEST(CudaResults, ComeAfterWhatTheHostReads) {
  expect_written<CudaPinned>();
  if (Cuda{}.backend().has_concurrent_managed_access()) expect_written<CudaManaged>();
}

}  // namespace
