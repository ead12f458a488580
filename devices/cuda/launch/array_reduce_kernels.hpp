// The kernel of reductions whose value is an array of a length known at run time. A node's items are taken in
// order, so a thread computes a node; its array lies in device memory, and joins are made in place: the value
// of nodes [a, b) is in the array of the first of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/reduction_tree.hpp>
#include <strata/devices/cuda/launch/block_check.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Body, class Reducer, class Finish>
struct CudaArrayReduce {
  using Element = typename Reducer::element_type;

  Body body;
  Reducer reducer;
  Finish finish;
  index_t begin;
  index_t end;
  index_t first;  // nodes
  index_t last;
  index_t base;  // the first node of the first block
  index_t length;
  CudaScratch scratch;
  CudaCheck check;

  __device__ void run() const {
    const index_t size = blockDim.x;
    const index_t node = base + static_cast<index_t>(blockIdx.x) * size + threadIdx.x;
    if (node >= first && node < last) {
      Element* const value = array(node);
      reducer.init(value);
      const BlockItems items = items_of_block(node, begin, end);
      for (index_t i = items.begin; i < items.end; ++i) body(i, value);
    }
    for (index_t half = 1; half < size; half *= 2) {
      __syncthreads();
      join_siblings(node, half);
    }
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      is_last = atomicAdd(scratch.counter, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    // Over the blocks' arrays, until one aligned group holds all nodes; the threads take pairs in turn.
    const auto apart = [&](int log2) {
      const index_t left = first >> log2, right = (last - 1) >> log2;
      return first < last && left != right && !(left == -1 && right == 0);
    };
    for (int log2 = log2_of(size); apart(log2); ++log2) {
      const index_t half = index_t{1} << log2;
      for (index_t pair = (first >> (log2 + 1)) + threadIdx.x; (pair << (log2 + 1)) < last; pair += size)
        join_siblings(pair << (log2 + 1), half);
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      *scratch.counter = 0;
      Element* const value = array(first < last ? first : base);
      if (first >= last) reducer.init(value);
      else if (first < 0 && last > 0) reducer.join(value, array(0));  // -1 and 0 have no common parent
      finish.on_device(value);
    }
  }

 private:
  static __device__ int log2_of(index_t n) {
    int log2 = 0;
    while ((index_t{1} << log2) < n) ++log2;
    return log2;
  }
  __device__ Element* array(index_t node) const {
    return static_cast<Element*>(scratch.partials) + (node - (first < last ? first : base)) * length;
  }
  // Joins nodes [a, a + half) and [a + half, a + 2 * half) where `a` is a multiple of 2 * half and both
  // exist.
  __device__ void join_siblings(index_t a, index_t half) const {
    if ((a & (2 * half - 1)) != 0 || a + half <= first || a + half >= last || a >= last) return;
    if (a + half > first) reducer.join(array(a > first ? a : first), array(a + half));
  }
};

}  // namespace strata::inline STRATA_ABI::detail
