// The devices that differ most, for variants of the tests that take long to compile or run: real threads
// (AnyHost, as CTest runs it then), and memory of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace strata_tests {

#if STRATA_TEST_ONE_DEVICE
using TestDevices = ::testing::Types<strata::Emulated>;
#else
using TestDevices = ::testing::Types<strata::AnyHost, strata::Emulated>;
#endif

}  // namespace strata_tests
