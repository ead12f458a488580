// expect: system-wide atomics need an integer or floating-point number of 4 or 8 bytes
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>
#include <strata/views/system_atomic_ref.hpp>

void add(short& x) { strata::SystemAtomicRef<short>(&x).fetch_add(1); }
