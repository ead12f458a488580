// The shape of a launch over teams, and what devices derive from it. Integers only: user code includes this
// header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>
#include <strata/devices/chunk.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Levels of scratch memory: 0 is small and fast, 1 large.
inline constexpr int scratch_levels = 2;
/// The scratch memory of a team and of each member begins at multiples of this many bytes.
inline constexpr index_t scratch_alignment = 64;

/// The size of teams whose size the device chooses.
inline constexpr index_t auto_team_size = INT64_MIN;

/// Bytes of scratch memory of one level.
struct ScratchBytes {
  index_t per_team;
  index_t per_member;
};

/// `league_size` teams of `team_size` members, each of `vector_length` lanes.
struct TeamShape {
  index_t league_size;
  index_t team_size;  // or auto_team_size
  index_t vector_length;
  ScratchBytes scratch[scratch_levels];
  Schedule schedule;
  index_t chunk;  // teams that a thread takes at a time; 0: the device chooses

  constexpr index_t teams() const { return league_size > 0 ? league_size : 0; }
};

/// What a device can do for the teams of a launch, whose scratch memory and lanes are given.
struct TeamLimits {
  index_t most_members;             ///< of a team, with the scratch memory that the launch asks for
  index_t chosen_members;           ///< those of teams whose size the device chooses
  index_t scratch[scratch_levels];  ///< bytes that a team can have
};

constexpr index_t padded_scratch(index_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}
/// Bytes of one level that a team of `members` needs.
constexpr index_t scratch_of_team(const ScratchBytes& scratch, index_t members) {
  return padded_scratch(scratch.per_team) + members * padded_scratch(scratch.per_member);
}

/// Throws KernelError, with the kernel and the device, unless `shape` is possible on some device: sizes that
/// are not negative, lanes a power of two up to 32.
void require_team_shape(const LaunchInfo& info, const char* device, const TeamShape& shape);

/// Throws KernelError: a team of `members` asks for more than the device has. `limit` is in words.
[[noreturn]] void fail_team_size(const LaunchInfo& info, const char* device, index_t members, index_t lanes,
                                 index_t limit, const char* limit_of);
/// Throws OutOfMemory: a team asks for `bytes` of scratch memory of `level`; there are `limit`.
[[noreturn]] void fail_team_scratch(const LaunchInfo& info, const char* device, const TeamShape& shape,
                                    index_t members, int level, index_t limit, const char* limit_of);

/// Throws OutOfMemory out of a kernel that takes more scratch memory than its launch declared, KernelError
/// where there is no such level.
[[noreturn]] void throw_scratch_taken(int level, bool own, index_t bytes, index_t left);
[[noreturn]] STRATA_FUNCTION inline void fail_scratch_taken([[maybe_unused]] int level,
                                                            [[maybe_unused]] bool own,
                                                            [[maybe_unused]] index_t bytes,
                                                            [[maybe_unused]] index_t left) {
#if defined(__CUDA_ARCH__)
  __trap();
#else
  throw_scratch_taken(level, own, bytes, left);
#endif
}

/// Scratch memory that is handed out from front to back.
struct ScratchCursor {
  char* next;
  char* end;

  /// Memory for `count` objects of `size` bytes. A level that does not exist has none.
  STRATA_FUNCTION void* take(index_t count, index_t size, index_t alignment, int level, bool own) {
    const auto misfit = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(next) &
                                             static_cast<std::uintptr_t>(alignment - 1));
    const index_t gap = misfit == 0 ? 0 : alignment - misfit;
    const index_t left = end - next;
    if (level < 0 || level >= scratch_levels || count < 0 || gap > left || count > (left - gap) / size)
      fail_scratch_taken(level, own, count * size, left);
    char* const memory = next + gap;
    next = memory + count * size;
    return memory;
  }
};

}  // namespace strata::inline STRATA_ABI::detail
