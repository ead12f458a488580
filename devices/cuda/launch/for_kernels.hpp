// Kernels of parallel_for: one thread an item, or a walk over some of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <strata/devices/array_addresses.hpp>
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

/// Whether an item reads and writes whole rows of many numbers: a property of the body (line_traits.hpp).
template <class Body>
constexpr bool has_wide_items() {
  if constexpr (requires { Body::has_wide_items; }) return Body::has_wide_items;
  else return false;
}

/// Whether the body reaches arrays by its views only, which may be separate: it has are_separate(), arrays()
/// and on_arrays().
template <class Body>
constexpr bool may_be_separate() {
  if constexpr (requires { Body::may_be_separate; }) return Body::may_be_separate;
  else return false;
}

/// Whether neighbouring items of a box may read elements at once: a property of the body (bound_views.hpp).
template <class Body>
constexpr bool shares_reads() {
  if constexpr (requires { Body::shared_read_bytes; }) return Body::shared_read_bytes > 0;
  else return false;
}

/// Whether an item of a box reads a row of numbers by itself: a property of the body (bound_views.hpp).
template <class Body>
constexpr bool reads_rows() {
  if constexpr (requires { Body::reads_rows; }) return Body::reads_rows;
  else return false;
}

/// The items of a launch over a range (CudaItems), a tile for each block.
template <class Body, int Items = items_of_thread<Body>()>
struct CudaFor : CudaItems {
  static constexpr int thread_items = Items;

  Body body;

  __device__ CudaFor on_arrays(const ArrayAddresses& arrays) const {
    return {static_cast<const CudaItems&>(*this), body.on_arrays(arrays)};
  }
  __device__ void run() const {
    const unsigned first = blockIdx.x * tile;
    if constexpr (thread_items == 1) {  // a tile is an item for each thread
      if (first + threadIdx.x < count) body(begin + first + threadIdx.x);
    } else {
      const unsigned left = count - first, items = left < tile ? left : tile;
      if (blockDim.x == stream_block && items == thread_items * stream_block) {
        const index_t own = begin + first + threadIdx.x;
#pragma unroll
        for (int item = 0; item < thread_items; ++item) body(own + item * index_t{stream_block});
      } else {
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < items; k += blockDim.x) body(begin + first + k);
      }
    }
  }
};

/// A box, cut by plan_box. Axis 0 is the first dimension, or the last one with `LastFastest`, and so on.
///
/// A thread walks over the items of a piece of the marched axis, or of the last one.
///
/// `Index` is 32 bits wide where all indices lie in [0, 2^31) and the grid covers the box: no loops but that
/// of the walk, and, as the upper half of an index is known to be 0, half the multiplications for
/// its offset. Else threads go on by strides where the box is larger than a grid.
///
/// With `Unrolled` the items of a walk of the usual length are one piece of code, so that their loads are in
/// flight together, and what they have in common is loaded once.
template <int Rank, bool LastFastest, int Marching, class Index, class Body, bool Unrolled = false>
struct CudaBox {
  using index_type = Index;
  using unrolled = CudaBox<Rank, LastFastest, Marching, Index, Body, true>;
  using unrolled_march = CudaBox<Rank, LastFastest, Rank - 1, Index, Body, true>;
  static constexpr int marching = Marching;
  static constexpr bool is_unrolled = Unrolled;
  static constexpr bool is_exact = sizeof(Index) == 4;
  static constexpr bool may_unroll =
      !Unrolled && is_exact && shares_reads<Body>() && (Marching != no_axis || !reads_rows<Body>());

  Body body;
  Index lower[Rank];   // by axis
  Index extent[Rank];  // by axis
  Index rows;          // threads along y
  Index depth;         // threads along z
  Index piece;         // items of a walk
  Index idle;  // threads before the first item of a row, which begins in the middle of a line; exact only
  CudaCheck check;

  __device__ void run() const {
    const Index x = blockIdx.x * Index{blockDim.x} + threadIdx.x;
    const Index y = blockIdx.y * Index{blockDim.y} + threadIdx.y;
    const Index z = blockIdx.z * Index{blockDim.z} + threadIdx.z;
    if constexpr (is_exact) {
      // One branch, not three, each of which would wait for its part of the position. Before the first item x
      // - idle is a large number.
      if (bool(x - idle < extent[axis_x]) & bool(y < rows) & bool(z < depth)) run_at(x - idle, y, z);
    } else {
      for (Index k = z; k < depth; k += gridDim.z * Index{blockDim.z})
        for (Index j = y; j < rows; j += gridDim.y * Index{blockDim.y})
          for (Index i = x; i < extent[axis_x]; i += gridDim.x * Index{blockDim.x}) run_at(i, j, k);
    }
  }

 private:
  // What x, y and z stand for; `parts` of them, the further ones in z.
  static constexpr int parts = Marching == no_axis ? Rank : Rank - 1;
  static constexpr int axis_x = axis_of_grid(0, Marching);
  static constexpr int walked = Marching == no_axis ? Rank - 1 : Marching;

  __device__ void run_at(Index x, Index y, Index z) const {
    index_t at[Rank];
    at[axis_x] = lower[axis_x] + x;
    if constexpr (Marching == no_axis && Rank == 2) {
      walk_along(at, y);
    } else {
      if constexpr (parts > 1) at[axis_of_grid(1, Marching)] = lower[axis_of_grid(1, Marching)] + y;
      walk_along(at, place_depth(z, at));
    }
  }

  // Sets the axes that z stands for; returns the number of the walk.
  __device__ Index place_depth(Index z, index_t (&at)[Rank]) const {
    Index left = z;
    for (int part = 2; part < parts; ++part) {
      const int axis = axis_of_grid(part, Marching);
      if (axis == walked) break;
      at[axis] = lower[axis] + left % extent[axis];
      left /= extent[axis];
    }
    return left;
  }

  __device__ void walk_along(index_t (&at)[Rank], Index walk) const {
    const Index begin = walk * piece, left = extent[walked] - begin;
    const index_t first = lower[walked] + begin;
    at[walked] = first;
    if constexpr (Marching == no_axis)
      if (piece == 1) return visit(at, 1, std::make_index_sequence<Rank>());
    const int count = static_cast<int>(left < piece ? left : piece);  // at most longest_march
    visit(at, count, std::make_index_sequence<Rank>());
  }

  // Calls the kernel for `count` items from `at` on.
  template <std::size_t... D>
  __device__ void visit(const index_t (&at)[Rank], int count, std::index_sequence<D...>) const {
    constexpr int dimension = LastFastest ? Rank - 1 - walked : walked;
    index_t item[Rank] = {at[LastFastest ? Rank - 1 - D : D]...};
    const index_t first = item[dimension];
    // Else not unrolled: that needs more registers, and so leaves fewer threads.
    if constexpr (Unrolled) {
      const auto kernel = body.anchored_at(item);
      const auto visit_next = [&](int k) {
        item[dimension] = first + k;
        kernel(item);
      };
      constexpr int usual = Marching == no_axis ? usual_walk : usual_march;
      if (count == usual) {
#pragma unroll
        for (int k = 0; k < usual; ++k) visit_next(k);
      } else {
#pragma unroll 1
        for (int k = 0; k < count; ++k) visit_next(k);
      }
    } else if constexpr (requires { body.anchored_at(item); }) {
      auto kernel = body.anchored_at(item);
#pragma unroll 1
      for (int k = 0; k < count; ++k) {
        item[dimension] = first + k;
        kernel.set_item(item);
        kernel(item);
        kernel.advance(dimension);
      }
    } else {
#pragma unroll 1
      for (int k = 0; k < count; ++k) {
        item[dimension] = first + k;
        body(item[D]...);
      }
    }
  }
};

}  // namespace strata::inline STRATA_ABI::detail
