// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include <strata/algorithms/tasks/plan/tiled.hpp>

namespace strata::inline STRATA_ABI::tasks {

namespace {

constexpr AccessMode in = AccessMode::In;
constexpr AccessMode inout = AccessMode::InOut;

class Tiling {
 public:
  Tiling(TiledKind kind, int tiles, index_t tile, index_t element_bytes)
      : result_{kind, tiles, {}, {}}, bytes_(tile * tile * element_bytes), cube_(std::pow(tile, 3)) {}

  TiledGraph make() {
    switch (result_.kind) {
      case TiledKind::Cholesky:
        cholesky();
        break;
      case TiledKind::Lu:
        lu();
        break;
      case TiledKind::Gemm:
        gemm();
        break;
      case TiledKind::Syrk:
        syrk();
        break;
    }
    return std::move(result_);
  }

 private:
  // The tiles of a matrix, or those on and below its diagonal; the others are none.
  std::vector<ArrayId> matrix(const std::string& name, bool lower) {
    std::vector<ArrayId> tiles;
    for (int m = 0; m < result_.tiles; ++m)
      for (int n = 0; n < result_.tiles; ++n)
        tiles.push_back(lower && n > m ? none : result_.graph.add_array(name + position(m, n), bytes_));
    return tiles;
  }
  static std::string position(int m, int n) {
    return "(" + std::to_string(m) + "," + std::to_string(n) + ")";
  }
  ArrayId at(const std::vector<ArrayId>& matrix, int m, int n) const {
    return matrix[static_cast<std::size_t>(m) * static_cast<std::size_t>(result_.tiles) +
                  static_cast<std::size_t>(n)];
  }
  // `cubes`: operations in units of tile^3.
  void add(const char* kernel, double cubes, TilePosition p, const std::vector<TaskAccess>& accesses) {
    result_.graph.add_task(std::string(kernel) + "(" + std::to_string(p.m) + "," + std::to_string(p.n) + "," +
                               std::to_string(p.k) + ")",
                           kernel, cubes * cube_, accesses);
    result_.positions.push_back(p);
  }

  void cholesky() {
    const std::vector<ArrayId> a = matrix("A", true);
    const int count = result_.tiles;
    for (int k = 0; k < count; ++k) {
      add("potrf", 1.0 / 3, {k, k, k}, {{at(a, k, k), inout}});
      for (int m = k + 1; m < count; ++m)
        add("trsm", 1, {k, m, k}, {{at(a, m, k), inout}, {at(a, k, k), in}});
      for (int n = k + 1; n < count; ++n) {
        add("syrk", 1, {k, n, n}, {{at(a, n, n), inout}, {at(a, n, k), in}});
        for (int m = n + 1; m < count; ++m)
          add("gemm", 2, {k, m, n}, {{at(a, m, n), inout}, {at(a, m, k), in}, {at(a, n, k), in}});
      }
    }
  }
  void lu() {
    const std::vector<ArrayId> a = matrix("A", false);
    const int count = result_.tiles;
    for (int k = 0; k < count; ++k) {
      add("getrf", 2.0 / 3, {k, k, k}, {{at(a, k, k), inout}});
      for (int n = k + 1; n < count; ++n)
        add("trsm", 1, {k, k, n}, {{at(a, k, n), inout}, {at(a, k, k), in}});
      for (int m = k + 1; m < count; ++m)
        add("trsm", 1, {k, m, k}, {{at(a, m, k), inout}, {at(a, k, k), in}});
      for (int m = k + 1; m < count; ++m)
        for (int n = k + 1; n < count; ++n)
          add("gemm", 2, {k, m, n}, {{at(a, m, n), inout}, {at(a, m, k), in}, {at(a, k, n), in}});
    }
  }
  void gemm() {
    const std::vector<ArrayId> a = matrix("A", false), b = matrix("B", false), c = matrix("C", false);
    const int count = result_.tiles;
    for (int m = 0; m < count; ++m)
      for (int n = 0; n < count; ++n)
        for (int k = 0; k < count; ++k)
          add("gemm", 2, {k, m, n}, {{at(c, m, n), inout}, {at(a, m, k), in}, {at(b, k, n), in}});
  }
  void syrk() {
    const std::vector<ArrayId> a = matrix("A", false), c = matrix("C", true);
    const int count = result_.tiles;
    for (int m = 0; m < count; ++m)
      for (int n = 0; n <= m; ++n)
        for (int k = 0; k < count; ++k)
          if (m == n) add("syrk", 1, {k, n, n}, {{at(c, n, n), inout}, {at(a, n, k), in}});
          else add("gemm", 2, {k, m, n}, {{at(c, m, n), inout}, {at(a, m, k), in}, {at(a, n, k), in}});
  }

  TiledGraph result_;
  index_t bytes_;
  double cube_;
};

}  // namespace

const char* name_of(TiledKind kind) {
  switch (kind) {
    case TiledKind::Cholesky:
      return "cholesky";
    case TiledKind::Lu:
      return "lu";
    case TiledKind::Gemm:
      return "gemm";
    case TiledKind::Syrk:
      return "syrk";
  }
  return "";
}

TiledGraph tiled_graph(TiledKind kind, int tiles, index_t tile, index_t element_bytes) {
  // Ids are of type int: 1,000^3 tasks of a product fit, 2,000^3 do not.
  if (tiles < 1 || tiles > 1000)
    throw TaskError(std::string(name_of(kind)) + " over " + std::to_string(tiles) + " x " +
                    std::to_string(tiles) + " tiles: a side has 1 to 1000 of them");
  if (tile < 1 || tile > 1'000'000 || element_bytes < 1 || element_bytes > 64)
    throw TaskError("tiles of " + std::to_string(tile) + " x " + std::to_string(tile) + " elements of " +
                    std::to_string(element_bytes) +
                    " bytes: a side has 1 to 1000000 elements, of 1 to 64 bytes");
  return Tiling(kind, tiles, tile, element_bytes).make();
}

std::vector<double> parsec_priorities(const TiledGraph& tiled) {
  if (tiled.kind != TiledKind::Cholesky) return bottom_levels(tiled.graph);
  const double count = tiled.tiles;
  std::vector<double> priorities;
  for (std::size_t task = 0; task < tiled.positions.size(); ++task) {
    const auto [k, m, n] = tiled.positions[task];
    const std::string& kernel =
        tiled.graph.kernels()[static_cast<std::size_t>(tiled.graph.task(static_cast<TaskId>(task)).kernel)];
    const double rows = std::pow(count - m, 3);
    if (kernel == "potrf") priorities.push_back(rows);
    else if (kernel == "trsm") priorities.push_back(rows + 3.0 * (m - k) * (2 * count - k - m - 1));
    else if (kernel == "syrk") priorities.push_back(rows + 3.0 * (m - k));
    else priorities.push_back(rows + 3.0 * (m - n) * (2 * count - m - n - 3) + 6.0 * (m - k));
  }
  return priorities;
}

double loads_bound(TiledKind kind, int tiles, double memory_tiles) {
  const double cube = std::pow(tiles, 3), root = std::sqrt(memory_tiles);
  switch (kind) {
    case TiledKind::Cholesky:
      return cube / (3 * std::numbers::sqrt2 * root);
    case TiledKind::Lu:
      return 2 * cube / (3 * root);
    case TiledKind::Gemm:
      return 2 * cube / root;
    case TiledKind::Syrk:
      return cube / (std::numbers::sqrt2 * root);
  }
  return 0;
}

}  // namespace strata::inline STRATA_ABI::tasks
