// How the work of a launch is cut into a grid of parts, and what is wrong with one. A part is the work of a
// device; what its items touch of an array is a region (grid_regions.hpp). Pure logic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <vector>

#include <strata/core/config.hpp>
#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The most dimensions that are cut.
inline constexpr int most_cuts = 3;

/// Work items: [begin, end) in each dimension that is cut.
struct GridItems {
  std::array<ResidentRows, most_cuts> of{};
  int cuts = 0;

  std::span<const ResidentRows> all() const { return {of.data(), static_cast<std::size_t>(cuts)}; }
};

/// The work of a device that has some.
struct GridPart {
  std::size_t place;  // its number, the last index of the grid counting fastest
  GridItems items;
};

struct GridParts {
  std::vector<GridPart> parts;  // in the order in which they are enqueued
  /// The number of runs, with work, that each dimension is cut into.
  std::array<std::size_t, most_cuts> sides{};
};

/// A grid of devices.
struct GridShape {
  std::array<std::size_t, most_cuts> count{};  // of the parts along each dimension
  int cuts = 0;
  std::vector<std::vector<double>> weights;  // of those; empty: equal
  std::vector<bool> is_host;                 // of the devices
};

/// The items of `all` that are not of `inner`, a box in it, in boxes: at most two for each dimension.
std::vector<GridItems> outer_items(const GridItems& all, const GridItems& inner);

/// `range` cut in each dimension at multiples of `align`; parts on hosts last, as they run at once.
GridParts grid_parts(const GridShape& shape, const GridItems& range,
                     const std::array<index_t, most_cuts>& align);

/// Error unless there is a device for each part, and at least one part along each index; `weights` and
/// `balance`: whether the parts had sizes, or were adaptive, before they were a grid.
void check_grid(std::span<const index_t> parts, std::size_t devices, bool weights, bool balance);
/// Error unless these are sizes for the parts along each index.
void check_grid_weights(std::span<const std::size_t> parts, const std::vector<std::vector<double>>& sizes);

/// AccessConflict: of the array, which has `rank` dimensions, parts along index `d` would write the same.
[[noreturn]] void fail_written_by_several(const char* launch, const char* array, int rank, int d,
                                          std::size_t parts);

}  // namespace strata::inline STRATA_ABI::detail
