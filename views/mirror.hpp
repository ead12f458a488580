// Mirrors: arrays in host memory with the shape and layout of a device's (the paper's section 3.3), so that
// copies between the two are one block.
#pragma once

#include <strata/devices/serial/device.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>

namespace strata::inline STRATA_ABI {
namespace detail {

/// Whether `create_mirror_view` can alias: the host can touch the array's memory.
template <AnyView V>
inline constexpr bool aliases_host = V::memory_space::host_accessible;

}  // namespace detail

/// A new array in host memory, of the same type, shape and layout; its elements are zero. Throws LayoutError
/// for slices: create_slice makes one on the host.
template <AnyView V>
[[nodiscard]] typename V::HostMirror create_mirror(const V& view) {
  using Mirror = typename V::HostMirror;
  if (!view) return Mirror();
  if (const detail::Allocation* const record = view.allocation().get())
    if (!detail::lies_within(record->data, record->bytes, view.data(), detail::describe(view.mapping()),
                             sizeof(typename V::value_type)))
      detail::fail_mirror(view.label());
  return detail::create_mapped<Mirror>(view.label(), view.mapping(), {});
}

/// The array itself where the host can touch it, else a new mirror: saves memory and copies. deep_copy
/// between an array and its alias does nothing. Does not wait: kernels may still write a managed or pinned
/// array.
template <AnyView V>
[[nodiscard]] typename V::HostMirror create_mirror_view(const V& view) requires(
    !std::is_const_v<typename V::element_type>) {
  // Managed and pinned arrays, too, become arrays of the host, which keep their memory.
  if constexpr (detail::aliases_host<V>)
    return typename V::HostMirror(view.allocation(), view.data(), view.mapping());
  else return create_mirror(view);
}

/// create_mirror_view, with the elements as the work on the device's default queue leaves them. Waits.
template <AnyView V>
[[nodiscard]] typename V::HostMirror create_mirror_and_copy(const V& view) requires(
    !std::is_const_v<typename V::element_type>) {
  using Family = typename detail::FamilyOf<typename V::memory_space>::type;
  const auto mirror = create_mirror_view(view);
  if constexpr (!detail::aliases_host<V>) {
    if (view) deep_copy(mirror, view);
  } else if constexpr (!Family::host_accessible) {  // managed or pinned: kernels may still write it
    const detail::Allocation* const record = view.allocation().get();
    wait(typename V::device_type(record != nullptr ? record->space.instance : 0));
  }
  return mirror;
}

}  // namespace strata::inline STRATA_ABI
