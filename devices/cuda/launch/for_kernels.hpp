// Kernels of parallel_for: one thread an item, or a walk over some of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/box_plan.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The items of a thread whose loads are in flight together: a property of the body (kernel.hpp).
template <class Body>
constexpr int items_of_thread() {
  if constexpr (requires { Body::items_in_flight; }) return Body::items_in_flight;
  else return 1;
}

/// The items of a launch over a range (CudaItems), a tile for each block.
template <class Body>
struct CudaFor : CudaItems {
  static constexpr int thread_items = items_of_thread<Body>();

  Body body;

  __device__ void run() const {
    const unsigned first = blockIdx.x * tile, left = count - first;
    const unsigned items = left < tile ? left : tile;
    if constexpr (thread_items == 1) {
      if (threadIdx.x < items) body(begin + first + threadIdx.x);
    } else if (blockDim.x == stream_block && items == thread_items * stream_block) {
      const index_t own = begin + first + threadIdx.x;
#pragma unroll
      for (int item = 0; item < thread_items; ++item) body(own + item * index_t{stream_block});
    } else {
#pragma unroll 1
      for (unsigned k = threadIdx.x; k < items; k += blockDim.x) body(begin + first + k);
    }
  }
};

/// A box, cut by plan_box. Axis 0 is the first dimension, or the last one with `LastFastest`, and so on.
///
/// `Index` is 32 bits wide where all indices lie in [0, 2^31) and the grid covers the box: no loops but that
/// along the marched axis, and, as the upper half of an index is known to be 0, half the multiplications for
/// its offset. Else threads go on by strides where the box is larger than a grid.
template <int Rank, bool LastFastest, int Marching, class Index, class Body>
struct CudaBox {
  using index_type = Index;
  static constexpr int marching = Marching;
  static constexpr bool is_exact = sizeof(Index) == 4;

  Body body;
  Index lower[Rank];   // by axis
  Index extent[Rank];  // by axis
  Index depth;         // threads along z
  Index piece;         // items of a walk along the marched axis
  Index idle;  // threads before the first item of a row, which begins in the middle of a line; exact only
  CudaCheck check;

  __device__ void run() const {
    const Index x = blockIdx.x * Index{blockDim.x} + threadIdx.x;
    const Index y = blockIdx.y * Index{blockDim.y} + threadIdx.y;
    const Index z = blockIdx.z * Index{blockDim.z} + threadIdx.z;
    const Index count_y = parts > 1 ? extent[axis_y] : 1;
    if constexpr (is_exact) {
      // One branch, not three, each of which would wait for its part of the position. Before the first item x
      // - idle is a large number.
      if (bool(x - idle < extent[axis_x]) & bool(y < count_y) & bool(z < depth)) run_at(x - idle, y, z);
    } else {
      for (Index k = z; k < depth; k += gridDim.z * Index{blockDim.z})
        for (Index j = y; j < count_y; j += gridDim.y * Index{blockDim.y})
          for (Index i = x; i < extent[axis_x]; i += gridDim.x * Index{blockDim.x}) run_at(i, j, k);
    }
  }

 private:
  // What x, y and z stand for; `parts` of them, the further ones in z.
  static constexpr int parts = Marching == no_axis ? Rank : Rank - 1;
  static constexpr int axis_x = axis_of_grid(0, Marching);
  static constexpr int axis_y = parts > 1 ? axis_of_grid(1, Marching) : axis_x;

  __device__ void run_at(Index x, Index y, Index z) const {
    index_t at[Rank];
    const Index walk = place_depth(z, at);
    at[axis_x] = lower[axis_x] + x;
    if constexpr (parts > 1) at[axis_y] = lower[axis_y] + y;
    if constexpr (Marching == no_axis) call(at, std::make_index_sequence<Rank>());
    else march(at, walk);
  }

  // Sets the axes that z stands for; returns the number of the walk.
  __device__ Index place_depth(Index z, index_t (&at)[Rank]) const {
    Index left = z;
    for (int part = 2; part < parts; ++part) {
      const int axis = axis_of_grid(part, Marching);
      if (Marching == no_axis && part + 1 == parts) {
        at[axis] = lower[axis] + left;
      } else {
        at[axis] = lower[axis] + left % extent[axis];
        left /= extent[axis];
      }
    }
    return left;
  }

  __device__ void march(index_t (&at)[Rank], Index walk) const {
    const Index begin = walk * piece, left = extent[Marching] - begin;
    const index_t first = lower[Marching] + begin;
    const int count = static_cast<int>(left < piece ? left : piece);  // at most longest_march
    // Not unrolled: the stores of an item keep the loads of the next after them, so that unrolling would save
    // a few additions of addresses only, and cost registers that more threads can use.
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
      at[Marching] = first + k;
      call(at, std::make_index_sequence<Rank>());
    }
  }

  template <std::size_t... D>
  __device__ void call(const index_t (&at)[Rank], std::index_sequence<D...>) const {
    body(at[LastFastest ? Rank - 1 - D : D]...);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
