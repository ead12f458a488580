// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/devices/team_shape.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr index_t most_lanes = 32;

std::string subject(const LaunchInfo& info, const char* device) {
  return "kernel " + std::string(info.name()) + " on " + device + ": ";
}

}  // namespace

void require_team_shape(const LaunchInfo& info, const char* device, const TeamShape& shape) {
  const auto fail = [&](const std::string& reason) { throw KernelError(subject(info, device) + reason); };
  if (shape.team_size < 1 && shape.team_size != auto_team_size)
    fail("teams of " + std::to_string(shape.team_size) +
         " members; give at least 1, or leave the size to the device: teams(league_size)");
  const index_t lanes = shape.vector_length;
  if (lanes < 1 || lanes > most_lanes || (lanes & (lanes - 1)) != 0)
    fail("members of " + std::to_string(lanes) + " lanes; vector(n) takes a power of two from 1 to " +
         std::to_string(most_lanes));
  for (const ScratchBytes& scratch : shape.scratch)
    if (scratch.per_team < 0 || scratch.per_member < 0)
      fail("scratch memory of " + std::to_string(scratch.per_team) + " bytes a team and " +
           std::to_string(scratch.per_member) + " bytes a member; neither may be negative");
}

void fail_team_size(const LaunchInfo& info, const char* device, index_t members, index_t lanes, index_t limit,
                    const char* limit_of) {
  throw KernelError(subject(info, device) + "teams of " + std::to_string(members) + " members of " +
                    std::to_string(lanes) + " lanes; " + limit_of + " allows " + std::to_string(limit) +
                    " members of so many lanes; ask for smaller teams, or leave their size to the device: "
                    "teams(league_size)");
}

void fail_team_scratch(const LaunchInfo& info, const char* device, const TeamShape& shape, index_t members,
                       int level, index_t limit, const char* limit_of) {
  const ScratchBytes& scratch = shape.scratch[level];
  throw OutOfMemory(subject(info, device) + "scratch memory of level " + std::to_string(level) + ": " +
                    std::to_string(scratch.per_team) + " bytes a team and " +
                    std::to_string(scratch.per_member) + " bytes for each of its " + std::to_string(members) +
                    " members; " + limit_of + " allows " + std::to_string(limit) +
                    " bytes a team in all; ask for less" +
                    (level == 0 ? ", for smaller teams, or for level 1" : " or for smaller teams"));
}

void throw_scratch_taken(int level, bool own, index_t bytes, index_t left) {
  if (level < 0 || level >= scratch_levels)
    throw KernelError("a kernel takes scratch memory of level " + std::to_string(level) +
                      "; the levels are 0, small and fast, and 1, large");
  throw OutOfMemory("a kernel takes " + std::to_string(bytes) + " bytes of the scratch memory of level " +
                    std::to_string(level) + (own ? " of a member" : " of its team") + ", where " +
                    std::to_string(left) +
                    " are left; declare what it takes at the launch: teams(...).scratch(" +
                    std::to_string(level) + ", bytes_per_team, bytes_per_member)");
}

}  // namespace strata::inline STRATA_ABI::detail
