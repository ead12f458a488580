// What operations on tiled matrices share: their options, and how they check what they are given.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <strata/algorithms/linear/tiled/host_blas.hpp>
#include <strata/algorithms/linear/tiled/tile_operations.hpp>
#include <strata/algorithms/linear/tiled/tiled_matrix.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

/// How an operation on tiled matrices runs.
struct TiledOptions {
  /// Of its graph of tasks: scheduler, queues, costs. The window has room for all tasks of 100 x 100 tiles.
  TaskRunOptions run = {.window = 200000};
  /// Vendor: cuBLAS and cuSOLVER on Cuda, the host's BLAS and LAPACK on hosts (Error where there is none),
  /// Strata's own kernels elsewhere. Strata: these everywhere, for few or small tiles.
  Backend backend = Backend::Vendor;
  /// cholesky() inverts each diagonal tile once and multiplies by it, in place of solving with it: products
  /// are what GPUs are fast at. As exact as long as diagonal tiles are well conditioned. By default (no
  /// value) where a device of the place is a GPU.
  std::optional<bool> invert_diagonal = {};
  bool tf32 = false;  ///< cuBLAS may round float factors to TF32: several times as fast, errors near 1e-3
};

/// A matrix has no Cholesky factor: the pivot of a row is not positive, or not finite.
class NotPositiveDefinite : public Error {
 public:
  /// `row` of the matrix `label`, whose tiles are of order `tile`.
  NotPositiveDefinite(const std::string& label, index_t row, index_t tile);

  index_t row;   ///< of the pivot, the first one
  index_t tile;  ///< the number of the diagonal tile that it is in
};

}  // namespace linear

namespace detail {

/// What checks see of a matrix.
struct TiledShape {
  const char* label;
  index_t rows, columns, tile;
  bool is_symmetric;
};
template <class T>
TiledShape tiled_shape(const TiledMatrix<T>& a) {
  return {a.label().c_str(), a.rows(), a.columns(), a.tile_order(), a.is_symmetric()};
}

/// All throw ShapeMismatch, which names operation, matrices and shapes.
void check_tiled_square(const char* operation, const TiledShape& a);
void check_tiled_symmetric(const char* operation, const TiledShape& c);
void check_tiled_general(const char* operation, const TiledShape& a);
/// Of two extents that are to be equal, such as the columns of a and the rows of b; and the orders of tiles.
void check_tiled_agree(const char* operation, const TiledShape& a, const char* extent_of_a, index_t of_a,
                       const TiledShape& b, const char* extent_of_b, index_t of_b);

/// Error where a host of the place is to use a library that is not there.
template <Place Where>
void check_tiled_backend(const Where& where, Backend backend) {
  if (backend != Backend::Vendor) return;
  for (const TaskPart& part : task_parts(where))
    if (part.host != nullptr) require_host_blas();
}

/// Whether a device of the place is a GPU.
template <Place Where>
bool has_gpu(const Where& where) {
  for (const TaskPart& part : task_parts(where))
    if (std::string_view(part.device->device_name()) == "Cuda") return true;
  return false;
}

/// The first row whose pivot failed, by the states that potrf left for each diagonal tile; throws
/// NotPositiveDefinite.
void check_pivots(const TiledShape& a, const std::vector<CoherentArray<int, rank<1>>>& states);

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
