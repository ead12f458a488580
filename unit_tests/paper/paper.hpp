// What the tests of the paper's programs share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test_devices.hpp"

// The paper's `join` adds to volatile values, which C++20 deprecates; programs that do so must still work.
#if defined(__CUDACC__)
#pragma nv_diag_suppress 3012
#endif
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wdeprecated-volatile"
#else
#pragma GCC diagnostic ignored "-Wvolatile"
#endif
