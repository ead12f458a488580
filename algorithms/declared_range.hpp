// Checks of a launch before it begins: its range must fit the arrays that are declared without a region.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/policy.hpp>
#include <strata/core/range.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The indices of a range.
struct WorkBounds {
  int rank;
  index_t lower[max_rank], upper[max_rank];
};
inline WorkBounds bounds_of_work(const ChunkRange& range) { return {1, {range.begin}, {range.end}}; }
template <int Rank>
WorkBounds bounds_of_work(const TileRange<Rank>& range) {
  WorkBounds bounds{Rank, {}, {}};
  for (int d = 0; d < Rank; ++d) {
    bounds.lower[d] = range.lower[d];
    bounds.upper[d] = range.upper[d];
  }
  return bounds;
}

/// The name of a launch in messages: its label, or its kernel's type.
struct LaunchName {
  const char* label;
  const char* kernel_type;
  const char* tag_type;
};

/// A declared array, for messages.
struct DeclaredArray {
  const char* label;
  int rank;
  index_t begin[max_rank], end[max_rank];  // its indices
};

/// ShapeMismatch: work items begin before the array or end after it.
[[noreturn]] void fail_beyond(const LaunchName& launch, const WorkBounds& work, const DeclaredArray& array);
/// ShapeMismatch: work items do not reach all of dimension `d`.
[[noreturn]] void fail_left_out(const LaunchName& launch, const WorkBounds& work, const DeclaredArray& array,
                                int d);

/// Work items have a row each.
inline void check_rows(const LaunchName& launch, const WorkBounds& work, const DeclaredArray& array) {
  if (array.rank == 0 || work.lower[0] >= work.upper[0]) return;
  if (work.lower[0] < array.begin[0] || work.upper[0] > array.end[0]) fail_beyond(launch, work, array);
}
/// Work items must write all of the rows of their left-most indices: the range must cover each further
/// dimension that it has.
inline void check_covered(const LaunchName& launch, const WorkBounds& work, const DeclaredArray& array) {
  if (array.rank < 2 || work.lower[0] >= work.upper[0]) return;
  for (int d = 1; d < work.rank && d < array.rank; ++d)
    if (array.begin[d] < array.end[d] && (work.lower[d] > array.begin[d] || work.upper[d] < array.end[d]))
      fail_left_out(launch, work, array, d);
}

}  // namespace strata::inline STRATA_ABI::detail
