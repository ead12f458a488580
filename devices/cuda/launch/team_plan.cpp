// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <string>

#include <cuda_runtime_api.h>

#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/launch/team_plan.hpp>
#include <strata/devices/cuda/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Threads of a team whose size the device chooses, where the kernel and its scratch memory let it: enough to
// hide latency, few enough for several teams a multiprocessor.
constexpr index_t chosen_threads = 128;
constexpr index_t most_blocks = (index_t{1} << 31) - 1;

// Lets the kernel have all the shared memory that a block can have: the runtime's limit is 48 KiB else.
index_t shared_limit(CudaQueue& queue, CudaTeamKernel& kernel) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const int device = queue.device();
  CudaTeamKernel::OnDevice& entry = kernel.on[device];
  if (entry.filled) return entry.shared_bytes;
  const CudaDeviceScope scope(device);
  int most = 0;
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "asking for the shared memory of a block", device);
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, kernel.kernel.function), "loading a kernel", device);
  const int left = most - static_cast<int>(attributes.sharedSizeBytes);
  check_cuda(cudaFuncSetAttribute(kernel.kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, left),
             "asking for shared memory", device);
  entry.shared_bytes = left;
  entry.filled = true;
  return left;
}

// Blocks that the device holds at a time.
index_t resident_blocks(CudaQueue& queue, const CudaKernel& kernel, index_t threads, index_t shared_bytes) {
  const CudaDeviceScope scope(queue.device());
  int blocks = 0;
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                 &blocks, kernel.function, static_cast<int>(threads), static_cast<std::size_t>(shared_bytes)),
             "asking for the occupancy of a kernel", queue.device());
  return static_cast<index_t>(std::max(blocks, 1)) * queue.gpu().multiprocessors();
}

// What of the kernel and the device limits teams: threads, and scratch memory of level 0.
struct Room {
  index_t most_members;
  index_t most_shared;
  const ScratchBytes& scratch;

  bool fits(index_t members) const {
    return scratch.per_team <= most_shared && scratch.per_member <= most_shared &&
           scratch_of_team(scratch, members) <= most_shared;
  }
  index_t chosen(index_t lanes) const {
    index_t members = std::clamp<index_t>(chosen_threads / lanes, 1, most_members);
    while (members > 1 && !fits(members)) members /= 2;
    return members;
  }
};
Room room_for(CudaQueue& queue, CudaTeamKernel& kernel, const TeamShape& shape) {
  return {cuda_kernel_on(queue, kernel.kernel).most_threads / shape.vector_length,
          shared_limit(queue, kernel), shape.scratch[0]};
}

constexpr index_t most_slot_bytes = index_t{1} << 46;

}  // namespace

TeamLimits cuda_team_limits(CudaQueue& queue, CudaTeamKernel& kernel, const LaunchInfo& info,
                            const TeamShape& shape) {
  TeamShape any_size = shape;
  any_size.team_size = auto_team_size;
  require_team_shape(info, ("Cuda{" + std::to_string(queue.device()) + "}").c_str(), any_size);
  const Room room = room_for(queue, kernel, shape);
  TeamLimits limits{room.most_members, 0, {room.most_shared, most_slot_bytes}};
  while (limits.most_members > 0 && !room.fits(limits.most_members)) --limits.most_members;
  const ScratchBytes& slots = shape.scratch[1];
  if (slots.per_team > most_slot_bytes) limits.most_members = 0;
  if (slots.per_member > 0)
    limits.most_members = std::min(limits.most_members, most_slot_bytes / slots.per_member);
  limits.chosen_members = std::min(room.chosen(shape.vector_length), limits.most_members);
  return limits;
}

CudaTeamPlan cuda_plan_teams(CudaQueue& queue, CudaTeamKernel& kernel, const LaunchInfo& info,
                             const TeamShape& shape) {
  const std::string device = "Cuda{" + std::to_string(queue.device()) + "}";
  require_team_shape(info, device.c_str(), shape);
  const index_t lanes = shape.vector_length;
  const Room room = room_for(queue, kernel, shape);
  const index_t members = shape.team_size == auto_team_size ? room.chosen(lanes) : shape.team_size;
  if (members > room.most_members)
    fail_team_size(info, device.c_str(), members, lanes, room.most_members,
                   "the kernel, by its registers and the device's 1024 threads a block,");
  if (!room.fits(members))
    fail_team_scratch(info, device.c_str(), shape, members, 0, room.most_shared,
                      "the device's shared memory");

  const ScratchBytes& slots = shape.scratch[1];
  if (slots.per_team > most_slot_bytes || slots.per_member > most_slot_bytes / members)
    fail_team_scratch(info, device.c_str(), shape, members, 1, most_slot_bytes, "the device");
  const index_t shared = scratch_of_team(shape.scratch[0], members);
  CudaTeamPlan plan{};
  plan.slot_bytes = scratch_of_team(slots, members);
  index_t blocks = std::clamp<index_t>(shape.teams(), 1, most_blocks);
  if (plan.slot_bytes > 0)
    blocks = std::min(blocks, resident_blocks(queue, kernel.kernel, lanes * members, shared));
  plan.grid = {{static_cast<unsigned>(blocks), 1, 1},
               {static_cast<unsigned>(lanes), static_cast<unsigned>(members), 1},
               static_cast<unsigned>(shared),
               1};
  return plan;
}

}  // namespace strata::inline STRATA_ABI::detail
