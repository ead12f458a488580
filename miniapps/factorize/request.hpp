// What is asked for, once the command line is understood. Plain data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::factorize {

/// What is computed.
enum class Operation : unsigned char {
  Cholesky,   ///< A = L L^T
  Lu,         ///< P A = L U
  LuNoPivot,  ///< A = L U
  Gemm,       ///< C = A B
  Syrk,       ///< C = A A^T
  Trsm        ///< op(A) X = B or X op(A) = B, of a triangle of A
};
/// "cholesky", "lu", "lu-nopivot", "gemm", "syrk", "trsm".
const char* name_of(Operation operation);

/// What trsm solves, in the words of linear::TriangularSystem: op(A) X = B, where op(A) is A, or A^T.
struct TriangularRequest {
  bool from_right = false;     ///< X op(A) = B
  bool upper = false;          ///< A is the upper triangle of the input, else the lower one
  bool transpose = false;      ///< op(A) is A^T
  bool unit_diagonal = false;  ///< the diagonal counts as ones and is not read
};

/// A run of a program.
struct FactorizeRequest {
  Operation operation = Operation::Cholesky;
  bool is_double = true;
  bool tf32 = false;

  TriangularRequest system;  ///< of trsm
  index_t rhs = 0;           ///< columns of B of trsm, from the right rows; 0: as many as A has

  std::string input;  ///< "spd", "random", "thermal", or a file
  index_t order = 0;  ///< of a matrix that is generated
  index_t seed = 1;   ///< likewise
  std::string mesh;   ///< of "thermal"

  index_t tile = 0;                     ///< the order of tiles; 0: by device
  std::string home;                     ///< "memory", "pinned", "file"; empty: by device
  std::string folder;                   ///< of "file"
  bool is_in_folder_of_device = false;  ///< `folder` is in that of --home, as several devices have runs
  bool overwrites = false;              ///< matrices that are there already
  index_t memory_limit = 0;             ///< bytes of each device for tiles; 0: what it has
  index_t host_memory = 0;              ///< bytes of the host for tiles in files; 0: as the system does it
  index_t devices = 1;
  bool with_host = false;  ///< the host's threads take part
  std::string scheduler;
  index_t queues = 4, window = 20000;
  std::string kernels;  ///< "vendor" or "strata"; empty: vendor where there is one
  index_t trials = 1;
  bool verify = false, quiet = false;

  std::string graph, task_order, picture;  ///< files; empty: none
};

}  // namespace strata::inline STRATA_ABI::factorize
