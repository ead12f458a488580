// TiledMatrix: a dense matrix cut into square tiles, each a coherent array, so that graphs of tasks can hold
// and move parts of a matrix that no memory of a device has room for.
//
//   TiledMatrix<double> a("a", m, n, 1920);                                      // zeros
//   auto s = TiledMatrix<float>::symmetric("s", n, 1920, MemoryMode::Pinned);  // lower tiles only
//   s.fill([](index_t i, index_t j) { return i == j ? 4.0f : 1.0f; });
//
// Tiles may be in files: tiled_files.hpp. They are of order `tile`; the last ones of a row and of a column
// have what is left. A handle: copies share the matrix. Elements are in the tiles in rows (LayoutRight).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/core/ref.hpp>
#include <strata/views/coherent/coherent_array.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {
/// Whether extents are not negative, tiles have an order, and there are fewer than 2^59 elements.
bool is_tiled_shape(index_t rows, index_t columns, index_t tile);
/// Of order `tile` in a row or column of so many elements.
constexpr index_t tiles_of(index_t elements, index_t tile) {
  return elements / tile + (elements % tile != 0);
}
/// Throws ExtentError.
void check_tiled_shape(const std::string& label, index_t rows, index_t columns, index_t tile);
[[noreturn]] void fail_tile(const std::string& label, index_t i, index_t j, index_t rows, index_t columns,
                            bool is_symmetric);
struct TiledMatrices;  // tiled_files.hpp
}  // namespace detail

/// See the head of the file. `T` is float or double.
template <class T>
class TiledMatrix {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "strata: the elements of a tiled matrix are float or double");

 public:
  using value_type = T;                                      ///< of elements
  using tile_type = CoherentArray<T, rank<2>, LayoutRight>;  ///< a tile

  /// rows x columns elements in tiles of order `tile`; `options` are those of coherent arrays: uninitialized
  /// (else it is zero), main_in(device), a MemoryMode: Pinned where GPUs are to copy fast, Smart; others are
  /// refused by tasks. ExtentError, OutOfMemory.
  template <class... Options>
  TiledMatrix(const std::string& label, index_t rows, index_t columns, index_t tile,
              const Options&... options)
      : TiledMatrix(Kind::General, label, rows, columns, tile, in_memory(label, options...)) {}
  /// A symmetric matrix of order n, of which only the tiles on and below the diagonal exist, and in those on
  /// it only the lower triangle counts. Throws ExtentError, OutOfMemory.
  template <class... Options>
  static TiledMatrix symmetric(const std::string& label, index_t n, index_t tile, const Options&... options) {
    return TiledMatrix(Kind::Symmetric, label, n, n, tile, in_memory(label, options...));
  }

  const std::string& label() const { return state_->label; }  ///< for messages and reports
  /// Of elements.
  index_t rows() const { return state_->rows; }
  /// Of elements.
  index_t columns() const { return state_->columns; }
  /// The order of all tiles but the last ones.
  index_t tile_order() const { return state_->tile; }
  /// Tiles in a column.
  index_t tile_rows() const { return state_->tile_rows; }
  /// Tiles in a row.
  index_t tile_columns() const { return state_->tile_columns; }
  /// Whether only the tiles on and below the diagonal exist.
  bool is_symmetric() const { return state_->is_symmetric; }

  /// The tile in row i and column j of tiles: its element (r, c) is (i tile_order() + r, j tile_order() + c)
  /// of the matrix. Error where there is none, as above the diagonal of symmetric matrices.
  const tile_type& tile(index_t i, index_t j) const {
    const State& s = *state_;
    if (i < 0 || j < 0 || i >= s.tile_rows || j >= s.tile_columns || (s.is_symmetric && j > i))
      detail::fail_tile(s.label, i, j, s.tile_rows, s.tile_columns, s.is_symmetric);
    return s.tiles[static_cast<std::size_t>(s.is_symmetric ? i * (i + 1) / 2 + j : i * s.tile_columns + j)];
  }

  /// On the host, tile by tile: element (i, j) becomes f(i, j); of symmetric matrices those with j <= i, and
  /// the rest of tiles on the diagonal 0. Throws what f throws, where later tiles keep their values, and what
  /// CoherentArray::write throws.
  template <class F>
  void fill(const F& f) const {
    visit_tiles([&](index_t i, index_t j, const tile_type& tile, index_t row, index_t column) {
      const auto view = tile.write();
      for (index_t r = 0; r < tile.extent(0); ++r)
        for (index_t c = 0; c < tile.extent(1); ++c)
          view(r, c) = counts(i, j, r, c) ? static_cast<T>(f(row + r, column + c)) : T(0);
    });
  }
  /// On the host, tile by tile: f(i, j, value) of each element; of symmetric matrices those with j <= i.
  /// Throws what f throws, and what CoherentArray::read throws, as the error of work on a tile.
  template <class F>
  void read(const F& f) const {
    visit_tiles([&](index_t i, index_t j, const tile_type& tile, index_t row, index_t column) {
      const auto view = tile.read();
      for (index_t r = 0; r < tile.extent(0); ++r)
        for (index_t c = 0; c < tile.extent(1); ++c)
          if (counts(i, j, r, c)) f(row + r, column + c, view(r, c));
    });
  }

 private:
  enum class Kind : unsigned char { General, Symmetric };
  struct State : detail::RefCounted {
    std::string label;
    index_t rows = 0, columns = 0, tile = 0, tile_rows = 0, tile_columns = 0;
    bool is_symmetric = false;
    std::vector<tile_type> tiles;
  };

  friend struct detail::TiledMatrices;

  // make(i, j, m, n) makes each tile, of m rows and n columns.
  template <class Make>
  TiledMatrix(Kind kind, const std::string& label, index_t rows, index_t columns, index_t tile,
              const Make& make) {
    detail::check_tiled_shape(label, rows, columns, tile);
    const bool is_symmetric = kind == Kind::Symmetric;
    state_ = detail::Ref<State>(new State);
    State& state = *state_;
    state.label = label;
    state.rows = rows;
    state.columns = columns;
    state.tile = tile;
    state.tile_rows = detail::tiles_of(rows, tile);
    state.tile_columns = detail::tiles_of(columns, tile);
    state.is_symmetric = is_symmetric;
    const auto extent = [&](index_t number, index_t whole) {
      return whole - number * tile < tile ? whole - number * tile : tile;
    };
    for (index_t i = 0; i < state.tile_rows; ++i)
      for (index_t j = 0; j < (is_symmetric ? i + 1 : state.tile_columns); ++j)
        state.tiles.push_back(make(i, j, extent(i, rows), extent(j, columns)));
  }
  // Makes tiles in memory.
  template <class... Options>
  static auto in_memory(const std::string& label, const Options&... options) {
    return [&](index_t i, index_t j, index_t m, index_t n) {
      const std::string name = label + "(" + std::to_string(i) + ", " + std::to_string(j) + ")";
      return tile_type(name.c_str(), m, n, options...);
    };
  }

  // Whether an element of tile (i, j) belongs to the matrix.
  bool counts(index_t i, index_t j, index_t r, index_t c) const {
    return !state_->is_symmetric || j < i || c <= r;
  }
  template <class F>
  void visit_tiles(const F& f) const {
    for (index_t i = 0; i < tile_rows(); ++i)
      for (index_t j = 0; j < (is_symmetric() ? i + 1 : tile_columns()); ++j)
        f(i, j, tile(i, j), i * tile_order(), j * tile_order());
  }

  detail::Ref<State> state_;  // not changed once it is made
};

}  // namespace strata::inline STRATA_ABI
