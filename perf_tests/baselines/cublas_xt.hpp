// cuBLASXt, which multiplies matrices of the host on a GPU, in blocks that it moves by itself: the competitor
// of products of tiled matrices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <strata/core/config.hpp>

namespace perf {

enum class XtProduct {
  Gemm,  ///< C = A A
  Syrk,  ///< the lower triangle of C = A A^T
};

/// A product of matrices of order n in pinned memory, column-major, on GPU 0.
class XtRun {
 public:
  /// Sets element (i, j) of a matrix of order n.
  using Fill = void (*)(void* data, strata::index_t i, strata::index_t j, strata::index_t n);

  XtRun(XtProduct product, bool is_double, strata::index_t n, Fill fill);
  ~XtRun();
  XtRun(const XtRun&) = delete;
  XtRun& operator=(const XtRun&) = delete;

  /// Whether the library could be loaded, and there is the memory; if not, why.
  bool is_there() const;
  const std::string& reason() const;
  /// Returns when C is there. An error ends the program.
  void operator()(strata::index_t block) const;
  const void* result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace perf
