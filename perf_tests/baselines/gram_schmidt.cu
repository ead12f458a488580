// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "baselines/gram_schmidt.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

// What the blocks of a reduction need to know of each other.
template <class T>
struct Gathering {
  T* partials;     // of each block, one for each column
  unsigned* done;  // blocks that have written theirs; 0 again at the end
};

// Sums over a block of up to 1024 threads, in its first thread.
template <class T, int Columns>
__device__ void block_sums(T (&sums)[Columns]) {
  __shared__ T of_warp[Columns][32];
  __syncthreads();  // the shared memory may still be in use
#pragma unroll
  for (int c = 0; c < Columns; ++c) {
    for (int step = 16; step > 0; step /= 2) sums[c] += __shfl_down_sync(0xffffffffu, sums[c], step);
    if (threadIdx.x % 32 == 0) of_warp[c][threadIdx.x / 32] = sums[c];
  }
  __syncthreads();
  if (threadIdx.x >= 32) return;
#pragma unroll
  for (int c = 0; c < Columns; ++c) {
    sums[c] = threadIdx.x < blockDim.x / 32 ? of_warp[c][threadIdx.x] : T(0);
    for (int step = 16; step > 0; step /= 2) sums[c] += __shfl_down_sync(0xffffffffu, sums[c], step);
  }
}

// Sums over the grid; true in the thread that has them: the first of the block that is done last.
template <class T, int Columns>
__device__ bool grid_sums(T (&sums)[Columns], const Gathering<T>& gathering) {
  block_sums(sums);
  if (gridDim.x == 1) return threadIdx.x == 0;
  __shared__ bool last;
  if (threadIdx.x == 0) {
    for (int c = 0; c < Columns; ++c) gathering.partials[blockIdx.x * Columns + c] = sums[c];
    __threadfence();
    last = atomicInc(gathering.done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
  for (int c = 0; c < Columns; ++c) sums[c] = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x)
    for (int c = 0; c < Columns; ++c) sums[c] += __ldcg(gathering.partials + b * Columns + c);
  block_sums(sums);
  return threadIdx.x == 0;
}

__device__ long long self() { return blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; }
__device__ long long all() { return gridDim.x * static_cast<long long>(blockDim.x); }

// r_ii = |q_i|, scale = 1 / r_ii
template <class T, int Width>
__global__ void __launch_bounds__(1024) norm_kernel(const Pack<T, Width>* __restrict__ q_i, long long packs,
                                                    Gathering<T> gathering, T* r_ii, T* scale) {
  T sum[1] = {0};
#pragma unroll 4
  for (long long p = self(); p < packs; p += all()) {
    const Pack<T, Width> x = q_i[p];
    for (int w = 0; w < Width; ++w) sum[0] += x.value[w] * x.value[w];
  }
  if (!grid_sums(sum, gathering)) return;
  const T norm = sqrt(sum[0]);
  *r_ii = norm;
  *scale = norm == 0 ? T(0) : 1 / norm;
}

// r_i(c * stride) = scale q_i . q_c for `count` columns from q_first on, `packs` apart
template <class T, int Width, int Columns>
__global__ void __launch_bounds__(1024)
    dots_kernel(const Pack<T, Width>* __restrict__ q_i, const Pack<T, Width>* __restrict__ q_first, int count,
                long long packs, Gathering<T> gathering, const T* scale, T* r_i, int stride) {
  T sums[Columns] = {};
  const T factor = *scale;
#pragma unroll 2
  for (long long p = self(); p < packs; p += all()) {
    const Pack<T, Width> x = q_i[p];
    Pack<T, Width> y[Columns] = {};
#pragma unroll
    for (int c = 0; c < Columns; ++c)
      if (Columns == 1 || c < count) y[c] = q_first[c * packs + p];
#pragma unroll
    for (int c = 0; c < Columns; ++c)
      for (int w = 0; w < Width; ++w) sums[c] += factor * x.value[w] * y[c].value[w];
  }
  if (!grid_sums(sums, gathering)) return;
  for (int c = 0; c < count; ++c) r_i[c * stride] = sums[c];
}

// q_c -= r_i(c * stride) scale q_i for the columns of dots_kernel; where `store`, q_i = scale q_i, too.
template <class T, int Width, int Columns>
__global__ void __launch_bounds__(1024)
    take_out_kernel(Pack<T, Width>* __restrict__ q_i, Pack<T, Width>* __restrict__ q_first, int count,
                    long long packs, const T* __restrict__ scale, const T* __restrict__ r_i, int stride,
                    bool store) {
  const long long p = self();
  if (p >= packs) return;
  Pack<T, Width> x = q_i[p], y[Columns];
#pragma unroll
  for (int c = 0; c < Columns; ++c)
    if (Columns == 1 || c < count) y[c] = q_first[c * packs + p];
  for (int w = 0; w < Width; ++w) x.value[w] *= *scale;
#pragma unroll
  for (int c = 0; c < Columns; ++c) {
    if (Columns > 1 && c >= count) continue;
    const T r = r_i[c * stride];
    for (int w = 0; w < Width; ++w) y[c].value[w] -= r * x.value[w];
    q_first[c * packs + p] = y[c];
  }
  if (store) q_i[p] = x;
}

template <class T, int Width>
__global__ void __launch_bounds__(1024)
    scale_kernel(Pack<T, Width>* q_i, long long packs, const T* __restrict__ scale) {
  const long long p = self();
  if (p >= packs) return;
  Pack<T, Width> x = q_i[p];
  for (int w = 0; w < Width; ++w) x.value[w] *= *scale;
  q_i[p] = x;
}

// Enqueues all kernels, in blocks of one size.
template <class T, int Width, int Columns>
struct Algorithm {
  GramSchmidtColumns<T> a;
  int block, turns;
  std::shared_ptr<T> partials, scale;
  std::shared_ptr<unsigned> done;
  unsigned reducing;  // blocks of reductions

  // `turns`: packs that a thread of a reduction takes at least, as far as blocks fill the GPU.
  Algorithm(GramSchmidtColumns<T> columns, int threads, int least_turns)
      : a(columns),
        block(threads),
        turns(least_turns),
        scale(cuda_array<T>(1)),
        done(cuda_array<unsigned>(1)) {
    const std::ptrdiff_t each = std::ptrdiff_t{block} * turns, needed = (a.n / Width + each - 1) / each;
    reducing =
        static_cast<unsigned>(std::clamp<std::ptrdiff_t>(needed, 1, multiprocessors() * (2048 / block)));
    partials = cuda_array<T>(std::size_t{reducing} * Columns);
  }

  void enqueue(cudaStream_t stream) const {
    using P = Pack<T, Width>;
    const Gathering<T> gathering{partials.get(), done.get()};
    const long long packs = a.n / Width;
    const auto blocks = static_cast<unsigned>((packs + block - 1) / block);
    for (int i = 0; i < a.count; ++i) {
      P* const q_i = reinterpret_cast<P*>(a.q) + i * packs;
      norm_kernel<T, Width>
          <<<reducing, block, 0, stream>>>(q_i, packs, gathering, a.r + i + i * a.count, scale.get());
      if (i + 1 == a.count) scale_kernel<T, Width><<<blocks, block, 0, stream>>>(q_i, packs, scale.get());
      for (int first = i + 1; first < a.count; first += Columns) {
        P* const q_first = reinterpret_cast<P*>(a.q) + first * packs;
        T* const r_i = a.r + i + static_cast<std::ptrdiff_t>(first) * a.count;
        const int count = std::min(Columns, a.count - first);
        dots_kernel<T, Width, Columns><<<reducing, block, 0, stream>>>(q_i, q_first, count, packs, gathering,
                                                                       scale.get(), r_i, a.count);
        take_out_kernel<T, Width, Columns><<<blocks, block, 0, stream>>>(
            q_i, q_first, count, packs, scale.get(), r_i, a.count, first + count == a.count);
      }
    }
  }
};

using GraphExec = std::shared_ptr<std::remove_pointer_t<cudaGraphExec_t>>;

template <class A>
GraphExec graph_of(const A& algorithm) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  algorithm.enqueue(stream);  // kernels are loaded when they first run
  cuda_check(cudaStreamSynchronize(stream));
  cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  algorithm.enqueue(stream);
  cuda_check(cudaStreamEndCapture(stream, &graph));
  cuda_check(cudaGraphInstantiate(&exec, graph, 0));
  cuda_check(cudaGraphDestroy(graph));
  cuda_check(cudaStreamDestroy(stream));
  return {exec, [](cudaGraphExec_t old) { cudaGraphExecDestroy(old); }};
}

template <class T, int Width, int Columns>
void add_blocks(Sweep& sweep, CudaPlace place, const GramSchmidtColumns<T>& a, bool as_graph) {
  if (a.n % Width != 0) return;
  const bool fills = a.n > 1000000;  // the GPU, however many turns
  for (const int block : {128, 256, 512})
    for (const int turns : {1, 4}) {
      if (fills && turns > 1) continue;
      const Algorithm<T, Width, Columns> algorithm(a, block, turns);
      const std::string name = std::to_string(Columns) + " columns at a time, blocks of " +
                               std::to_string(block) + ", " + std::to_string(Width * sizeof(T)) +
                               " bytes a load, reductions by " + std::to_string(algorithm.reducing) +
                               " blocks";
      if (as_graph)
        // The graph works on the algorithm's memory.
        sweep.push_back({name, [place, algorithm, graph = graph_of(algorithm)] {
                           cuda_check(cudaGraphLaunch(graph.get(), stream_of(place)));
                           cuda_finish(place);
                         }});
      else
        sweep.push_back({name, [=] {
                           algorithm.enqueue(stream_of(place));
                           cuda_finish(place);
                         }});
    }
}

}  // namespace

template <class T>
Sweep gram_schmidt_by_hand(CudaPlace place, GramSchmidtColumns<T> columns, bool as_graph) {
  constexpr int wide = 16 / sizeof(T);
  Sweep sweep;
  add_blocks<T, 1, 1>(sweep, place, columns, as_graph);
  add_blocks<T, wide, 1>(sweep, place, columns, as_graph);
  add_blocks<T, 1, 4>(sweep, place, columns, as_graph);
  add_blocks<T, wide, 4>(sweep, place, columns, as_graph);
  return sweep;
}
template Sweep gram_schmidt_by_hand(CudaPlace, GramSchmidtColumns<float>, bool);
template Sweep gram_schmidt_by_hand(CudaPlace, GramSchmidtColumns<double>, bool);

}  // namespace perf
