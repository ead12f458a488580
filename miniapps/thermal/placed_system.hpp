// PlacedSystem: the system of equations of a mesh that no single device holds, for HeatEquation
// (heat_equation.hpp), as InCoreSystem is. Its loops run over parts on several devices, or over slices that
// go through one (placed_work.hpp): behind an interface, so that HeatEquation is compiled once for both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <strata/algorithms/linear/conjugate_gradients.hpp>
#include <strata/miniapps/thermal/heat.hpp>
#include <strata/miniapps/thermal/heat_fields.hpp>
#include <strata/miniapps/thermal/placed_kernels.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The loops of such a system, wherever they run.
template <class Device, class T>
class PlacedLoops {
 public:
  using Field = NodeField<Device, T>;
  virtual ~PlacedLoops() = default;

  virtual const PlacedMesh& mesh() const = 0;
  virtual const Device& device() const = 0;  // the first
  virtual const Queue<Device>& queue() const = 0;
  virtual const StreamTotals& totals() const = 0;
  virtual const PlacedNodeArray<T, rank<2>>& values() const = 0;
  /// Before anything else.
  virtual void bind(const HeatFields<Device, T>& fields) = 0;

  /// Of a kind of assembly (element_system.hpp). With `eliminates`, also takes given temperatures out of the
  /// matrix.
  virtual void assemble(int kind, const Coefficients<T>& coefficients, bool eliminates) = 0;
  virtual void eliminate() = 0;
  /// The solver of the matrix: its options, and a solve.
  virtual void set_solver(const linear::CgOptions& options) = 0;
  virtual linear::CgResult solve(const Field& b, const Field& y) = 0;
  virtual ResidualSquares residual() = 0;
  virtual double greatest_coupling() = 0;
  virtual HeatIntegrals integrals(const Problem& problem, double rate) = 0;
};

/// As linear::ConjugateGradients.
template <class Device, class T>
class PlacedSolver {
 public:
  explicit PlacedSolver(std::shared_ptr<PlacedLoops<Device, T>> loops, const linear::CgOptions& options)
      : loops_(std::move(loops)) {
    set_options(options);
  }
  static int vector_count(const linear::CgOptions& options) {
    return linear::ConjugateGradients<linear::CrsMatrix<T, Device>>::vector_count(options);
  }
  void set_options(const linear::CgOptions& options) { loops_->set_solver(options); }
  linear::CgResult solve(const On<Device>&, const NodeField<Device, T>& b,
                         const NodeField<Device, T>& y) const {
    return loops_->solve(b, y);
  }

 private:
  std::shared_ptr<PlacedLoops<Device, T>> loops_;
};

/// As InCoreSystem. Copies are handles of the same system.
template <class DeviceType, class Number>
class PlacedSystem {
 public:
  using Device = DeviceType;
  using T = Number;
  using Solver = PlacedSolver<Device, T>;
  static constexpr bool is_in_core = false;
  /// Of numbers of nodes, besides those of the fields and the solver: x and the result of rows.
  static constexpr int vector_count = 2;

  explicit PlacedSystem(std::shared_ptr<PlacedLoops<Device, T>> loops) : loops_(std::move(loops)) {}

  const Device& device() const { return loops_->device(); }
  const Queue<Device>& queue() const { return loops_->queue(); }
  index_t node_count() const { return loops_->mesh().nodes; }
  const std::vector<std::string>& block_names() const { return loops_->mesh().mesh.block_names; }
  Solver solver(const linear::CgOptions& options) const { return Solver(loops_, options); }
  /// The matrix, without a right-hand side.
  HeatSystem matrix_on_host() const {
    HeatSystem system;
    std::vector<index_t> value_at;
    rows_in_order(loops_->mesh(), system.row_map, system.entries, value_at);
    miniapp::to_host(loops_->values());
    const auto values = loops_->values().read();
    for (const index_t k : value_at) system.values.push_back(static_cast<double>(values.view().data()[k]));
    return system;
  }
  fem::HostMesh host_mesh() const { return fem::host_mesh_of(loops_->mesh().mesh); }
  /// The nodes of a selector, as HeatEquation::give_by_host takes them.
  std::vector<std::int32_t> select(const std::string& selector) const {
    return fem::select_nodes_on_host(loops_->mesh().mesh, selector);
  }
  fem::NodeAreas face_areas(const std::string& selector) const {
    return fem::node_areas_on_host(loops_->mesh().mesh, selector);
  }
  StreamTotals totals() const { return loops_->totals(); }

  void bind(const HeatFields<Device, T>& fields) { loops_->bind(fields); }
  template <int Kind>
  void assemble(const Coefficients<T>& coefficients) {
    loops_->assemble(Kind, coefficients, false);
  }
  template <int Kind>
  void assemble_eliminated(const Coefficients<T>& coefficients, SolveTimes& times) {
    timed(queue(), times.fill, [&] { loops_->assemble(Kind, coefficients, true); });
  }
  void assemble_steady(const Coefficients<T>& coefficients, SolveTimes& times) {
    timed(queue(), times.fill, [&] { assemble<MatrixTerm>(coefficients); });
  }
  void eliminate() { loops_->eliminate(); }
  ResidualSquares residual() const { return loops_->residual(); }
  double greatest_coupling() const { return loops_->greatest_coupling(); }
  HeatIntegrals integrals(const Problem& problem, double rate) const {
    return loops_->integrals(problem, rate);
  }

 private:
  std::shared_ptr<PlacedLoops<Device, T>> loops_;
};

}  // namespace strata::inline STRATA_ABI::thermal
