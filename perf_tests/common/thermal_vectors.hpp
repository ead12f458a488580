// The vectors of conjugate gradients on one device: what an iteration does to them where x takes its step
// with r, by functors as a program has them, with scalars that stay as they are, and what must come of that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>

#include <strata/algorithms/linear/linear.hpp>
#include <strata/strata.hpp>

#include "baselines/thermal_kernels.hpp"
#include "common/contest.hpp"

namespace perf {

// Few digits: one after the other, too, floats are then added up with next to no rounding.
inline constexpr double cg_alpha = 0.5, cg_beta = 0.25;

template <class T>
STRATA_FUNCTION T cg_element(strata::index_t i, int vector) {
  return static_cast<T>(1 + (i * (2 * vector + 3)) % 8) / 8;
}
struct FillCgVectors {
  STRATA_FUNCTION void operator()(strata::index_t i, auto x, auto p, auto q, auto r, auto d) const {
    using T = typename decltype(x)::value_type;
    x(i) = cg_element<T>(i, 0);
    p(i) = cg_element<T>(i, 1);
    q(i) = cg_element<T>(i, 2);
    r(i) = cg_element<T>(i, 3);
    d(i) = cg_element<T>(i, 4);
  }
};

template <class T>
struct UpdateSums {
  T rz, rr;
};
template <class V>
using ReadOnly = decltype(strata::read_only(std::declval<const V&>()));
/// x += alpha p, r -= alpha q
template <class V>
struct UpdateVectors {
  using device_type = typename V::device_type;
  using T = typename V::value_type;
  using value_type = UpdateSums<T>;
  V x, r;
  ReadOnly<V> p, q, d, scalars;

  STRATA_FUNCTION void operator()(auto i, value_type& sums) const {
    const T alpha = scalars(alpha_scalar), old_x = x(i), own_r = r(i) - alpha * q(i);
    x(i) = old_x + alpha * p(i);
    r(i) = own_r;
    sums.rz += own_r * d(i) * own_r;
    sums.rr += own_r * own_r;
  }
  STRATA_FUNCTION static void init(value_type& sums) { sums = {T(0), T(0)}; }
  STRATA_FUNCTION static void join(value_type& sums, const value_type& other) {
    sums.rz += other.rz;
    sums.rr += other.rr;
  }
};
/// The same in two steps: what several items read is loaded before one writes.
template <class V>
struct UpdateInTwoSteps : UpdateVectors<V>, strata::detail::InTwoSteps {
  using T = typename V::value_type;
  struct Item {
    T x, r, p, q, d, alpha;
  };
  STRATA_FUNCTION Item fetch(auto i) const {
    return {this->x(i), this->r(i), this->p(i), this->q(i), this->d(i), this->scalars(alpha_scalar)};
  }
  STRATA_FUNCTION void finish(auto i, const Item& item, UpdateSums<T>& sums) const {
    const T own_r = item.r - item.alpha * item.q;
    this->x(i) = item.x + item.alpha * item.p;
    this->r(i) = own_r;
    sums.rz += own_r * item.d * own_r;
    sums.rr += own_r * own_r;
  }
  STRATA_FUNCTION void operator()(auto i, UpdateSums<T>& sums) const { finish(i, fetch(i), sums); }
};
/// Makes it of views that a launch declares, as the library's solver does.
template <class T>
struct MakeUpdateInTwoSteps : strata::detail::MakesFunctor {
  using value_type = UpdateSums<T>;
  template <class V, class C>
  UpdateInTwoSteps<V> operator()(const V& x, const V& r, const C& p, const C& q, const C& d,
                                 const C& scalars) const {
    UpdateInTwoSteps<V> update;
    update.x = x, update.r = r;
    update.p = read_only(p), update.q = read_only(q), update.d = read_only(d);
    update.scalars = read_only(scalars);
    return update;
  }
  STRATA_FUNCTION static void init(value_type& sums) { sums = {T(0), T(0)}; }
  STRATA_FUNCTION static void join(value_type& sums, const value_type& other) {
    sums.rz += other.rz;
    sums.rr += other.rr;
  }
};
struct StoreSumsInto {
  template <class T>
  STRATA_FUNCTION void operator()(const UpdateSums<T>& sums, auto scalars) const {
    scalars(0) = sums.rz;
    scalars(1) = sums.rr;
  }
};
template <class V>
struct StoreSums {
  V scalars;
  STRATA_FUNCTION void operator()(const typename UpdateVectors<V>::value_type& sums) const {
    scalars(sums_scalar) = sums.rz;
    scalars(sums_scalar + 1) = sums.rr;
  }
};
template <class V>
struct StoreDot {
  V scalars;
  STRATA_FUNCTION void operator()(const typename V::value_type& sum) const { scalars(dot_scalar) = sum; }
};
/// p = D r + beta p
template <class V>
struct NewDirection {
  using device_type = typename V::device_type;
  V p;
  ReadOnly<V> r, d, scalars;
  STRATA_FUNCTION void operator()(auto i) const { p(i) = d(i) * r(i) + scalars(beta_scalar) * p(i); }
};
/// The same of views that a launch declares.
struct LaunchedDirection {
  STRATA_FUNCTION void operator()(auto i, auto p, auto r, auto d, auto scalars) const {
    p(i) = d(i) * r(i) + scalars(beta_scalar) * p(i);
  }
};

/// How a kernel is written: as a functor that holds its views; or tuned, by launch, an update in two steps.
enum class VectorForm { Functor, Tuned };

template <class T, class D>
class CgVectors {
 public:
  using Vector = strata::MDArray<T, D, strata::rank<1>>;
  using index_t = strata::index_t;

  explicit CgVectors(index_t n) : n_(n), scalars(strata::create<Vector>("scalars", thermal_scalars)) {
    for (Vector* v : {&x, &p, &q, &r, &d}) *v = strata::create<Vector>("vector", n);
    clear();
  }

 private:
  index_t n_;

 public:
  Vector x, p, q, r, d, scalars;

  /// As competitors take them.
  void add_to(ThermalArrays<T>& arrays) const {
    arrays.nodes = static_cast<std::ptrdiff_t>(n_);
    arrays.x = x.data(), arrays.p = p.data(), arrays.q = q.data();
    arrays.r = r.data(), arrays.d = d.data();
    arrays.scalars = scalars.data();
  }

  void launch(ThermalKernel kernel, VectorForm form = VectorForm::Functor) const {
    const auto queue = strata::on(strata::default_queue(D{}));
    if (kernel == ThermalKernel::Dot) {
      strata::linear::dot(queue, p, q, StoreDot<Vector>{scalars});
    } else if (form == VectorForm::Tuned) {
      if (kernel == ThermalKernel::Update) {
        const auto part = [&](int begin, int end) { return subview(scalars, strata::range(begin, end)); };
        strata::launch_reduce(queue.named("update"), n_, MakeUpdateInTwoSteps<T>{},
                              finalize(StoreSumsInto{}, strata::out(part(sums_scalar, sums_scalar + 2))),
                              strata::inout(x), strata::inout(r), strata::in(p), strata::in(q), strata::in(d),
                              strata::in(part(0, sums_scalar)));
      } else {
        strata::launch(queue.named("direction"), n_, LaunchedDirection{}, strata::inout(p), strata::in(r),
                       strata::in(d), strata::in(scalars));
      }
    } else if (kernel == ThermalKernel::Update) {
      strata::parallel_reduce("update", queue, strata::launch_bounds<256, 4>(n_), update_functor(),
                              StoreSums<Vector>{scalars});
    } else {
      strata::parallel_for("direction", queue, n_,
                           NewDirection<Vector>{p, read_only(r), read_only(d), read_only(scalars)});
    }
  }
  /// The bytes that it must move.
  double bytes(ThermalKernel kernel) const {
    const int vectors = kernel == ThermalKernel::Dot ? 2 : kernel == ThermalKernel::Update ? 7 : 4;
    return static_cast<double>(vectors) * static_cast<double>(sizeof(T)) * static_cast<double>(n_);
  }

  void clear() const {
    strata::parallel_for(n_, strata::with(FillCgVectors{}, x, p, q, r, d));
    strata::wait(D{});
    const auto host = strata::create_mirror_view(scalars);
    for (int k = 0; k < thermal_scalars; ++k) host(k) = T(-7);
    host(alpha_scalar) = static_cast<T>(cg_alpha);
    host(beta_scalar) = static_cast<T>(cg_beta);
    strata::deep_copy(scalars, host);
  }
  /// Whether the vectors are what `times` launches make of what `clear` sets.
  bool correct(ThermalKernel kernel, int times) const {
    if (kernel == ThermalKernel::Dot)
      return near(scalar(dot_scalar), sum([](const Values& v) { return v.p * v.q; }));
    if (kernel == ThermalKernel::Direction)
      return holds(p, [&](const Values& v) {
        double new_p = v.p;
        for (int k = 0; k < times; ++k) new_p = v.d * v.r + cg_beta * new_p;
        return new_p;
      });
    const auto new_r = [&](const Values& v) { return v.r - times * cg_alpha * v.q; };
    return holds(x, [&](const Values& v) { return v.x + times * cg_alpha * v.p; }) && holds(r, new_r) &&
           near(scalar(sums_scalar), sum([&](const Values& v) { return new_r(v) * v.d * new_r(v); })) &&
           near(scalar(sums_scalar + 1), sum([&](const Values& v) { return new_r(v) * new_r(v); }));
  }

 private:
  UpdateVectors<Vector> update_functor() const {
    return {x, r, read_only(p), read_only(q), read_only(d), read_only(scalars)};
  }

  // The elements that `clear` sets.
  struct Values {
    double x, p, q, r, d;
    explicit Values(index_t i)
        : x(cg_element<double>(i, 0)),
          p(cg_element<double>(i, 1)),
          q(cg_element<double>(i, 2)),
          r(cg_element<double>(i, 3)),
          d(cg_element<double>(i, 4)) {}
  };
  static bool near(double found, double expected) {
    return std::abs(found - expected) <= (sizeof(T) == 4 ? 1e-4 : 1e-11) * std::abs(expected);
  }
  double scalar(int k) const { return static_cast<double>(strata::create_mirror_and_copy(scalars)(k)); }
  template <class F>
  double sum(const F& f) const {
    // Elements repeat after 8.
    const index_t period = 8;
    double all = 0;
    for (index_t i = 0; i < period && i < n_; ++i)
      all += f(Values(i)) * static_cast<double>((n_ - i + period - 1) / period);
    return all;
  }
  template <class F>
  bool holds(const Vector& vector, const F& expected) const {
    return rows_hold(vector, 200, [&](const auto& host, index_t at, index_t i) {
      return near(static_cast<double>(host(at)), expected(Values(i)));
    });
  }
};

}  // namespace perf
