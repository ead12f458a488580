// DynamicsSettings: the options of strata-dynamics, and what they mean.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <strata/miniapps/common/settings.hpp>
#include <strata/miniapps/explicit_dynamics/parameters.hpp>

namespace strata::inline STRATA_ABI::dynamics {

struct DynamicsSettings {
  miniapp::CommonSettings common;
  double young = 1, poisson = 0.3, density = 1;
  std::vector<std::string> velocity;  // "SELECTOR=VX,VY,VZ"
  std::vector<std::string> fix;       // "SELECTOR" or "SELECTOR=xz"
  std::string dt = "stable";
  double safety = 0.9;
  index_t dt_every = Parameters().dt_every;
  index_t steps = 1000;
  std::string hourglass = "stiffness:0.05";
  std::string bulk_viscosity = "0,0";
  std::string update = "second";
  std::string kernels = "default";
  std::string memory = "default";
  index_t devices = 1;
  index_t output_every = 0;  // 0: the end only
  index_t checkpoint = 0;    // steps between two; 0: none
  std::string checkpoint_file = "strata-dynamics.checkpoint";
  std::string restart;
};

/// Declares them.
void declare(miniapp::Options& options, DynamicsSettings& settings);

/// Without a mesh, velocities and held nodes: a bar that hits a wall; in a sweep, one of each size. To be
/// called after parsing, before the echo.
void choose_sample(DynamicsSettings& settings);

/// The same with the kernels that are faster on a device, where none are chosen. Measured: one kernel on a
/// GPU, where memory bounds the three, and these on hosts, where the one has too few registers.
DynamicsSettings with_kernels_for(const DynamicsSettings& settings, bool is_gpu);

/// UsageError.
Parameters parameters_of(const DynamicsSettings& settings);

/// An initial velocity.
struct GivenVelocity {
  std::string selector;
  double v[3];
};
/// Nodes to hold.
struct HeldNodes {
  std::string selector;
  std::uint8_t directions;
};
/// The lists of --velocity and --fix. UsageError.
std::vector<GivenVelocity> given_velocities(const DynamicsSettings& settings);
std::vector<HeldNodes> held_nodes(const DynamicsSettings& settings);

}  // namespace strata::inline STRATA_ABI::dynamics
