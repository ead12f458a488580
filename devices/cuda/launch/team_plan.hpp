// How a launch over teams is cut into blocks: without templates and without a CUDA header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/launch.hpp>
#include <strata/devices/team_shape.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A kernel over teams, in static storage; the shared memory that it may use is queried once for each device.
struct CudaTeamKernel {
  CudaKernel kernel;
  struct OnDevice {
    bool filled;
    index_t shared_bytes;  // that a launch may ask for
  } on[max_cuda_devices];
};

struct CudaTeamPlan {
  CudaGrid grid;
  index_t slot_bytes;  // of scratch memory of level 1, for each block of the grid

  std::size_t all_slots() const { return static_cast<std::size_t>(slot_bytes) * grid.grid[0]; }
};

/// Throws KernelError for teams that are too large for the device or the kernel, OutOfMemory for too much
/// scratch memory of level 0. An empty league has one block.
CudaTeamPlan cuda_plan_teams(CudaQueue& queue, CudaTeamKernel& kernel, const LaunchInfo& info,
                             const TeamShape& shape);

/// What teams of the kernel can be on the device of `queue`. Throws KernelError for lanes that are not
/// possible.
TeamLimits cuda_team_limits(CudaQueue& queue, CudaTeamKernel& kernel, const LaunchInfo& info,
                            const TeamShape& shape);

}  // namespace strata::inline STRATA_ABI::detail
