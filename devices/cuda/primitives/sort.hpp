// Sorting on CUDA GPUs: sort_keys and sort_pairs of device memory. Compiled by nvcc only.
//
// Arithmetic keys in ascending or descending order are sorted by CUB's radix sort, which orders
// floating-point numbers by their bits: NaNs with a sign come out at the wrong end. They are counted there
// and moved by a rotation, two kernels that have nothing to do in the common case. Other keys and orders are
// sorted by CUB's merge sort, which is stable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

#include <strata/core/order.hpp>
#include <strata/devices/cuda/primitives/cub.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class T, class Less>
inline constexpr bool sorts_by_radix = std::is_arithmetic_v<T> && sizeof(T) <= 8 &&
                                       (std::is_same_v<Less, Ascending> || std::is_same_v<Less, Descending>);

struct NoSortValue {};

/// Moves NaNs from the wrong end of sorted keys to the other, values along with them.
template <class K, class V, bool Descends>
struct RotateNans {
  K* keys;
  V* values;
  K* other_keys;
  V* other_values;
  index_t count;
  index_t* shift;  // how far items move up, modulo count; 0 in the common case
  bool back;       // the second step: from the other arrays back
  CudaCheck check;

  __device__ void run() const {
    const index_t first = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const index_t step = static_cast<index_t>(gridDim.x) * blockDim.x;
    const index_t by = back ? *shift : misplaced();
    if (!back && first == 0) *shift = by;
    if (by == 0) return;
    for (index_t i = first; i < count; i += step) {
      if (back) {
        move(i, i, other_keys, other_values, keys, values);
      } else {
        const index_t to = i + by < count ? i + by : i + by - count;
        move(i, to, keys, values, other_keys, other_values);
      }
    }
  }

 private:
  static __device__ void move(index_t from, index_t to, const K* k, const V* v, K* to_k, V* to_v) {
    to_k[to] = k[from];
    if constexpr (!std::is_same_v<V, NoSortValue>) to_v[to] = v[from];
  }
  // A NaN with a sign lies before all numbers in ascending, after them in descending order.
  static __device__ bool is_signed_nan(K key) { return key != key && signbit(key); }

  // How far items move up so that the NaNs with a sign come to the other end.
  __device__ index_t misplaced() const {
    if (!is_signed_nan(keys[Descends ? count - 1 : 0])) return 0;
    index_t low = 0, high = count;  // the first item that is on the other side of the border
    while (low < high) {
      const index_t middle = low + (high - low) / 2;
      if (is_signed_nan(keys[middle]) != Descends) low = middle + 1;
      else high = middle;
    }
    return low < count ? count - low : 0;
  }
};

/// Radix sort, in place; `values` may be null.
template <bool Descends, class K, class V>
void radix_sort_on_cuda(const LaunchInfo& info, K* keys, V* values, index_t count) {
  constexpr bool pairs = !std::is_same_v<V, NoSortValue>;
  constexpr int bits = 8 * static_cast<int>(sizeof(K));
  CubLaunch call(info, count);
  const auto sort = [&](void* temporary, std::size_t& bytes, cub::DoubleBuffer<K>& k,
                        cub::DoubleBuffer<V>& v) {
    if constexpr (pairs && Descends)
      return cub::DeviceRadixSort::SortPairsDescending(temporary, bytes, k, v, count, 0, bits, call.stream());
    else if constexpr (pairs)
      return cub::DeviceRadixSort::SortPairs(temporary, bytes, k, v, count, 0, bits, call.stream());
    else if constexpr (Descends)
      return cub::DeviceRadixSort::SortKeysDescending(temporary, bytes, k, count, 0, bits, call.stream());
    else return cub::DeviceRadixSort::SortKeys(temporary, bytes, k, count, 0, bits, call.stream());
  };
  cub::DoubleBuffer<K> key_buffer(keys, nullptr);
  cub::DoubleBuffer<V> value_buffer(values, nullptr);
  std::size_t bytes = call.bytes_needed(
      count, [&](std::size_t& needed) { return sort(nullptr, needed, key_buffer, value_buffer); },
      "cub::DeviceRadixSort, asked for its memory");

  ScratchPlan plan;
  const std::size_t shift_at = plan.add<index_t>(1), keys_at = plan.add<K>(count);
  const std::size_t values_at = pairs ? plan.add<V>(count) : keys_at;
  const std::size_t temporary_at = plan.add<char>(static_cast<index_t>(bytes));
  char* const memory = call.scratch(plan.bytes());
  K* const other_keys = reinterpret_cast<K*>(memory + keys_at);
  V* const other_values = pairs ? reinterpret_cast<V*>(memory + values_at) : nullptr;
  key_buffer = cub::DoubleBuffer<K>(keys, other_keys);
  value_buffer = cub::DoubleBuffer<V>(values, other_values);
  call.check(sort(memory + temporary_at, bytes, key_buffer, value_buffer), "cub::DeviceRadixSort");

  const auto bring_back = [&](auto* to, const auto* from) {
    if (from != to)
      call.check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof *to,
                                 cudaMemcpyDeviceToDevice, call.stream()),
                 "copying what cub::DeviceRadixSort sorted");
  };
  bring_back(keys, key_buffer.Current());
  if constexpr (pairs) bring_back(values, value_buffer.Current());
  if constexpr (std::is_floating_point_v<K>) {
    RotateNans<K, V, Descends> rotate{keys,       values,
                                      other_keys, other_values,
                                      count,      reinterpret_cast<index_t*>(memory + shift_at),
                                      false,      call.launch().check()};
    // Few blocks: as a rule they only look at one key.
    constexpr int most_blocks = 2;
    call.run(rotate, count, most_blocks);
    rotate.back = true;
    call.run(rotate, count, most_blocks);
  }
}

/// Merge sort, in place and stable.
template <class K, class V, class Less>
void merge_sort_on_cuda(const LaunchInfo& info, K* keys, V* values, index_t count, const Less& less) {
  CubLaunch call(info, count);
  const CubFunctor<Less> order{less, call.launch().check()};
  const auto sort = [&](void* temporary, std::size_t& bytes) {
    if constexpr (std::is_same_v<V, NoSortValue>)
      return cub::DeviceMergeSort::SortKeys(temporary, bytes, keys, count, order, call.stream());
    else
      return cub::DeviceMergeSort::StableSortPairs(temporary, bytes, keys, values, count, order,
                                                   call.stream());
  };
  std::size_t bytes = call.bytes_needed(
      count, [&](std::size_t& needed) { return sort(nullptr, needed); },
      "cub::DeviceMergeSort, asked for its memory");
  call.check(sort(call.scratch(bytes), bytes), "cub::DeviceMergeSort");
}

template <class K, class V, class Less>
void sort_on_cuda(const LaunchInfo& info, K* keys, V* values, index_t count, const Less& less) {
  if constexpr (sorts_by_radix<K, Less>)
    radix_sort_on_cuda<std::is_same_v<Less, Descending>>(info, keys, values, count);
  else merge_sort_on_cuda(info, keys, values, count, less);
}

/// Sorts `count` keys in device memory; equal ones stay in order where `less` is the user's.
template <class K, class Less>
void sort_keys(CudaExecution, const LaunchInfo& info, K* keys, index_t count, const Less& less) {
  if (count > 0) sort_on_cuda(info, keys, static_cast<NoSortValue*>(nullptr), count, less);
}
/// The same with values that move with their keys; stable.
template <class K, class V, class Less>
void sort_pairs(CudaExecution, const LaunchInfo& info, K* keys, V* values, index_t count, const Less& less) {
  if (count > 0) sort_on_cuda(info, keys, values, count, less);
}

}  // namespace strata::inline STRATA_ABI::detail
