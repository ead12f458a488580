// What typed tests run over, and what they share. A device outside the tree names its own list by
// -DSTRATA_TEST_DEVICES_HEADER="...", which defines strata_tests::TestDevices.
#pragma once

#include <string>
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
using TestDevices = TypesOf<strata::AllDevices>::type;

}  // namespace strata_tests
#endif

namespace strata_tests {

/// The device's name in the names of typed tests: Suite/Threads.Test. CTest's labels rely on it.
struct DeviceName {
  template <class D>
  static std::string GetName(int) {
    return D::name;
  }
};

/// A host array with the elements of `view`; the view itself where the host can touch it.
template <class V>
auto on_host(const V& view) {
  return strata::create_mirror_and_copy(view);
}

/// Whether launches on D return before the work is done.
template <class D>
inline constexpr bool is_asynchronous = !D::memory_space::host_accessible;

}  // namespace strata_tests
