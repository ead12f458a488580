// The kernels over the nodes: masses, the end of a time step (section 6.2 of the Kokkos Array paper), given
// values.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/miniapps/explicit_dynamics/kernels.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// The sum of the element forces at a node, in the order of its corners: the same on every device. Eight at a
/// time, as most nodes have, whose loads do not wait for each other; until they are added they take no more
/// registers than they have bytes.
template <class T>
STRATA_FUNCTION Vector<double> sum_forces(auto node, const auto& offsets, const auto& corners,
                                          const auto& element_force) {
  Vector<double> sum{0, 0, 0};
  const std::int32_t end = offsets(index_t(node) + 1);
  for (std::int32_t k = offsets(index_t(node)); k < end; k += 8) {
    std::int32_t corner[8];
    T x[8], y[8], z[8];
    unrolled<8>([&](int j) { corner[j] = k + j < end ? corners(k + j) : -1; });
    unrolled<8>([&](int j) {
      x[j] = y[j] = z[j] = 0;
      if (corner[j] < 0) return;
      const index_t element = corner[j] >> 3;
      const int c = corner[j] & 7;
      x[j] = element_force(element, 0, c);
      y[j] = element_force(element, 1, c);
      z[j] = element_force(element, 2, c);
    });
    unrolled<8>([&](int j) {
      sum = sum +
            Vector<double>{static_cast<double>(x[j]), static_cast<double>(y[j]), static_cast<double>(z[j])};
    });
  }
  return sum;
}

/// Ends a step: sums the forces f at a node, a = -f / m but 0 in fixed directions (bits 0, 1, 2 of `fixed`),
/// v += (dt + prev_dt) / 2 a, u += dt v. Keeps the sums over the steps of
///   work       (dt + prev_dt) / 2 f . (v_old + v_new) / 2, which the kinetic energy at half steps loses
///   exactly, reaction   (dt + prev_dt) / 2 f in fixed directions: the impulse of what holds the node.
template <class T>
struct NodeKernel {
  template <class Node, class ClockView, class Offsets, class Corners, class Forces, class Masses,
            class Flags, class Vectors, class Works, class Impulses>
  STRATA_FUNCTION void operator()(Node node, ClockView clock, Offsets offsets, Corners corners,
                                  Forces element_force, Masses mass, Flags fixed, Vectors velocity,
                                  Vectors displacement, Works work, Impulses reaction) const {
    const double dt = (*clock).dt, mean_dt = (dt + (*clock).prev_dt) / 2;
    const int held = fixed(node);
    const double node_mass = static_cast<double>(mass(node)), work_before = work(node);
    const Vector<T> v{velocity(node, 0), velocity(node, 1), velocity(node, 2)};
    const Vector<T> u{displacement(node, 0), displacement(node, 1), displacement(node, 2)};
    if (!(dt > 0)) return;  // the simulation has failed: nodes stay where the elements went wrong
    const Vector<double> f = sum_forces<T>(node, offsets, corners, element_force);
    const double rate = mean_dt / node_mass;
    double done = 0;
    const auto direction = [&](int d, double force, T old_velocity, T old_displacement) {
      const double old = static_cast<double>(old_velocity);
      const bool is_held = (held >> d & 1) != 0;
      const T now = is_held ? old_velocity : static_cast<T>(old - rate * force);
      velocity(node, d) = now;
      displacement(node, d) = old_displacement + static_cast<T>(dt) * now;
      done += force * (old + static_cast<double>(now));
      if (is_held) reaction(node, d) += mean_dt * force;
    };
    direction(0, f.x, v.x, u.x);
    direction(1, f.y, v.y, u.y);
    direction(2, f.z, v.z, u.z);
    work(node) = work_before + mean_dt / 2 * done;
  }
};

/// The forces at the nodes, for output.
struct SumForcesKernel {
  STRATA_FUNCTION void operator()(auto node, auto offsets, auto corners, auto element_force,
                                  auto force) const {
    const Vector<double> f = sum_forces<typename std::remove_cvref_t<decltype(element_force)>::value_type>(
        node, offsets, corners, element_force);
    force(node, 0) = f.x, force(node, 1) = f.y, force(node, 2) = f.z;
  }
};

/// The mass of an element, and its state without any deformation.
template <class T>
struct BeginElementKernel {
  double density;

  STRATA_FUNCTION void operator()(auto e, auto nodes, auto coordinates, auto mass, auto rotation,
                                  auto stretch) const {
    CornerVectors<double> at;
    const index_t first = nodes(e, 0);
    unrolled<8>([&](int k) {
      const index_t n = nodes(e, k);
      at.x[k] = coordinates(n, 0) - coordinates(first, 0);
      at.y[k] = coordinates(n, 1) - coordinates(first, 1);
      at.z[k] = coordinates(n, 2) - coordinates(first, 2);
    });
    mass(e) = static_cast<T>(density * volume(at, gradient_operator(at)));
    store(e, rotation, identity<T>());
    store(e, stretch, Symmetric<T>{1, 1, 1, 0, 0, 0});
  }
};

/// The mass of a node: an eighth of that of the elements around it.
template <class T>
struct NodeMassKernel {
  STRATA_FUNCTION void operator()(auto node, auto offsets, auto corners, auto element_mass, auto mass) const {
    double sum = 0;
    const std::int32_t end = offsets(index_t(node) + 1);
    for (std::int32_t k = offsets(index_t(node)); k < end; ++k)
      sum += static_cast<double>(element_mass(index_t(corners(k) / 8)));
    mass(node) = static_cast<T>(sum / 8);
  }
};

/// Row i of an array is 0.
struct ZeroRow {
  STRATA_FUNCTION void operator()(index_t i, auto a) const {
    using T = typename decltype(a)::value_type;
    if constexpr (decltype(a)::extents_type::max_rank_value == 1) {
      a(i) = T(0);
    } else if constexpr (decltype(a)::extents_type::max_rank_value == 2) {
      for (index_t j = 0; j < a.extent(1); ++j) a(i, j) = T(0);
    } else {
      for (index_t j = 0; j < a.extent(1); ++j)
        for (index_t k = 0; k < a.extent(2); ++k) a(i, j, k) = T(0);
    }
  }
};
/// Row i of an array of rank 2 in another layout.
struct CopyRow {
  STRATA_FUNCTION void operator()(index_t i, auto from, auto to) const {
    for (index_t j = 0; j < from.extent(1); ++j) to(i, j) = from(i, j);
  }
};

/// The velocity of listed nodes.
template <class T>
struct SetVelocityKernel {
  T x, y, z;
  STRATA_FUNCTION void operator()(index_t k, auto list, auto velocity) const {
    const index_t n = list(k);
    velocity(n, 0) = x, velocity(n, 1) = y, velocity(n, 2) = z;
  }
};

/// Holds listed nodes in the directions of `mask`, at rest.
template <class T>
struct FixKernel {
  std::uint8_t mask;
  STRATA_FUNCTION void operator()(index_t k, auto list, auto fixed) const {
    const index_t n = list(k);
    fixed(n) = static_cast<std::uint8_t>(fixed(n) | mask);
  }
};
template <class T>
struct RestKernel {
  STRATA_FUNCTION void operator()(auto node, auto fixed, auto velocity) const {
    const int held = fixed(node);
    for (int d = 0; d < 3; ++d)
      if ((held >> d & 1) != 0) velocity(node, d) = 0;
  }
};

}  // namespace strata::inline STRATA_ABI::dynamics
