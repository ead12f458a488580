// cuSOLVERMg, which factors a matrix that lies in the memories of several GPUs: the competitor of factors of
// tiled matrices on several GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <strata/core/config.hpp>

namespace perf {

enum class MgFactor {
  Cholesky,  ///< the lower factor
  Lu,        ///< with pivots: those of KnownMatrix are all on the diagonal
};

/// A factor of KnownMatrix (known_matrix.hpp) of order n in GPUs 0 to `gpus` - 1, in blocks of so many
/// columns, which take turns on the GPUs. T: float or double.
template <class T>
class MgRun {
 public:
  MgRun(MgFactor factor, strata::index_t n, int block, int gpus);
  ~MgRun();
  MgRun(const MgRun&) = delete;
  MgRun& operator=(const MgRun&) = delete;

  /// Whether the library could be loaded, there is the memory, and no call has failed; if not, why.
  bool is_there() const;
  const std::string& reason() const;
  /// Makes the matrix, and factors it: seconds of the factor alone; negative where the library failed.
  double factor();
  /// The largest component of the product of the factors with the vector of vector_entry, minus what the
  /// matrix gives.
  double distance() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace perf
