// The steps of the Chebyshev preconditioner of the conjugate gradients: z = p(D^-1 A) D^-1 r, p the
// polynomial of a given degree whose product with its argument is nearest to 1 between bound/ratio and bound.
//
// The bound is the greatest sum of magnitudes of a row of D^-1 A. No eigenvalue is above it, so that p is
// positive at all of them. It stays on the device: D is scaled by it once, and all coefficients are numbers
// on the host.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/linear/cg_kernels.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The greatest sum of magnitudes of a row of D^-1 A.
template <class Matrix, class V>
struct ChebyshevBound {
  using device_type = typename V::device_type;
  using value_type = typename V::value_type;
  typename Matrix::graph_type::row_map_type row_map;
  typename Matrix::values_type values;
  V d;

  STRATA_FUNCTION void operator()(index_t i, value_type& bound) const {
    value_type sum = 0;
    for (index_t k = row_map(i); k < row_map(i + 1); ++k) {
      const value_type a = values(k);
      sum += a < 0 ? -a : a;
    }
    join(bound, sum * d(i));
  }
  STRATA_FUNCTION static void init(value_type& bound) { bound = 0; }
  STRATA_FUNCTION static void join(value_type& bound, const value_type& other) {
    if (other > bound) bound = other;
  }
};

/// d = d / bound
template <class W, class S>
struct ChebyshevScale {
  using device_type = typename W::device_type;
  W d;
  S bound;
  STRATA_FUNCTION void operator()(auto i) const { d(i) = *bound > 0 ? d(i) / *bound : d(i); }
};
struct MakeChebyshevScale {
  template <class W, class S>
  ChebyshevScale<W, S> operator()(const W& d, const S& bound) const {
    return {d, bound};
  }
};

/// z = s = c d r
template <class V, class W>
struct ChebyshevBegin {
  using device_type = typename W::device_type;
  using T = typename W::value_type;
  V r, d;
  W s, z;
  T c;
  STRATA_FUNCTION void operator()(auto i) const {
    const T step = c * d(i) * r(i);
    s(i) = step;
    z(i) = step;
  }
};
template <class T>
struct MakeChebyshevBegin {
  T c;
  template <class V, class W>
  ChebyshevBegin<V, W> operator()(const V& r, const V& d, const W& s, const W& z) const {
    return {r, d, s, z, c};
  }
};

/// s = keep s + c d (r - q), z = z + s, where q = A z
template <class V, class W>
struct ChebyshevStep {
  using device_type = typename W::device_type;
  using T = typename W::value_type;
  V r, q, d;
  W s, z;
  T keep, c;
  STRATA_FUNCTION void operator()(auto i) const {
    const T step = keep * s(i) + c * d(i) * (r(i) - q(i));
    s(i) = step;
    z(i) += step;
  }
};
template <class T>
struct MakeChebyshevStep {
  T keep, c;
  template <class V, class W>
  ChebyshevStep<V, W> operator()(const V& r, const V& q, const V& d, const W& s, const W& z) const {
    return {r, q, d, s, z, keep, c};
  }
};

/// The coefficients of the three-term recurrence on [1/ratio, 1].
template <class T>
class ChebyshevRecurrence {
 public:
  explicit ChebyshevRecurrence(double ratio)
      : middle_((1 + 1 / ratio) / 2), half_((1 - 1 / ratio) / 2), rho_(half_ / middle_) {}

  T first() const { return static_cast<T>(1 / middle_); }
  /// Computes `keep` and `c` of the next ChebyshevStep.
  void next(T& keep, T& c) {
    const double rho = 1 / (2 * middle_ / half_ - rho_);
    keep = static_cast<T>(rho * rho_);
    c = static_cast<T>(2 * rho / half_);
    rho_ = rho;
  }

 private:
  double middle_, half_, rho_;
};

/// The finalize functor of r.z for a preconditioner other than the diagonal: beta = new r.z / old r.z, and 0
/// in the first iteration.
struct CgNextProduct {
  template <class T, class S>
  STRATA_FUNCTION void operator()(const T& rz, const S& state) const {
    typename S::value_type s = *state;
    if (!s.running()) return;
    s.beta = s.iterations > 0 ? rz / s.rz : T(0);
    s.rz = rz;
    if (!is_finite(rz)) s.status = CgStatus::NotFinite;
    else if (!(rz > T(0))) s.status = CgStatus::NotPositiveDefinite;
    *state = s;
  }
};

/// One iteration more, judged by the residual alone.
struct CgJudgeResidual {
  template <class T, class S>
  STRATA_FUNCTION void operator()(const CgSums<T>& sums, const auto& before, const S& state) const {
    typename S::value_type s = *before;
    if (s.running()) {
      const T rz = s.rz;
      ++s.iterations;
      judge(s, sums);
      s.rz = rz;
    }
    *state = s;
  }
};

/// p = z + beta p
template <class W, class V, class S>
struct CgDirectionOf {
  using device_type = typename W::device_type;
  W p;
  ReadOnlyView<V> z;
  S state;
  STRATA_FUNCTION void operator()(auto i) const { p(i) = z(i) + (*state).beta * p(i); }
};
struct MakeCgDirectionOf {
  template <class W, class V, class S>
  CgDirectionOf<W, V, S> operator()(const W& p, const V& z, const S& state) const {
    return {p, read_only(z), state};
  }
};

}  // namespace strata::inline STRATA_ABI::detail
