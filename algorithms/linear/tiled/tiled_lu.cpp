// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <strata/algorithms/linear/tiled/tiled_lu.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

namespace {

std::string singular_text(const std::string& label, Pivoting pivoting, index_t column, index_t order,
                          double least) {
  const std::string tile = std::to_string(column / order);
  const std::string where =
      ": the pivot of column " + std::to_string(column) + ", in tile (" + tile + ", " + tile + "), ";
  if (pivoting == Pivoting::Partial)
    return "linear::lu: \"" + label + "\" is singular" + where + "is 0, or not a finite number";
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, "%.1e", least);
  return "linear::lu: \"" + label + "\" has no factors without pivoting" + where +
         "is 0, not a finite number, or less than " + ratio +
         " of an element below it: take Pivoting::Partial";
}

}  // namespace

SingularMatrix::SingularMatrix(const std::string& label, Pivoting pivoting, index_t failed_column,
                               index_t order, double least)
    : Error(singular_text(label, pivoting, failed_column, order, least)),
      column(failed_column),
      tile(failed_column / order) {}

}  // namespace linear

namespace detail {

double least_pivot(const linear::LuOptions& options, double epsilon) {
  if (!(options.least_pivot >= 0 && options.least_pivot <= 1))
    throw Error("linear::lu: LuOptions::least_pivot is " + std::to_string(options.least_pivot) +
                ": it is from 0 to 1, where 0 is for the root of the type's epsilon");
  return options.least_pivot > 0 ? options.least_pivot : std::sqrt(epsilon);
}

LuOpenColumns lu_open_columns(const std::vector<TaskPart>& parts, index_t bytes_of_host, const TiledShape& a,
                              index_t element_bytes) {
  const index_t column = a.rows * a.tile * element_bytes, tile = a.tile * a.tile * element_bytes;
  if (column == 0) return {};
  index_t room = 0;  // beside a panel and the tiles of tasks that are under way
  bool is_bounded = false;
  for (const TaskPart& part : parts) {
    if (part.host != nullptr && bytes_of_host == 0) continue;
    const index_t budget = part.host != nullptr ? bytes_of_host : budget_of(*part.device);
    room += std::max<index_t>(budget - column - 4 * tile, 0);
    is_bounded = true;
  }
  if (!is_bounded) return {};
  // All of it, its inverses, and copies of rows.
  const index_t columns = room / column, all = (a.rows + a.tile - 1) / a.tile + 2;
  if (columns >= all) return {};
  if (columns <= 2) return {std::max<index_t>(columns, 1), 0};
  return {columns - 1, 1};
}

std::vector<index_t> lu_pivots(const TiledShape& a, linear::Pivoting pivoting, bool inverts, double least,
                               const std::vector<CoherentArray<int, rank<1>>>& steps,
                               const std::vector<std::vector<CoherentArray<int, rank<1>>>>& marks) {
  std::vector<index_t> pivots;
  pivots.reserve(static_cast<std::size_t>(a.rows));
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const LuStep step{(steps[k].extent(0) - 1) / 4};
    const auto integers = steps[k].read();
    index_t failed = step.n;
    for (index_t x = step.n - 1; x >= 0; --x)
      if (integers(step.failed(x)) != 0) failed = x;
    // The inverse of a diagonal tile without an inverse says nothing.
    for (std::size_t i = 0; i < (inverts && failed < step.n ? 0 : marks[k].size()); ++i) {
      const auto marked = marks[k][i].read();
      for (index_t x = 0; x < failed; ++x)
        if (marked(x) != 0) failed = x;
    }
    const index_t first = static_cast<index_t>(k) * a.tile;
    if (failed < step.n) throw linear::SingularMatrix(a.label, pivoting, first + failed, a.tile, least);
    for (index_t x = 0; x < step.n; ++x)
      pivots.push_back(first + (pivoting == linear::Pivoting::Partial ? integers(step.pivot(x)) - 1 : x));
  }
  return pivots;
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
