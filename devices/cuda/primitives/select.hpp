// Selecting on CUDA GPUs, by CUB: select_items and partition_items. Compiled by nvcc only.
//
// Items are given by `get(k)` and taken by `put(k, value)`, functors that are called on the device; the
// result is a count (deliver_count).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>

#include <strata/devices/cuda/primitives/cub.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Puts those of `count` items for which the predicate holds, in their order; how many they are is the
/// result.
template <class Get, class Put, class P, class Result>
void select_items(CudaExecution, const LaunchInfo& info, index_t count, const Get& get, const Put& put,
                  const P& holds, const Result& result) {
  CubLaunch call(info, count, Result::waits);
  const CubFunctor<P> predicate{holds, call.launch().check()};
  const auto select = [&](void* temporary, std::size_t& bytes, index_t* selected) {
    return cub::DeviceSelect::If(temporary, bytes, ReadIterator<Get>(get), WriteIterator<Put>(put), selected,
                                 count, predicate, call.stream());
  };
  std::size_t bytes = 0;
  if (count > 0)
    bytes = call.bytes_needed(
        count, [&](std::size_t& needed) { return select(nullptr, needed, nullptr); },
        "cub::DeviceSelect, asked for its memory");
  ScratchPlan plan;
  const std::size_t counter_at = plan.add<index_t>(1);
  const std::size_t temporary_at = plan.add<char>(static_cast<index_t>(bytes));
  char* const memory = call.scratch(plan.bytes());
  index_t* const counter = reinterpret_cast<index_t*>(memory + counter_at);
  if (count > 0) call.check(select(memory + temporary_at, bytes, counter), "cub::DeviceSelect");
  else call.check(cudaMemsetAsync(counter, 0, sizeof *counter, call.stream()), "cudaMemsetAsync");
  deliver_count(call, result, counter);
}

/// CUB leaves those that do not hold after the others in reverse order.
template <class Put, class T>
struct PutPartition {
  Put put;
  const T* parts;
  const index_t* counter;
  index_t count;
  CudaCheck check;

  __device__ void run() const {
    const index_t step = static_cast<index_t>(gridDim.x) * blockDim.x;
    const index_t border = *counter;
    for (index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
      put(i, parts[i < border ? i : count - 1 - (i - border)]);
  }
};

/// Puts those of `count` items for which the predicate holds before the others, both in their order; how many
/// hold is the result.
template <class Get, class Put, class P, class Result>
void partition_items(CudaExecution, const LaunchInfo& info, index_t count, const Get& get, const Put& put,
                     const P& holds, const Result& result) {
  using T = typename Get::value_type;
  CubLaunch call(info, count, Result::waits);
  const CubFunctor<P> predicate{holds, call.launch().check()};
  const auto split = [&](void* temporary, std::size_t& bytes, T* parts, index_t* selected) {
    return cub::DevicePartition::If(temporary, bytes, ReadIterator<Get>(get), parts, selected, count,
                                    predicate, call.stream());
  };
  std::size_t bytes = 0;
  if (count > 0)
    bytes = call.bytes_needed(
        count, [&](std::size_t& needed) { return split(nullptr, needed, nullptr, nullptr); },
        "cub::DevicePartition, asked for its memory");
  ScratchPlan plan;
  const std::size_t counter_at = plan.add<index_t>(1), parts_at = plan.add<T>(count);
  const std::size_t temporary_at = plan.add<char>(static_cast<index_t>(bytes));
  char* const memory = call.scratch(plan.bytes());
  index_t* const counter = reinterpret_cast<index_t*>(memory + counter_at);
  T* const parts = reinterpret_cast<T*>(memory + parts_at);
  if (count > 0) {
    call.check(split(memory + temporary_at, bytes, parts, counter), "cub::DevicePartition");
    call.run(PutPartition<Put, T>{put, parts, counter, count, call.launch().check()}, count);
  } else {
    call.check(cudaMemsetAsync(counter, 0, sizeof *counter, call.stream()), "cudaMemsetAsync");
  }
  deliver_count(call, result, counter);
}

}  // namespace strata::inline STRATA_ABI::detail
