// SPDX-License-Identifier: Apache-2.0
#include "baselines/deep_copy.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

// A block moves a square tile through shared memory, whose rows are a word longer than the tile's, so that
// its columns lie in different banks.
template <class T, int Tile, int Rows>
__global__ void __launch_bounds__(Tile* Rows) transpose_kernel(T* __restrict__ y, const T* __restrict__ x,
                                                               std::ptrdiff_t rows, std::ptrdiff_t columns) {
  __shared__ T tile[Tile][Tile + 1];
  const std::ptrdiff_t c0 = std::ptrdiff_t{Tile} * blockIdx.x, r0 = std::ptrdiff_t{Tile} * blockIdx.y;
  const int lane = static_cast<int>(threadIdx.x), first = static_cast<int>(threadIdx.y);
#pragma unroll
  for (int k = first; k < Tile; k += Rows)
    if (r0 + k < rows && c0 + lane < columns) tile[k][lane] = x[(r0 + k) * columns + c0 + lane];
  __syncthreads();
#pragma unroll
  for (int k = first; k < Tile; k += Rows)
    if (c0 + k < columns && r0 + lane < rows) y[(c0 + k) * rows + r0 + lane] = tile[lane][k];
}

template <class T, int Tile, int Rows>
void launch_transpose(CudaPlace place, T* y, const T* x, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  const dim3 grid(static_cast<unsigned>((columns + Tile - 1) / Tile),
                  static_cast<unsigned>((rows + Tile - 1) / Tile));
  transpose_kernel<T, Tile, Rows><<<grid, dim3(Tile, Rows), 0, stream_of(place)>>>(y, x, rows, columns);
}

template <class T, int Tile, int Rows>
Competitor transpose(CudaPlace place, T* y, const T* x, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  return {"tiles of " + std::to_string(Tile) + " by " + std::to_string(Tile * Rows) + " threads", [=] {
            launch_transpose<T, Tile, Rows>(place, y, x, rows, columns);
            cuda_finish(place);
          }};
}

// `Width` numbers a load, `Each` loads a thread, all of them before the first store.
template <class T, class U, int Block, int Width, int Each>
__global__ void __launch_bounds__(Block)
    convert_kernel(U* __restrict__ y, const T* __restrict__ x, std::ptrdiff_t n) {
  const std::ptrdiff_t first = (std::ptrdiff_t{Block} * Each * blockIdx.x + threadIdx.x) * Width;
  Pack<T, Width> in[Each];
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    const std::ptrdiff_t at = first + std::ptrdiff_t{Block} * Width * k;
    if (at < n) in[k] = *reinterpret_cast<const Pack<T, Width>*>(x + at);
  }
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    const std::ptrdiff_t at = first + std::ptrdiff_t{Block} * Width * k;
    Pack<U, Width> out;
#pragma unroll
    for (int q = 0; q < Width; ++q) out.value[q] = static_cast<U>(in[k].value[q]);
    if (at < n) *reinterpret_cast<Pack<U, Width>*>(y + at) = out;
  }
}
template <class T, class U, int Block, int Width, int Each>
Competitor conversion(CudaPlace place, U* y, const T* x, std::ptrdiff_t n) {
  const std::ptrdiff_t of_block = std::ptrdiff_t{Block} * Width * Each;
  const auto blocks = static_cast<unsigned>((n + of_block - 1) / of_block);
  return {"blocks of " + std::to_string(Block) + ", " + std::to_string(Width) + " numbers a load, " +
              std::to_string(Each) + " a thread",
          [=] {
            convert_kernel<T, U, Block, Width, Each><<<blocks, Block, 0, stream_of(place)>>>(y, x, n);
            cuda_finish(place);
          }};
}

std::shared_ptr<void> pinned_memory(std::size_t bytes) {
  void* data = nullptr;
  cuda_check(cudaMallocHost(&data, bytes));
  return {data, [](void* memory) { cudaFreeHost(memory); }};
}

}  // namespace

Sweep copy_asynchronously(CudaPlace place, void* to, const void* from, std::size_t bytes) {
  return {{"cudaMemcpyAsync", [=] {
             cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(place)));
             cuda_finish(place);
           }}};
}

Sweep copy_pageable(CudaPlace, void* to, const void* from, std::size_t bytes) {
  return {{"cudaMemcpy", [=] { cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault)); }}};
}

Sweep copy_rows(CudaPlace place, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                std::size_t width, std::size_t rows) {
  return {{"cudaMemcpy2DAsync", [=] {
             cuda_check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, cudaMemcpyDefault,
                                          stream_of(place)));
             cuda_finish(place);
           }}};
}

Sweep zero_asynchronously(CudaPlace place, void* to, std::size_t bytes) {
  return {{"cudaMemsetAsync", [=] {
             cuda_check(cudaMemsetAsync(to, 0, bytes, stream_of(place)));
             cuda_finish(place);
           }}};
}

template <class T>
Sweep transpose_by_hand(CudaPlace place, T* y, const T* x, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  return {transpose<T, 32, 4>(place, y, x, rows, columns),  transpose<T, 32, 8>(place, y, x, rows, columns),
          transpose<T, 32, 16>(place, y, x, rows, columns), transpose<T, 64, 4>(place, y, x, rows, columns),
          transpose<T, 64, 8>(place, y, x, rows, columns),  transpose<T, 64, 16>(place, y, x, rows, columns)};
}

template <class T>
Sweep transpose_from_host(CudaPlace place, T* y, const T* x, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  const auto n = static_cast<std::size_t>(rows * columns);
  const auto landing = cuda_array<T>(n);
  return {{"cudaMemcpy, tiles of 32", [=] {
             cuda_check(cudaMemcpy(landing.get(), x, n * sizeof(T), cudaMemcpyDefault));
             launch_transpose<T, 32, 8>(place, y, landing.get(), rows, columns);
             cuda_finish(place);
           }}};
}

template <class T, class U>
Sweep convert_by_hand(CudaPlace place, U* y, const T* x, std::ptrdiff_t n) {
  return {conversion<T, U, 256, 1, 1>(place, y, x, n), conversion<T, U, 256, 2, 1>(place, y, x, n),
          conversion<T, U, 256, 2, 2>(place, y, x, n), conversion<T, U, 256, 2, 4>(place, y, x, n),
          conversion<T, U, 512, 2, 1>(place, y, x, n), conversion<T, U, 512, 2, 2>(place, y, x, n),
          conversion<T, U, 1024, 2, 1>(place, y, x, n)};
}
template Sweep convert_by_hand(CudaPlace, double*, const float*, std::ptrdiff_t);
template Sweep convert_by_hand(CudaPlace, float*, const double*, std::ptrdiff_t);

#define STRATA_PERF_FOR(T)                                                                   \
  template Sweep transpose_by_hand(CudaPlace, T*, const T*, std::ptrdiff_t, std::ptrdiff_t); \
  template Sweep transpose_from_host(CudaPlace, T*, const T*, std::ptrdiff_t, std::ptrdiff_t);
STRATA_PERF_FOR(float)
STRATA_PERF_FOR(double)
#undef STRATA_PERF_FOR

Ceiling link_ceiling(CudaPlace place, bool to_gpu, std::size_t bytes) {
  const auto gpu = cuda_array<char>(bytes);
  const auto host = pinned_memory(bytes);
  return {{"link",
           [=] {
             if (to_gpu)
               cuda_check(cudaMemcpyAsync(gpu.get(), host.get(), bytes, cudaMemcpyDefault, stream_of(place)));
             else
               cuda_check(cudaMemcpyAsync(host.get(), gpu.get(), bytes, cudaMemcpyDefault, stream_of(place)));
             cuda_finish(place);
           }},
          static_cast<double>(bytes)};
}

}  // namespace perf
