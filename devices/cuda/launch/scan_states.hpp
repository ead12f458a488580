// How the thread blocks of a scan pass on the sums of their tiles, in one launch.
//
// A block publishes the sum of its tile as soon as it knows it, and the sum of all to its end once it knows
// the one before it. For that it looks back: over the tiles before its own, nearest first, until it meets one
// whose sum of all is known; from there it joins the tiles' sums in their order, as core/scan_order.hpp has
// it. How far back that is depends on chance; the bits do not. (Decoupled look-back, by D. Merrill and M.
// Garland, Single-pass parallel prefix scan with decoupled look-back, 2016, joins in an order that depends on
// chance.)
//
// Tiles are given out in the order in which blocks begin to work, so those before a block's own are at work
// or done, and none waits for a block that has not begun.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/warp.hpp>

namespace strata::inline STRATA_ABI::detail {

/// What of a tile is known.
enum class TileState : unsigned { Nothing, Sum, SumOfAll };

/// A value of at most 8 bytes and its state, written and read in one access of 16 bytes, also where 8 would
/// do: with twice the tiles in a line scans of 4-byte integers took a tenth longer. All zero at first.
///
/// Every word that is read must matter: ptxas 13.0 splits a 128-bit load whose words are not all used into
/// several, and the state of one time then meets the value of another. So the upper half of the state's word
/// has the two halves of the value, joined by exclusive or, which the reader compares.
template <class T>
struct alignas(16) SmallTile {
  unsigned long long state;
  unsigned long long bits;

  __device__ void publish(TileState new_state, const T& value) {
    unsigned long long new_bits = 0;
    memcpy(&new_bits, &value, sizeof(T));
    asm volatile(
        "{\n\t.reg .b128 t;\n\tmov.b128 t, {%1, %2};\n\tst.relaxed.gpu.global.b128 [%0], t;\n\t}" ::"l"(
            __cvta_generic_to_global(this)),
        "l"(both_halves(new_bits) << 32 | static_cast<unsigned long long>(new_state)), "l"(new_bits)
        : "memory");
  }
  __device__ TileState read(T& value) const {
    unsigned long long old_state, old_bits;
    asm volatile("{\n\t.reg .b128 t;\n\tld.relaxed.gpu.global.b128 t, [%2];\n\tmov.b128 {%0, %1}, t;\n\t}"
                 : "=l"(old_state), "=l"(old_bits)
                 : "l"(__cvta_generic_to_global(this))
                 : "memory");
    memcpy(&value, &old_bits, sizeof(T));
    return old_state >> 32 == both_halves(old_bits) ? static_cast<TileState>(old_state & 0xffffffffu)
                                                    : TileState::Nothing;
  }

 private:
  static __device__ unsigned long long both_halves(unsigned long long bits) {
    return (bits >> 32) ^ (bits & 0xffffffffu);
  }
};

// Tiles that a warp looks at before it looks at the nearest again, a window for each lane of the warp at a
// time.
inline constexpr int look_back_windows = 4;

// Goes back over the windows before `tile` until one has a tile whose sum of all is known; called by a whole
// warp. look(window, other) says what is known of tile `other`. Returns the distance less 1.
template <class Look>
__device__ int distance_back(index_t tile, const Look& look) {
  const int lane = static_cast<int>(threadIdx.x % warp_lanes);
  for (;;) {
#pragma unroll
    for (int w = 0; w < look_back_windows; ++w) {
      for (;;) {
        const TileState state = look(w, tile - 1 - w * warp_lanes - lane);
        const unsigned all = __ballot_sync(all_lanes, state == TileState::SumOfAll);
        const unsigned missing = __ballot_sync(all_lanes, state == TileState::Nothing);
        // The lanes before the first that knows the sum of all.
        const unsigned nearer = all != 0 ? (all & (0u - all)) - 1 : all_lanes;
        if ((missing & nearer) != 0) continue;
        if (all != 0) return w * warp_lanes + __ffs(static_cast<int>(all)) - 1;
        break;
      }
    }
  }
}

template <class T, bool Small = sizeof(T) <= 8>
class CudaScanStates {
 public:
  /// For so many tiles in memory of so many bytes, of which the first cleared_bytes(tiles) are zero.
  STRATA_FUNCTION static constexpr std::size_t bytes(index_t tiles) { return cleared_bytes(tiles); }
  STRATA_FUNCTION static constexpr std::size_t cleared_bytes(index_t tiles) {
    return static_cast<std::size_t>(tiles) * sizeof(SmallTile<T>);
  }
  STRATA_FUNCTION CudaScanStates(void* memory, index_t) : tiles_(static_cast<SmallTile<T>*>(memory)) {}

  /// By one thread.
  __device__ void publish(index_t tile, TileState state, const T& value) const {
    tiles_[tile].publish(state, value);
  }
  /// Of a tile that has published it.
  __device__ void sum_of_all(index_t tile, T& sum) const { tiles_[tile].read(sum); }

  /// By a whole warp: the sum before `tile`, `start` that before the first.
  template <class Reducer>
  __device__ void look_back(index_t tile, const T& start, const Reducer& reducer, T& sum) const {
    T known[look_back_windows];
    const int distance = distance_back(tile, [&](int w, index_t other) {
      if (other < 0) {
        known[w] = start;
        return TileState::SumOfAll;
      }
      return tiles_[other].read(known[w]);
    });
    bool begun = false;
#pragma unroll
    for (int w = look_back_windows - 1; w >= 0; --w) {
      if (distance < w * warp_lanes) continue;
      int lane = warp_lanes - 1;
      if (!begun) {
        lane = distance - w * warp_lanes;
        value_of_lane(sum, known[w], lane--);
        begun = true;
      }
#pragma unroll 4
      for (; lane >= 0; --lane) {
        T next;
        value_of_lane(next, known[w], lane);
        reducer.join(sum, next);
      }
    }
  }

 private:
  SmallTile<T>* tiles_;
};

/// Larger values: beside their states, which are stored after them and read before.
template <class T>
class CudaScanStates<T, false> {
 public:
  STRATA_FUNCTION static constexpr std::size_t bytes(index_t tiles) {
    return values_at(tiles) + 2 * static_cast<std::size_t>(tiles) * sizeof(T);
  }
  STRATA_FUNCTION static constexpr std::size_t cleared_bytes(index_t tiles) {
    return static_cast<std::size_t>(tiles) * sizeof(unsigned);
  }
  STRATA_FUNCTION CudaScanStates(void* memory, index_t tiles)
      : states_(static_cast<unsigned*>(memory)),
        sums_(reinterpret_cast<T*>(static_cast<char*>(memory) + values_at(tiles))),
        sums_of_all_(sums_ + tiles) {}

  __device__ void publish(index_t tile, TileState state, const T& value) const {
    T& place = state == TileState::Sum ? sums_[tile] : sums_of_all_[tile];
    memcpy(&place, &value, sizeof(T));
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(states_ + tile)),
                 "r"(static_cast<unsigned>(state))
                 : "memory");
  }
  __device__ void sum_of_all(index_t tile, T& sum) const { memcpy(&sum, sums_of_all_ + tile, sizeof(T)); }

  template <class Reducer>
  __device__ void look_back(index_t tile, const T& start, const Reducer& reducer, T& sum) const {
    const int distance = distance_back(
        tile, [&](int, index_t other) { return other < 0 ? TileState::SumOfAll : read(other); });
    // What one lane has acquired all may read.
    __syncwarp();
    index_t other = tile - 1 - distance;
    if (other < 0) sum = start;
    else sum_of_all(other, sum);
    while (++other < tile) reducer.join(sum, sums_[other]);
  }

 private:
  STRATA_FUNCTION static constexpr std::size_t values_at(index_t tiles) {
    return (cleared_bytes(tiles) + 255) / 256 * 256;
  }
  __device__ TileState read(index_t tile) const {
    unsigned state;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(state)
                 : "l"(__cvta_generic_to_global(states_ + tile))
                 : "memory");
    return static_cast<TileState>(state);
  }

  unsigned* states_;
  T* sums_;
  T* sums_of_all_;
};

}  // namespace strata::inline STRATA_ABI::detail
