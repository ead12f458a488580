// Tiled: the task graphs of dense factorizations and products over square tiles, in the program order that
// the papers have, and the volumes below which no order of their tasks can stay.
//
//   Cholesky  for k: potrf(k), trsm(m,k), then syrk(n,k) and gemm(m,n,k) of all tiles right of and below k
//   LU        for k: getrf(k), trsm of row and column k, gemm(m,n,k); no pivoting
//   GEMM      C(m,n) += A(m,k) B(k,n)
//   SYRK      C(m,n) += A(m,k) A(n,k) for m >= n
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/tasks/plan/task_dag.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// What is computed over tiles.
enum class TiledKind : unsigned char { Cholesky, Lu, Gemm, Syrk };
/// "cholesky", "lu", "gemm", "syrk".
const char* name_of(TiledKind kind);

/// Where a task stands: it updates the tile (m, n) with column k.
struct TilePosition {
  int k;  ///< step of the inner loop
  int m;  ///< row of the tile
  int n;  ///< its column
};

/// A graph over tiles, and where its tasks stand.
struct TiledGraph {
  TiledKind kind;                       ///< what is computed
  int tiles;                            ///< of a side
  TaskDag graph;                        ///< its tasks
  std::vector<TilePosition> positions;  ///< of the tasks
};

/// The graph over `tiles` x `tiles` tiles of `tile` x `tile` elements; kernels are potrf, getrf, trsm, syrk,
/// gemm, work is counted in floating-point operations. TaskError for sizes below 1, and more than 1000 tiles
/// of a side.
TiledGraph tiled_graph(TiledKind kind, int tiles, index_t tile, index_t element_bytes = 4);

/// The priorities that DPLASMA, over PaRSEC, gives to the tasks of Cholesky; bottom levels for the other
/// kinds.
std::vector<double> parsec_priorities(const TiledGraph& tiled);

/// Tiles that any order of the tasks loads into a memory of `memory_tiles`, to the leading term: Smith et al.
/// 2019 (GEMM), Kwasniewski et al. 2021 (LU), Beaumont et al. 2022 (SYRK, Cholesky).
double loads_bound(TiledKind kind, int tiles, double memory_tiles);

}  // namespace strata::inline STRATA_ABI::tasks
