// expect: main_in: you wrote CudaPinned or CudaManaged; write MemoryMode::Pinned or MemoryMode::Managed
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void create() {
  const strata::CoherentArray<double, strata::rank<1>> x("x", 10, strata::main_in(strata::CudaPinned{}));
}
