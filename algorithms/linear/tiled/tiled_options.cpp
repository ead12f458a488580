// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/linear/tiled/tiled_options.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

NotPositiveDefinite::NotPositiveDefinite(const std::string& label, index_t failed_row, index_t tile_order)
    : Error("linear::cholesky: \"" + label + "\" is not positive definite: the pivot of row " +
            std::to_string(failed_row) + ", in tile (" + std::to_string(failed_row / tile_order) + ", " +
            std::to_string(failed_row / tile_order) + "), is negative, 0 or not finite"),
      row(failed_row),
      tile(failed_row / tile_order) {}

}  // namespace linear

namespace detail {

namespace {

std::string shape_text(const TiledShape& a) {
  return std::string("\"") + a.label + "\" (" + std::to_string(a.rows) + " x " + std::to_string(a.columns) +
         " in tiles of order " + std::to_string(a.tile) + (a.is_symmetric ? ", symmetric)" : ")");
}

}  // namespace

bool is_tiled_shape(index_t rows, index_t columns, index_t tile) {
  constexpr index_t most = (index_t{1} << 59) - 1;  // their bytes, and twice their number, can be counted
  return rows >= 0 && columns >= 0 && tile >= 1 && rows <= most && columns <= most &&
         (rows == 0 || columns <= most / rows);
}

void check_tiled_shape(const std::string& label, index_t rows, index_t columns, index_t tile) {
  if (is_tiled_shape(rows, columns, tile)) return;
  throw ExtentError("TiledMatrix \"" + label + "\": " + std::to_string(rows) + " x " +
                    std::to_string(columns) + " elements in tiles of order " + std::to_string(tile) +
                    ": extents are 0 or more, the order of tiles 1 or more, and elements fewer than 2^59");
}

void fail_tile(const std::string& label, index_t i, index_t j, index_t rows, index_t columns,
               bool is_symmetric) {
  throw Error("TiledMatrix \"" + label + "\" has no tile (" + std::to_string(i) + ", " + std::to_string(j) +
              "): it has " + std::to_string(rows) + " x " + std::to_string(columns) +
              (is_symmetric ? " tiles, those on and below the diagonal" : " tiles"));
}

void check_tiled_square(const char* operation, const TiledShape& a) {
  if (a.rows != a.columns)
    throw ShapeMismatch(std::string(operation) + ": " + shape_text(a) + " is not square");
}

void check_tiled_symmetric(const char* operation, const TiledShape& c) {
  if (!c.is_symmetric)
    throw ShapeMismatch(std::string(operation) + ": " + shape_text(c) +
                        " is to be symmetric: make it by TiledMatrix::symmetric");
}

void check_tiled_general(const char* operation, const TiledShape& a) {
  if (a.is_symmetric)
    throw ShapeMismatch(std::string(operation) + ": " + shape_text(a) + " has its lower tiles only");
}

void check_tiled_agree(const char* operation, const TiledShape& a, const char* extent_of_a, index_t of_a,
                       const TiledShape& b, const char* extent_of_b, index_t of_b) {
  if (of_a != of_b)
    throw ShapeMismatch(std::string(operation) + ": the " + extent_of_a + " of " + shape_text(a) +
                        " are not as many as the " + extent_of_b + " of " + shape_text(b));
  if (a.tile != b.tile)
    throw ShapeMismatch(std::string(operation) + ": the tiles of " + shape_text(a) + " and of " +
                        shape_text(b) + " differ in their order");
}

void check_pivots(const TiledShape& a, const std::vector<CoherentArray<int, rank<1>>>& states) {
  for (std::size_t k = 0; k < states.size(); ++k) {
    const auto state = states[k].read();
    const index_t rows = states[k].extent(0) - 1;
    index_t failed = state(0) > 0 ? state(0) - 1 : rows;  // a library need not see NaN
    for (index_t i = 0; i < failed; ++i)
      if (state(i + 1) != 0) failed = i;
    if (failed < rows)
      throw linear::NotPositiveDefinite(a.label, static_cast<index_t>(k) * a.tile + failed, a.tile);
  }
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
