// Device code that the kernels of reductions and scans share: moving values between the lanes of a warp, and
// the pairwise tree of core/reduction_tree.hpp over nodes that the lanes hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include <strata/devices/cuda/launch/launch.hpp>

namespace strata::inline STRATA_ABI::detail {

inline constexpr int warp_lanes = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

// A value as 32-bit words, which a warp exchanges.
template <class T>
struct Words {
  static constexpr int count = static_cast<int>((sizeof(T) + 3) / 4);
  unsigned word[count];

  __device__ explicit Words(const T& value) {
    word[count - 1] = 0;
    memcpy(word, &value, sizeof(T));
  }
  __device__ void get(T& value) const { memcpy(&value, word, sizeof(T)); }
};

/// Whether the finish calls a functor on the device.
template <class Finish>
inline constexpr bool has_finalize = requires(const Finish& finish) {
  finish.finalize;
};
/// Whether the finish is for when all blocks have ended: the host, or a functor, may read what they wrote.
template <class Finish>
inline constexpr bool finishes_after_all = Finish::waits || has_finalize<Finish>;

/// Hands a value to the host.
template <class T>
__device__ void hand_over(const CudaHostSlot& slot, const T& value) {
  const Words<T> words(value);
  for (int w = 0; w < Words<T>::count; ++w)
    slot.words[w] = static_cast<std::uint64_t>(slot.ticket) << 32 | words.word[w];
}

/// The value of the lane `distance` above.
template <class T>
__device__ void value_from_above(T& result, const T& value, int distance) {
  Words<T> words(value);
#pragma unroll
  for (int w = 0; w < Words<T>::count; ++w)
    words.word[w] = __shfl_down_sync(all_lanes, words.word[w], static_cast<unsigned>(distance));
  words.get(result);
}
/// The value of the lane `distance` below.
template <class T>
__device__ void value_from_below(T& result, const T& value, int distance) {
  Words<T> words(value);
#pragma unroll
  for (int w = 0; w < Words<T>::count; ++w)
    words.word[w] = __shfl_up_sync(all_lanes, words.word[w], static_cast<unsigned>(distance));
  words.get(result);
}
/// The value of lane `lane`.
template <class T>
__device__ void value_of_lane(T& result, const T& value, int lane) {
  Words<T> words(value);
#pragma unroll
  for (int w = 0; w < Words<T>::count; ++w) words.word[w] = __shfl_sync(all_lanes, words.word[w], lane);
  words.get(result);
}

/// Joins the nodes that a thread holds, `Count` that have a common parent, pairwise, to the first; `has` says
/// which there are. Whether there are any.
template <int Count, class T, class Reducer>
__device__ bool join_own(T (&value)[Count], bool (&has)[Count], const Reducer& reducer) {
#pragma unroll
  for (int half = 1; half < Count; half *= 2)
#pragma unroll
    for (int o = 0; o < Count; o += 2 * half) {
      if (!has[o + half]) continue;
      if (has[o]) reducer.join(value[o], value[o + half]);
      else value[o] = value[o + half];
      has[o] = true;
    }
  return has[0];
}

/// Joins the nodes that the lanes of a warp hold, lane l the l-th of 32 that have a common parent, pairwise;
/// `has` says whether a lane has one. Called by all lanes; the result is in lane 0, if any lane has a node.
/// `count`: no lane from that one on, a power of two, has.
template <class T, class Reducer>
__device__ void join_nodes(T& value, bool has, int count, const Reducer& reducer) {
  const int lane = static_cast<int>(threadIdx.x % warp_lanes);
  const unsigned all = __ballot_sync(all_lanes, has);
#pragma unroll
  for (int half = 1; half < warp_lanes; half *= 2) {
    if (half >= count) break;
    T above;
    value_from_above(above, value, half);
    if ((lane & (2 * half - 1)) != 0) continue;
    const unsigned from_lane = all >> lane, nodes = (1u << half) - 1;  // of a half
    if ((from_lane >> half & nodes) != 0) {
      if ((from_lane & nodes) != 0) reducer.join(value, above);
      else value = above;
    }
  }
}

}  // namespace strata::inline STRATA_ABI::detail
