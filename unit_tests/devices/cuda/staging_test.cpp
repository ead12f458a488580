// Copies between pageable memory and a GPU: whichever way their size takes, and whatever comes before.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <strata/devices/serial/device.hpp>

#include "core/random.hpp"
#include "devices/cuda/arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using namespace std::chrono_literals;

template <class T>
T number(index_t first, index_t i) {
  return static_cast<T>((first + i) % 113);
}

struct AddOne {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = static_cast<decltype(+x(i))>(x(i) + 1); }
};

// Sizes about those from which another way is taken, and between them.
index_t some_bytes(Random& random) {
  constexpr index_t limits[] = {64 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 16 << 20};
  if (random(0, 1) == 0) return limits[random(0, 6)] + random(-9, 9);
  return static_cast<index_t>(std::exp2(static_cast<double>(random(0, 2450)) / 100));
}

template <class T>
void expect_there_and_back(const Queue<Cuda>& queue, Random& random, int trial) {
  const index_t count = some_bytes(random) / static_cast<index_t>(sizeof(T)) + 1;
  const index_t from = random(0, 70), to = random(0, 70), back = random(0, 70), n = count + 70;
  const auto x = create<MDArray<T, Cuda, rank<1>>>("x", n);
  const auto host = create<MDArray<T, Serial, rank<1>>>("host", n);
  const auto result = create<MDArray<T, Serial, rank<1>>>("result", n);
  for (index_t i = 0; i < n; ++i) host(i) = number<T>(trial, i), result(i) = T(120);

  if (trial % 3 == 0) parallel_for(on(queue), 1, with(Slow{}, create<GpuArray>("other", 1)));
  deep_copy(queue, subview(x, range(to, to + count)), subview(host, range(from, from + count)));
  parallel_for(on(queue), range(to, to + count), with(AddOne{}, x));
  if (trial % 4 == 1) queue.wait();
  deep_copy(queue, subview(result, range(back, back + count)), subview(x, range(to, to + count)));
  if (trial % 2 == 0) queue.wait();
  else queue.record().wait();

  index_t wrong = 0;
  for (index_t i = 0; i < n; ++i)
    wrong += result(i) !=
             (i >= back && i < back + count ? static_cast<T>(number<T>(trial, i - back + from) + 1) : T(120));
  EXPECT_EQ(wrong, 0) << count << " elements of " << sizeof(T) << " bytes from " << from << " to " << to
                      << " and " << back;
}

TEST(CudaStaging, BringsRangesOfAnyLengthThereAndBack) {
  Random random;
  const Queue<Cuda> queue;
  for (int trial = 0; trial < 60; ++trial) {
    expect_there_and_back<char>(queue, random, trial);
    expect_there_and_back<double>(queue, random, trial);
  }
}

TEST(CudaStaging, IsForSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      Random random;
      const Queue<Cuda> queue;
      for (int trial = 0; trial < 20; ++trial) expect_there_and_back<float>(queue, random, trial);
    });
  for (std::thread& thread : threads) thread.join();
}

// Rows of a matrix, some of them longer than a copy in one run that the calling thread stages.
TEST(CudaStaging, BringsRowsThatLieApart) {
  Random random;
  for (int trial = 0; trial < 8; ++trial) {
    const index_t rows = random(1, 5), columns = some_bytes(random) / 16 + 8, width = columns - random(0, 7);
    const auto x = create<MDArray<double, Cuda, rank<2>>>("x", rows, width);
    const auto host = create<MDArray<double, Serial, rank<2>>>("host", rows, columns);
    const auto back = create<MDArray<double, Serial, rank<2>>>("back", rows, columns);
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < columns; ++j) host(i, j) = number<double>(i, j), back(i, j) = -1;

    const Queue<Cuda> queue;
    deep_copy(queue, x, subview(host, everything, range(0, width)));
    deep_copy(queue, subview(back, everything, range(0, width)), x);
    queue.wait();

    index_t wrong = 0;
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < columns; ++j) wrong += back(i, j) != (j < width ? number<double>(i, j) : -1);
    EXPECT_EQ(wrong, 0) << rows << " rows of " << width;
  }
}

// What a function of the host is to write first must not be read before.
TEST(CudaStaging, ReadsWhatFunctionsBeforeItWrite) {
  for (const index_t bytes : {index_t{1} << 20, index_t{3} << 20, index_t{8} << 20, index_t{20} << 20}) {
    const index_t n = bytes / 8;
    const auto x = create<GpuArray>("x", n);
    const auto host = create<MDArray<double, Serial, rank<1>>>("host", n);
    const auto back = create<MDArray<double, Serial, rank<1>>>("back", n);
    deep_copy(host, 1.0);
    const Queue<Cuda> queue;
    then_host(queue, [&] {
      std::this_thread::sleep_for(30ms);
      for (index_t i = 0; i < n; ++i) host(i) = 5;
    });
    deep_copy(queue, x, host);
    deep_copy(queue, back, x);
    queue.wait();
    EXPECT_EQ(back(0), 5) << bytes;
    EXPECT_EQ(back(n - 1), 5) << bytes;
  }
}

// The same of functions that a program gives to CUDA itself, by the stream of the queue.
TEST(CudaStaging, ReadsWhatOthersWriteOnItsStream) {
  struct Late {
    double* data;
    index_t n;
  };
  const index_t n = index_t{1} << 20;
  const auto x = create<GpuArray>("x", n);
  const auto host = create<MDArray<double, Serial, rank<1>>>("host", n);
  const auto back = create<MDArray<double, Serial, rank<1>>>("back", n);
  deep_copy(host, 1.0);
  const Queue<Cuda> queue;
  Late late{host.data(), n};
  const auto write = [](void* raw) {
    const auto& it = *static_cast<Late*>(raw);
    std::this_thread::sleep_for(30ms);
    for (index_t i = 0; i < it.n; ++i) it.data[i] = 5;
  };
  ASSERT_EQ(cudaLaunchHostFunc(cuda::native_stream(queue), write, &late), cudaSuccess);
  deep_copy(queue, x, host);
  deep_copy(queue, back, x);
  queue.wait();
  EXPECT_EQ(back(0), 5);
  EXPECT_EQ(back(n - 1), 5);
}

// Copies that are staged do not wait for kernels that take long.
TEST(CudaStaging, LetsTheCallerGoOnBehindALongKernel) {
  for (const index_t bytes : {index_t{64} << 10, index_t{1} << 20, index_t{8} << 20, index_t{20} << 20}) {
    const index_t n = bytes / 8;
    const auto x = create<GpuArray>("x", n);
    const auto host = create<MDArray<double, Serial, rank<1>>>("host", n);
    const Queue<Cuda> queue;
    deep_copy(x, 2.0);
    parallel_for(on(queue), n, with(Fill{2}, x));
    deep_copy(queue, host, x);  // its threads, buffers and kernels are there now
    queue.wait();
    for (int k = 0; k < 5; ++k) parallel_for(on(queue), 1, with(Slow{}, x));
    deep_copy(queue, host, x);
    const Event event = queue.record();
    EXPECT_FALSE(event.complete()) << bytes;
    event.wait();
    EXPECT_NE(host(0), 2) << bytes;
    EXPECT_EQ(host(n - 1), 2) << bytes;
  }
}

// More than there are buffers for.
TEST(CudaStaging, BringsHundredsOfMegabytesBehindALongKernel) {
  const index_t n = index_t{1} << 20;
  const int count = 40;
  const Queue<Cuda> queue;
  std::vector<GpuArray> there;
  std::vector<MDArray<double, Serial, rank<1>>> here;
  for (int k = 0; k < count; ++k) {
    there.push_back(create<GpuArray>("there", n));
    here.push_back(create<MDArray<double, Serial, rank<1>>>("here", n));
    deep_copy(here.back(), 1.0 + k);
  }
  wait(Cuda{});
  for (int k = 0; k < 10; ++k) parallel_for(on(queue), 1, with(Slow{}, create<GpuArray>("other", 1)));
  for (int k = 0; k < count; ++k)
    deep_copy(queue, there[static_cast<std::size_t>(k)], here[static_cast<std::size_t>(k)]);
  queue.wait();
  for (int k = 0; k < count; ++k) deep_copy(here[static_cast<std::size_t>(k)], -1.0);
  for (int k = 0; k < count; ++k)
    deep_copy(queue, here[static_cast<std::size_t>(k)], there[static_cast<std::size_t>(k)]);
  queue.wait();
  for (int k = 0; k < count; ++k) {
    const auto& found = here[static_cast<std::size_t>(k)];
    index_t wrong = 0;
    for (index_t i = 0; i < n; ++i) wrong += found(i) != 1.0 + k;
    EXPECT_EQ(wrong, 0) << "array " << k;
  }
}

// The queues' work that others ask about may be that of a recording, which CUDA ends where it is asked.
TEST(CudaStaging, DoesNotDisturbARecording) {
  std::atomic<bool> ends = false;
  struct EndAndJoin {
    std::atomic<bool>& ends;
    std::thread thread;
    ~EndAndJoin() {
      ends = true;
      if (thread.joinable()) thread.join();
    }
  } copying{ends, std::thread([&] {
              Random random;
              const Queue<Cuda> queue;
              for (int trial = 0; !ends; ++trial) expect_there_and_back<double>(queue, random, trial);
            })};
  const Queue<Cuda> queue;
  const auto x = create<GpuArray>("x", 1000);
  deep_copy(x, 0.0);
  for (int k = 0; k < 200; ++k) {
    const Graph<Cuda> graph = record(queue, [&] {
      for (int step = 0; step < 20; ++step) parallel_for(on(queue), 1000, with(AddOne{}, x));
    });
    graph.launch(queue);
  }
  queue.wait();
  ends = true;
  copying.thread.join();
  EXPECT_EQ(create_mirror_and_copy(x)(999), 4000);
}

TEST(CudaStaging, IsForSeveralThreadsOnOneQueue) {
  const Queue<Cuda> queue;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      Random random;
      for (int trial = 0; trial < 20; ++trial) expect_there_and_back<float>(queue, random, trial);
    });
  for (std::thread& thread : threads) thread.join();
}

// From 4 MiB on a copy does not wait for functions of the host, which may wait for what the program does
// next.
TEST(CudaStaging, WaitsForNoFunctionOfTheHost) {
  for (const index_t bytes : {index_t{8} << 20, index_t{20} << 20}) {
    const index_t n = bytes / 8;
    const auto x = create<GpuArray>("x", n);
    const auto host = create<MDArray<double, Serial, rank<1>>>("host", n);
    deep_copy(x, 3.0);
    const Queue<Cuda> queue;
    std::atomic<bool> goes_on = false;
    then_host(queue, [&] {
      while (!goes_on) std::this_thread::yield();
    });
    deep_copy(queue, host, x);
    goes_on = true;
    queue.wait();
    EXPECT_EQ(host(n - 1), 3) << bytes;
  }
}

}  // namespace
