// shared_view: a plain view of a coherent array whose one memory the host and kernels of a device use at the
// same time; for kernels over teams, which `launch` does not take, and for loops that run until there is no
// work left.
//
//   const CoherentArray<double, rank<1>> x("x", n, MemoryMode::Managed, main_in(Cuda{0}));
//   parallel_for(on(Cuda{0}), teams(m), with(kernel, shared_view(x, Cuda{0})));   // while the host reads
//   use(shared_view(x, Serial{}));
//   wait(Cuda{0});
//
// As with system_atomics (system_atomics.hpp), which are the operations by which both sides agree on who does
// what, the array does not track these accesses: when this returns the host has the current values, and until
// the kernels are done (wait) neither launches nor host views may use the array. Elements that one side
// writes and the other one accesses are a race unless such operations order them. The array must live as long
// as the view.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/system_atomics.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// The address of the array's memory in kernels of the device. Throws Error where they do not reach it.
char* shared_address(const Ref<CoherentState>& array, const DeviceInstance& device);

}  // namespace detail

/// All of `array`, for kernels on `device`, or for the host where that is one. Throws Error where kernels of
/// the device do not reach the array's memory (modes other than Managed and Mapped), AccessConflict where the
/// calling thread has a view of it, and what made earlier work on it fail.
template <class T, int Rank, class LayoutType, Device D>
auto shared_view(const BasicCoherentArray<T, Rank, LayoutType>& array, const D& device) {
  using V = typename BasicCoherentArray<T, Rank, LayoutType>::template view_type<T, D>;
  if (!array) detail::fail_no_array();
  return V(reinterpret_cast<T*>(detail::shared_address(array.state(), device.backend())), array.mapping());
}

}  // namespace strata::inline STRATA_ABI
