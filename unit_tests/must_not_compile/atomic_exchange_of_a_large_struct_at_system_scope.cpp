// expect: values of more than 16 bytes are atomic by locks, which hosts and GPUs do not share
// first lines: 12
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Body {
  double position[3];
};

Body exchange(Body* at, const Body& body) { return strata::atomic_exchange(at, body, strata::system_scope); }
