// Runs the tests where there is a GPU; elsewhere says so and ends with the code that CTest reports as
// skipped.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <gtest/gtest.h>

#include <strata/devices/cuda/device.hpp>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (strata::Cuda::count() == 0) {
    std::puts("skipped: there is no GPU");
    return 77;
  }
  return RUN_ALL_TESTS();
}
