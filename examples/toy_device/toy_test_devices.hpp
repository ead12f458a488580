// The list of devices that Strata's typed tests run over here: the toy only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "toy_device.hpp"

namespace strata_tests {

using TestDevices = ::testing::Types<toy::Toy>;

}  // namespace strata_tests
