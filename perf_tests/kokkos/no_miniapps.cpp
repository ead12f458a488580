// Instead of thermal_cases.cpp and dynamics_cases.cpp where the build found no Kokkos, or one before 4.
#include "kokkos/miniapp_cases.hpp"

namespace perf {

template <class T>
Sweep kokkos_thermal(KokkosPlace, ThermalKernel, ThermalArrays<T>) {
  return {};
}
template <class T>
Sweep kokkos_dynamics(KokkosPlace, DynamicsWork, const DynamicsFields<T>&, int) {
  return {};
}
template Sweep kokkos_thermal(KokkosPlace, ThermalKernel, ThermalArrays<float>);
template Sweep kokkos_thermal(KokkosPlace, ThermalKernel, ThermalArrays<double>);
template Sweep kokkos_dynamics(KokkosPlace, DynamicsWork, const DynamicsFields<float>&, int);
template Sweep kokkos_dynamics(KokkosPlace, DynamicsWork, const DynamicsFields<double>&, int);

}  // namespace perf
