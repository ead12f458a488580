// Kernels of launches over teams: a thread block a team. Where there are fewer blocks than teams (level 1 of
// scratch memory is a slot for each block that the device holds at a time), blocks go on by strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/team_member.hpp>

namespace strata::inline STRATA_ABI::detail {

extern __shared__ __align__(64) char cuda_team_shared[];

/// The teams of a launch, and where their scratch memory is.
struct CudaLeague {
  index_t size;
  ScratchBytes scratch[scratch_levels];
  char* slots;  // of level 1
  index_t slot_bytes;

  // The state of a thread in the block's next team.
  __device__ CudaTeamState state(index_t rank) const {
    CudaTeamState s;
    s.league_rank = rank;
    s.league_size = size;
    char* const memory[scratch_levels] = {cuda_team_shared, slots + blockIdx.x * slot_bytes};
#pragma unroll
    for (int level = 0; level < scratch_levels; ++level) {
      const ScratchBytes& bytes = scratch[level];
      char* const own =
          memory[level] + padded_scratch(bytes.per_team) + threadIdx.y * padded_scratch(bytes.per_member);
      s.of_team[level] = {memory[level], memory[level] + bytes.per_team};
      s.of_member[level] = {own, own + bytes.per_member};
    }
    return s;
  }

  /// Calls f(state) for each team of the block.
  template <class F>
  __device__ void for_teams(const F& f) const {
    for (index_t rank = blockIdx.x; rank < size; rank += gridDim.x) {
      CudaTeamState s = state(rank);
      f(s);
      // The next team uses the same memory.
      if (rank + gridDim.x < size) __syncthreads();
    }
  }
};

template <class Body>
struct CudaTeamFor {
  Body body;
  CudaLeague league;
  CudaCheck check;

  __device__ void run() const {
    league.for_teams([this](CudaTeamState& state) { body(CudaTeamMember(state)); });
  }
};

/// Writes what each team contributes to a reduction: the values of its members' first lanes, joined.
template <class Body, class Reducer>
struct CudaTeamContribute {
  using T = typename Reducer::value_type;

  Body body;
  Reducer reducer;
  CudaLeague league;
  T* contributions;
  CudaCheck check;

  __device__ void run() const {
    league.for_teams([this](CudaTeamState& state) {
      T value;
      reducer.init(value);
      body(CudaTeamMember(state), value);
      join_team(value, static_cast<int>(blockDim.x), reducer);
      if (threadIdx.x == 0 && threadIdx.y == 0) contributions[state.league_rank] = value;
    });
  }
};

/// The body of the reduction over those.
template <class Reducer>
struct CudaJoinContributions {
  using T = typename Reducer::value_type;

  Reducer reducer;
  const T* contributions;
  __device__ void operator()(index_t rank, T& value) const { reducer.join(value, contributions[rank]); }
};

}  // namespace strata::inline STRATA_ABI::detail
