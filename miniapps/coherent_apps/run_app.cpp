// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/coherent_apps/images.hpp>
#include <strata/miniapps/coherent_apps/lu.hpp>
#include <strata/miniapps/coherent_apps/mandelbrot.hpp>
#include <strata/miniapps/coherent_apps/nbody.hpp>
#include <strata/miniapps/coherent_apps/run_app.hpp>
#include <strata/miniapps/coherent_apps/sph.hpp>
#include <strata/miniapps/common/memory.hpp>
#include <strata/version.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

template <class Device>
AppOutcome run_app(const std::vector<Device>& devices, const AppRequest& asked) {
  const auto where = across(devices);
  const auto memory = miniapp::main_for(devices.front());
  AppRequest request = asked;
  request.memory = miniapp::memory_mode_for<Device>(asked.memory);
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
