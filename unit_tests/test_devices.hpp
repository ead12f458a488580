// What typed tests run over, and what they share. They are compiled once for all host devices, as AnyHost,
// and CTest runs them with each (STRATA_HOST_DEVICE=serial, threads, tbb). A device outside the tree names
// its own list by -DSTRATA_TEST_DEVICES_HEADER="...", which defines strata_tests::TestDevices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include <strata/strata.hpp>

#ifdef STRATA_TEST_DEVICES_HEADER
#include STRATA_TEST_DEVICES_HEADER
#else
namespace strata_tests {

template <class>
struct TypesOf;
template <class... D>
struct TypesOf<strata::DeviceList<D...>> {
  using type = ::testing::Types<D...>;
};
using TestDevices = TypesOf<strata::KernelDevices>::type;

}  // namespace strata_tests
#endif

namespace strata_tests {

/// The name of the device's type in the names of typed tests: Suite/AnyHost.Test. CTest's labels rely on it.
struct DeviceName {
  template <class D>
  static std::string GetName(int) {
    return D::name;
  }
};

/// What messages call the device D{}: of AnyHost that which it stands for, "Threads".
template <class D>
const char* device_name() {
  return strata::device_name(D{});
}

/// Calls f(device) for every device of this build: AnyHost for each host device, instance 0 of the others.
template <class F>
void for_each_device(const F& f) {
  strata::AllDevices::for_each([&]<class D>(const D& device) {
    if constexpr (strata::detail::HostType<D>) f(strata::AnyHost(device));
    else f(device);
  });
}

/// Whether kernels on D run on threads of this process: they may throw, and touch memory of the host.
template <class D>
inline constexpr bool runs_on_host_threads = !std::string_view(D::name).starts_with("Cuda");

template <class Devices, class... Kept>
struct OnHostThreads;
template <class... Kept>
struct OnHostThreads<::testing::Types<>, Kept...> {
  using type = ::testing::Types<Kept...>;
};
template <class D, class... Others, class... Kept>
struct OnHostThreads<::testing::Types<D, Others...>, Kept...>
    : std::conditional_t<runs_on_host_threads<D>, OnHostThreads<::testing::Types<Others...>, Kept..., D>,
                         OnHostThreads<::testing::Types<Others...>, Kept...>> {};

/// Those of TestDevices whose kernels run on host threads. Suites typed over them are left out where nvcc
/// compiles the tests (#ifndef __CUDACC__): the list may be empty there.
using HostThreadDevices = OnHostThreads<TestDevices>::type;

/// A host array with the elements of `view`; the view itself where the host can touch it.
template <class V>
auto on_host(const V& view) {
  return strata::create_mirror_and_copy(view);
}

/// Whether launches on D return before the work is done.
template <class D>
inline constexpr bool is_asynchronous = !D::memory_space::host_accessible;

}  // namespace strata_tests
