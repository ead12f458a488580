// expect: streamed: the place streams already
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/strata.hpp>

void twice() { strata::streamed(strata::streamed(strata::Serial{}, 1000), 100); }
