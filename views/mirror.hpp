// Mirrors: arrays in host memory with the shape and layout of a device's (the paper's section 3.3), so that
// copies between the two are one block; and, of a host's array or another device's, on a device.
//
//   const auto host = create_mirror_and_copy(x);             // on the host
//   const auto there = create_mirror_and_copy(Cuda{}, x);    // on a GPU, in the layout of x
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/serial/device.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>

namespace strata::inline STRATA_ABI {
namespace detail {

/// Whether `create_mirror_view` can alias: the host can touch the array's memory.
template <AnyView V>
inline constexpr bool aliases_host = V::memory_space::host_accessible;

/// Throws LayoutError for slices, which hold some rows of an array only.
template <AnyView V>
void require_whole(const V& view) {
  if (const Allocation* const record = view.allocation().get())
    if (!lies_within(record->data, record->bytes, view.data(), describe(view.mapping()),
                     sizeof(typename V::value_type)))
      fail_mirror(view.label());
}

}  // namespace detail

/// A new array in host memory, of the same type, shape and layout; its elements are zero. Throws LayoutError
/// for slices: create_slice makes one on the host.
template <AnyView V>
[[nodiscard]] typename V::HostMirror create_mirror(const V& view) {
  using Mirror = typename V::HostMirror;
  if (!view) return Mirror();
  detail::require_whole(view);
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

namespace detail {

/// Waits for the kernels that may still write `view`, which is its own mirror: in managed or pinned memory.
template <AnyView V>
void wait_for_writers(const V& view) {
  if constexpr (!FamilyOf<typename V::memory_space>::type::host_accessible) {
    const Allocation* const record = view.allocation().get();
    wait(typename V::device_type(record != nullptr ? record->space.instance : 0));
  }
}

}  // namespace detail

/// create_mirror_view, with the elements as the work on the device's default queue leaves them. Waits.
template <AnyView V>
[[nodiscard]] typename V::HostMirror create_mirror_and_copy(const V& view) requires(
    !std::is_const_v<typename V::element_type>) {
  const auto mirror = create_mirror_view(view);
  if constexpr (detail::aliases_host<V>) detail::wait_for_writers(view);
  else if (view) deep_copy(mirror, view);
  return mirror;
}

/// The type of a mirror of `V` on device `D`: its elements, shape and layout in the memory of D.
template <Device D, AnyView V>
using MirrorOn =
    View<typename V::value_type, D, typename V::extents_type, typename V::layout_type, DefaultAccess>;

namespace detail {

/// Whether `view` lies in the memory of `device` itself. Pinned and managed memory belong to one GPU, whose
/// kernels are those that with(kernel, view) runs.
template <Device D, AnyView V>
bool lies_on(const D& device, const V& view) {
  if constexpr (!std::is_same_v<typename D::memory_space, typename V::memory_space>) return false;
  else if constexpr (FamilyOf<typename D::memory_space>::type::host_accessible) return true;
  else {
    const LayoutDescriptor layout = describe(view.mapping());
    return copy_side(view, layout).space.instance == device.index();
  }
}

}  // namespace detail

/// The three on a device: a new, zero-filled array; the array itself where it lies in the memory of
/// `device`, else a new one; and that with the elements of `view`, which are there on return.
template <Device D, AnyView V>
[[nodiscard]] MirrorOn<D, V> create_mirror(const D& device, const V& view) {
  using Mirror = MirrorOn<D, V>;
  if (!view) return Mirror();
  detail::require_whole(view);
  detail::CreateOptions<D> options{};
  options.device = device;
  return detail::create_mapped<Mirror>(view.label(), view.mapping(), options);
}
template <Device D, AnyView V>
[[nodiscard]] MirrorOn<D, V> create_mirror_view(const D& device, const V& view) requires(
    !std::is_const_v<typename V::element_type>) {
  if constexpr (std::is_same_v<typename D::memory_space, typename V::memory_space>)
    if (!view || detail::lies_on(device, view))
      return MirrorOn<D, V>(view.allocation(), view.data(), view.mapping());
  return create_mirror(device, view);
}
template <Device D, AnyView V>
[[nodiscard]] MirrorOn<D, V> create_mirror_and_copy(const D& device, const V& view) requires(
    !std::is_const_v<typename V::element_type>) {
  const auto mirror = create_mirror_view(device, view);
  if (!view) return mirror;
  if (static_cast<const void*>(mirror.data()) != static_cast<const void*>(view.data()))
    deep_copy(mirror, view);
  else if constexpr (detail::aliases_host<V>) detail::wait_for_writers(view);
  return mirror;
}

}  // namespace strata::inline STRATA_ABI
