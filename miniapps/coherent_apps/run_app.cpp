// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/coherent_apps/images.hpp>
#include <strata/miniapps/coherent_apps/lu.hpp>
#include <strata/miniapps/coherent_apps/mandelbrot.hpp>
#include <strata/miniapps/coherent_apps/nbody.hpp>
#include <strata/miniapps/coherent_apps/run_app.hpp>
#include <strata/miniapps/coherent_apps/sph.hpp>
#include <strata/version.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/device.hpp>
#endif

namespace strata::inline STRATA_ABI::coherent_apps {

namespace {

// Whose memory the host's values of arrays are in: from and to GPUs copies of pinned memory are fast.
template <class Device>
struct HostDeviceFor {
  using type = Serial;
};
#if STRATA_HAS_CUDA
template <>
struct HostDeviceFor<Cuda> {
  using type = CudaPinned;
};
#endif

}  // namespace

template <class Device>
AppOutcome run_app(const std::vector<Device>& devices, const AppRequest& request) {
  const auto where = across(devices);
  const auto memory = main_in(typename HostDeviceFor<Device>::type());
  if (request.app == "nbody") return run_nbody(where, memory, request);
  if (request.app == "lu") return run_lu(where, memory, request);
  if (request.app == "sph") return run_sph(where, memory, request);
  if (request.app == "mandelbrot") return run_mandelbrot(where, memory, request);
  if (request.app == "ppmcc") return run_ppmcc(where, memory, request);
  app_kind(request.app);  // throws where there is no such program
  return run_mse(where, memory, request);
}

template AppOutcome run_app(const std::vector<STRATA_MINIAPP_DEVICE>&, const AppRequest&);

}  // namespace strata::inline STRATA_ABI::coherent_apps
