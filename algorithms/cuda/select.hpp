// copy_if and partition on CUDA GPUs, by CUB. Compiled by nvcc only; included by algorithms/select.hpp.
#pragma once

#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>

#include <strata/algorithms/cuda/cub.hpp>
#include <strata/algorithms/select.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class X, class Y, class P, class Result>
void call_on(CudaExecution, const LaunchInfo& info, const CopyIfWork<X, Y, P, Result>& work) {
  const index_t count = work.x.extent(0);
  CubLaunch call(info, count, Result::waits);
  const CubFunctor<P> predicate{work.predicate, call.launch().check()};
  const auto select = [&](void* temporary, std::size_t& bytes, index_t* selected) {
    return cub::DeviceSelect::If(temporary, bytes, ViewIterator<X>(work.x), ViewWriter<Y>(work.y), selected,
                                 count, predicate, call.stream());
  };
  std::size_t bytes = 0;
  if (count > 0) call.check(select(nullptr, bytes, nullptr), "cub::DeviceSelect, asked for its memory");
  ScratchPlan plan;
  const std::size_t counter_at = plan.add<index_t>(1);
  const std::size_t temporary_at = plan.add<char>(static_cast<index_t>(bytes));
  char* const memory = call.scratch(plan.bytes());
  index_t* const counter = reinterpret_cast<index_t*>(memory + counter_at);
  if (count > 0) call.check(select(memory + temporary_at, bytes, counter), "cub::DeviceSelect");
  else call.check(cudaMemsetAsync(counter, 0, sizeof *counter, call.stream()), "cudaMemsetAsync");
  deliver_count(call, work.result, counter);
}

/// CUB leaves those that do not hold behind the others in reverse order.
template <class X>
struct PutPartition {
  X x;
  const typename X::value_type* parts;
  const index_t* counter;
  index_t count;
  CudaCheck check;

  __device__ void run() const {
    const index_t step = static_cast<index_t>(gridDim.x) * blockDim.x;
    const index_t border = *counter;
    for (index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
      x(x.begin(0) + i) = parts[i < border ? i : count - 1 - (i - border)];
  }
};

template <class X, class P, class Result>
void call_on(CudaExecution, const LaunchInfo& info, const PartitionWork<X, P, Result>& work) {
  using T = typename X::value_type;
  const index_t count = work.x.extent(0);
  CubLaunch call(info, count, Result::waits);
  const CubFunctor<P> predicate{work.predicate, call.launch().check()};
  const auto split = [&](void* temporary, std::size_t& bytes, T* parts, index_t* selected) {
    return cub::DevicePartition::If(temporary, bytes, ViewIterator<X>(work.x), parts, selected, count,
                                    predicate, call.stream());
  };
  std::size_t bytes = 0;
  if (count > 0)
    call.check(split(nullptr, bytes, nullptr, nullptr), "cub::DevicePartition, asked for its memory");
  ScratchPlan plan;
  const std::size_t counter_at = plan.add<index_t>(1), parts_at = plan.add<T>(count);
  const std::size_t temporary_at = plan.add<char>(static_cast<index_t>(bytes));
  char* const memory = call.scratch(plan.bytes());
  index_t* const counter = reinterpret_cast<index_t*>(memory + counter_at);
  T* const parts = reinterpret_cast<T*>(memory + parts_at);
  if (count > 0) {
    call.check(split(memory + temporary_at, bytes, parts, counter), "cub::DevicePartition");
    call.run(PutPartition<X>{work.x, parts, counter, count, call.launch().check()}, count);
  } else {
    call.check(cudaMemsetAsync(counter, 0, sizeof *counter, call.stream()), "cudaMemsetAsync");
  }
  deliver_count(call, work.result, counter);
}

}  // namespace strata::inline STRATA_ABI::detail
