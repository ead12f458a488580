// Sums over nodes and elements for reports: energies, momentum, reactions; and searches for what went wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/explicit_dynamics/dynamics.hpp>
#include <strata/miniapps/explicit_dynamics/kernels.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// What is summed over the nodes.
struct NodeTotals {
  double kinetic = 0, work = 0;
  Vector<double> momentum{0, 0, 0}, reaction{0, 0, 0};
};

struct SumNodes {
  using value_type = NodeTotals;
  STRATA_FUNCTION void operator()(index_t node, auto mass, auto velocity, auto work, auto reaction,
                                  NodeTotals& sum) const {
    const double m = static_cast<double>(mass(node));
    const Vector<double> v{static_cast<double>(velocity(node, 0)), static_cast<double>(velocity(node, 1)),
                           static_cast<double>(velocity(node, 2))};
    sum.kinetic += m / 2 * dot(v, v);
    sum.work += work(node);
    sum.momentum = sum.momentum + m * v;
    sum.reaction = sum.reaction + Vector<double>{reaction(node, 0), reaction(node, 1), reaction(node, 2)};
  }
  STRATA_FUNCTION static void init(NodeTotals& sum) { sum = {}; }
  STRATA_FUNCTION static void join(NodeTotals& sum, const NodeTotals& other) {
    sum.kinetic += other.kinetic;
    sum.work += other.work;
    sum.momentum = sum.momentum + other.momentum;
    sum.reaction = sum.reaction + other.reaction;
  }
};

/// What is summed over the elements.
struct ElementTotals {
  double elastic = 0, hourglass = 0;
};

/// The elastic energy is ((1 + nu) s:s - nu tr(s)^2) / 2E in each unit of undeformed volume.
struct SumElements {
  using value_type = ElementTotals;
  double young, poisson, density;

  STRATA_FUNCTION void operator()(index_t e, auto mass, auto stress, auto hourglass_work,
                                  ElementTotals& sum) const {
    const Symmetric<double> s{static_cast<double>(stress(e, 0)), static_cast<double>(stress(e, 1)),
                              static_cast<double>(stress(e, 2)), static_cast<double>(stress(e, 3)),
                              static_cast<double>(stress(e, 4)), static_cast<double>(stress(e, 5))};
    const double t = trace(s), twice = ((1 + poisson) * contract(s, s) - poisson * t * t) / young;
    sum.elastic += twice / 2 * static_cast<double>(mass(e)) / density;
    sum.hourglass += hourglass_work(e);
  }
  STRATA_FUNCTION static void init(ElementTotals& sum) { sum = {}; }
  STRATA_FUNCTION static void join(ElementTotals& sum, const ElementTotals& other) {
    sum.elastic += other.elastic;
    sum.hourglass += other.hourglass;
  }
};

/// Both, for people.
inline Energies energies_of(const NodeTotals& nodes, const ElementTotals& elements) {
  return {nodes.kinetic,
          nodes.work,
          elements.elastic,
          elements.hourglass,
          {nodes.momentum.x, nodes.momentum.y, nodes.momentum.z},
          {nodes.reaction.x, nodes.reaction.y, nodes.reaction.z}};
}

/// The least stable step of all elements, -1 where one is inside out; the first of those elements, and how
/// many they are.
template <class T>
struct SlowestElements {
  T dt;
  index_t first, count;
};
template <class T>
struct FindSlowest {
  using value_type = SlowestElements<T>;
  static constexpr bool any_order = true;
  STRATA_FUNCTION void operator()(index_t e, auto stable_dt, value_type& slowest) const {
    const T dt = stable_dt(e);
    join(slowest, {dt > 0 ? dt : T(-1), e, 1});
  }
  STRATA_FUNCTION static void init(value_type& slowest) { slowest = {T(1e30), INT64_MAX, 0}; }
  STRATA_FUNCTION static void join(value_type& a, const value_type& b) {
    if (b.dt < a.dt) {
      a = b;
    } else if (b.dt == a.dt) {
      a.first = b.first < a.first ? b.first : a.first;
      a.count += b.count;
    }
  }
};

/// The stable step of each element in the present configuration, without bulk viscosity.
template <class T>
struct StableStepKernel {
  T modulus;
  STRATA_FUNCTION void operator()(auto e, auto nodes, auto coordinates, auto displacement, auto mass,
                                  auto stable_dt) const {
    const CornerVectors<T> at = load_corners<T>(e, nodes, coordinates, displacement),
                           b = gradient_operator(at);
    stable_dt(e) = std::sqrt(T(mass(e)) * volume(at, b) / (2 * modulus * gradient_square(b)));
  }
};

/// R s R^T of each element, for output.
template <class T>
struct TurnStress {
  STRATA_FUNCTION void operator()(auto e, auto rotation, auto stress, auto seen) const {
    store(e, seen, rotated(load_matrix<T>(e, rotation), load_symmetric<T>(e, stress)));
  }
};

}  // namespace strata::inline STRATA_ABI::dynamics
