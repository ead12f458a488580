// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include <sys/resource.h>

#include <strata/algorithms/linear/tiled/tiled_files.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr const char* title = "strata tiled matrix 1";

std::string index_path(const std::string& folder) { return folder + "/matrix"; }

// Whether a file is one of tiles, by its name: tile_I_J.
bool is_tile(const std::string& name) {
  const std::string begin = "tile_", digits = "0123456789";
  if (!name.starts_with(begin)) return false;
  const std::size_t middle = name.find_first_not_of(digits, begin.size());
  return middle != std::string::npos && middle > begin.size() && name[middle] == '_' &&
         middle + 1 < name.size() && name.find_first_not_of(digits, middle + 1) == std::string::npos;
}
// The tiles that are in a folder, whatever an index says of them: none where it cannot be read.
std::vector<std::filesystem::path> tiles_in(const std::string& folder) {
  std::vector<std::filesystem::path> tiles;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (is_tile(at->path().filename().string())) tiles.push_back(at->path());
  return tiles;
}

[[noreturn]] void fail(const std::string& folder, const std::string& tried, const std::string& reason) {
  throw FileError("cannot " + tried + " the tiled matrix \"" + folder + "\": " + reason);
}

// Throws FileError.
TiledFileShape read_index(const std::string& folder) {
  const std::string path = index_path(folder);
  std::ifstream file(path);
  if (!file) fail(folder, "open", "there is no file \"" + path + "\" that can be read: correct the folder");
  std::string line, word, elements, kind;
  TiledFileShape shape;
  std::getline(file, line);
  file >> word >> elements >> word >> kind >> word >> shape.rows >> word >> shape.columns >> word >>
      shape.tile;
  const bool is_known = (elements == "double" || elements == "float") &&
                        (kind == "general" || (kind == "symmetric" && shape.rows == shape.columns));
  if (line != title || !file || !is_known || !is_tiled_shape(shape.rows, shape.columns, shape.tile))
    fail(
        folder, "open",
        "\"" + path + "\" is not what Strata wrote: correct the folder, or replace the matrix (`overwrite`)");
  shape.is_double = elements == "double";
  shape.is_symmetric = kind == "symmetric";
  return shape;
}

// Files that are open as long as the matrix is, two a tile.
void check_open_files(const std::string& folder, const char* tried, const TiledFileShape& shape) {
  const index_t rows = tiles_of(shape.rows, shape.tile), columns = tiles_of(shape.columns, shape.tile);
  const std::size_t needed =
      static_cast<std::size_t>(shape.is_symmetric ? rows * (rows + 1) : 2 * rows * columns);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || needed < limit.rlim_cur)
    return;
  fail(folder, tried,
       "its tiles need " + std::to_string(needed) + " open files, and this process may have " +
           std::to_string(limit.rlim_cur) + ": take larger tiles, or raise the limit (ulimit -n)");
}

}  // namespace

std::string tiled_file(const std::string& folder, index_t i, index_t j) {
  return folder + "/tile_" + std::to_string(i) + "_" + std::to_string(j);
}

void remove_tiled_files(const std::string& folder) noexcept {
  std::error_code error;
  for (const std::filesystem::path& tile : tiles_in(folder)) std::filesystem::remove(tile, error);
  std::filesystem::remove(index_path(folder), error);
}

bool has_tiled_files(const std::string& folder) {
  std::error_code error;
  return std::filesystem::exists(index_path(folder), error) || !tiles_in(folder).empty();
}

void create_tiled_folder(const std::string& folder, const TiledFileShape& shape, bool overwrites) {
  check_open_files(folder, "create", shape);
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error)
    fail(folder, "create", error.message() + ": make the folder that it is to be in, or correct the path");
  const std::string path = index_path(folder);
  if (std::filesystem::exists(path, error)) {
    if (!overwrites)
      fail(folder, "create",
           "there is one already: give `overwrite` to replace it, or open it with open_tiled_files");
  } else if (const auto tiles = tiles_in(folder); !overwrites && !tiles.empty()) {
    fail(folder, "create",
         "there are tiles of another one, such as \"" + tiles.front().string() +
             "\", without the file that describes it: give `overwrite` to replace them, or take another "
             "folder");
  }
  remove_tiled_files(folder);
  std::ofstream file(path, std::ios::trunc);
  file << title << "\nelements " << (shape.is_double ? "double" : "float") << "\nkind "
       << (shape.is_symmetric ? "symmetric" : "general") << "\nrows " << shape.rows << "\ncolumns "
       << shape.columns << "\ntile " << shape.tile << "\n";
  file.close();
  if (!file) fail(folder, "create", "\"" + path + "\" cannot be written: " + std::strerror(errno));
}

TiledFileShape read_tiled_folder(const std::string& folder, bool is_double) {
  const TiledFileShape shape = read_index(folder);
  if (shape.is_double != is_double)
    fail(folder, "open",
         std::string("its elements are ") + (shape.is_double ? "double" : "float") + ", asked was " +
             (is_double ? "double" : "float") + ": open it as what it is");
  check_open_files(folder, "open", shape);
  return shape;
}

}  // namespace strata::inline STRATA_ABI::detail
