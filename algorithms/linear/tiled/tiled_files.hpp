// Tiled matrices whose tiles are in files, so that they may be larger than the memory of the host.
//
//   auto a = tiled_files<double>("a.matrix", n, n, 2048);           // a folder of zeros
//   linear::lu(a, on(Cuda{}));                                      // as any other tiled matrix
//   save(a);                                                        // all of it is on the disk, and complete
//   auto b = open_tiled_files<double>("a.matrix", for_reading);     // shape and tiles are in the folder
//
// The folder has a text file "matrix" that says what the matrix is, and a file array for each tile, tile_I_J
// (views/coherent/file_array.hpp says when one is complete, and what it throws). Each is open as long as the
// matrix lives, which takes two files of the process: many small tiles need a high limit (ulimit -n).
//
// TaskRunOptions::host_memory bounds the tiles that tasks on hosts hold; with it, tiles for devices are in
// host memory only while they are on a device, without it the system decides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/algorithms/linear/tiled/tiled_matrix.hpp>
#include <strata/views/coherent/file_array.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// Of a matrix in files; extents are of elements.
struct TiledFileShape {
  bool is_double = false, is_symmetric = false;
  index_t rows = 0, columns = 0, tile = 0;
};
struct TiledFileArguments {
  bool overwrites = false, is_uninitialized = false, reads_only = false, allows_incomplete = false;

  void set(Overwrite) { overwrites = true; }
  void set(Uninitialized) { is_uninitialized = true; }
  void set(ForReading) { reads_only = true; }
  void set(AllowIncomplete) { allows_incomplete = true; }
};

/// Makes the folder where it is not there, and the file in it that describes the matrix. FileError, also
/// where there is a matrix, or are tiles, that are not to be overwritten. Else all tiles that are in the
/// folder are removed, whatever the file says that describes them.
void create_tiled_folder(const std::string& folder, const TiledFileShape& shape, bool overwrites);
/// Throws FileError where there is no such matrix, or its elements are others.
TiledFileShape read_tiled_folder(const std::string& folder, bool is_double);
std::string tiled_file(const std::string& folder, index_t i, index_t j);
/// Removes all files tile_I_J and the one that describes them, as after a creation that failed.
void remove_tiled_files(const std::string& folder) noexcept;
/// Whether there is something in the folder that `overwrite` would remove.
bool has_tiled_files(const std::string& folder);

/// Makes tiled matrices of tiles that are there.
struct TiledMatrices {
  template <class T, class Make>
  static TiledMatrix<T> make(const std::string& folder, const TiledFileShape& shape, const Make& make) {
    using Matrix = TiledMatrix<T>;
    return Matrix(shape.is_symmetric ? Matrix::Kind::Symmetric : Matrix::Kind::General, folder, shape.rows,
                  shape.columns, shape.tile, make);
  }
};

template <class T>
TiledMatrix<T> create_tiled_files(const std::string& folder, const TiledFileShape& shape,
                                  const TiledFileArguments& arguments) {
  check_tiled_shape(folder, shape.rows, shape.columns, shape.tile);
  create_tiled_folder(folder, shape, arguments.overwrites);
  const auto make = [&](index_t i, index_t j, index_t m, index_t n) {
    const std::string path = tiled_file(folder, i, j);
    if (arguments.is_uninitialized)
      return file_array<T, rank<2>, LayoutRight>(path, m, n, overwrite, uninitialized);
    return file_array<T, rank<2>, LayoutRight>(path, m, n, overwrite);
  };
  try {
    return TiledMatrices::make<T>(folder, shape, make);
  } catch (...) {
    remove_tiled_files(folder);
    throw;
  }
}

}  // namespace detail

/// A new m x n matrix, of zeros, in files of the folder, which is made where it is not there. `arguments`:
/// `overwrite` where the matrix and all files tile_I_J in it may be replaced, `uninitialized`. FileError
/// where there are such files, the folder that it is to be in is not there, or the disk has no room for all
/// of it; ExtentError.
template <class T, class... Arguments>
[[nodiscard]] TiledMatrix<T> tiled_files(const std::string& folder, index_t m, index_t n, index_t tile,
                                         const Arguments&... arguments) {
  detail::TiledFileArguments given;
  (given.set(arguments), ...);
  return detail::create_tiled_files<T>(folder, {sizeof(T) == 8, false, m, n, tile}, given);
}
/// The same for a symmetric one of order n, see TiledMatrix::symmetric.
template <class T, class... Arguments>
[[nodiscard]] TiledMatrix<T> symmetric_tiled_files(const std::string& folder, index_t n, index_t tile,
                                                   const Arguments&... arguments) {
  detail::TiledFileArguments given;
  (given.set(arguments), ...);
  return detail::create_tiled_files<T>(folder, {sizeof(T) == 8, true, n, n, tile}, given);
}
/// The matrix that is in the files of the folder. `arguments`: `for_reading`, `allow_incomplete`, as
/// open_file_array takes them. FileError where there is none, of other elements, or not complete.
template <class T, class... Arguments>
[[nodiscard]] TiledMatrix<T> open_tiled_files(const std::string& folder, const Arguments&... arguments) {
  detail::TiledFileArguments given;
  (given.set(arguments), ...);
  const detail::TiledFileShape shape = detail::read_tiled_folder(folder, sizeof(T) == 8);
  const auto open = [&](index_t i, index_t j, index_t m, index_t n) {
    return open_file_array<T, rank<2>, LayoutRight>(detail::tiled_file(folder, i, j), m, n, arguments...);
  };
  return detail::TiledMatrices::make<T>(folder, shape, open);
}

/// All of a matrix in files is on the disk, and complete, when this returns; see save() of file arrays.
template <class T>
void save(const TiledMatrix<T>& a) {
  for (index_t i = 0; i < a.tile_rows(); ++i)
    for (index_t j = 0; j < (a.is_symmetric() ? i + 1 : a.tile_columns()); ++j) save(a.tile(i, j));
}

}  // namespace strata::inline STRATA_ABI
