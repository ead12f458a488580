// The input of a simulation (Parameters), the constants of its kernels (Material), and the
// clock that lies on the device (Clock).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include <strata/core/config.hpp>
#include <strata/views/coherent/memory_mode.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// How rotation and stretch are integrated.
enum class Update : std::int32_t {
  First,   ///< as in the paper: forward in time
  Second,  ///< from the middle of the step; a pure rotation leaves the stretch alone
};

/// The input of a simulation. Any consistent units; the mesh gives that of lengths.
struct Parameters {
  double young = 1;                   ///< modulus, > 0
  double poisson = 0;                 ///< ratio, > -1 and < 1/2
  double density = 1;                 ///< > 0
  double dt = 0;                      ///< time step; 0: the stable one
  double safety = 0.9;                ///< of the stable time step, > 0 and <= 1
  index_t dt_every = 32;              ///< steps for which a stable time step is kept, unless it is too long
  double collapse = 1e-6;             ///< a stable step below this times the first one is an error
  double hourglass_stiffness = 0.05;  ///< kappa, 0 to 1
  double hourglass_viscosity = 0;     ///< epsilon, >= 0
  double bulk_linear = 0;             ///< b1, >= 0
  double bulk_quadratic = 0;          ///< b2, >= 0
  Update update = Update::Second;
  /// Whether all elements have to be done in each step before its length is known.
  bool decides_each_step() const { return !(dt > 0) && dt_every == 1; }
  bool fused = false;        ///< whether one kernel does the work of the paper's three element functors
  index_t memory_limit = 0;  ///< bytes of the device's memory; 0: all that it has, and in core where it fits
  int devices = 1;           ///< of a kind, which share the body; of a host as many parts
  std::optional<MemoryMode> memory = {};  ///< of the fields; none: as is fastest

  double lambda() const { return young * poisson / ((1 + poisson) * (1 - 2 * poisson)); }
  double mu() const { return young / (2 * (1 + poisson)); }
  /// The speeds of a longitudinal wave: in a medium, and in a thin bar.
  double wave_speed() const { return std::sqrt((lambda() + 2 * mu()) / density); }
  double bar_speed() const { return std::sqrt(young / density); }
};

/// The constants of the element kernels.
template <class T>
struct Material {
  T lambda, two_mu, modulus;  // modulus: lambda + 2 mu
  T density;
  T hourglass_stiffness;  // kappa (lambda + 2 mu) / 2
  T hourglass_viscosity;  // epsilon sqrt((lambda + 2 mu) / 8)
  T bulk_linear, bulk_quadratic;

  explicit Material(const Parameters& p)
      : lambda(static_cast<T>(p.lambda())),
        two_mu(static_cast<T>(2 * p.mu())),
        modulus(static_cast<T>(p.lambda() + 2 * p.mu())),
        density(static_cast<T>(p.density)),
        hourglass_stiffness(static_cast<T>(p.hourglass_stiffness * (p.lambda() + 2 * p.mu()) / 2)),
        hourglass_viscosity(static_cast<T>(p.hourglass_viscosity * std::sqrt((p.lambda() + 2 * p.mu()) / 8))),
        bulk_linear(static_cast<T>(p.bulk_linear)),
        bulk_quadratic(static_cast<T>(p.bulk_quadratic)) {}
};

/// Why a simulation stopped.
enum class Failure : std::int32_t { None, Volume, Collapse };

/// Where a simulation is. It lies on the device, is changed once a step by the finalize functor of the
/// reduction, and read by the host at outputs only. A failure sets both time steps to 0, and the nodes stand
/// still from then on.
struct Clock {
  double dt = 0, prev_dt = 0;  ///< the last step, and the one before
  double time = 0;             ///< after the last step
  double stable_dt = 0;        ///< the last stable step of all elements, before the safety factor
  double minimum_dt = 0;       ///< the least so far
  double first_dt = 0;         ///< the first
  std::int64_t step = 0;       ///< steps done
  Failure failure = Failure::None;
  std::int32_t no_padding = 0;  ///< checkpoints hold all bytes
};

}  // namespace strata::inline STRATA_ABI::dynamics
