// BoomerAmg by hypre; all calls of hypre and of MPI are here.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <mpi.h>

#include <strata/miniapps/thermal/boomeramg.hpp>
#include <strata/miniapps/thermal/parameters.hpp>

namespace strata::inline STRATA_ABI::thermal {

namespace {

// MPI and hypre, from the first use to the end of the program; MPI that somebody else started is left to
// them.
class Library {
 public:
  static void start() { static const Library library; }

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  Library() {
    int is_there = 0;
    MPI_Initialized(&is_there);
    if (is_there == 0) {
      if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS)
        throw SolverError(
            "BoomerAMG: MPI does not start; run the program by mpirun -n 1, or take another "
            "--preconditioner");
      owns_mpi_ = true;
    }
    HYPRE_Init();
  }
  ~Library() {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (is_over != 0) return;
    HYPRE_Finalize();
    if (owns_mpi_) MPI_Finalize();
  }

  bool owns_mpi_ = false;
};

void require(HYPRE_Int error, const char* what) {
  if (error == 0) return;
  char text[2048] = "";
  HYPRE_DescribeError(error, text);
  HYPRE_ClearAllErrors();
  throw SolverError(std::string("BoomerAMG: hypre cannot ") + what + ": " + text +
                    "; take another --preconditioner");
}

// A vector of hypre, with a copy of it to write to and to read from.
class Vector {
 public:
  explicit Vector(const std::vector<HYPRE_BigInt>& rows) : rows_(rows), numbers_(rows.size()) {
    require(HYPRE_IJVectorCreate(MPI_COMM_SELF, 0, static_cast<HYPRE_BigInt>(rows.size()) - 1, &handle_),
            "make a vector");
    HYPRE_IJVectorSetObjectType(handle_, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(handle_);
    write();
    require(HYPRE_IJVectorGetObject(handle_, reinterpret_cast<void**>(&vector_)), "make a vector");
  }
  ~Vector() { HYPRE_IJVectorDestroy(handle_); }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  std::vector<HYPRE_Real>& numbers() { return numbers_; }
  HYPRE_ParVector get() const { return vector_; }
  void write() {
    require(HYPRE_IJVectorSetValues(handle_, size(), rows_.data(), numbers_.data()), "write a vector");
    require(HYPRE_IJVectorAssemble(handle_), "write a vector");
  }
  void read() {
    require(HYPRE_IJVectorGetValues(handle_, size(), rows_.data(), numbers_.data()), "read a vector");
  }

 private:
  HYPRE_Int size() const { return static_cast<HYPRE_Int>(numbers_.size()); }

  const std::vector<HYPRE_BigInt>& rows_;
  std::vector<HYPRE_Real> numbers_;
  HYPRE_IJVector handle_ = nullptr;
  HYPRE_ParVector vector_ = nullptr;
};

// The matrix as hypre has it, without the entries that are 0: columns of given temperatures are.
class MatrixCopy {
 public:
  template <class T>
  MatrixCopy(const std::vector<HYPRE_BigInt>& rows, const index_t* row_map, const std::int32_t* columns,
             const T* values) {
    std::vector<HYPRE_Int> counts(rows.size());
    std::vector<HYPRE_BigInt> kept_columns;
    std::vector<HYPRE_Real> kept;
    kept_columns.reserve(static_cast<std::size_t>(row_map[rows.size()]));
    kept.reserve(static_cast<std::size_t>(row_map[rows.size()]));
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (index_t k = row_map[i]; k < row_map[i + 1]; ++k) {
        if (values[k] == T(0)) continue;
        ++counts[i];
        kept_columns.push_back(columns[k]);
        kept.push_back(static_cast<HYPRE_Real>(values[k]));
      }
    const auto last = static_cast<HYPRE_BigInt>(rows.size()) - 1;
    require(HYPRE_IJMatrixCreate(MPI_COMM_SELF, 0, last, 0, last, &handle_), "make a matrix");
    HYPRE_IJMatrixSetObjectType(handle_, HYPRE_PARCSR);
    HYPRE_IJMatrixSetRowSizes(handle_, counts.data());
    HYPRE_IJMatrixInitialize(handle_);
    require(HYPRE_IJMatrixSetValues(handle_, static_cast<HYPRE_Int>(rows.size()), counts.data(), rows.data(),
                                    kept_columns.data(), kept.data()),
            "fill a matrix");
    require(HYPRE_IJMatrixAssemble(handle_), "fill a matrix");
    require(HYPRE_IJMatrixGetObject(handle_, reinterpret_cast<void**>(&matrix_)), "fill a matrix");
  }
  ~MatrixCopy() { HYPRE_IJMatrixDestroy(handle_); }
  MatrixCopy(const MatrixCopy&) = delete;
  MatrixCopy& operator=(const MatrixCopy&) = delete;

  HYPRE_ParCSRMatrix get() const { return matrix_; }

 private:
  HYPRE_IJMatrix handle_ = nullptr;
  HYPRE_ParCSRMatrix matrix_ = nullptr;
};

std::vector<HYPRE_BigInt> numbered(index_t rows, index_t entries) {
  if (entries > std::numeric_limits<HYPRE_Int>::max())
    throw SolverError("BoomerAMG: the matrix has " + std::to_string(entries) +
                      " entries, more than this hypre counts: take another --preconditioner, or a hypre with "
                      "larger integers");
  Library::start();
  std::vector<HYPRE_BigInt> numbers(static_cast<std::size_t>(rows));
  std::iota(numbers.begin(), numbers.end(), HYPRE_BigInt(0));
  return numbers;
}

}  // namespace

std::string boomeramg_lack() { return ""; }

struct BoomerAmg::Solver {
  std::vector<HYPRE_BigInt> rows;
  MatrixCopy matrix;
  Vector r, z;
  HYPRE_Solver amg = nullptr;

  template <class T>
  Solver(index_t count, const index_t* row_map, const std::int32_t* columns, const T* values)
      : rows(numbered(count, row_map[count])), matrix(rows, row_map, columns, values), r(rows), z(rows) {
    HYPRE_BoomerAMGCreate(&amg);
    HYPRE_BoomerAMGSetTol(amg, 0);
    HYPRE_BoomerAMGSetMaxIter(amg, 1);
    HYPRE_BoomerAMGSetPrintLevel(amg, 0);
    // Aggressive on the finest level: more iterations, of which each and the preparation cost half.
    HYPRE_BoomerAMGSetAggNumLevels(amg, 1);
    // Symmetric sweeps down and up.
    HYPRE_BoomerAMGSetRelaxType(amg, 8);
    const HYPRE_Int error = HYPRE_BoomerAMGSetup(amg, matrix.get(), r.get(), z.get());
    if (error != 0) HYPRE_BoomerAMGDestroy(amg);
    require(error, "prepare this matrix");
  }
  ~Solver() { HYPRE_BoomerAMGDestroy(amg); }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
};

template <class T>
BoomerAmg::BoomerAmg(index_t rows, const index_t* row_map, const std::int32_t* columns, const T* values)
    : solver_(std::make_unique<Solver>(rows, row_map, columns, values)) {}
BoomerAmg::~BoomerAmg() = default;

template <class T>
void BoomerAmg::apply(const T* r, T* z) const {
  const std::size_t n = solver_->rows.size();
  auto &from = solver_->r.numbers(), &to = solver_->z.numbers();
  for (std::size_t i = 0; i < n; ++i) from[i] = static_cast<HYPRE_Real>(r[i]);
  solver_->r.write();
  HYPRE_ParVectorSetConstantValues(solver_->z.get(), 0);
  HYPRE_BoomerAMGSolve(solver_->amg, solver_->matrix.get(), solver_->r.get(), solver_->z.get());
  HYPRE_ClearAllErrors();  // that one V-cycle does not converge; numbers that are not finite, the caller
                           // finds
  solver_->z.read();
  for (std::size_t i = 0; i < n; ++i) z[i] = static_cast<T>(to[i]);
}

template BoomerAmg::BoomerAmg(index_t, const index_t*, const std::int32_t*, const float*);
template BoomerAmg::BoomerAmg(index_t, const index_t*, const std::int32_t*, const double*);
template void BoomerAmg::apply(const float*, float*) const;
template void BoomerAmg::apply(const double*, double*) const;

}  // namespace strata::inline STRATA_ABI::thermal
