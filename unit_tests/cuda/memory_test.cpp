// The memories of GPUs: the pool's books, its limit, what waits in quarantine, pinned and managed arrays.
#include <cstring>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <strata/strata.hpp>

namespace {

using namespace strata;
using Array = MDArray<double, Cuda, rank<1>>;

struct Fill {
  double value;
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = value; }
};
// Keeps a multiprocessor busy for a while.
struct Slow {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    double sum = x(i);
    for (int k = 0; k < 2000000; ++k) sum = sum * 0.999999 + 1;
    x(i) = sum;
  }
};

TEST(CudaMemory, BooksWhatArraysHoldAndReusesWhatWasFreed) {
  const auto before = cuda::memory_statistics(Cuda{});
  const double* address = nullptr;
  {
    const auto x = create<Array>("x", 1 << 20);
    address = x.data();
    const auto with_x = cuda::memory_statistics(Cuda{});
    EXPECT_EQ(with_x.used - before.used, std::size_t{8} << 20);
    EXPECT_EQ(with_x.blocks - before.blocks, 1U);
  }
  const auto y = create<Array>("y", 1 << 20, uninitialized);

  EXPECT_EQ(y.data(), address);
}

TEST(CudaMemory, ALimitMakesAllocationsFailWithTheLargestArraysNamed) {
  const auto x = create<Array>("the large one", 1 << 20);
  cuda::trim(Cuda{});
  cuda::set_memory_limit(Cuda{}, cuda::memory_statistics(Cuda{}).held + (std::size_t{4} << 20));

  std::string message;
  try {
    const auto y = create<Array>("too much", index_t{1} << 27);
  } catch (const OutOfMemory& error) {
    message = error.what();
  }
  cuda::set_memory_limit(Cuda{}, 0);

  EXPECT_NE(message.find("\"too much\""), std::string::npos) << message;
  EXPECT_NE(message.find("\"the large one\" 8388608 bytes"), std::string::npos) << message;
  EXPECT_NO_THROW(static_cast<void>(create<Array>("enough", 1 << 20)));
}

TEST(CudaMemory, ABlockFreedUnderQueuedWorkIsNotGivenToAnotherQueue) {
  const Queue<Cuda> first, second;
  const auto result = create<Array>("result", 32);
  for (int round = 0; round < 10; ++round) {
    {
      const auto x = create<Array>("x", 32);
      parallel_for(on(first), 32, with(Slow{}, x));
      deep_copy(first, result, x);
    }
    const auto y = create<Array>("y", 32, uninitialized);
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

TEST(CudaQueues, WorkOnAnAdoptedStreamIsInItsOrder) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  {
    const Queue<Cuda> queue = cuda::adopt_stream(stream);
    const auto x = create<Array>("x", 100);
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
