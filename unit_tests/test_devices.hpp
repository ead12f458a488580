// What typed tests run over, and what they share. They are compiled once for all host devices, as AnyHost,
// and CTest runs them with each (STRATA_HOST_DEVICE=serial, threads, tbb). A device outside the tree names
// its own list by -DSTRATA_TEST_DEVICES_HEADER="...", which defines strata_tests::TestDevices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

// What <strata/strata.hpp> has, but teams: few tests have some, and the others are compiled without them, so
// that a change of teams compiles those few again.
#include <strata/algorithms/across.hpp>
#include <strata/algorithms/build_info.hpp>
#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/device_list.hpp>
#include <strata/algorithms/kernel.hpp>
#include <strata/algorithms/launch.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/algorithms/random.hpp>
#include <strata/algorithms/reduction.hpp>
#include <strata/algorithms/system_report.hpp>
#include <strata/algorithms/visit_device.hpp>
#include <strata/core/assert.hpp>
#include <strata/core/box.hpp>
#include <strata/core/complex.hpp>
#include <strata/core/error.hpp>
#include <strata/core/half.hpp>
#include <strata/core/log.hpp>
#include <strata/core/main_guard.hpp>
#include <strata/core/print.hpp>
#include <strata/core/profiling/counters.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/profiling/leak_report.hpp>
#include <strata/core/profiling/trace.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/emulated/control.hpp>
#include <strata/devices/graph.hpp>
#include <strata/devices/queue.hpp>
#include <strata/version.hpp>
#include <strata/views/atomic.hpp>
#include <strata/views/bitset.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/coherent/file_array.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/dlpack.hpp>
#include <strata/views/hash_map.hpp>
#include <strata/views/mdarray.hpp>
#include <strata/views/mdspan.hpp>
#include <strata/views/mirror.hpp>
#include <strata/views/multivector.hpp>
#include <strata/views/resize.hpp>
#include <strata/views/scatter_view.hpp>
#include <strata/views/slice.hpp>
#include <strata/views/subview.hpp>
#include <strata/views/view.hpp>
#include <strata/views/view_as.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/control.hpp>
#include <strata/devices/cuda/memory/managed.hpp>
#endif

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
