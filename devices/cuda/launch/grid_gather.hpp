// Sends a value of each block of a grid to its last block, through device memory: words of 8 bytes, each 4
// bytes of the value and, in the upper half, 1. A word is written and read in one access, so that no fence
// and no counter of blocks is needed: the last block has a value when all its words have come.
//
// Blocks begin in their order, so the last one waits for blocks that are at work; and as no other block
// waits, one that had not begun would find room.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include <strata/devices/cuda/launch/warp.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Orders the accesses of a thread before and after it, as others of the device see them.
inline __device__ void fence_device() {
#if __CUDA_ARCH__ >= 700
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}

/// `slots` are CudaScratch::slots, slots_of(blocks) of them. Values are received by warps, an aligned group
/// at a time: lane l has `values` that follow each other, from number l * values of the group on.
template <class T>
class GridGather {
 public:
  static constexpr int log2_values = sizeof(T) <= 16 ? 2 : 0, values = 1 << log2_values;
  static constexpr int log2_group = log2_values + 5;
  /// The groups of so many blocks, wherever they begin.
  STRATA_FUNCTION static constexpr index_t most_groups(index_t blocks) { return (blocks >> log2_group) + 2; }
  static constexpr std::size_t slots_of(index_t blocks) {
    return (static_cast<std::size_t>(most_groups(blocks)) << log2_group) * words;
  }

  /// `first` is the number of the first block.
  __device__ GridGather(unsigned long long* slots, index_t first, unsigned blocks)
      : slots_(slots),
        first_(static_cast<unsigned>(first) & ((1u << log2_group) - 1)),
        end_(first_ + blocks) {}

  __device__ unsigned groups() const { return ((end_ - 1) >> log2_group) + 1; }

  /// By one thread of a block.
  __device__ void send(unsigned block, const T& value) const {
    const Words<T> own(value);
    const unsigned number = first_ + block, lane = number >> log2_values & (warp_lanes - 1);
    for (int w = 0; w < words; ++w)
      write(slot(number >> log2_group, lane, number & (values - 1), w), is_sent | own.word[w]);
  }

  /// Waits for the values of a lane in the group with number `group` from that of the first block on.
  __device__ void receive(T (&value)[values], unsigned group, unsigned lane) const {
    const unsigned number = (group << log2_group) + (lane << log2_values);
    unsigned word[values][words];
    constexpr int batch = words < 8 ? words : 8;  // of a value, whose loads are in flight together
#pragma unroll 1
    for (int at = 0; at < words; at += batch) {
      unsigned long long got[values][batch];
#pragma unroll
      for (int v = 0; v < values; ++v)
#pragma unroll
        for (int w = 0; w < batch; ++w)
          got[v][w] = number + v >= first_ && number + v < end_ && at + w < words ? 0 : is_sent;
      bool missing;
      do {
#pragma unroll
        for (int v = 0; v < values; ++v)
#pragma unroll
          for (int w = 0; w < batch; ++w)
            if (got[v][w] < is_sent) got[v][w] = read(slot(group, lane, v, at + w));
        missing = false;
#pragma unroll
        for (int v = 0; v < values; ++v)
#pragma unroll
          for (int w = 0; w < batch; ++w) missing = missing || got[v][w] < is_sent;
      } while (missing);
#pragma unroll
      for (int v = 0; v < values; ++v)
#pragma unroll
        for (int w = 0; w < batch; ++w)
          if (at + w < words) word[v][at + w] = static_cast<unsigned>(got[v][w]);
    }
#pragma unroll
    for (int v = 0; v < values; ++v) memcpy(&value[v], word[v], sizeof(T));
  }

  /// Clears the slots that a lane has received, for the next launch.
  __device__ void clear(unsigned group, unsigned lane) const {
    for (int v = 0; v < values; ++v)
      for (int w = 0; w < words; ++w) write(slot(group, lane, v, w), 0);
  }

 private:
  static constexpr int words = Words<T>::count;
  static constexpr unsigned long long is_sent = 1ull << 32;

  // Next to each other for the lanes of a warp.
  __device__ unsigned long long* slot(unsigned group, unsigned lane, unsigned value, int word) const {
    return slots_ + ((group * index_t{words} + word) << log2_group) + (value * warp_lanes + lane);
  }
  static __device__ unsigned long long read(const unsigned long long* slot) {
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                 : "=l"(word)
                 : "l"(__cvta_generic_to_global(slot))
                 : "memory");
    return word;
  }
  static __device__ void write(unsigned long long* slot, unsigned long long word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(slot)), "l"(word)
                 : "memory");
  }

  unsigned long long* slots_;
  unsigned first_, end_;  // from the beginning of the first block's group on
};

}  // namespace strata::inline STRATA_ABI::detail
