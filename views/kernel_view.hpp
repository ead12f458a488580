// The type under which a kernel is handed a view: views of Serial, Threads and Tbb come as views of AnyHost,
// so that a kernel is compiled once for all hosts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/any_host/device.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class D>
struct KernelDevice {
  using type = D;
};
template <HostType D>
requires std::same_as<typename D::size_type, AnyHost::size_type>
struct KernelDevice<D> {
  using type = AnyHost;
};

template <class V>
struct KernelViewOf {
  using type = V;
};
template <class T, class D, class E, class L, class A>
struct KernelViewOf<View<T, D, E, L, A>> {
  using type = View<T, typename KernelDevice<D>::type, E, L, A>;
};
/// `V` itself for other devices, and for types that only derive from or wrap a view.
template <class V>
using KernelView = typename KernelViewOf<V>::type;

}  // namespace strata::inline STRATA_ABI::detail
