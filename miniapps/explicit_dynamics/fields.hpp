// Fields: everything that a simulation holds on a device, templated on the kind of arrays.
#pragma once

#include <cstdint>
#include <type_traits>

#include <strata/core/lane_index.hpp>
#include <strata/core/layout_tiled.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/explicit_dynamics/parameters.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/views/multivector.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// The plain arrays of a device; on hosts those of elements are tiled, so that kernels are vectorised across
/// elements. The host's devices share one memory, and here one type of views, so that a kernel is compiled
/// once for all of them.
template <class Device>
struct DynamicsArrays {
  static constexpr bool has_lanes = is_lane_index_v<typename Device::index_type>;
  using device_type = std::conditional_t<has_lanes, Serial, Device>;
  using element_layout = std::conditional_t<has_lanes, LayoutTiled<8>, typename Device::layout>;
  template <class T, index_t... N>
  using element_array = MDArrayIn<element_layout, T, device_type, N...>;
  template <class T, index_t... N>
  using node_array = MDArrayIn<LayoutRight, T, device_type, N...>;
  template <class T>
  using value = Value<T, device_type>;
};

/// The fields of type T, and what they take from the mesh. Entries as in kernels.hpp.
template <class T, class Arrays>
struct Fields {
  template <class U, index_t... N>
  using element_array = typename Arrays::template element_array<U, N...>;
  template <class U, index_t... N>
  using node_array = typename Arrays::template node_array<U, N...>;

  // The mesh.
  node_array<double, 3> coordinates;
  element_array<std::int32_t, 8> nodes;
  node_array<std::int32_t, rank<1>> offsets, corners;

  // Nodes.
  node_array<T, 3> displacement, velocity;
  node_array<T, rank<1>> mass;
  node_array<std::uint8_t, rank<1>> fixed;
  node_array<double, rank<1>> work;
  node_array<double, 3> reaction;

  // Elements: state.
  element_array<T, rank<1>> element_mass;
  element_array<T, 9> rotation;
  element_array<T, 6> stretch, stress;
  element_array<T, 3, 4> hourglass;
  element_array<double, rank<1>> hourglass_work;
  element_array<T, 3, 8> element_force;
  element_array<T, rank<1>> stable_dt;

  // Elements: what the three functors hand on; the fused one needs none of it.
  element_array<T, 9> velocity_gradient;
  element_array<T, 3, 4> mode_rates;
  element_array<T, 6> rate;

  typename Arrays::template value<Clock> clock;
};

}  // namespace strata::inline STRATA_ABI::dynamics
