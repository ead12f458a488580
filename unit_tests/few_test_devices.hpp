// The devices that differ most, for variants of the tests that take long to compile or run: real threads, and
// memory of its own.
#pragma once

namespace strata_tests {

using TestDevices = ::testing::Types<strata::Threads, strata::Emulated>;

}  // namespace strata_tests
