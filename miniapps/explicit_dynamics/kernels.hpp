// The kernels of a time step: three over the elements, as in section 6.1 of the Kokkos Array paper, and one
// over the nodes (section 6.2, in node_kernels.hpp). FusedElement does the work of the three in one.
//
//   GradientKernel    velocity gradient and hourglass rates, in the configuration of the middle of the step
//   RotationKernel    rotation, stretch and the unrotated rate of deformation
//   ForceKernel       stress, hourglass and viscous forces of the end of the step, and the stable time step
//
// The paper's last functor is a reduction. Here it stores each element's stable step, and LeastStep, a
// reduction of little else than reading, ends in SetNextTimeStep: the heavy kernel then has as many threads
// as there are elements and all registers, and hosts vectorise it like the others.
//
// Each is called with an element and views. Entries of the arrays: rotation and velocity gradient as in
// Matrix, stretch, stress and rates as in Symmetric; hourglass (element, direction, mode); forces (element,
// direction, corner). Coordinates are of the undeformed mesh and double; they are used as differences within
// an element, so that float fields lose nothing far from the origin. (nvcc 13.0 takes at most nine parameters
// that are `auto`: kernels of more views name the types.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/explicit_dynamics/element_step.hpp>
#include <strata/miniapps/explicit_dynamics/rotation.hpp>

namespace strata::inline STRATA_ABI::dynamics {

template <class T>
struct GradientKernel {
  STRATA_FUNCTION void operator()(auto e, auto clock, auto nodes, auto coordinates, auto displacement,
                                  auto velocity, auto velocity_gradients, auto mode_rate) const {
    const CornerVectors<T> v = load_corners<T>(e, nodes, velocity);
    const Rates<T> rates =
        middle_rates(load_corners<T>(e, nodes, coordinates, displacement), v, static_cast<T>((*clock).dt));
    store(e, velocity_gradients, rates.gradient);
    store(e, mode_rate, rates.modes);
  }
};

template <class T, Update U>
struct RotationKernel {
  STRATA_FUNCTION void operator()(auto e, auto clock, auto velocity_gradients, auto rotation, auto stretch,
                                  auto rate) const {
    Decomposition<T> element{load_matrix<T>(e, rotation), load_symmetric<T>(e, stretch), {}};
    update<U>(element, load_matrix<T>(e, velocity_gradients), static_cast<T>((*clock).dt));
    store(e, rotation, element.rotation);
    store(e, stretch, element.stretch);
    store(e, rate, element.rate);
  }
};

template <class T>
struct ForceKernel {
  Material<T> material;

  template <class Element, class ClockView, class Nodes, class Coordinates, class NodeVectors, class Masses,
            class Rates, class Matrices, class Strains, class Tensors, class Modes, class Works, class Forces,
            class Steps>
  STRATA_FUNCTION void operator()(Element e, ClockView clock, Nodes nodes, Coordinates coordinates,
                                  NodeVectors displacement, Masses mass, Rates mode_rate, Matrices rotation,
                                  Strains rate, Tensors stress, Modes hourglass, Works hourglass_work,
                                  Forces element_force, Steps stable_dt) const {
    const ElementEnd<T> end =
        element_end(material, load_corners<T>(e, nodes, coordinates, displacement), T(mass(e)),
                    static_cast<T>((*clock).dt), load_matrix<T>(e, rotation), load_symmetric<T>(e, rate),
                    load_modes<T>(e, mode_rate),
                    ElementEnd<T>{load_symmetric<T>(e, stress), load_modes<T>(e, hourglass), {}, 0, 0});
    store(e, stress, end.stress);
    store(e, hourglass, end.hourglass);
    hourglass_work(e) += end.hourglass_work;
    store_forces(e, element_force, end.force);
    stable_dt(e) = end.stable_dt;
  }
};

/// Asks a GPU for the `Count` numbers of element e before they are needed: its threads are too few here to
/// hide the wait for memory, and what lies in its second cache takes no registers.
template <int Count>
STRATA_FUNCTION void fetch_early([[maybe_unused]] auto e, [[maybe_unused]] const auto& array) {
#if defined(__CUDA_ARCH__)
  unrolled<Count>([&](int k) { asm volatile("prefetch.global.L2 [%0];" ::"l"(&array(e, k))); });
#endif
}

/// The three in one: what they hand on stays in registers. The corners are read twice, the second time from
/// caches: kept in between, they would take the registers that the rotation's update needs.
template <class T, Update U>
struct FusedKernel {
  Material<T> material;

  template <class Element, class ClockView, class Nodes, class Coordinates, class NodeVectors, class Masses,
            class Matrices, class Tensors, class Modes, class Works, class Forces, class Steps>
  STRATA_FUNCTION void operator()(Element e, ClockView clock, Nodes nodes, Coordinates coordinates,
                                  NodeVectors displacement, NodeVectors velocity, Masses mass,
                                  Matrices rotation, Tensors stretch, Tensors stress, Modes hourglass,
                                  Works hourglass_work, Forces element_force, Steps stable_dt) const {
    fetch_early<9>(e, rotation);
    fetch_early<6>(e, stretch);
    const T dt = static_cast<T>((*clock).dt);
    const Rates<T> rates = middle_rates(load_corners<T>(e, nodes, coordinates, displacement),
                                        load_corners<T>(e, nodes, velocity), dt);
    Decomposition<T> element{load_matrix<T>(e, rotation), load_symmetric<T>(e, stretch), {}};
    update<U>(element, rates.gradient, dt);
    store(e, rotation, element.rotation);
    store(e, stretch, element.stretch);
    const ElementEnd<T> end =
        element_end(material, load_corners<T>(e, nodes, coordinates, displacement), T(mass(e)), dt,
                    element.rotation, element.rate, rates.modes,
                    ElementEnd<T>{load_symmetric<T>(e, stress), load_modes<T>(e, hourglass), {}, 0, 0});
    store(e, stress, end.stress);
    store(e, hourglass, end.hourglass);
    hourglass_work(e) += end.hourglass_work;
    store_forces(e, element_force, end.force);
    stable_dt(e) = end.stable_dt;
  }
};

/// The least stable step of all elements; -1 where one is inside out.
template <class T>
struct LeastStep {
  using value_type = T;
  STRATA_FUNCTION void operator()(auto e, auto stable_dt, T& least) const {
    const T dt = stable_dt(e);
    join(least, dt > 0 ? dt : T(-1));
  }
  STRATA_FUNCTION static void init(T& least) { least = T(1e30); }
  STRATA_FUNCTION static void join(T& least, const T& other) { least = other < least ? other : least; }
};

/// Ends the reduction over the elements, on the device: prev_dt = dt, dt = the next step. A stable step is
/// decided every so many steps, from what the step before has found, so that its length is known before its
/// elements are computed; in the first step, in every one where `every` is 1, and where the one that is kept
/// would be too long, from what this step has found.
template <class ClockView>
struct SetNextTimeStep {
  ClockView clock;
  double user_dt, safety, collapse;
  index_t every;

  template <class T>
  STRATA_FUNCTION void operator()(const T& least) const {
    Clock& c = *clock;
    if (c.failure != Failure::None) return;
    const double stable = static_cast<double>(least);
    if (c.step == 0) c.first_dt = c.minimum_dt = stable;
    if (!(stable > 0) || stable < collapse * c.first_dt) {
      c.failure = stable > 0 ? Failure::Collapse : Failure::Volume;
      c.dt = c.prev_dt = 0;
      return;
    }
    const double stable_before = c.stable_dt;
    c.stable_dt = stable;
    if (stable < c.minimum_dt) c.minimum_dt = stable;
    c.prev_dt = c.dt;
    if (user_dt > 0) {
      c.dt = user_dt;
    } else {
      if (c.step % every == 0) c.dt = safety * stable_before;
      if (every == 1 || c.step == 0 || c.dt > stable) c.dt = safety * stable;
    }
    c.time += c.dt;
    ++c.step;
  }
};

}  // namespace strata::inline STRATA_ABI::dynamics
