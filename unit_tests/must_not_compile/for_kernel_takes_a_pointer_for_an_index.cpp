// expect: the kernel cannot be called with an index: its first parameter .* has a type to which no index
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void nothing() {
  strata::parallel_for(strata::on(strata::Serial{}), 10, [](double*) {});
}
