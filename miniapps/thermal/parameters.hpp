// What a heat problem and its solution go by, on the host.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <strata/algorithms/linear/conjugate_gradients.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The equations cannot be solved: they have no or no unique solution, or iterations do not converge. The
/// message says which, with numbers, and what to do.
class SolverError : public Error {
 public:
  using Error::Error;
};

/// A material, in units that fit each other.
struct Material {
  double conductivity = 1;
  double capacity = 1;  ///< of a unit of volume
  double source = 0;    ///< heat made in a unit of volume and time
};

/// Heat that comes in through faces, for a unit of area and time: flux + coefficient (outside - T).
struct Inflow {
  double flux = 0;         ///< a flux that is given
  double coefficient = 0;  ///< of convection
  double outside = 0;      ///< the temperature there
};

/// The problem: c dT/dt - div(k0 (1 + beta T) grad T) = Q - sink T^2.
struct Problem {
  std::vector<Material> materials;  ///< one for each block of the mesh
  double beta = 0;
  double sink = 0;
  bool has_inflows = false;  ///< whether faces may let heat in (Heat::add_inflow), which takes memory

  bool is_nonlinear() const { return beta != 0 || sink != 0; }
};

/// How the system of equations is added up (assembly_kernels.hpp).
enum class Assembly { Gather, Atomic, Fused };

/// What nodes with a given temperature have at time 0: that one, or the state's, like all others, so that
/// the first step stores what heats them.
enum class GivenStart { Given, Jump };

/// How it is solved.
struct SolveSettings {
  Assembly assembly = Assembly::Gather;
  linear::Preconditioner preconditioner = linear::Preconditioner::Jacobi;
  bool use_boomeramg = false;  ///< in place of it; where there is hypre, on devices in host memory
  linear::Backend backend = linear::Backend::Strata;
  int chebyshev_degree = 3;
  double tolerance =
      1e-12;  ///< of |b - A y| over |b|, rows of given temperatures left out; in time, of each step
  index_t max_iterations = 20000;
  double newton_tolerance = 1e-10;  ///< of the residual over that of the first guess
  int max_newton_steps = 50;
  /// Whether given temperatures are there at time 0 already, or jump to them in the first step.
  GivenStart start = GivenStart::Given;
  /// Called during long solves, with the iterations so far and the residual over the right-hand side.
  std::function<void(index_t iterations, double residual)> watch{};
};

/// What a solve took; counts add up over time steps.
struct SolveStatistics {
  index_t cg_iterations = 0;
  index_t newton_steps = 0;
  index_t frozen_steps = 0;    ///< those of them that were Picard's
  double residual = 0;         ///< of the last solve by conjugate gradients, over the right-hand side
  double newton_begin = 0;     ///< the residual of the first guess, in the last solve by Newton's method
  double newton_residual = 0;  ///< the residual at the end of it
};

/// Norms of a system that is solved, over the rows of free nodes.
struct LinearResidual {
  double residual;         ///< |b - A y|
  double right_hand_side;  ///< |b|
  double magnitude;        ///< of the sums of |a_ij y_j|: rounding is in proportion to it
  double floor;            ///< below which the residual counts as 0, for what the begin of the run had
  double greatest;         ///< the greatest right-hand side of the run: of time steps, and of Newton's method

  double relative() const { return right_hand_side > 0 ? residual / right_hand_side : residual; }
};

/// Seconds spent, waiting included.
struct SolveTimes {
  double compute = 0;   ///< contributions of the elements
  double fill = 0;      ///< adding them up; of the ways without contributions, all of it
  double boundary = 0;  ///< given temperatures
  double solve = 0;
  double steps = 0;  ///< time steps of linear problems but for making the matrix
};

/// Throws SolverError for a conjugate gradient solve that did not converge.
[[noreturn]] void fail_solve(const linear::CgResult& result, const SolveSettings& settings, double norm);
/// Throws SolverError for Newton steps that do not converge.
[[noreturn]] void fail_newton(int steps, double residual, double first_residual, bool is_steady);
/// Throws SolverError: the conductivity is not positive at some temperature.
[[noreturn]] void fail_conductivity(double beta, bool is_steady);
/// Throws SettingError where BoomerAMG (boomeramg.hpp) cannot be used: without hypre, or on a device in other
/// memory than the host's.
void require_boomeramg(const std::string& device, bool is_in_host_memory);
/// Why a problem in slices, or in parts on several devices, cannot be solved so, and what to do; empty: it
/// can.
std::string placing_lack(const SolveSettings& settings);
/// Throws SolverError: nothing fixes the temperature.
[[noreturn]] void fail_singular();
/// Throws SolverError unless materials make sense, in float where numbers are float; `blocks` are the names
/// of the mesh's blocks.
void check(const Problem& problem, const std::vector<std::string>& blocks, bool is_float);
/// Throws SolverError unless a temperature is a number of the type; `what` names it.
void check_temperature(double value, bool is_float, const std::string& what);
/// Throws SolverError unless numbers are ones of the type and the coefficient is not negative.
void check(const Inflow& inflow, bool is_float, const std::string& selector);
/// Throws SolverError: the problem was made for faces that let no heat in.
[[noreturn]] void fail_no_inflows();

}  // namespace strata::inline STRATA_ABI::thermal
