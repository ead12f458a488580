// Collective operations of a team on a GPU: loops, reductions, scans and broadcasts over the threads of a
// block. A `unit` is a participant: a member (all of its lanes do the same) or a thread.
//
// Values join pairwise by rank, first within a warp, then over the warps of the block: the tree of
// core/reduction_tree.hpp over units. Blocks need not be whole warps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/warp.hpp>
#include <strata/devices/team_nesting.hpp>

namespace strata::inline STRATA_ABI::detail {

// ---- moving values between some lanes of a warp

template <class T>
__device__ void value_from_above(unsigned mask, T& result, const T& value, int distance) {
  Words<T> words(value);
#pragma unroll
  for (int w = 0; w < Words<T>::count; ++w)
    words.word[w] = __shfl_down_sync(mask, words.word[w], static_cast<unsigned>(distance));
  words.get(result);
}
template <class T>
__device__ void value_from_below(unsigned mask, T& result, const T& value, int distance) {
  Words<T> words(value);
#pragma unroll
  for (int w = 0; w < Words<T>::count; ++w)
    words.word[w] = __shfl_up_sync(mask, words.word[w], static_cast<unsigned>(distance));
  words.get(result);
}
template <class T>
__device__ void value_of_lane(unsigned mask, T& result, const T& value, int lane) {
  Words<T> words(value);
#pragma unroll
  for (int w = 0; w < Words<T>::count; ++w) words.word[w] = __shfl_sync(mask, words.word[w], lane);
  words.get(result);
}

/// Where a thread is in its team.
struct TeamThread {
  int lanes = static_cast<int>(blockDim.x);  // of a member
  int threads = static_cast<int>(blockDim.x * blockDim.y);
  int number = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);

  __device__ int lane() const { return number % warp_lanes; }  // of the warp
  __device__ int warp() const { return number / warp_lanes; }
  __device__ int warps() const { return (threads + warp_lanes - 1) / warp_lanes; }
  __device__ int lanes_here() const {
    const int left = threads - warp() * warp_lanes;
    return left < warp_lanes ? left : warp_lanes;
  }
  /// The threads of the team in this warp.
  __device__ unsigned warp_mask() const { return all_lanes >> (warp_lanes - lanes_here()); }
  /// The threads of this member.
  __device__ unsigned member_mask() const {
    return (all_lanes >> (warp_lanes - lanes)) << (lane() & ~(lanes - 1));
  }
  /// The first thread of this member, as a lane of the warp.
  __device__ int first_lane() const { return lane() & ~(lanes - 1); }
};

// Memory of the team for a value a warp; between two uses there is a barrier.
template <class T>
__device__ T* team_exchange() {
  __shared__ alignas(alignof(T) > 16 ? alignof(T) : 16) char storage[warp_lanes * sizeof(T)];
  return reinterpret_cast<T*>(storage);
}

// ---- reductions

// To all lanes of the member.
template <class T, class Reducer>
__device__ void join_member(T& value, const Reducer& reducer) {
  const TeamThread thread;
  const unsigned mask = thread.member_mask();
  for (int distance = 1; distance < thread.lanes; distance *= 2) {
    T above;
    value_from_above(mask, above, value, distance);
    if ((thread.lane() & (2 * distance - 1)) == 0) reducer.join(value, above);
  }
  if (thread.lanes > 1) value_of_lane(mask, value, value, thread.first_lane());
}

// To all threads of the team; called by all of them. `unit` threads hold the value of one participant each.
template <class T, class Reducer>
__device__ void join_team(T& value, int unit, const Reducer& reducer) {
  const TeamThread thread;
  const int lane = thread.lane(), warps = thread.warps();
  const unsigned mask = thread.warp_mask();
  for (int distance = unit; distance < warp_lanes && distance < thread.threads; distance *= 2) {
    T above;
    value_from_above(mask, above, value, distance);
    if ((lane & (2 * distance - 1) & ~(unit - 1)) == 0 && thread.number + distance < thread.threads)
      reducer.join(value, above);
  }
  if (warps == 1) {
    value_of_lane(mask, value, value, 0);
    return;
  }
  T* const slot = team_exchange<T>();
  if (lane == 0) slot[thread.warp()] = value;
  __syncthreads();
  if (thread.warp() == 0) {
    T mine = value;
    if (lane < warps) mine = slot[lane];
    for (int distance = 1; distance < warps; distance *= 2) {
      T above;
      value_from_above(all_lanes, above, mine, distance);
      if ((lane & (2 * distance - 1)) == 0 && lane + distance < warps) reducer.join(mine, above);
    }
    if (lane == 0) slot[0] = mine;
  }
  __syncthreads();
  value = slot[0];
  __syncthreads();
}

// ---- scans: `before` becomes the joined values of the units before this one, `all` those of all units

template <class T, class Reducer>
__device__ void scan_member(T sum, T& before, T& all, const Reducer& reducer) {
  const TeamThread thread;
  const unsigned mask = thread.member_mask();
  const int lane = thread.lane() - thread.first_lane();
  for (int distance = 1; distance < thread.lanes; distance *= 2) {
    T below;
    value_from_below(mask, below, sum, distance);
    if (lane >= distance) {
      reducer.join(below, sum);
      sum = below;
    }
  }
  T previous;
  value_from_below(mask, previous, sum, 1);
  reducer.init(before);
  if (lane > 0) before = previous;
  value_of_lane(mask, all, sum, thread.first_lane() + thread.lanes - 1);
}

// Called by all threads of the team.
template <class T, class Reducer>
__device__ void scan_team(T sum, int unit, T& before, T& all, const Reducer& reducer) {
  const TeamThread thread;
  const int lane = thread.lane(), warp = thread.warp(), warps = thread.warps();
  const unsigned mask = thread.warp_mask();
  for (int distance = unit; distance < warp_lanes; distance *= 2) {
    T below;
    value_from_below(mask, below, sum, distance);
    if (lane >= distance) {
      reducer.join(below, sum);
      sum = below;
    }
  }
  T previous;
  value_from_below(mask, previous, sum, unit);
  reducer.init(before);
  if (lane >= unit) before = previous;
  value_of_lane(mask, all, sum, thread.lanes_here() - 1);
  if (warps == 1) return;

  T* const slot = team_exchange<T>();
  if (lane == 0) slot[warp] = all;
  __syncthreads();
  if (warp == 0) {
    T totals = all;
    if (lane < warps) totals = slot[lane];
    for (int distance = 1; distance < warps; distance *= 2) {
      T below;
      value_from_below(all_lanes, below, totals, distance);
      if (lane >= distance) {
        reducer.join(below, totals);
        totals = below;
      }
    }
    if (lane < warps) slot[lane] = totals;
  }
  __syncthreads();
  if (warp > 0) {
    T carry = slot[warp - 1];
    if (lane >= unit) reducer.join(carry, before);
    before = carry;
  }
  all = slot[warps - 1];
  __syncthreads();
}

// ---- what members call, by the kind of loop

// Participants and steps: the first item of this thread, and the distance to its next.
struct TeamSteps {
  index_t first;
  index_t step;

  __device__ explicit TeamSteps(OverMembers) : first(threadIdx.y), step(blockDim.y) {}
  __device__ explicit TeamSteps(OverLanes) : first(threadIdx.x), step(blockDim.x) {}
  __device__ explicit TeamSteps(OverMembersAndLanes)
      : first(threadIdx.y * blockDim.x + threadIdx.x), step(blockDim.x * blockDim.y) {}
};

template <class Over, class F>
__device__ void team_for(Over over, index_t begin, index_t end, const F& f) {
  const TeamSteps steps(over);
  for (index_t i = begin + steps.first; i < end; i += steps.step) f(i);
  // Makes what the lanes wrote visible to their member.
  if constexpr (std::is_same_v<Over, OverLanes>) __syncwarp(TeamThread().member_mask());
}

template <class T, class Reducer>
__device__ void join_over(OverMembers, T& value, const Reducer& reducer) {
  join_team(value, static_cast<int>(blockDim.x), reducer);
}
template <class T, class Reducer>
__device__ void join_over(OverLanes, T& value, const Reducer& reducer) {
  join_member(value, reducer);
}
template <class T, class Reducer>
__device__ void join_over(OverMembersAndLanes, T& value, const Reducer& reducer) {
  join_team(value, 1, reducer);
}

template <class Over, class F, class Reducer, class T>
__device__ void team_reduce(Over over, index_t begin, index_t end, const F& f, const Reducer& reducer,
                            T& result) {
  const TeamSteps steps(over);
  T value;
  reducer.init(value);
  for (index_t i = begin + steps.first; i < end; i += steps.step) f(i, value);
  join_over(over, value, reducer);
  result = value;
}

template <class T, class Reducer>
__device__ void scan_over(OverMembers, const T& sum, T& before, T& all, const Reducer& reducer) {
  scan_team(sum, static_cast<int>(blockDim.x), before, all, reducer);
}
template <class T, class Reducer>
__device__ void scan_over(OverLanes, const T& sum, T& before, T& all, const Reducer& reducer) {
  scan_member(sum, before, all, reducer);
}
template <class T, class Reducer>
__device__ void scan_over(OverMembersAndLanes, const T& sum, T& before, T& all, const Reducer& reducer) {
  scan_team(sum, 1, before, all, reducer);
}

template <class Over, class F, class Reducer, class T>
__device__ void team_scan(Over over, index_t begin, index_t end, const F& f, const Reducer& reducer,
                          T& total) {
  const TeamSteps steps(over);
  T carry;
  reducer.init(carry);
  for (index_t from = begin; from < end; from += steps.step) {
    const index_t i = from + steps.first;
    T sum, before, all;
    reducer.init(sum);
    if (i < end) f(i, sum, false);
    scan_over(over, sum, before, all, reducer);
    T prefix = carry;
    reducer.join(prefix, before);
    if (i < end) f(i, prefix, true);
    reducer.join(carry, all);
  }
  total = carry;
}

template <class F>
__device__ void team_single(OneOfTeam, const F& f) {
  if (threadIdx.x == 0 && threadIdx.y == 0) f();
}
template <class F>
__device__ void team_single(OneOfMember, const F& f) {
  if (threadIdx.x == 0) f();
  __syncwarp(TeamThread().member_mask());
}

template <class T>
__device__ void team_broadcast(OneOfTeam, T& value, int root) {
  T* const slot = team_exchange<T>();
  if (threadIdx.x == 0 && static_cast<int>(threadIdx.y) == root) *slot = value;
  __syncthreads();
  value = *slot;
  __syncthreads();
}
template <class T>
__device__ void team_broadcast(OneOfMember, T& value, int root) {
  const TeamThread thread;
  value_of_lane(thread.member_mask(), value, value, thread.first_lane() + root);
}

}  // namespace strata::inline STRATA_ABI::detail
