#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <sys/resource.h>

#include <strata/algorithms/linear/tiled/tiled_files.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr const char* title = "strata tiled matrix 1";

std::string index_path(const std::string& folder) { return folder + "/matrix"; }

template <class F>
void visit_tiles(const TiledFileShape& shape, const F& f) {
  const index_t rows = (shape.rows + shape.tile - 1) / shape.tile,
                columns = (shape.columns + shape.tile - 1) / shape.tile;
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < (shape.is_symmetric ? i + 1 : columns); ++j) f(i, j);
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
  if (line != title || !file || !is_known || shape.rows < 0 || shape.columns < 0 || shape.tile < 1)
    fail(folder, "open", "\"" + path + "\" is not what Strata wrote");
  shape.is_double = elements == "double";
  shape.is_symmetric = kind == "symmetric";
  return shape;
}

// Files that are open as long as the matrix is, two a tile.
void check_open_files(const std::string& folder, const char* tried, const TiledFileShape& shape) {
  std::size_t needed = 0;
  visit_tiles(shape, [&](index_t, index_t) { needed += 2; });
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

void remove_tiled_files(const std::string& folder, const TiledFileShape& shape) noexcept {
  std::error_code error;
  visit_tiles(shape, [&](index_t i, index_t j) { std::filesystem::remove(tiled_file(folder, i, j), error); });
  std::filesystem::remove(index_path(folder), error);
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
    remove_tiled_files(folder, read_index(folder));
  }
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
