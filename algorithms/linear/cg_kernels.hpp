// The steps of the conjugate gradients: kernels, and the finalize functors by which scalars stay on the
// device.
//
// CgStates in device memory control the solve: one after each iteration, and one within it, from which the
// first is made. Once the status is not Running, steps change nothing any more: the host may enqueue any
// number of them before it reads the state.
//
// The kernels hold views. Factories make them of the views that a launch passes, whatever the place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <utility>

#include <strata/algorithms/kernel.hpp>
#include <strata/algorithms/linear/crs.hpp>
#include <strata/algorithms/linear/vectors.hpp>
#include <strata/views/multivector.hpp>
#include <strata/views/view_as.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

/// How a solve ended.
enum class CgStatus : int {
  Running,        ///< it has not ended; never in a result
  Converged,      ///< the residual is small enough
  MaxIterations,  ///< it did not converge within the iterations allowed
  /// a direction p has p.Ap <= 0, a residual r.z <= 0, or a diagonal entry is missing or not positive
  NotPositiveDefinite,
  NotFinite,  ///< infinities or NaN occurred, in the input or by overflow
};

}  // namespace linear

namespace detail {

using linear::CgStatus;

/// The scalars of a solve.
template <class T>
struct CgState {
  T alpha;            // the step along the direction
  T beta;             // the factor of the last direction
  T rz;               // r . D^-1 r
  T residual;         // |r|
  T right_hand_side;  // |b|
  T threshold;        // converged when |r| is not above it
  index_t iterations;
  CgStatus status;
  bool steps;  // whether the iteration has a step alpha, which x is to take

  STRATA_FUNCTION bool running() const { return status == CgStatus::Running; }
};
template <class T>
inline constexpr bool is_no_address<CgState<T>> = true;

template <class T>
STRATA_FUNCTION bool is_finite(T x) {
  return x - x == T(0);
}

/// 1 / a_ii; 1 where a_ii is not a positive number, which `bad` counts.
template <class T>
STRATA_FUNCTION T inverse_of_diagonal(T diagonal, index_t& bad) {
  const bool good = diagonal > T(0) && is_finite(diagonal);
  if (!good) ++bad;
  return good ? T(1) / diagonal : T(1);
}

/// The entry of column `column` in a row with the entries [begin, end), which ascend; `end` where it is
/// missing.
STRATA_FUNCTION index_t find_column(const auto& entries, index_t begin, index_t end, index_t column) {
  index_t low = begin, high = end;
  while (low < high) {
    const index_t middle = low + (high - low) / 2;
    if (static_cast<index_t>(entries(middle)) < column) low = middle + 1;
    else high = middle;
  }
  return low < end && static_cast<index_t>(entries(low)) == column ? low : end;
}

/// d(i) = 1 / a_ii; counts the rows where that is no positive number. With `identity`, d(i) = 1.
template <class Matrix, class V>
struct CgDiagonal {
  using device_type = typename V::device_type;
  using value_type = index_t;
  using T = typename V::value_type;
  typename Matrix::graph_type::row_map_type row_map;
  typename Matrix::graph_type::entries_type entries;
  typename Matrix::values_type values;
  V d;
  bool identity;

  STRATA_FUNCTION void operator()(index_t i, index_t& bad) const {
    T diagonal = T(1);
    if (!identity) {
      const index_t end = row_map(i + 1), k = find_column(entries, row_map(i), end, i);
      diagonal = k < end ? values(k) : T(0);
    }
    d(i) = inverse_of_diagonal(diagonal, bad);
  }
  STRATA_FUNCTION static void init(index_t& bad) { bad = 0; }
  STRATA_FUNCTION static void join(index_t& bad, const index_t& other) { bad += other; }
};

/// The same where d has the diagonal.
template <class V>
struct CgInvertDiagonal {
  using device_type = typename V::device_type;
  using value_type = index_t;
  V d;

  STRATA_FUNCTION void operator()(index_t i, index_t& bad) const {
    d(i) = inverse_of_diagonal(typename V::value_type(d(i)), bad);
  }
  STRATA_FUNCTION static void init(index_t& bad) { bad = 0; }
  STRATA_FUNCTION static void join(index_t& bad, const index_t& other) { bad += other; }
};
struct MakeCgInvertDiagonal : MakesFunctor {
  using value_type = index_t;
  template <class V>
  CgInvertDiagonal<V> operator()(const V& d) const {
    return {d};
  }
  STRATA_FUNCTION static void init(index_t& bad) { bad = 0; }
  STRATA_FUNCTION static void join(index_t& bad, const index_t& other) { bad += other; }
};

/// The same without a preconditioner: d = 1, whatever it was.
template <class V>
struct CgUnitDiagonal {
  using device_type = typename V::device_type;
  using value_type = index_t;
  V d;

  STRATA_FUNCTION void operator()(index_t i, index_t&) const { d(i) = typename V::value_type(1); }
  STRATA_FUNCTION static void init(index_t& bad) { bad = 0; }
  STRATA_FUNCTION static void join(index_t& bad, const index_t& other) { bad += other; }
};
struct MakeCgUnitDiagonal : MakesFunctor {
  using value_type = index_t;
  template <class V>
  CgUnitDiagonal<V> operator()(const V& d) const {
    return {d};
  }
  STRATA_FUNCTION static void init(index_t& bad) { bad = 0; }
  STRATA_FUNCTION static void join(index_t& bad, const index_t& other) { bad += other; }
};

/// How the greatest of values, or 0, is found.
template <class T>
struct CgGreatest {
  using value_type = T;
  STRATA_FUNCTION static void init(T& greatest) { greatest = 0; }
  STRATA_FUNCTION static void join(T& greatest, const T& other) {
    if (other > greatest) greatest = other;
  }
};
/// The greatest s(i) d(i), or 0.
template <class V>
struct CgGreatestProduct : CgGreatest<typename V::value_type> {
  using device_type = typename V::device_type;
  V s, d;

  STRATA_FUNCTION void operator()(index_t i, typename V::value_type& greatest) const {
    this->join(greatest, s(i) * d(i));
  }
};
template <class T>
struct MakeCgGreatestProduct : CgGreatest<T>, MakesFunctor {
  template <class V>
  CgGreatestProduct<V> operator()(const V& s, const V& d) const {
    return {{}, s, d};
  }
};

/// The first state of a solve.
struct CgBegin {
  template <class S>
  STRATA_FUNCTION void operator()(const index_t& bad, const S& state) const {
    typename S::value_type s{};
    s.status = bad == 0 ? CgStatus::Running : CgStatus::NotPositiveDefinite;
    *state = s;
  }
};

/// Sums of one pass.
template <class T>
struct CgSums {
  T rz;
  T rr;
  T bb;
};
template <class T>
struct CgJoin {
  using value_type = CgSums<T>;
  STRATA_FUNCTION static void init(value_type& v) { v = {T(0), T(0), T(0)}; }
  STRATA_FUNCTION static void join(value_type& v, const value_type& o) {
    v.rz += o.rz;
    v.rr += o.rr;
    v.bb += o.bb;
  }
};

/// r = b - q (q = A x), p = D^-1 r
template <class B, class V, class W>
struct CgResidual : CgJoin<typename W::value_type> {
  using device_type = typename W::device_type;
  using Sums = CgSums<typename W::value_type>;
  B b;
  V q, d;
  W r, p;

  STRATA_FUNCTION void operator()(auto i, Sums& sums) const {
    const auto own_b = b(i);
    const auto own_r = own_b - q(i);
    const auto own_z = d(i) * own_r;
    r(i) = own_r;
    p(i) = own_z;
    sums.rz += own_r * own_z;
    sums.rr += own_r * own_r;
    sums.bb += own_b * own_b;
  }
};
template <class T>
struct MakeCgResidual : CgJoin<T>, MakesFunctor {
  template <class B, class V, class W>
  CgResidual<B, V, W> operator()(const B& b, const V& q, const V& d, const W& r, const W& p) const {
    return {{}, b, q, d, r, p};
  }
};

template <class T>
STRATA_FUNCTION void judge(CgState<T>& s, const CgSums<T>& sums) {
  s.rz = sums.rz;
  s.residual = std::sqrt(sums.rr);
  if (!is_finite(sums.rr) || !is_finite(sums.rz)) s.status = CgStatus::NotFinite;
  else if (s.residual <= s.threshold) s.status = CgStatus::Converged;
}

/// Judges the first residual. Without a right-hand side the solution is 0, whatever x was.
template <class T>
struct CgFirst {
  T relative, absolute;

  template <class S>
  STRATA_FUNCTION void operator()(const CgSums<T>& sums, const S& state) const {
    typename S::value_type s = *state;
    s.right_hand_side = std::sqrt(sums.bb);
    const T threshold = relative * s.right_hand_side;
    s.threshold = threshold > absolute ? threshold : absolute;
    s.residual = std::sqrt(sums.rr);
    if (s.running()) judge(s, sums);
    if (s.running() && s.right_hand_side == T(0)) s.status = CgStatus::Converged;
    *state = s;
  }
};

/// alpha = r.z / p.Ap
struct CgStep {
  template <class T, class S>
  STRATA_FUNCTION void operator()(const T& curvature, const auto& before, const S& state) const {
    typename S::value_type s = *before;
    if (s.running()) {
      if (!is_finite(curvature)) s.status = CgStatus::NotFinite;
      else if (!(curvature > T(0))) s.status = CgStatus::NotPositiveDefinite;
      else s.alpha = s.rz / curvature;
    }
    s.steps = s.running();
    *state = s;
  }
};

/// A view that a kernel only reads: a GPU may load its elements ahead of the stores of other items.
template <class V>
using ReadOnlyView = decltype(read_only(std::declval<const V&>()));

/// old + factor other where the solve `runs`. Selected, not multiplied by 0: `other` may contain infinities.
template <class T>
STRATA_FUNCTION T cg_updated(bool runs, const T& old, const T& factor, const T& other) {
  return runs ? old + factor * other : old;
}

/// r = r - alpha q
template <class W, class V, class S>
struct CgUpdateResidual : CgJoin<typename W::value_type>, InTwoSteps {
  using device_type = typename W::device_type;
  using T = typename W::value_type;
  using Sums = CgSums<T>;
  W r;
  ReadOnlyView<V> q, d;
  S state;

  // What an item reads.
  struct Item {
    T r, q, d, alpha;
    bool runs;
  };
  STRATA_FUNCTION Item fetch(auto i) const { return {r(i), q(i), d(i), (*state).alpha, (*state).running()}; }
  STRATA_FUNCTION void finish(auto i, const Item& item, Sums& sums) const {
    const T own_r = cg_updated<T>(item.runs, item.r, -item.alpha, item.q);
    r(i) = own_r;
    sums.rz += own_r * item.d * own_r;
    sums.rr += own_r * own_r;
  }
  STRATA_FUNCTION void operator()(auto i, Sums& sums) const { finish(i, fetch(i), sums); }
};
template <class T>
struct MakeCgUpdateResidual : CgJoin<T>, MakesFunctor {
  template <class W, class V, class S>
  CgUpdateResidual<W, V, S> operator()(const W& r, const V& q, const V& d, const S& state) const {
    return {{}, {}, r, read_only(q), read_only(d), state};
  }
};

/// x = x + alpha p, r = r - alpha q
template <class X, class W, class V, class S>
struct CgUpdate : CgJoin<typename W::value_type>, InTwoSteps {
  using device_type = typename W::device_type;
  using T = typename W::value_type;
  using Sums = CgSums<T>;
  X x;
  W r;
  ReadOnlyView<V> p, q, d;
  S state;

  struct Item {
    T x, r, p, q, d, alpha;
    bool runs;
  };
  STRATA_FUNCTION Item fetch(auto i) const {
    return {x(i), r(i), p(i), q(i), d(i), (*state).alpha, (*state).running()};
  }
  STRATA_FUNCTION void finish(auto i, const Item& item, Sums& sums) const {
    const T own_r = cg_updated<T>(item.runs, item.r, -item.alpha, item.q);
    x(i) = cg_updated<T>(item.runs, item.x, item.alpha, item.p);
    r(i) = own_r;
    sums.rz += own_r * item.d * own_r;
    sums.rr += own_r * own_r;
  }
  STRATA_FUNCTION void operator()(auto i, Sums& sums) const { finish(i, fetch(i), sums); }
};
template <class T>
struct MakeCgUpdate : CgJoin<T>, MakesFunctor {
  template <class X, class W, class V, class S>
  CgUpdate<X, W, V, S> operator()(const X& x, const W& r, const V& p, const V& q, const V& d,
                                  const S& state) const {
    return {{}, {}, x, r, read_only(p), read_only(q), read_only(d), state};
  }
};

/// beta = new r.z / old r.z; one iteration more.
struct CgJudge {
  template <class T, class S>
  STRATA_FUNCTION void operator()(const CgSums<T>& sums, const auto& before, const S& state) const {
    typename S::value_type s = *before;
    if (s.running()) {
      s.beta = sums.rz / s.rz;
      ++s.iterations;
      judge(s, sums);
    }
    *state = s;
  }
};

/// x = x + alpha p, p = D^-1 r + beta p. That x waits until here spares reading p twice, and the pass with
/// sums, which is the slower one, three of its seven vectors.
template <class X, class W, class V, class S>
struct CgAdvance : HasItemsInFlight<16 / sizeof(typename W::value_type)> {
  using device_type = typename W::device_type;
  using T = typename W::value_type;
  X x;
  W p;
  ReadOnlyView<V> r, d;
  S state;

  STRATA_FUNCTION void operator()(auto i) const {
    const T old_p = p(i);
    x(i) = cg_updated<T>((*state).steps, x(i), (*state).alpha, old_p);
    p(i) = d(i) * r(i) + (*state).beta * old_p;
  }
};
struct MakeCgAdvance {
  template <class X, class W, class V, class S>
  CgAdvance<X, W, V, S> operator()(const X& x, const W& p, const V& r, const V& d, const S& state) const {
    return {{}, x, p, read_only(r), read_only(d), state};
  }
};

/// x.y
template <class T>
struct MakeCgDot : MakesFunctor {
  using value_type = T;
  template <class V>
  DotKernel<V, V> operator()(const V& x, const V& y) const {
    return {x, y};
  }
  STRATA_FUNCTION static void init(T& sum) { sum = T(0); }
  STRATA_FUNCTION static void join(T& sum, const T& other) { sum += other; }
};

/// Passes the state to the host as the result of a reduction over one item, the fastest way on a device.
template <class S>
struct CgRead {
  using device_type = typename S::device_type;
  using value_type = typename S::value_type;
  S state;

  STRATA_FUNCTION void operator()(index_t, value_type& v) const { v = *state; }
  STRATA_FUNCTION static void init(value_type& v) { v = value_type{}; }
  STRATA_FUNCTION static void join(value_type&, const value_type&) {}
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
