// Instead of thermal_cases.cpp and dynamics_cases.cpp where the build found no Kokkos, or one before 4.
// SPDX-License-Identifier: Apache-2.0
#include "kokkos/miniapp_cases.hpp"

namespace perf {

template <class T>
Sweep kokkos_thermal(KokkosPlace, ThermalKernel, const ThermalArrays<T>&, int) {
  return {};
}
template <class T>
Sweep kokkos_dynamics(KokkosPlace, DynamicsWork, const DynamicsFields<T>&, int) {
  return {};
}
template Sweep kokkos_thermal(KokkosPlace, ThermalKernel, const ThermalArrays<float>&, int);
template Sweep kokkos_thermal(KokkosPlace, ThermalKernel, const ThermalArrays<double>&, int);
template Sweep kokkos_dynamics(KokkosPlace, DynamicsWork, const DynamicsFields<float>&, int);
template Sweep kokkos_dynamics(KokkosPlace, DynamicsWork, const DynamicsFields<double>&, int);

}  // namespace perf
