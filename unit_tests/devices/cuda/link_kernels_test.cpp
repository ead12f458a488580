// Kernels whose arrays are all in the host's memory, which GPUs reach over their link: with how many blocks
// they run, and that they compute each item once.
// SPDX-License-Identifier: Apache-2.0
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

struct SumAndStore {
  STRATA_FUNCTION void operator()(index_t i, const auto& x, double& sum) const {
    sum += x(i);
    x(i) = 0;
  }
};

index_t multiprocessors() {
  int count = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  return count;
}
template <class V>
void fill(const V& x) {
  for (index_t i = 0; i < x.extent(0); ++i) x(i) = static_cast<typename V::value_type>(i % 1000);
}
// The blocks that added x to y over [begin, end), where y was x; 0 if the items differ. Values are those of
// double: of 32 bits there are no more than 4096 blocks.
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

template <class T>
index_t blocks_over_mapped(index_t n, index_t begin, index_t end, const auto& hinted) {
  const CoherentArray<T, rank<1>> x("x", n, MemoryMode::Mapped, main_in(Cuda{})),
      y("y", n, MemoryMode::Mapped, main_in(Cuda{}));
  fill(x.write().view());
  fill(y.write().view());
  launch(on(Cuda{}), hinted(range(begin, end)), AddAndCountBlocks{}, in(x, everything), inout(y));
  return blocks_seen(y.read().view(), begin, end);
}
template <class Memory, class T = double>
index_t blocks_over_views(index_t n, index_t begin, index_t end) {
  using Pinned = MDArray<T, CudaPinned, rank<1>>;
  const auto x = create<MDArray<T, Memory, rank<1>>>("x", n);
  const auto host = create<Pinned>("host", n), y = create<Pinned>("y", n);
  fill(host);
  fill(y);
  deep_copy(x, host);
  launch(on(Cuda{}), range(begin, end), AddAndCountBlocks{}, in(x), inout(y));
  wait(Cuda{});
  return blocks_seen(y, begin, end);
}
const auto plain = [](const auto& work) { return work; };

TEST(CudaLinkKernels, HaveABlockForEachMultiprocessorAtMost) {
  std::mt19937 draw(7);
  const index_t most = multiprocessors(), full = most * 256;
  for (const index_t count : {index_t{1}, index_t{255}, index_t{256}, full - 1, full, full + 1, 2 * full,
                              4 * full + 17, 30 * full + 255, index_t(draw() % 3000000 + 1)}) {
    const auto begin = static_cast<index_t>(draw() % 70), after = static_cast<index_t>(draw() % 70);
    const index_t n = begin + count + after, end = begin + count;
    SCOPED_TRACE(std::to_string(count) + " items from " + std::to_string(begin));
    const auto is_few = [&](index_t blocks) {
      EXPECT_GE(blocks, 1) << "values are wrong";
      EXPECT_LE(blocks, most);
      if (count >= full) EXPECT_GT(blocks, most * 2 / 3) << "multiprocessors without work";
    };

    is_few(blocks_over_mapped<double>(n, begin, end, plain));
    is_few(blocks_over_mapped<float>(n, begin, end, plain));
    is_few(blocks_over_views<CudaPinned>(n, begin, end));
  }
}

TEST(CudaLinkKernels, WithOtherArraysOrHintsHaveAllBlocks) {
  const index_t most = multiprocessors(), n = most * 2048;

  EXPECT_GT(blocks_over_views<Cuda>(n, 0, n), most) << "an array of the device";
  EXPECT_GT(blocks_over_views<CudaManaged>(n, 0, n), most) << "pages that may move";
  EXPECT_GT(blocks_over_mapped<double>(n, 0, n, [](const auto& work) { return block_size(256, work); }),
            most);
  EXPECT_GT(blocks_over_mapped<double>(n, 0, n, [](const auto& work) { return prefer_occupancy(100, work); }),
            most);
}

// What a launch said of its arrays holds for it alone.
TEST(CudaLinkKernels, AreNoOthersAfterThem) {
  const index_t most = multiprocessors(), n = most * 2048;
  const CoherentArray<double, rank<1>> x("x", n, MemoryMode::Mapped, main_in(Cuda{}));
  fill(x.write().view());
  double sum = 0;
  launch_reduce(on(Cuda{}), n, SumAndStore{}, Sum(sum), inout(x));
  EXPECT_GT(sum, 0);
  EXPECT_GT(blocks_over_views<Cuda>(n, 0, n), most);
}

}  // namespace
