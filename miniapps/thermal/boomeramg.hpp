// BoomerAmg: algebraic multigrid of the library hypre, as the preconditioner of a matrix in host memory.
//
//   const BoomerAmg amg(rows, row_map, columns, values);      // once for each matrix
//   amg.apply(r, z);                                          // z = about A^-1 r, by one V-cycle
//
// The V-cycle is symmetric, for the conjugate gradients, and calculated by the calling thread. The first one
// starts MPI, unless the program has; it ends with the program. A build without hypre has a class that cannot
// be made (boomeramg_lack.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// Why this build has no BoomerAmg, and what to do; empty where it has.
std::string boomeramg_lack();

class BoomerAmg {
 public:
  /// Of a matrix with `rows` rows, as of linear::CrsMatrix. SettingError in a build without hypre;
  /// SolverError for what hypre refuses.
  template <class T>
  BoomerAmg(index_t rows, const index_t* row_map, const std::int32_t* columns, const T* values);
  ~BoomerAmg();

  /// z = about A^-1 r, numbers of each row. SolverError.
  template <class T>
  void apply(const T* r, T* z) const;

 private:
  struct Solver;
  std::unique_ptr<Solver> solver_;
};

}  // namespace strata::inline STRATA_ABI::thermal
