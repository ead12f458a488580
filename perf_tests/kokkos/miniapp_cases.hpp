// The kernels of the mini-apps by Kokkos: the same element code over views of Kokkos, launched as a program
// with Kokkos would (thermal_cases.cpp, dynamics_cases.cpp), where the build found Kokkos 4 or later;
// elsewhere nothing (no_miniapps.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "baselines/dynamics.hpp"
#include "baselines/thermal_kernels.hpp"

namespace perf {

/// For float and double; `times` pieces of work, launch by launch on every device. None for Scatter, Fused
/// and Iteration.
template <class T>
Sweep kokkos_thermal(KokkosPlace place, ThermalKernel kernel, const ThermalArrays<T>& arrays, int times);
template <class T>
Sweep kokkos_dynamics(KokkosPlace place, DynamicsWork work, const DynamicsFields<T>& fields, int times);

}  // namespace perf
