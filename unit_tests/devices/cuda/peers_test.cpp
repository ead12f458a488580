// Two and more GPUs in one process.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <strata/strata.hpp>

namespace {

using namespace strata;
template <class Layout>
using Matrix = MDArrayIn<Layout, double, Cuda, rank<2>>;

class CudaPeers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Cuda::count() < 2) GTEST_SKIP() << "there are fewer than two GPUs";
  }
};

struct Number {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x) const {
    x(i, j) = static_cast<double>(1000 * i + j);
  }
};
struct SumElements {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x, double& sum) const { sum += x(i, j); }
};

TEST_F(CudaPeers, EachRunsTheKernelsOfItsArrays) {
  for (int g = 0; g < Cuda::count(); ++g) {
    const auto x = create<Matrix<LayoutLeft>>("x", 300, 40, on(Cuda(g)));
    parallel_for(mdrange({300, 40}), with(Number{}, x));
    double sum = 0;
    parallel_reduce(mdrange({300, 40}), with(SumElements{}, x), strata::Sum(sum));

    EXPECT_EQ(sum, 1000 * 40 * (299.0 * 300 / 2) + 300 * (39.0 * 40 / 2)) << "GPU " << g;
  }
}

TEST_F(CudaPeers, ArraysAreCopiedBetweenThemWhateverTheirLayouts) {
  const auto x = create<Matrix<LayoutLeft>>("x", 300, 40, on(Cuda(0)));
  const auto same = create<Matrix<LayoutLeft>>("same", 300, 40, on(Cuda(1)));
  const auto turned = create<Matrix<LayoutRight>>("turned", 300, 40, on(Cuda(1)));
  parallel_for(mdrange({300, 40}), with(Number{}, x));

  deep_copy(same, x);
  deep_copy(turned, x);
  deep_copy(subview(x, range(0, 10), everything), subview(turned, range(10, 20), everything));

  const auto host = create_mirror_and_copy(turned);
  const auto plain = create_mirror_and_copy(same);
  const auto back = create_mirror_and_copy(x);
  for (index_t i = 0; i < 300; ++i)
    for (index_t j = 0; j < 40; ++j) {
      ASSERT_EQ(host(i, j), static_cast<double>(1000 * i + j));
      ASSERT_EQ(plain(i, j), host(i, j));
      ASSERT_EQ(back(i, j), static_cast<double>(1000 * (i < 10 ? i + 10 : i) + j));
    }
}

TEST_F(CudaPeers, AnEventOfOneIsWaitedForByTheOther) {
  const auto x = create<Matrix<LayoutLeft>>("x", 3000, 400, on(Cuda(0)));
  const auto y = create<Matrix<LayoutLeft>>("y", 3000, 400, on(Cuda(1)));
  const Queue<Cuda> first(Cuda(0)), second(Cuda(1));
  for (int round = 0; round < 5; ++round) {
    parallel_for(on(first), mdrange({3000, 400}), with(Number{}, x));
    second.wait_for(first.record());
    deep_copy(second, y, x);
    second.wait();
    double last = 0;
    deep_copy(last, subview(y, 2999, 399));
    ASSERT_EQ(last, 2999399);
    deep_copy(x, -1.0);
    deep_copy(y, -2.0);
  }
}

TEST_F(CudaPeers, AnArrayOfAnotherGpuIsAnErrorThatNamesBoth) {
  const auto x = create<Matrix<LayoutLeft>>("x", 30, 40, on(Cuda(0)));
  std::string message;
  try {
    parallel_for(on(Cuda(1)), mdrange({30, 40}), with(Number{}, x));
  } catch (const WrongDevice& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("Cuda{1}"), std::string::npos) << message;
  EXPECT_NE(message.find("\"x\" lives in Cuda{0}"), std::string::npos) << message;
  EXPECT_THROW(Cuda(Cuda::count()), NoSuchDevice);
}

TEST_F(CudaPeers, MemoryFreedWhileAPeerCopiesItIsNotReusedBefore) {
  const auto target = create<Matrix<LayoutLeft>>("target", 4000, 1000, on(Cuda(1)));
  const Queue<Cuda> queue(Cuda(1));
  for (int round = 0; round < 10; ++round) {
    {
      const auto x = create<Matrix<LayoutLeft>>("x", 4000, 1000, on(Cuda(0)));
      parallel_for(mdrange({4000, 1000}), with(Number{}, x));
      wait(Cuda(0));
      deep_copy(queue, target, x);
    }
    const auto y = create<Matrix<LayoutLeft>>("y", 4000, 1000, on(Cuda(0)));
    deep_copy(y, -1.0);
    queue.wait();
    double last = 0;
    deep_copy(last, subview(target, 3999, 999));
    ASSERT_EQ(last, 3999999) << "round " << round;
  }
}

}  // namespace
