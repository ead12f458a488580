// Events of GPUs: what they know without asking the driver must be true, also where others enqueue work of
// which the queue knows nothing.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <strata/core/layout_descriptor.hpp>
#include <strata/core/unheard_errors.hpp>
#include <strata/devices/backend.hpp>
#include <strata/devices/host/space.hpp>
#include <strata/devices/serial/device.hpp>

#include "core/random.hpp"
#include "devices/cuda/arrays.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

// Work that the queue has not seen being enqueued.
void sleep_on(cudaStream_t stream) {
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  ASSERT_EQ(cudaLaunchHostFunc(stream, sleep, nullptr), cudaSuccess);
}

TEST(CudaQueueEvents, AreCompleteWhereTheQueueIsKnownToBeIdle) {
  const Queue<Cuda> queue;
  const auto x = create<GpuArray>("x", 1000);
  EXPECT_TRUE(queue.record().complete());

  parallel_for(on(queue), 1000, with(Fill{1}, x));
  const Event before = queue.record();
  queue.wait();

  EXPECT_TRUE(before.complete());
  EXPECT_TRUE(queue.record().complete());
}

TEST(CudaQueueEvents, AreNotCompleteWhileTheirWorkRuns) {
  const Queue<Cuda> queue, other;
  const auto x = create<GpuArray>("x", 1000);
  queue.wait();
  sleep_on(cuda::native_stream(queue));
  parallel_for(on(queue), 1000, with(Fill{1}, x));
  const Event event = queue.record();

  EXPECT_FALSE(event.complete());
  other.wait_for(event);
  EXPECT_FALSE(other.idle());
  event.wait();
  EXPECT_TRUE(event.complete());
  other.wait();
}

// The queue is idle as far as it knows.
TEST(CudaQueueEvents, ComeAfterTheWorkOfOthersOnTheStream) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  {
    const Queue<Cuda> own, adopted = cuda::adopt_stream(stream);
    for (const Queue<Cuda>& queue : {own, adopted}) {
      queue.wait();
      sleep_on(cuda::native_stream(queue));
      const Event event = queue.record();
      EXPECT_FALSE(event.complete());
      event.wait();
      EXPECT_TRUE(queue.idle());
      sleep_on(cuda::native_stream(queue));
      EXPECT_FALSE(queue.record().complete());
      queue.wait();
    }
  }
  cudaStreamDestroy(stream);
}

TEST(CudaQueueEvents, AreTheEndOfTheirQueueUntilMoreIsEnqueued) {
  const Queue<Cuda> queue;
  const auto x = create<GpuArray>("x", 1000);
  parallel_for(on(queue), 1000, with(Fill{1}, x));
  const Event event = queue.record();

  EXPECT_TRUE(event.state()->is_end());
  parallel_for(on(queue), 1000, with(Fill{2}, x));
  EXPECT_FALSE(event.state()->is_end());
  queue.wait();
}

// A queue with a stream that no test has handed out: streams that were are used again by later queues.
Queue<Cuda> queue_of_own() {
  const std::vector<Queue<Cuda>> queues(16);
  return queues.back();
}

// What comes next belongs to the same work.
TEST(CudaQueueEvents, ComeLaterWhereTheyMay) {
  const Queue<Cuda> queue = queue_of_own(), other;
  const index_t n = 1000;
  const auto x = create<GpuArray>("x", n);
  queue.wait();
  std::atomic<bool> is_open{false};
  parallel_for(on(queue), n, with(Fill{1}, x));
  const Event event = queue.record();
  event.state()->may_come_later();
  then_host(queue, [&] {
    while (!is_open) std::this_thread::yield();
  });
  parallel_for(on(queue), n, with(Fill{2}, x));

  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(event.complete());  // the first part has ended by now
  is_open = true;
  event.wait();
  EXPECT_TRUE(event.complete());
  other.wait_for(event);
  other.wait();
}

// Whoever waits waits for the first part at least, here, on another queue or in another thread while more
// comes.
TEST(CudaQueueEvents, MayComeLaterAsTheirWorkGoesOn) {
  const Queue<Cuda> queue = queue_of_own(), other;
  const index_t n = 1 << 20;
  const auto x = create<GpuArray>("x", n), y = create<GpuArray>("y", n);
  Random draw;
  for (int trial = 0; trial < 40; ++trial) {
    const double first = 2 * trial + 1, second = first + 1;
    queue.wait();
    parallel_for(on(queue), 1, with(Slow{}, y));
    parallel_for(on(queue), n, with(Fill{first}, x));
    const Event event = queue.record();
    event.state()->may_come_later();
    const bool goes_on = draw(0, 3) > 0;
    if (goes_on) parallel_for(on(queue), n, with(Fill{second}, x));
    const auto check = [&](double value) {
      ASSERT_TRUE(value == first || (goes_on && value == second)) << value << " in trial " << trial;
    };
    switch (draw(0, 3)) {
      case 0:
        event.wait();
        EXPECT_TRUE(event.complete());
        check(create_mirror_and_copy(x)(draw(0, n - 1)));
        break;
      case 1:
        other.wait_for(event);
        deep_copy(other, y, x);
        other.wait();
        check(create_mirror_and_copy(y)(draw(0, n - 1)));
        break;
      case 2: {
        std::thread waiting([&] { event.wait(); });
        for (int k = 0; k < 20; ++k) parallel_for(on(queue), n, with(Fill{first}, y));
        waiting.join();
        EXPECT_TRUE(event.complete());
        break;
      }
      default:
        break;  // nobody asks
    }
  }
}

// To pageable memory CUDA waits itself: the values are there, and so is all work before.
TEST(CudaQueueEvents, AreCompleteAfterACopyToPageableMemory) {
  const Queue<Cuda> queue;
  const auto x = create<GpuArray>("x", 1000);
  const auto host = create<MDArray<double, Serial, rank<1>>>("host", 1000);
  for (int step = 1; step <= 100; ++step) {
    parallel_for(on(queue), 1000, with(Fill{double(step)}, x));
    deep_copy(queue, host, x);
    const Event event = queue.record();
    EXPECT_TRUE(event.complete());
    event.wait();
    ASSERT_EQ(host(0), step);
    ASSERT_EQ(host(999), step);
    EXPECT_TRUE(queue.idle());
    // What follows is not.
    if (step % 10 != 0) continue;
    parallel_for(on(queue), 1, with(Slow{}, x));
    EXPECT_FALSE(queue.record().complete());
    queue.wait();
  }
}

// What is page-locked comes while the host goes on, whoever has locked it.
TEST(CudaQueueEvents, AreNotCompleteAfterACopyToMemoryThatIsPageLocked) {
  const index_t n = 1000;
  const auto x = create<GpuArray>("x", n);
  const auto host = create<MDArray<double, Serial, rank<1>>>("host", n);
  ASSERT_EQ(cudaHostRegister(host.data(), static_cast<std::size_t>(n) * sizeof(double), 0), cudaSuccess);
  const Queue<Cuda> queue;
  queue.wait();
  parallel_for(on(queue), n, with(Fill{3}, x));
  parallel_for(on(queue), 1, with(Slow{}, x));
  deep_copy(queue, host, x);
  const Event event = queue.record();

  EXPECT_FALSE(event.complete());
  event.wait();
  EXPECT_EQ(host(n - 1), 3);
  EXPECT_NE(host(0), 3);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
}

// Rows of an array, most of which is not there: where row 0 would be there is no page-locked memory.
TEST(CudaQueueEvents, AreNotCompleteAfterACopyToPageLockedRowsOfAnArrayThatBeginsElsewhere) {
  const Queue<Cuda> queue;
  const index_t n = 1000, before = index_t{1} << 27;
  const auto x = create<GpuArray>("x", n);
  parallel_for(on(queue), n, with(Fill{7}, x));
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocHost(&memory, static_cast<std::size_t>(n) * sizeof(double)), cudaSuccess);
  auto* const rows = static_cast<double*>(memory);
  queue.wait();
  rows[n - 1] = 0;
  LayoutDescriptor all;
  all.rank = 1;
  all.extent[0] = all.span = n;
  all.stride[0] = 1;
  LayoutDescriptor far = all;
  far.shift = before;
  const auto first =
      reinterpret_cast<std::uintptr_t>(memory) - static_cast<std::uintptr_t>(before) * sizeof(double);

  sleep_on(cuda::native_stream(queue));
  queue.state().copy(
      {reinterpret_cast<void*>(first), {HostSpace::kind, 0}, &far, "rows", &Serial().backend()},
      {x.data(), x.allocation().get()->space, &all, "x", nullptr}, sizeof(double));
  const Event event = queue.record();

  EXPECT_FALSE(event.complete());
  event.wait();
  EXPECT_EQ(rows[n - 1], 7);
  cudaFreeHost(memory);
}

// CUDA calls functions on a thread of its own, where CUDA cannot be used: what they hold may be an array.
TEST(CudaQueueCalls, FunctionsOfTheHostAreDestroyedByTheirWaits) {
  struct Holder {
    std::thread::id& destroyed_by;
    GpuArray x;
    ~Holder() { destroyed_by = std::this_thread::get_id(); }
  };
  std::thread::id destroyed_by;
  std::thread::id called_by;
  const Queue<Cuda> queue;
  then_host(queue, [held = std::shared_ptr<Holder>(new Holder{destroyed_by, create<GpuArray>("x", 1000)}),
                    &called_by] { called_by = std::this_thread::get_id(); });

  queue.wait();

  EXPECT_EQ(destroyed_by, std::this_thread::get_id());
  EXPECT_NE(called_by, std::this_thread::get_id());
}

TEST(CudaQueueCalls, AnErrorThatNoWaitThrewIsPrintedWhenTheQueueIsGone) {
  const int before = detail::unheard_errors();
  {
    const Queue<Cuda> queue;
    then_host(queue, [] { throw KernelError("too much"); });
  }
  wait(Cuda{});

  EXPECT_EQ(detail::unheard_errors(), before + 1);
}

// What a kernel has left comes to pinned memory by a kernel where it is short, else by a copy engine.
template <class T>
struct NumberFrom {
  index_t first;
  STRATA_FUNCTION T operator()(index_t i) const { return static_cast<T>((first + i) % 113); }
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = (*this)(i); }
};
template <class T>
void expect_values_in_pinned_memory(Random& random) {
  const Queue<Cuda> queue;
  for (int trial = 0; trial < 24; ++trial) {
    // About 128 KiB and 1 MiB, between which a kernel brings them, and between these; units of 4 bytes or
    // not.
    const auto limit = static_cast<index_t>((trial % 2 == 0 ? 128 << 10 : 1 << 20) / sizeof(T));
    const index_t count = trial % 3 == 0 ? random(1, 2 * limit) : limit + random(-2, 2);
    const index_t unit = trial % 4 == 0 ? 1 : 4, from = unit * random(0, 3), to = unit * random(0, 3);
    const index_t n = count + 12;
    const auto x = create<MDArray<T, Cuda, rank<1>>>("x", n);
    const auto y = create<MDArray<T, CudaPinned, rank<1>>>("y", n);
    deep_copy(y, T(120));

    parallel_for(on(queue), n, with(NumberFrom<T>{trial}, x));
    const Event before = queue.record();
    if (trial % 5 == 1) before.wait();
    deep_copy(queue, subview(y, range(to, to + count)), subview(x, range(from, from + count)));
    parallel_for(on(queue), n, with(NumberFrom<T>{trial + 50}, x));  // after the copy
    if (trial % 2 == 0) queue.wait();
    else queue.record().wait();

    index_t wrong = 0;
    for (index_t i = 0; i < n; ++i)
      wrong += y(i) != (i >= to && i < to + count ? NumberFrom<T>{trial + from}(i - to) : T(120));
    EXPECT_EQ(wrong, 0) << count << " from " << from << " to " << to;
  }
}
TEST(CudaCopies, BringWhatKernelsHaveLeftToPinnedMemory) {
  Random random;
  expect_values_in_pinned_memory<char>(random);
  expect_values_in_pinned_memory<float>(random);
  expect_values_in_pinned_memory<double>(random);
}

}  // namespace
