// A member of a team on a GPU: a team is a thread block of (lanes x members) threads, a member being a row of
// neighbouring threads of one warp, a power of two of them.
//
// Also seen by files that nvcc does not compile, where nothing of it is ever called.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout_left.hpp>
#include <strata/devices/team_nesting.hpp>
#include <strata/devices/team_shape.hpp>

#if defined(__CUDACC__)
#include <strata/devices/cuda/launch/team_collectives.hpp>
#endif

// The code of a function on a GPU, and its result elsewhere, where it is compiled and not called.
#if defined(__CUDA_ARCH__)
#define STRATA_ON_GPU(code, otherwise) code
#else
#define STRATA_ON_GPU(code, otherwise) otherwise
#endif

namespace strata::inline STRATA_ABI::detail {

/// The state of a thread in its team.
struct CudaTeamState {
  index_t league_rank;
  index_t league_size;
  ScratchCursor of_team[scratch_levels];
  ScratchCursor of_member[scratch_levels];
};

/// A handle, valid during the call of the kernel. See algorithms/team.hpp.
class CudaTeamMember {
 public:
  using scratch_layout = LayoutLeft;

  STRATA_FUNCTION explicit CudaTeamMember(CudaTeamState& state) : state_(&state) {}

  STRATA_FUNCTION index_t league_rank() const { return state_->league_rank; }
  STRATA_FUNCTION index_t league_size() const { return state_->league_size; }
  STRATA_FUNCTION int team_rank() const { return STRATA_ON_GPU(static_cast<int>(threadIdx.y), 0); }
  STRATA_FUNCTION int team_size() const { return STRATA_ON_GPU(static_cast<int>(blockDim.y), 1); }
  STRATA_FUNCTION int vector_length() const { return STRATA_ON_GPU(static_cast<int>(blockDim.x), 1); }

  STRATA_FUNCTION void barrier() const { STRATA_ON_GPU(__syncthreads(), ); }

  template <class T>
  STRATA_FUNCTION T* scratch(int level, index_t count) const {
    return static_cast<T*>(state_->of_team[level == 0 ? 0 : 1].take(count, static_cast<index_t>(sizeof(T)),
                                                                    alignof(T), level, false));
  }
  template <class T>
  STRATA_FUNCTION T* own_scratch(int level, index_t count) const {
    return static_cast<T*>(state_->of_member[level == 0 ? 0 : 1].take(count, static_cast<index_t>(sizeof(T)),
                                                                      alignof(T), level, true));
  }

  template <class Over, class F>
  STRATA_FUNCTION void for_items([[maybe_unused]] Over over, [[maybe_unused]] index_t begin,
                                 [[maybe_unused]] index_t end, [[maybe_unused]] const F& f) const {
    STRATA_ON_GPU(team_for(over, begin, end, f), );
  }
  template <class Over, class F, class Reducer, class T>
  STRATA_FUNCTION void reduce_items([[maybe_unused]] Over over, [[maybe_unused]] index_t begin,
                                    [[maybe_unused]] index_t end, [[maybe_unused]] const F& f,
                                    [[maybe_unused]] const Reducer& reducer,
                                    [[maybe_unused]] T& result) const {
    STRATA_ON_GPU(team_reduce(over, begin, end, f, reducer, result), );
  }
  template <class Over, class F, class Reducer, class T>
  STRATA_FUNCTION void scan_items([[maybe_unused]] Over over, [[maybe_unused]] index_t begin,
                                  [[maybe_unused]] index_t end, [[maybe_unused]] const F& f,
                                  [[maybe_unused]] const Reducer& reducer, [[maybe_unused]] T& total) const {
    STRATA_ON_GPU(team_scan(over, begin, end, f, reducer, total), );
  }
  template <class One, class F>
  STRATA_FUNCTION void single([[maybe_unused]] One one, [[maybe_unused]] const F& f) const {
    STRATA_ON_GPU(team_single(one, f), );
  }
  template <class One, class T>
  STRATA_FUNCTION void broadcast([[maybe_unused]] One one, [[maybe_unused]] T& value,
                                 [[maybe_unused]] int root) const {
    STRATA_ON_GPU(team_broadcast(one, value, root), );
  }

 private:
  CudaTeamState* state_;
};

}  // namespace strata::inline STRATA_ABI::detail

#undef STRATA_ON_GPU
