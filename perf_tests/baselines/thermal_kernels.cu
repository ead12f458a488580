// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/thermal_kernels.hpp"
#include "common/cuda_check.hpp"
#include "common/cuda_graph.hpp"
#include "common/thermal_formula.hpp"
#include "common/thermal_ways.hpp"

namespace perf {

namespace {

using Size = std::ptrdiff_t;

// Indices of element e, of `count` values an element.
template <class T>
__device__ Size at(const ThermalArrays<T>& a, Size e, int value) {
  return e + a.elements * value;
}

// The system of element e: put(corner, corner, value) for all 64, load(corner, value).
template <class T, class Put, class Load>
__device__ __forceinline__ void compute(const ThermalArrays<T>& a, Size e, const Put& put, const Load& load) {
  double x[3][8];
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    const double* const node = a.coordinates + 3 * static_cast<Size>(a.element_nodes[at(a, e, c)]);
#pragma unroll
    for (int d = 0; d < 3; ++d) x[d][corner_bits(c)] = node[d];
  }
  const T* const material = a.materials + 3 * a.blocks[e];
  thermal_element<T>(
      x, material[0], material[2], [](double from, T& to) { to = static_cast<T>(from); },
      [&](int i, int j, T value) {
        put(corner_bits(i), corner_bits(j), value);
        if (i != j) put(corner_bits(j), corner_bits(i), value);
      },
      [&](int i, T value) { load(corner_bits(i), value); });
}

template <class T, int Block, int MinBlocks>
__global__ void __launch_bounds__(Block, MinBlocks) contributions(ThermalArrays<T> a) {
  const Size e = static_cast<Size>(blockIdx.x) * Block + threadIdx.x;
  if (e >= a.elements) return;
  compute(
      a, e, [&](int i, int j, T value) { a.matrix[at(a, e, 8 * j + i)] = value; },
      [&](int i, T value) { a.vector[at(a, e, i)] = value; });
}

// The threads of this one's row, in its warp.
template <int Lanes>
__device__ unsigned lanes_of_row() {
  return Lanes == 32 ? ~0u : ((1u << Lanes % 32) - 1) << (threadIdx.x % 32 / Lanes * Lanes);
}

// `Lanes` threads a row, each the columns of 8 / Lanes corners; rows have up to 27 entries, as in boxes. Sums
// in shared memory as they lie in the matrix.
template <class T, int Block, int Lanes>
__global__ void __launch_bounds__(Block) fill_shared(ThermalArrays<T> a) {
  constexpr int rows = Block / Lanes, each = 8 / Lanes;
  __shared__ T sums[27 * rows];
  const Size first = static_cast<Size>(blockIdx.x) * rows;
  const Size last = first + rows < a.nodes ? first + rows : a.nodes;
  const Size begin = a.row_map[first];
  const int count = static_cast<int>(a.row_map[last] - begin);
  for (int k = threadIdx.x; k < count; k += Block) sums[k] = T(0);
  __syncthreads();
  const Size n = first + threadIdx.x / Lanes;
  const int lane = threadIdx.x % Lanes;
  if (n < last) {
    T* const row = sums + (a.row_map[n] - begin);
    T load = 0;
    const int end = a.offsets[n + 1];
    int k = a.offsets[n], next = k < end ? a.corners[k] : 0;
    while (k < end) {
      const Size e = next >> 3;
      const int c = next & 7;
      if (++k < end) next = a.corners[k];
      const std::uint64_t slots = a.slots[at(a, e, c)] >> (8 * each * lane);
      T value[each];
#pragma unroll
      for (int j = 0; j < each; ++j) value[j] = a.matrix[at(a, e, 8 * (lane * each + j) + c)];
      if (lane == 0) load += a.vector[at(a, e, c)];
#pragma unroll
      for (int j = 0; j < each; ++j) value[j] += row[slots >> (8 * j) & 255];
#pragma unroll
      for (int j = 0; j < each; ++j) row[slots >> (8 * j) & 255] = value[j];
      if (Lanes > 1) __syncwarp(lanes_of_row<Lanes>());
    }
    if (lane == 0) a.b[n] = load;
  }
  __syncthreads();
  for (int k = threadIdx.x; k < count; k += Block) a.values[begin + k] = sums[k];
}

// A thread a row, in place.
template <class T, int Block>
__global__ void __launch_bounds__(Block) fill_in_place(ThermalArrays<T> a) {
  const Size n = static_cast<Size>(blockIdx.x) * Block + threadIdx.x;
  if (n >= a.nodes) return;
  T* const row = a.values + a.row_map[n];
  for (Size k = 0; k < a.row_map[n + 1] - a.row_map[n]; ++k) row[k] = T(0);
  T load = 0;
  for (int k = a.offsets[n]; k < a.offsets[n + 1]; ++k) {
    const Size e = a.corners[k] >> 3;
    const int c = a.corners[k] & 7;
    const std::uint64_t slots = a.slots[at(a, e, c)];
    load += a.vector[at(a, e, c)];
    for (int j = 0; j < 8; ++j) row[slots >> (8 * j) & 255] += a.matrix[at(a, e, 8 * j + c)];
  }
  a.b[n] = load;
}

template <class T, int Block, int MinBlocks>
__global__ void __launch_bounds__(Block, MinBlocks) scatter(ThermalArrays<T> a) {
  const Size e = static_cast<Size>(blockIdx.x) * Block + threadIdx.x;
  if (e >= a.elements) return;
  Size row[8];
  std::uint64_t slots[8];
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    row[c] = a.row_map[a.element_nodes[at(a, e, c)]];
    slots[c] = a.slots[at(a, e, c)];
  }
  compute(
      a, e, [&](int i, int j, T value) { atomicAdd(a.values + row[i] + (slots[i] >> (8 * j) & 255), value); },
      [&](int i, T value) { atomicAdd(a.b + a.element_nodes[at(a, e, i)], value); });
}

template <class T, int Block, int MinBlocks>
__global__ void __launch_bounds__(Block, MinBlocks) fused(ThermalArrays<T> a) {
  const Size n = static_cast<Size>(blockIdx.x) * Block + threadIdx.x;
  if (n >= a.nodes) return;
  T* const row = a.values + a.row_map[n];
  for (Size k = 0; k < a.row_map[n + 1] - a.row_map[n]; ++k) row[k] = T(0);
  T sum = 0;
  for (int k = a.offsets[n]; k < a.offsets[n + 1]; ++k) {
    const Size e = a.corners[k] >> 3;
    const int c = a.corners[k] & 7;
    T own[8];
    compute(
        a, e,
        [&](int i, int j, T value) {
          if (i == c) own[j] = value;
        },
        [&](int i, T value) {
          if (i == c) sum += value;
        });
    const std::uint64_t slots = a.slots[at(a, e, c)];
#pragma unroll
    for (int j = 0; j < 8; ++j) row[slots >> (8 * j) & 255] += own[j];
  }
  a.b[n] = sum;
}

// `Lanes` threads a row.
template <class T, int Block, int Lanes>
__global__ void __launch_bounds__(Block) product(ThermalArrays<T> a) {
  const Size n = (static_cast<Size>(blockIdx.x) * Block + threadIdx.x) / Lanes;
  if (n >= a.nodes) return;
  const Size end = a.row_map[n + 1];
  T sum = 0;
  for (Size k = a.row_map[n] + threadIdx.x % Lanes; k < end; k += Lanes)
    sum += a.values[k] * a.p[a.columns[k]];
#pragma unroll
  for (int half = Lanes / 2; half > 0; half /= 2)
    sum += __shfl_down_sync(lanes_of_row<Lanes>(), sum, half, Lanes);
  if (threadIdx.x % Lanes == 0) a.q[n] = sum;
}

// The same with all loads of a row of up to 32 entries in flight together.
template <class T, int Block>
__global__ void __launch_bounds__(Block) product_ahead(ThermalArrays<T> a) {
  constexpr int lanes = 4, count = 8;
  const Size n = (static_cast<Size>(blockIdx.x) * Block + threadIdx.x) / lanes;
  if (n >= a.nodes) return;
  const Size end = a.row_map[n + 1];
  T sum = 0;
  for (Size k = a.row_map[n] + threadIdx.x % lanes; k < end; k += lanes * count) {
    const int left = static_cast<int>(end - k);
    int column[count];
    T value[count], p[count];
#pragma unroll
    for (int j = 0; j < count; ++j)
      if (j * lanes < left) column[j] = a.columns[k + j * lanes], value[j] = a.values[k + j * lanes];
#pragma unroll
    for (int j = 0; j < count; ++j)
      if (j * lanes < left) p[j] = a.p[column[j]];
#pragma unroll
    for (int j = 0; j < count; ++j)
      if (j * lanes < left) sum += value[j] * p[j];
  }
#pragma unroll
  for (int half = lanes / 2; half > 0; half /= 2)
    sum += __shfl_down_sync(lanes_of_row<lanes>(), sum, half, lanes);
  if (threadIdx.x % lanes == 0) a.q[n] = sum;
}

// A block's entries are multiplied side by side, then a thread adds up each row.
template <class T, int Block>
__global__ void __launch_bounds__(Block) product_shared(ThermalArrays<T> a) {
  __shared__ T products[27 * Block];
  const Size first = static_cast<Size>(blockIdx.x) * Block;
  const Size last = first + Block < a.nodes ? first + Block : a.nodes;
  const Size begin = a.row_map[first];
  const int count = static_cast<int>(a.row_map[last] - begin);
#pragma unroll 9
  for (int k = threadIdx.x; k < count; k += Block)
    products[k] = a.values[begin + k] * a.p[a.columns[begin + k]];
  __syncthreads();
  const Size n = first + threadIdx.x;
  if (n >= last) return;
  T sum = 0;
  const int end = static_cast<int>(a.row_map[n + 1] - begin);
  for (int k = static_cast<int>(a.row_map[n] - begin); k < end; ++k) sum += products[k];
  a.q[n] = sum;
}

template <class T>
class Variants {
 public:
  explicit Variants(const ThermalArrays<T>& arrays) : a_(arrays) {}

  std::vector<ThermalWay> ways;

  template <int Block, int MinBlocks>
  void add_contributions() {
    add(text(Block, MinBlocks), [a = a_](cudaStream_t stream) {
      contributions<T, Block, MinBlocks><<<blocks_for(a.elements, Block), Block, 0, stream>>>(a);
    });
  }
  template <int Block, int Lanes>
  void add_fill() {
    add(std::to_string(Lanes) + " threads a row, blocks of " + std::to_string(Block),
        [a = a_](cudaStream_t stream) {
          fill_shared<T, Block, Lanes><<<blocks_for(a.nodes, Block / Lanes), Block, 0, stream>>>(a);
        });
  }
  void add_fill_in_place() {
    add("in place, blocks of 128", [a = a_](cudaStream_t stream) {
      fill_in_place<T, 128><<<blocks_for(a.nodes, 128), 128, 0, stream>>>(a);
    });
  }
  template <int Block, int MinBlocks>
  void add_scatter() {
    add(text(Block, MinBlocks), [a = a_](cudaStream_t stream) {
      cuda_check(cudaMemsetAsync(a.values, 0, static_cast<std::size_t>(a.entries) * sizeof(T), stream));
      cuda_check(cudaMemsetAsync(a.b, 0, static_cast<std::size_t>(a.nodes) * sizeof(T), stream));
      scatter<T, Block, MinBlocks><<<blocks_for(a.elements, Block), Block, 0, stream>>>(a);
    });
  }
  template <int Block, int MinBlocks>
  void add_fused() {
    add(text(Block, MinBlocks), [a = a_](cudaStream_t stream) {
      fused<T, Block, MinBlocks><<<blocks_for(a.nodes, Block), Block, 0, stream>>>(a);
    });
  }
  template <int Lanes>
  void add_product() {
    add(std::to_string(Lanes) + " threads a row", [a = a_](cudaStream_t stream) {
      product<T, 256, Lanes><<<blocks_for(a.nodes * Lanes, 256), 256, 0, stream>>>(a);
    });
  }
  template <int Block>
  void add_product_ahead() {
    add("4 threads a row, loads ahead, blocks of " + std::to_string(Block), [a = a_](cudaStream_t stream) {
      product_ahead<T, Block><<<blocks_for(a.nodes * 4, Block), Block, 0, stream>>>(a);
    });
  }
  template <int Block>
  void add_product_shared() {
    add("entries side by side, blocks of " + std::to_string(Block), [a = a_](cudaStream_t stream) {
      product_shared<T, Block><<<blocks_for(a.nodes, Block), Block, 0, stream>>>(a);
    });
  }

 private:
  static std::string text(int block, int min_blocks) {
    return "blocks of " + std::to_string(block) +
           (min_blocks > 0 ? ", at least " + std::to_string(min_blocks) + " a multiprocessor" : "");
  }
  void add(std::string name, ThermalWay::Launch launch) {
    ways.push_back({std::move(name), std::move(launch)});
  }

  ThermalArrays<T> a_;
};

template <class T>
std::vector<ThermalWay> ways(ThermalKernel kernel, const ThermalArrays<T>& arrays) {
  Variants<T> v(arrays);
  switch (kernel) {
    case ThermalKernel::Contributions:
      v.template add_contributions<64, 4>();
      v.template add_contributions<128, 2>();
      v.template add_contributions<128, 3>();
      v.template add_contributions<128, 4>();
      v.template add_contributions<256, 1>();
      v.template add_contributions<256, 2>();
      break;
    case ThermalKernel::Fill:
      v.template add_fill<64, 1>();
      v.template add_fill<128, 1>();
      v.template add_fill<128, 2>();
      v.template add_fill<256, 4>();
      v.template add_fill<256, 8>();
      v.add_fill_in_place();
      break;
    case ThermalKernel::Scatter:
      v.template add_scatter<64, 4>();
      v.template add_scatter<128, 2>();
      v.template add_scatter<128, 3>();
      v.template add_scatter<256, 1>();
      break;
    case ThermalKernel::Fused:
      v.template add_fused<64, 4>();
      v.template add_fused<128, 2>();
      v.template add_fused<128, 3>();
      v.template add_fused<256, 1>();
      break;
    case ThermalKernel::Product:
      v.template add_product<4>();
      v.template add_product<8>();
      v.template add_product_ahead<128>();
      v.template add_product_ahead<256>();
      v.template add_product_shared<64>();
      v.template add_product_shared<128>();
      break;
    case ThermalKernel::Iteration:
      for (const ThermalWay& product : ways(ThermalKernel::Product, arrays))
        for (const ThermalWay& rest : vector_ways(kernel, arrays))
          v.ways.push_back({product.name + rest.name, [product, rest](cudaStream_t stream) {
                              product.launch(stream), rest.launch(stream);
                            }});
      break;
    default:
      return vector_ways(kernel, arrays);
  }
  return v.ways;
}

}  // namespace

template <class T>
Sweep thermal_by_hand(CudaPlace place, ThermalKernel kernel, const ThermalArrays<T>& arrays, int times) {
  Sweep sweep;
  for (const ThermalWay& way : ways(kernel, arrays))
    sweep.push_back({way.name, as_one_graph(place, times, way.launch)});
  return sweep;
}
template Sweep thermal_by_hand(CudaPlace, ThermalKernel, const ThermalArrays<float>&, int);
template Sweep thermal_by_hand(CudaPlace, ThermalKernel, const ThermalArrays<double>&, int);

}  // namespace perf
