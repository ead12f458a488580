// The typed tests over Cuda.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/device.hpp>

namespace strata_tests {

using TestDevices = ::testing::Types<strata::Cuda>;

}  // namespace strata_tests

// nvcc takes no kernel that is a lambda in a private member function, which the body of a test is.
#define private public
