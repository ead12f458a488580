// What tasks do with tiles, as functors for TaskGraph::call: by cuBLAS and cuSOLVER on Cuda, by the host's
// BLAS and LAPACK on hosts, and by Strata's own kernels elsewhere and where Backend::Strata asks for them.
//
// Tiles are row-major, the libraries column-major: they see the transpose of every tile. So
//
//   C = op(A) op(B)     is  C^T = op(B)^T op(A)^T: the same operations, factors and extents swapped;
//   lower triangle      is  the upper one, and the other way round;
//   C = A A^T           is  C^T = S^T S, where S = A^T is what lies there;
//   op(L) X = B         is  X^T op(L)^T = B^T: from the other side, and as op(L)^T is op(L^T), and L^T what
//                           lies there, with the same operation;
//   A = L L^T           is  A = U^T U with U = L^T.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/algorithms/linear/tiled/host_blas.hpp>
#include <strata/algorithms/linear/tiled/tile_kernels.hpp>
#include <strata/algorithms/linear/vendor.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/core/range.hpp>
#include <strata/devices/any_host/device.hpp>
#include <strata/version.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/primitives/dense.hpp>
#endif

namespace strata::inline STRATA_ABI::detail {

/// Whose kernels, and how exact.
struct TileBackend {
  Backend backend;
  bool tf32;
};

template <AnyView V>
auto* tile_data(const V& tile) {
  return tile.data() + tile.mapping()(tile.begin(0), tile.begin(1));
}

/// Whether a library of the queue's device did it.
template <class T, class D, class Call, class... V>
bool run_library([[maybe_unused]] const char* label, [[maybe_unused]] const TileBackend& by,
                 [[maybe_unused]] const Queue<D>& queue, [[maybe_unused]] const Call& call, const V&...) {
  if (by.backend != Backend::Vendor) return false;
  if constexpr (std::is_same_v<D, AnyHost>) {
    host_library_run(std::is_same_v<T, double>, call);
    return true;
  }
#if STRATA_HAS_CUDA
  if constexpr (has_vendor<D>) {
    vendor_launch<VendorKernel<D>>(label, on(queue), [&](const LaunchInfo& info) {
      cuda_library_run(info, vendor_real<T>, by.tf32, call);
    });
    return true;
  }
#endif
  return false;
}

/// c = alpha op(a) op(b) + beta c
template <class T>
struct TileGemm {
  TileBackend by;
  T alpha, beta;
  bool transpose_a = false, transpose_b = false;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& a, const auto& b, const auto& c) const {
    const GemmCall call{transpose_b, transpose_a,  c.extent(1), c.extent(0),  a.extent(transpose_a ? 0 : 1),
                        alpha,       tile_data(b), b.stride(0), tile_data(a), a.stride(0),
                        beta,        tile_data(c), c.stride(0)};
    if (run_library<T>("gemm", by, queue, call)) return;
    parallel_for("gemm", on(queue), mdrange({c.extent(0), c.extent(1)}),
                 with(TileProductKernel<T>{alpha, beta, transpose_a, transpose_b, false}, a, b, c));
  }
};

/// c = alpha a a^T + beta c, in the lower triangle
template <class T>
struct TileSyrk {
  TileBackend by;
  T alpha, beta;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& a, const auto& c) const {
    const SyrkCall call{c.extent(0), a.extent(1), alpha,        tile_data(a),
                        a.stride(0), beta,        tile_data(c), c.stride(0)};
    if (run_library<T>("syrk", by, queue, call)) return;
    parallel_for("syrk", on(queue), mdrange({c.extent(0), c.extent(1)}),
                 with(TileProductKernel<T>{alpha, beta, false, true, true}, a, a, c));
  }
};

/// op(t) x = b, or x op(t) = b from the right; x takes the place of b
template <class T>
struct TileTrsm {
  TileBackend by;
  TileTriangle triangle;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& t, const auto& b) const {
    const TrsmCall call{triangle.from_right, triangle.transpose, triangle.upper, triangle.unit, b.extent(1),
                        b.extent(0),         tile_data(t),       t.stride(0),    tile_data(b),  b.stride(0)};
    if (run_library<T>("trsm", by, queue, call)) return;
    parallel_for("trsm", on(queue), b.extent(triangle.from_right ? 0 : 1),
                 with(TileSolveKernel<T>{triangle}, t, b));
  }
};

/// tile = factor tile, which is not read where factor is 0
template <class T>
struct TileScale {
  T factor;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& tile) const {
    parallel_for("scale", on(queue), mdrange({tile.extent(0), tile.extent(1)}),
                 with(TileScaleKernel<T>{factor}, tile));
  }
};

/// inverse = t^-1, with zeros in the other triangle
template <class T>
struct TileInverse {
  TileBackend by;
  bool upper = false, unit = false;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& t, const auto& inverse) const {
    parallel_for("identity", on(queue), mdrange({inverse.extent(0), inverse.extent(1)}),
                 with(TileIdentityKernel{}, inverse));
    TileTrsm<T>{by, {false, false, upper, unit}}(queue, t, inverse);
  }
};

/// b = op(t) b, or b op(t) from the right. Libraries multiply by all of t: its other triangle has zeros, and
/// its diagonal is stored, even where it is all ones.
template <class T>
struct TileTimes {
  TileBackend by;
  TileTriangle triangle;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& t, const auto& b) const {
    const MultiplyCall call{triangle.from_right, triangle.transpose, b.extent(1),  b.extent(0),
                            tile_data(t),        t.stride(0),        tile_data(b), b.stride(0)};
    if (run_library<T>("times", by, queue, call)) return;
    parallel_for("times", on(queue), b.extent(triangle.from_right ? 0 : 1),
                 with(TileTimesKernel<T>{triangle}, t, b));
  }
};

/// a = l l^T in the lower triangle of a; status(0) is 0, or the number, from 1 on, of the first row that
/// failed, status(1 + i) is 1 where the pivot of row i is no positive number
template <class T>
struct TilePotrf {
  TileBackend by;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& a, const auto& status) const {
    const index_t n = a.extent(0);
    const PotrfCall call{n, tile_data(a), a.stride(0), status.data() + status.mapping()(status.begin(0))};
    const bool is_factored = run_library<T>("potrf", by, queue, call);
    if (!is_factored)
      for (index_t k = 0; k + 1 < n; ++k)
        parallel_for("potrf", on(queue), range(k + 1, n), with(TileColumnKernel<T>{k}, a));
    parallel_for("potrf", on(queue), n, with(TileDiagonalKernel<T>{is_factored}, a, status));
  }
};

}  // namespace strata::inline STRATA_ABI::detail
