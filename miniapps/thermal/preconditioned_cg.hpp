// Conjugate gradients with a preconditioner that is any function, for devices whose memory is the host's:
// what linear::ConjugateGradients, whose scalars stay on the device, has no place for.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include <strata/algorithms/linear/conjugate_gradients.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class Matrix>
class PreconditionedCg {
 public:
  using T = typename Matrix::value_type;
  using Device = typename Matrix::device_type;
  using Vector = MDArray<T, Device, rank<1>>;

  /// A solver for `matrix`, with its workspace on the matrix's device. OutOfMemory.
  explicit PreconditionedCg(const Matrix& matrix) : matrix_(matrix) {
    for (auto [vector, label] :
         {std::pair{&r_, "CG r"}, std::pair{&z_, "CG z"}, std::pair{&p_, "CG p"}, std::pair{&q_, "CG q"}})
      *vector = create<Vector>(label, matrix.rows());
  }

  /// Solves A x = b from the first guess x, as linear::ConjugateGradients::solve does by these options;
  /// `apply(r, z)`, with the addresses of a number a row, makes z of r as a symmetric positive matrix would.
  template <class X, class Apply>
  linear::CgResult solve(const On<Device>& where, const X& b, const X& x, const linear::CgOptions& options,
                         const Apply& apply) const {
    using linear::CgStatus;
    linear::CgResult result;
    linear::spmv(where, matrix_, x, q_, options.backend);
    linear::copy(where, b, r_);
    linear::axpy(where, T(-1), q_, r_);
    result.right_hand_side = norm(where, b);
    const double threshold =
        std::max(options.relative_tolerance * result.right_hand_side, options.absolute_tolerance);
    double last_product = 0;
    for (;; ++result.iterations) {
      result.residual = norm(where, r_);
      if (!std::isfinite(result.residual)) result.status = CgStatus::NotFinite;
      else if (result.residual <= threshold) result.status = CgStatus::Converged;
      else if (result.iterations == options.max_iterations) result.status = CgStatus::MaxIterations;
      if (result.status != CgStatus::Running) return result;

      apply(r_.data(), z_.data());
      const double product = dot(where, r_, z_);
      const double beta = result.iterations > 0 ? product / last_product : 0;
      last_product = product;
      linear::axpby(where, T(1), z_, static_cast<T>(beta), p_);

      linear::spmv(where, matrix_, p_, q_, options.backend);
      const double curvature = dot(where, p_, q_);
      if (!std::isfinite(product) || !std::isfinite(curvature)) result.status = CgStatus::NotFinite;
      else if (!(product > 0 && curvature > 0)) result.status = CgStatus::NotPositiveDefinite;
      if (result.status != CgStatus::Running) return result;
      const T alpha = static_cast<T>(product / curvature);
      linear::axpy(where, alpha, p_, x);
      linear::axpy(where, -alpha, q_, r_);
    }
  }

 private:
  template <class X>
  static double norm(const On<Device>& where, const X& x) {
    T result{};
    linear::norm2(where, x, result);
    return static_cast<double>(result);
  }
  static double dot(const On<Device>& where, const Vector& x, const Vector& y) {
    T result{};
    linear::dot(where, x, y, result);
    return static_cast<double>(result);
  }

  Matrix matrix_;
  Vector r_, z_, p_, q_;
};

}  // namespace strata::inline STRATA_ABI::thermal
