// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/grid/grid_parts.hpp>
#include <strata/core/box.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

Box box_of(const GridItems& items) {
  std::vector<index_t> lower, upper;
  for (const ResidentRows run : items.all()) {
    lower.push_back(run.begin);
    upper.push_back(run.end);
  }
  return Box(lower, upper);
}

}  // namespace

std::vector<GridItems> outer_items(const GridItems& all, const GridItems& inner) {
  std::vector<GridItems> outer;
  for (const Box& box : remainder(box_of(all), box_of(inner))) {
    GridItems items{{}, all.cuts};
    for (int d = 0; d < all.cuts; ++d) items.of[static_cast<std::size_t>(d)] = {box.lower(d), box.upper(d)};
    outer.push_back(items);
  }
  return outer;
}

GridParts grid_parts(const GridShape& shape, const GridItems& range,
                     const std::array<index_t, most_cuts>& align) {
  const auto cuts = static_cast<std::size_t>(shape.cuts);
  GridParts result;
  std::array<std::vector<ResidentRows>, most_cuts> runs;
  for (std::size_t d = 0; d < cuts; ++d) {
    runs[d] = split_range(range.of[d].begin, range.of[d].end, shape.count[d], shape.weights[d], align[d]);
    for (const ResidentRows run : runs[d]) result.sides[d] += run.begin < run.end;
  }
  for (const bool hosts : {false, true})
    for (std::size_t place = 0; place < shape.is_host.size(); ++place) {
      if (shape.is_host[place] != hosts) continue;
      GridPart part{place, {{}, shape.cuts}};
      bool has_work = true;
      std::size_t rest = place;
      for (std::size_t d = cuts; d-- > 0; rest /= shape.count[d]) {
        part.items.of[d] = runs[d][rest % shape.count[d]];
        has_work = has_work && part.items.of[d].begin < part.items.of[d].end;
      }
      if (has_work) result.parts.push_back(part);
    }
  return result;
}

namespace {

template <class T>
std::string list_of(std::span<const T> numbers, const char* between) {
  std::string text;
  for (const T number : numbers) text += (text.empty() ? "" : between) + std::to_string(number);
  return text;
}

}  // namespace

void check_grid(std::span<const index_t> parts, std::size_t devices, bool weights, bool balance) {
  const std::string grid = "across(...).grid(" + list_of(parts, ", ") + ")";
  if (weights)
    throw Error(grid + " was asked of parts with sizes; give them after it, for each index those of its " +
                "parts: grid(2, 2).weighted({{1, 1}, {1, 2}})");
  if (balance)
    throw Error(grid + " was asked of parts that are adaptive: speeds of devices do not tell where a grid " +
                "is to be cut; leave adaptive out, or give grid(...).weighted({{...}, {...}})");
  std::size_t product = 1;
  for (const index_t count : parts) {
    if (count < 1) throw Error(grid + ": a grid has at least one part along each index; write 1 or more");
    // As many as there are devices, at most: no product overflows.
    const auto one = static_cast<std::size_t>(count);
    product = one > devices ? devices + 1 : product * one;
    if (product > devices) break;
  }
  if (product != devices)
    throw Error(grid + " was asked of " + std::to_string(devices) + (devices == 1 ? " device" : " devices") +
                "; give a device for each part, " + list_of(parts, " x ") + " of them");
}

void check_grid_weights(std::span<const std::size_t> parts, const std::vector<std::vector<double>>& sizes) {
  bool good = sizes.size() == parts.size();
  for (std::size_t d = 0; good && d < parts.size(); ++d) {
    double sum = 0;
    good = sizes[d].size() == parts[d];
    for (const double size : sizes[d]) {
      good = good && size >= 0;
      sum += size;
    }
    good = good && sum > 0;
  }
  if (!good)
    throw Error("grid(" + list_of(parts, ", ") +
                ").weighted: give a list of sizes for each index, each with a size for each part along it, " +
                "none negative and not all zero: {{...}, {...}} with " + list_of(parts, " and ") + " sizes");
}

void fail_written_by_several(const char* launch, const char* array, int rank, int d, std::size_t parts) {
  const std::string what = std::string("launch of ") + launch + ": the " + std::to_string(parts) +
                           " parts of the grid along index " + std::to_string(d) +
                           " would write the same elements of \"" + array + "\", ";
  if (rank <= d)
    throw AccessConflict(what + "which has " + std::to_string(rank) + (rank == 1 ? " index" : " indices") +
                         "; write to an array that has this index, or launch with one part along it");
  throw AccessConflict(what + "whose region does not name this index; leave the region out, or give " +
                       "own_element, where a work item writes the element of its index, else launch with " +
                       "one part along it");
}

}  // namespace strata::inline STRATA_ABI::detail
