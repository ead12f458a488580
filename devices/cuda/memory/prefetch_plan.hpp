// plan_prefetch: which bytes of managed blocks are moved for a launch, and which are discarded, as they are
// overwritten as a whole. Pure logic over addresses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Bytes [begin, end) that a launch or the host is going to use, of the block [block_begin, block_end).
struct PrefetchRange {
  std::uintptr_t begin, end;
  std::uintptr_t block_begin, block_end;
  bool owns_runs;  ///< whether the runs of 2 MiB in which the block lies are the block's alone
  bool reads;
  bool has_other_users;  ///< of bytes nearby
};
/// Bytes that are moved together.
struct PrefetchPiece {
  std::uintptr_t begin, end;
  std::uintptr_t block_begin;
  bool discards;  ///< what they hold need not be moved
};

/// Pieces to discard come first. What is only written is discarded in whole runs of 2 MiB that no range
/// reads. What is moved is rounded to whole runs where at least half of the run is asked for, so that a row
/// of bytes takes at most 2 MiB more, and not at all where others use bytes nearby. Pieces do not overlap.
std::vector<PrefetchPiece> plan_prefetch(const std::vector<PrefetchRange>& ranges);

}  // namespace strata::inline STRATA_ABI::detail
