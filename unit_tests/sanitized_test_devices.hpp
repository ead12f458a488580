// The devices of typed tests under sanitizers.
#pragma once

namespace strata_tests {

using TestDevices = ::testing::Types<strata::Threads, strata::Emulated>;

}  // namespace strata_tests
