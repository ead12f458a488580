// The mini-app's explicit dynamics on one device, kernel by kernel: fields in a state where nothing is zero,
// and what all ways to do a kernel's work are to make of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <strata/miniapps/fem/box.hpp>
#include <strata/strata.hpp>

#include "baselines/dynamics.hpp"
#include "common/plain_dynamics.hpp"

namespace perf {

namespace dynamics = strata::dynamics;

/// |a - b| and |b|.
struct Difference {
  double difference, size;
};
/// The largest of each, over the rows of two arrays.
struct LargestDifference {
  using value_type = Difference;
  STRATA_FUNCTION void operator()(strata::index_t i, auto a, auto b, value_type& largest) const {
    using Array = decltype(a);
    const auto take = [&](double x, double y) {
      const double d = x < y ? y - x : x - y;
      join(largest, {d == d ? d : 1e300, y < 0 ? -y : y});
    };
    if constexpr (Array::extents_type::max_rank_value == 1) {
      take(static_cast<double>(a(i)), static_cast<double>(b(i)));
    } else if constexpr (Array::extents_type::max_rank_value == 2) {
      for (strata::index_t j = 0; j < a.extent(1); ++j)
        take(static_cast<double>(a(i, j)), static_cast<double>(b(i, j)));
    } else {
      for (strata::index_t j = 0; j < a.extent(1); ++j)
        for (strata::index_t k = 0; k < a.extent(2); ++k)
          take(static_cast<double>(a(i, j, k)), static_cast<double>(b(i, j, k)));
    }
  }
  STRATA_FUNCTION static void init(value_type& largest) { largest = {0, 0}; }
  STRATA_FUNCTION static void join(value_type& largest, const value_type& other) {
    if (other.difference > largest.difference) largest.difference = other.difference;
    if (other.size > largest.size) largest.size = other.size;
  }
};

/// Velocities that differ from node to node, about 1e-4 of the speed of sound.
struct ShakeNodes {
  STRATA_FUNCTION void operator()(strata::index_t n, auto velocity) const {
    using T = typename decltype(velocity)::value_type;
    for (int d = 0; d < 3; ++d) {
      const auto mixed = static_cast<std::uint32_t>(n * 3 + d) * 2654435761U;
      velocity(n, d) = static_cast<T>(1e-4 * ((mixed >> 16) / 65536.0 - 0.5));
    }
  }
};

template <class T, class D, class Arrays = DynamicsArrays<D>>
class DynamicsProblem {
 public:
  using Fields = dynamics::Fields<T, Arrays>;
  using NarrowNodes = typename Arrays::template element_array<std::int32_t, 8>;

  /// A box of about so many elements, all of them distorted.
  explicit DynamicsProblem(strata::index_t elements)
      : queue_(strata::default_queue(D{})),
        mesh_(strata::fem::make_box<strata::fem::PlainArrays<D>>(box_of(elements))),
        narrow_nodes_(element_nodes<NarrowNodes>(mesh_, queue_)) {
    parameters_.dt_every = 1;  // as by hand: a step of its own length each time
    parameters_.poisson = 0.3;
    parameters_.hourglass_viscosity = 0.01;
    parameters_.bulk_linear = 0.06;
    parameters_.bulk_quadratic = 1.2;
    for (Fields* f : {&now_, &begin_, &expected_})
      *f = make_fields<T, D, Arrays>(mesh_, queue_, parameters_.density, false);
    strata::parallel_for(strata::on(queue_), nodes(), strata::with(ShakeNodes{}, now_.velocity));
    for (int k = 0; k < 3; ++k) launch(DynamicsWork::StepOfThree);
    queue_.wait();
    copy(begin_, now_);
  }

  strata::index_t elements() const { return mesh_.element_count(); }
  strata::index_t nodes() const { return mesh_.node_count(); }

  /// Enqueues a piece of work, the update of second order.
  void launch(DynamicsWork work) const {
    constexpr auto second = dynamics::Update::Second;
    const auto where = strata::on(queue_);
    const dynamics::Material<T> material(parameters_);
    const bool three = work == DynamicsWork::StepOfThree, fused = work == DynamicsWork::StepOfFused;
    if (three || work == DynamicsWork::Gradient) launch_gradient(where, now_);
    if (three || work == DynamicsWork::Rotation) launch_rotation<second>(where, now_);
    if (three || work == DynamicsWork::Force) launch_force(where, now_, material);
    if (fused || work == DynamicsWork::Fused) launch_fused<second>(where, now_, material);
    if (three || fused || work == DynamicsWork::LeastStep) launch_least_step(where, now_, parameters_);
    if (three || fused || work == DynamicsWork::Nodes) launch_nodes(where, now_);
  }
  const strata::Queue<D>& queue() const { return queue_; }
  const Fields& fields() const { return now_; }

  /// Goes back to the state in which pieces of work begin.
  void clear() const { copy(now_, begin_); }
  /// Notes what `run` makes of that state.
  void expect(const std::function<void()>& run) {
    clear();
    run();
    copy(expected_, now_);
  }
  /// Whether the state is the one noted, but for rounding errors.
  bool correct() const {
    const double tolerance = sizeof(T) == 4 ? 2e-3 : 1e-10;
    bool good = true;
    for_each_pair(now_, expected_, [&](const auto& a, const auto& b) {
      LargestDifference::value_type largest{};
      strata::parallel_reduce(strata::on(queue_), a.extent(0), strata::with(LargestDifference{}, a, b),
                              largest);
      good = good && largest.difference <= tolerance * largest.size;
    });
    const dynamics::Clock a = clock_of(now_), b = clock_of(expected_);
    return good && a.step == b.step && a.failure == b.failure && std::abs(a.dt - b.dt) <= tolerance * b.dt &&
           std::abs(a.time - b.time) <= tolerance * b.time;
  }

  /// The arrays as competitors take them.
  DynamicsFields<T> by_hand() const {
    static_assert(sizeof(DynamicsClock) == sizeof(dynamics::Clock));
    const dynamics::Material<T> m(parameters_);
    const Fields& f = now_;
    return {
        elements(),
        nodes(),
        f.coordinates.data(),
        narrow_nodes_.data(),
        f.offsets.data(),
        f.corners.data(),
        f.displacement.data(),
        f.velocity.data(),
        f.mass.data(),
        f.fixed.data(),
        f.work.data(),
        f.reaction.data(),
        f.element_mass.data(),
        f.rotation.data(),
        f.stretch.data(),
        f.stress.data(),
        f.hourglass.data(),
        f.element_force.data(),
        f.stable_dt.data(),
        f.hourglass_work.data(),
        f.velocity_gradient.data(),
        f.mode_rates.data(),
        f.rate.data(),
        reinterpret_cast<DynamicsClock*>(f.clocks.data()),
        {m.lambda, m.two_mu, m.hourglass_stiffness, m.hourglass_viscosity, m.bulk_linear, m.bulk_quadratic}};
  }

  /// The bytes that a piece of work must move, each array once.
  double bytes(DynamicsWork work) const {
    constexpr double number = sizeof(T), corners = 8 * sizeof(std::int32_t);
    const auto e = static_cast<double>(elements()), n = static_cast<double>(nodes());
    const double position = n * (3 * sizeof(double) + 3 * number), velocity = n * 3 * number;
    // Read and written: stress, hourglass forces and their work. Written: forces, stable steps.
    const double end = e * (number + 2 * (6 + 12) * number + 2 * sizeof(double) + (24 + 1) * number);
    switch (work) {
      case DynamicsWork::Gradient:
        return position + velocity + e * (corners + (9 + 12) * number);
      case DynamicsWork::Rotation:
        return e * (9 + 2 * (9 + 6) + 6) * number;
      case DynamicsWork::Force:
        return position + e * (corners + (9 + 6 + 12) * number) + end;
      case DynamicsWork::Fused:
        return position + velocity + e * (corners + 2 * (9 + 6) * number) + end;
      case DynamicsWork::LeastStep:
        return e * number;
      case DynamicsWork::Nodes:
        return n * (sizeof(std::int32_t) + number + 1 + 2 * 6 * number + 2 * sizeof(double)) +
               e * (corners + 24 * number);
      case DynamicsWork::StepOfThree:
        return bytes(DynamicsWork::Gradient) + bytes(DynamicsWork::Rotation) + bytes(DynamicsWork::Force) +
               bytes(DynamicsWork::LeastStep) + bytes(DynamicsWork::Nodes);
      case DynamicsWork::StepOfFused:
        return bytes(DynamicsWork::Fused) + bytes(DynamicsWork::LeastStep) + bytes(DynamicsWork::Nodes);
    }
    return 0;
  }

 private:
  static strata::fem::BoxSpec box_of(strata::index_t elements) {
    const auto edge = std::max<strata::index_t>(std::llround(std::cbrt(static_cast<double>(elements))), 2);
    strata::fem::BoxSpec box;
    const strata::index_t edges[3] = {edge - 1, edge, edge + 1};
    for (int d = 0; d < 3; ++d) {
      box.elements[d] = edges[d];
      box.lengths[d] = static_cast<double>(edges[d]);
    }
    box.random = 0.1;
    return box;
  }

  // Everything that any kernel changes.
  template <class F>
  static void for_each_pair(const Fields& a, const Fields& b, const F& call) {
    call(a.displacement, b.displacement), call(a.velocity, b.velocity), call(a.work, b.work);
    call(a.reaction, b.reaction), call(a.rotation, b.rotation), call(a.stretch, b.stretch);
    call(a.stress, b.stress), call(a.hourglass, b.hourglass), call(a.hourglass_work, b.hourglass_work);
    call(a.element_force, b.element_force), call(a.stable_dt, b.stable_dt), call(a.rate, b.rate);
    call(a.velocity_gradient, b.velocity_gradient), call(a.mode_rates, b.mode_rates);
  }
  static void copy(const Fields& to, const Fields& from) {
    for_each_pair(to, from, [](const auto& a, const auto& b) { strata::deep_copy(a, b); });
    strata::deep_copy(to.clocks, from.clocks);
  }
  static dynamics::Clock clock_of(const Fields& f) {
    dynamics::Clock clock;
    strata::deep_copy(clock, f.clocks);
    return clock;
  }

  strata::Queue<D> queue_;
  strata::fem::Mesh<strata::fem::PlainArrays<D>> mesh_;
  NarrowNodes narrow_nodes_;  // of kernels by hand
  dynamics::Parameters parameters_;
  Fields now_, begin_, expected_;
};

}  // namespace perf
