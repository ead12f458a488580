// System: the system of equations A y = b of a heat problem on some mesh, as HeatEquation (heat_equation.hpp)
// makes and solves it, wherever elements and matrix are (system_at.hpp). An interface, so that all that works
// on numbers of nodes is compiled once for all places.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/linear/conjugate_gradients.hpp>
#include <strata/miniapps/fem/face_areas.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/miniapps/thermal/boundary_kernels.hpp>
#include <strata/miniapps/thermal/heat.hpp>
#include <strata/miniapps/thermal/heat_fields.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The numbers of its nodes are on `Device`, the first one of the place, and of type T.
template <class Device, class T>
class System {
 public:
  using Fields = HeatFields<Device, T>;
  using NodeList = fem::NodeList<fem::PlainArrays<Device>>;
  virtual ~System() = default;

  virtual const Queue<Device>& queue() const = 0;
  virtual index_t node_count() const = 0;
  virtual const std::vector<std::string>& block_names() const = 0;
  virtual fem::HostMesh host_mesh() const = 0;
  /// The nodes of a selector, on the device.
  virtual NodeList select(const std::string& selector) = 0;
  /// The faces of a selector, as shares of their nodes.
  virtual fem::NodeAreas face_areas(const std::string& selector) const = 0;
  /// The matrix, without a right-hand side.
  virtual HeatSystem matrix_on_host() const = 0;
  /// What went through the device in slices.
  virtual const StreamTotals& totals() const = 0;

  // None of these waits in core, but for those that count seconds or return numbers.

  /// What is read and written. Before anything else.
  virtual void bind(const Fields& fields) = 0;
  /// The matrix and the right-hand side, of a state with StateTerm (element_system.hpp). With `eliminates`,
  /// given temperatures are taken out of the matrix, too.
  virtual void assemble(int kind, const Coefficients<T>& coefficients, bool eliminates,
                        SolveTimes& times) = 0;
  /// The right-hand side of a state.
  virtual void assemble_vector(const Coefficients<T>& coefficients) = 0;
  /// Takes given temperatures out of the matrix.
  virtual void eliminate() = 0;
  /// Solves for y, which has the first guess.
  virtual linear::CgResult solve(const linear::CgOptions& options) = 0;
  virtual ResidualSquares residual() = 0;
  virtual double greatest_coupling() = 0;
  virtual HeatIntegrals integrals(const Problem& problem, double rate) = 0;
};

/// The options of its solver.
inline linear::CgOptions cg_options(const SolveSettings& settings) {
  linear::CgOptions options;
  options.max_iterations = settings.max_iterations;
  options.preconditioner = settings.preconditioner;
  options.chebyshev_degree = settings.chebyshev_degree;
  options.backend = settings.backend;
  if (settings.watch)
    options.watch = [watch = settings.watch](const linear::CgResult& so_far) {
      watch(so_far.iterations,
            so_far.right_hand_side > 0 ? so_far.residual / so_far.right_hand_side : so_far.residual);
    };
  return options;
}

}  // namespace strata::inline STRATA_ABI::thermal
