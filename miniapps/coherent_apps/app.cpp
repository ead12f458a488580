// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/miniapps/coherent_apps/app.hpp>
#include <strata/miniapps/coherent_apps/nbody.hpp>
#include <strata/miniapps/coherent_apps/sph.hpp>
#include <strata/miniapps/common/options.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

const std::vector<AppKind>& app_kinds() {
  constexpr index_t much = index_t{1} << 40;
  static const std::vector<AppKind> kinds{
      {"nbody", "double", "bodies", 4096, 11, 64, much, "fewer come too close for steps of one length", true,
       1e-9},
      {"lu", "float", "rows", 256, 0, 1, 4095, "the step is counted in a float of the matrix", false, 1e-6},
      {"sph", "float", "particles", 500, 50, 200, 20000,
       "walls need some, and positions in float cannot distinguish more", true, 1e-3},
      {"mandelbrot", "double", "points of a side", 512, 1, 1, 16384, "a picture has to fit into memory",
       false, 0},
      {"ppmcc", "double", "numbers", 1 << 20, 10, 2, much, "one number correlates with nothing", false,
       1e-12},
      {"mse", "double", "numbers", 1 << 20, 1, 1, much, "there is no mean of nothing", false, 1e-12}};
  return kinds;
}

const AppKind& app_kind(const std::string& name) {
  std::string names;
  for (const AppKind& kind : app_kinds()) {
    if (kind.name == name) return kind;
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw miniapp::UsageError("there is no application \"" + name + "\": name one of " + names +
                            ", as in strata-coherent nbody");
}

double time_step_of(const AppRequest& request) {
  if (request.dt > 0) return request.dt;
  return request.app == "sph" ? ShockTube(request.n).time_step() : 0.01;
}

}  // namespace strata::inline STRATA_ABI::coherent_apps
