// Fields: everything that a simulation holds, templated on the kind of arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <strata/core/layout_right.hpp>
#include <strata/core/layout_tiled.hpp>
#include <strata/miniapps/explicit_dynamics/parameters.hpp>
#include <strata/views/coherent/coherent_array.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// The kinds of arrays of Fields: coherent ones. Rows of elements lie in tiles: of a GPU as long as a warp,
/// so that its threads read side by side, on hosts so that kernels are vectorised across elements.
template <class Device>
struct CoherentArrays {
  using device_type = Device;
  static constexpr bool is_host = Device::memory_space::host_accessible;
  template <index_t... N>
  static constexpr bool is_list = sizeof...(N) == 1 && ((N == rank<1>)&&...);
  template <index_t... N>
  static constexpr int rank_of = is_list<N...> ? 1 : 1 + static_cast<int>(sizeof...(N));

  template <class T, index_t... N>
  using element_array =
      CoherentArray<T, rank<rank_of<N...>>,
                    std::conditional_t<is_list<N...>, LayoutRight, LayoutTiled<is_host ? 8 : 32>>>;
  template <class T, index_t... N>
  using node_array = CoherentArray<T, rank<rank_of<N...>>, LayoutRight>;
  template <class T>
  using values = CoherentArray<T, rank<1>>;
  /// Of elements whose values are of type T. As wide as these where compilers vectorise across elements: g++
  /// has as many elements a vector as the narrowest type of the loop fits in, and with 32 bits beside doubles
  /// takes vectors of half the width for tiles of 8. The fused kernel takes 0.46 of the time with 64.
  template <class T>
  using node_number = std::conditional_t<is_host && sizeof(T) == 8, std::int64_t, std::int32_t>;
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
  element_array<typename Arrays::template node_number<T>, 8> nodes;
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

  typename Arrays::template values<Clock> clocks;  // step_loops.hpp
};

}  // namespace strata::inline STRATA_ABI::dynamics
