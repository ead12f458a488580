// StreamedArrays: fields whose arrays are in the host's memory and go through a device in slices.
#pragma once

#include <type_traits>

#include <strata/core/lane_index.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/explicit_dynamics/fields.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/memory/managed.hpp>
#endif

namespace strata::inline STRATA_ABI::dynamics {

/// The kinds of arrays of Fields. Rows of elements lie in tiles: of a GPU as long as a warp, so that its
/// threads read side by side, on hosts as DynamicsArrays have them.
template <class Device>
struct StreamedArrays {
  using device_type = Device;
  static constexpr bool is_host = Device::memory_space::host_accessible;
  using element_layout = LayoutTiled<is_host ? 8 : 32>;

  template <class T, index_t... N>
  using element_array = CoherentArray<
      T, sizeof...(N) == 1 && ((N == rank<1>)&&...) ? 1 : 1 + static_cast<int>(sizeof...(N)),
      std::conditional_t<sizeof...(N) == 1 && ((N == rank<1>)&&...), LayoutRight, element_layout>>;
  template <class T, index_t... N>
  using node_array =
      CoherentArray<T, sizeof...(N) == 1 && ((N == rank<1>)&&...) ? 1 : 1 + static_cast<int>(sizeof...(N)),
                    LayoutRight>;
  /// Kernels get the times of their step by value.
  template <class T>
  using value = T;

  /// Whose memory copies to the device are fast from.
  static auto home() {
#if STRATA_HAS_CUDA
    if constexpr (detail::is_gpu<Device>) return CudaPinned{};
    else
#endif
      return Serial{};
  }
};

}  // namespace strata::inline STRATA_ABI::dynamics
