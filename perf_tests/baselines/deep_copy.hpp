// Competitors of deep_copy on GPUs: the copies of CUDA, a tiled transpose, and a conversion of numbers. Those
// of hosts are memcpy and common/plain_loops.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

/// Between the GPU and pinned memory, or within the GPU: cudaMemcpyAsync, and a wait.
Sweep copy_asynchronously(CudaPlace place, void* to, const void* from, std::size_t bytes);
/// Between the GPU and pageable memory: cudaMemcpy.
Sweep copy_pageable(CudaPlace place, void* to, const void* from, std::size_t bytes);
/// `rows` rows of `width` bytes, so many bytes apart: cudaMemcpy2DAsync.
Sweep copy_rows(CudaPlace place, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                std::size_t width, std::size_t rows);
/// cudaMemsetAsync
Sweep zero_asynchronously(CudaPlace place, void* to, std::size_t bytes);

/// y(c, r) = x(r, c); both row by row, on the GPU. For T = float and double.
template <class T>
Sweep transpose_by_hand(CudaPlace place, T* y, const T* x, std::ptrdiff_t rows, std::ptrdiff_t columns);
/// The same of an x in pageable memory: cudaMemcpy, then a transpose.
template <class T>
Sweep transpose_from_host(CudaPlace place, T* y, const T* x, std::ptrdiff_t rows, std::ptrdiff_t columns);

/// y(i) = x(i) of another type, on the GPU. For T = float and double, U the other one; n a multiple of 4.
template <class T, class U>
Sweep convert_by_hand(CudaPlace place, U* y, const T* x, std::ptrdiff_t n);

/// The link between host and GPU: `bytes` of pinned memory at once.
Ceiling link_ceiling(CudaPlace place, bool to_gpu, std::size_t bytes);

}  // namespace perf
