// expect: DLPack has no such elements
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>
#include <strata/views/dlpack.hpp>

struct Particle {
  double mass, charge;
};
void show(const strata::MDArray<Particle, strata::Serial, strata::rank<1>>& x) { (void)strata::to_dlpack(x); }
