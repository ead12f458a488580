// The vectors of conjugate gradients.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "common/cuda_check.hpp"
#include "common/thermal_ways.hpp"

namespace perf {

namespace {

using Size = std::ptrdiff_t;

// Sums over all threads: blocks write theirs, the last one to finish adds them up.
template <class T, int Count>
struct Partials {
  T* data;
  unsigned* done;
};
template <int Block, class T, int Count>
__device__ void add_up(T (&own)[Count], Partials<T, Count> partials, T* result) {
  __shared__ T warps[Count][Block / 32];
  __shared__ bool is_last;
  const auto block_sum = [&] {
#pragma unroll
    for (int s = 0; s < Count; ++s) {
      for (int half = 16; half > 0; half /= 2) own[s] += __shfl_down_sync(~0u, own[s], half);
      if (threadIdx.x % 32 == 0) warps[s][threadIdx.x / 32] = own[s];
    }
    __syncthreads();
    if (threadIdx.x == 0)
#pragma unroll
      for (int s = 0; s < Count; ++s) {
        own[s] = 0;
        for (int w = 0; w < Block / 32; ++w) own[s] += warps[s][w];
      }
  };
  block_sum();
  if (threadIdx.x == 0) {
    for (int s = 0; s < Count; ++s) partials.data[s * gridDim.x + blockIdx.x] = own[s];
    __threadfence();
    is_last = atomicAdd(partials.done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (int s = 0; s < Count; ++s) {
    own[s] = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += Block)
      own[s] += __ldcg(partials.data + s * gridDim.x + k);
  }
  block_sum();
  if (threadIdx.x > 0) return;
  for (int s = 0; s < Count; ++s) result[s] = own[s];
  *partials.done = 0;
}

template <class T, int Block, int Unroll>
__global__ void __launch_bounds__(Block) dot(ThermalArrays<T> a, Partials<T, 1> partials) {
  T own[1] = {0};
  const Size step = static_cast<Size>(gridDim.x) * Block;
#pragma unroll Unroll
  for (Size i = static_cast<Size>(blockIdx.x) * Block + threadIdx.x; i < a.nodes; i += step)
    own[0] += a.p[i] * a.q[i];
  add_up<Block>(own, partials, a.scalars + dot_scalar);
}

template <class T, int Block, int Unroll>
__global__ void __launch_bounds__(Block)
    update(const T* __restrict__ p, const T* __restrict__ q, const T* __restrict__ d, T* __restrict__ x,
           T* __restrict__ r, T* scalars, Size n, Partials<T, 2> partials) {
  T own[2] = {0, 0};
  const T alpha = scalars[alpha_scalar];
  const Size step = static_cast<Size>(gridDim.x) * Block;
#pragma unroll Unroll
  for (Size i = static_cast<Size>(blockIdx.x) * Block + threadIdx.x; i < n; i += step) {
    const T own_r = r[i] - alpha * q[i];
    x[i] += alpha * p[i];
    r[i] = own_r;
    own[0] += own_r * d[i] * own_r;
    own[1] += own_r * own_r;
  }
  add_up<Block>(own, partials, scalars + sums_scalar);
}

template <class T, int Block, int Unroll>
__global__ void __launch_bounds__(Block)
    residual(const T* __restrict__ q, const T* __restrict__ d, T* __restrict__ r, T* scalars, Size n,
             Partials<T, 2> partials) {
  T own[2] = {0, 0};
  const T alpha = scalars[alpha_scalar];
  const Size step = static_cast<Size>(gridDim.x) * Block;
#pragma unroll Unroll
  for (Size i = static_cast<Size>(blockIdx.x) * Block + threadIdx.x; i < n; i += step) {
    const T own_r = r[i] - alpha * q[i];
    r[i] = own_r;
    own[0] += own_r * d[i] * own_r;
    own[1] += own_r * own_r;
  }
  add_up<Block>(own, partials, scalars + sums_scalar);
}

// With X, x takes its step alpha along the direction before, too.
template <class T, int Block, int Width, bool X>
__global__ void __launch_bounds__(Block) direction(ThermalArrays<T> a) {
  const Size first = (static_cast<Size>(blockIdx.x) * Block + threadIdx.x) * Width;
  const T alpha = a.scalars[alpha_scalar], beta = a.scalars[beta_scalar];
  if (first + Width <= a.nodes) {
    using Wide = Pack<T, Width>;
    Wide p = *reinterpret_cast<const Wide*>(a.p + first), x;
    const Wide r = *reinterpret_cast<const Wide*>(a.r + first),
               d = *reinterpret_cast<const Wide*>(a.d + first);
    if constexpr (X) {
      x = *reinterpret_cast<const Wide*>(a.x + first);
#pragma unroll
      for (int k = 0; k < Width; ++k) x.value[k] += alpha * p.value[k];
      *reinterpret_cast<Wide*>(a.x + first) = x;
    }
#pragma unroll
    for (int k = 0; k < Width; ++k) p.value[k] = d.value[k] * r.value[k] + beta * p.value[k];
    *reinterpret_cast<Wide*>(a.p + first) = p;
  } else {
    for (Size i = first; i < a.nodes; ++i) {
      if constexpr (X) a.x[i] += alpha * a.p[i];
      a.p[i] = a.d[i] * a.r[i] + beta * a.p[i];
    }
  }
}

// Threads for all that a GPU holds.
template <int Block>
unsigned full_grid() {
  return static_cast<unsigned>(multiprocessors() * (2048 / Block));
}
template <class T, int Count>
auto partials_of(unsigned blocks) {
  return std::pair{cuda_array<T>(Count * std::size_t{blocks}), cuda_array<unsigned>(1)};
}

template <class T, int Block, int Unroll>
ThermalWay dot_way(const ThermalArrays<T>& a) {
  const unsigned blocks = full_grid<Block>();
  return {"blocks of " + std::to_string(Block) + ", unrolled " + std::to_string(Unroll),
          [=, memory = partials_of<T, 1>(blocks)](cudaStream_t stream) {
            dot<T, Block, Unroll><<<blocks, Block, 0, stream>>>(a, {memory.first.get(), memory.second.get()});
          }};
}
template <class T, int Block, int Unroll>
ThermalWay update_way(const ThermalArrays<T>& a) {
  const unsigned blocks = full_grid<Block>();
  return {"blocks of " + std::to_string(Block) + ", unrolled " + std::to_string(Unroll),
          [=, memory = partials_of<T, 2>(blocks)](cudaStream_t stream) {
            update<T, Block, Unroll><<<blocks, Block, 0, stream>>>(
                a.p, a.q, a.d, a.x, a.r, a.scalars, a.nodes, {memory.first.get(), memory.second.get()});
          }};
}
template <class T, int Block, int Unroll>
ThermalWay::Launch residual_launch(const ThermalArrays<T>& a) {
  const unsigned blocks = full_grid<Block>();
  return [=, memory = partials_of<T, 2>(blocks)](cudaStream_t stream) {
    residual<T, Block, Unroll><<<blocks, Block, 0, stream>>>(a.q, a.d, a.r, a.scalars, a.nodes,
                                                             {memory.first.get(), memory.second.get()});
  };
}
template <class T, int Block, int Width, bool X = false>
ThermalWay direction_way(const ThermalArrays<T>& a) {
  return {"blocks of " + std::to_string(Block) + ", " + std::to_string(Width) + " at a time",
          [=](cudaStream_t stream) {
            direction<T, Block, Width, X><<<blocks_for(a.nodes, Block * Width), Block, 0, stream>>>(a);
          }};
}

// dot, then one after the other
template <class T>
ThermalWay iteration_way(const char* name, const ThermalArrays<T>& a, ThermalWay::Launch sums,
                         ThermalWay::Launch rest) {
  return {name, [=, dot = dot_way<T, 512, 4>(a).launch](cudaStream_t stream) {
            dot(stream), sums(stream), rest(stream);
          }};
}

}  // namespace

template <class T>
std::vector<ThermalWay> vector_ways(ThermalKernel kernel, const ThermalArrays<T>& a) {
  switch (kernel) {
    case ThermalKernel::Dot:
      return {dot_way<T, 256, 2>(a), dot_way<T, 256, 4>(a), dot_way<T, 512, 4>(a)};
    case ThermalKernel::Update:
      return {update_way<T, 256, 1>(a), update_way<T, 256, 2>(a), update_way<T, 512, 2>(a)};
    case ThermalKernel::Direction:
      return {direction_way<T, 256, 1>(a), direction_way<T, 256, 2>(a), direction_way<T, 512, 2>(a)};
    default:
      return {
          iteration_way(", x with r", a, update_way<T, 512, 2>(a).launch, direction_way<T, 256, 2>(a).launch),
          iteration_way(", x with p", a, residual_launch<T, 512, 4>(a),
                        direction_way<T, 256, 2, true>(a).launch)};
  }
}
template std::vector<ThermalWay> vector_ways(ThermalKernel, const ThermalArrays<float>&);
template std::vector<ThermalWay> vector_ways(ThermalKernel, const ThermalArrays<double>&);

}  // namespace perf
