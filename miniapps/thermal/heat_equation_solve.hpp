// How HeatEquation (heat_equation.hpp, which includes this file) assembles and solves.
#pragma once

#include <strata/miniapps/thermal/heat_equation.hpp>

namespace strata::inline STRATA_ABI::thermal {

namespace detail {

/// Sets up the graph and the matrix of a mesh.
template <class Matrix, class Mesh>
Matrix make_matrix(const Mesh& mesh) {
  const auto graph = fem::node_graph(mesh);
  return Matrix(graph, create<typename Matrix::values_type>("matrix", graph.entry_count(), on(mesh.device)));
}

/// The materials as a table on the device.
template <class Table>
Table make_material_table(const std::vector<Material>& materials, const typename Table::device_type& device) {
  const Table table = create<Table>("materials", static_cast<index_t>(materials.size()), on(device));
  const auto host = create_mirror(table);
  for (std::size_t b = 0; b < materials.size(); ++b) {
    using T = typename Table::value_type;
    host(b, conductivity_column) = static_cast<T>(materials[b].conductivity);
    host(b, capacity_column) = static_cast<T>(materials[b].capacity);
    host(b, source_column) = static_cast<T>(materials[b].source);
  }
  deep_copy(table, host);
  return table;
}

}  // namespace detail

template <class Arrays, class T, class Source>
HeatEquation<Arrays, T, Source>::HeatEquation(const Mesh& mesh, const Problem& problem,
                                              const SolveSettings& settings, const Source& source)
    : mesh_(mesh),
      problem_(problem),
      settings_(settings),
      source_(source),
      queue_(mesh.device),
      matrix_(detail::make_matrix<Matrix>(mesh)),
      cg_(matrix_) {
  check(problem, static_cast<index_t>(mesh.block_names.size()));
  const auto place = on(mesh.device);
  const index_t nodes = mesh.node_count(), elements = mesh.element_count();
  using Field = typename Fields::Field;
  for (auto [field, label] :
       {std::pair{&fields_.temperature, "temperature"}, std::pair{&fields_.old, "old temperature"},
        std::pair{&fields_.given, "given temperature"}, std::pair{&fields_.lift, "lift"},
        std::pair{&fields_.b, "b"}, std::pair{&fields_.y, "y"}})
    *field = create<Field>(label, nodes, place);
  fields_.conditions = create<decltype(fields_.conditions)>("conditions", nodes, place);
  deep_copy(fields_.conditions, free_node);
  // The other ways do without the largest of the arrays.
  if (settings.assembly == Assembly::Gather || problem.is_nonlinear()) allocate_contributions();
  fields_.element_vector = create<decltype(fields_.element_vector)>("element vectors", elements, place);
  fields_.slots = fem::element_slots(mesh, matrix_.graph());
  fields_.materials =
      detail::make_material_table<decltype(fields_.materials)>(problem.materials, mesh.device);
}

template <class Arrays, class T, class Source>
template <int Kind>
void HeatEquation<Arrays, T, Source>::assemble_terms(double rate) {
  const auto where = on(queue_);
  const auto& graph = matrix_.graph();
  timed(times_.compute, [&] {
    parallel_for("element contributions", where, mesh_.element_count(),
                 with(ElementContributions<T, Kind, Source>{coefficients(rate), source_}, mesh_.element_nodes,
                      mesh_.coordinates, mesh_.element_blocks, fields_.materials, fields_.temperature,
                      fields_.old, fields_.element_matrix, fields_.element_vector));
  });
  timed(times_.fill, [&] {
    if constexpr ((Kind & MatrixTerm) != 0)
      parallel_for("gather rows", where, mesh_.node_count(),
                   GatherRows{mesh_.node_offsets, mesh_.node_corners, graph.row_map(), fields_.slots,
                              fields_.element_matrix, fields_.element_vector, matrix_.values(), fields_.b});
    else
      parallel_for("gather vector", where, mesh_.node_count(),
                   GatherVector{mesh_.node_offsets, mesh_.node_corners, fields_.element_vector, fields_.b});
  });
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::scatter() {
  const auto where = on(queue_);
  const auto arrays = element_arrays();
  const auto& row_map = matrix_.graph().row_map();
  using RowMap = std::remove_cvref_t<decltype(row_map)>;
  using Values = typename Matrix::values_type;
  timed(times_.fill, [&] {
    linear::scale(where, T(0), matrix_.values());
    linear::scale(where, T(0), fields_.b);
    parallel_for("scatter elements", where, mesh_.element_count(),
                 ScatterElements<MatrixTerm, std::remove_const_t<decltype(arrays)>, Source, RowMap,
                                 decltype(fields_.slots), Values>{
                     arrays, coefficients(0), source_, row_map, fields_.slots, matrix_.values(), fields_.b});
  });
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::gather_computed() {
  const auto arrays = element_arrays();
  const auto& row_map = matrix_.graph().row_map();
  using RowMap = std::remove_cvref_t<decltype(row_map)>;
  using Values = typename Matrix::values_type;
  timed(times_.fill, [&] {
    parallel_for("gather computed elements", on(queue_), mesh_.node_count(),
                 GatherComputed<MatrixTerm, std::remove_const_t<decltype(arrays)>, Source,
                                decltype(mesh_.node_offsets), decltype(mesh_.node_corners), RowMap,
                                decltype(fields_.slots), Values>{
                     arrays, coefficients(0), source_, mesh_.node_offsets, mesh_.node_corners, row_map,
                     fields_.slots, matrix_.values(), fields_.b});
  });
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::allocate_contributions() {
  fields_.element_matrix =
      create<decltype(fields_.element_matrix)>("element matrices", mesh_.element_count(), on(mesh_.device));
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::eliminate_matrix() {
  const auto& graph = matrix_.graph();
  parallel_for("eliminate given temperatures", on(queue_), mesh_.node_count(),
               EliminateGiven{graph.row_map(), graph.entries(), matrix_.values(), fields_.conditions,
                              fields_.given, fields_.lift});
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::solve_system(double norm) {
  linear::CgOptions options;
  options.relative_tolerance = 0;
  options.absolute_tolerance = settings_.tolerance * norm;
  options.max_iterations = settings_.max_iterations;
  options.preconditioner = settings_.preconditioner;
  options.chebyshev_degree = settings_.chebyshev_degree;
  options.backend = settings_.backend;
  cg_.set_options(options);
  timed(times_.solve, [&] {
    const linear::CgResult result = cg_.solve(on(queue_), fields_.b, fields_.y);
    statistics_.cg_iterations += result.iterations;
    if (!result) fail_solve(result, settings_, norm);
  });
  const auto q = create<typename Fields::Field>("A y", mesh_.node_count(), on(mesh_.device));
  linear::spmv(on(queue_), matrix_, fields_.y, q);
  double squares = 0;
  parallel_reduce("true residual", on(queue_), mesh_.node_count(),
                  ResidualSquares<typename Fields::Field>{fields_.b, q}, squares);
  statistics_.residual = norm > 0 ? std::sqrt(squares) / norm : std::sqrt(squares);
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::assemble() {
  if constexpr (!Source::needs_position) {
    if (settings_.assembly == Assembly::Atomic) return scatter();
    if (settings_.assembly == Assembly::Fused) return gather_computed();
  }
  matrix_rate_ = none;
  assemble_terms<MatrixTerm>(0);
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::eliminate() {
  using Field = typename Fields::Field;
  linear::copy(on(queue_), fields_.temperature, fields_.y);
  timed(times_.boundary, [&] {
    eliminate_matrix();
    T squares = 0;
    parallel_reduce("apply given temperatures", on(queue_), mesh_.node_count(),
                    ApplyGiven<decltype(fields_.conditions), Field>{fields_.conditions, fields_.given,
                                                                    fields_.lift, fields_.b, fields_.y},
                    squares);
    norm_ = std::sqrt(static_cast<double>(squares));
  });
  // Nothing drives free nodes: the solution is 0 there.
  if (norm_ == 0)
    parallel_for("no load", on(queue_), mesh_.node_count(), with(SetLoad{}, fields_.b, fields_.y));
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::solve() {
  solve_system(norm_);
  linear::copy(on(queue_), fields_.y, fields_.temperature);
  queue_.wait();
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::solve_steady() {
  require_unique();
  matrix_rate_ = none;
  if constexpr (!Source::needs_position)
    if (problem_.is_nonlinear()) return solve_newton(0);
  assemble();
  eliminate();
  solve();
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::step(double dt) {
  if (!fields_.element_matrix) allocate_contributions();
  linear::copy(on(queue_), fields_.temperature, fields_.old);
  solve_newton(1 / dt);
}

// From a state that has the given temperatures, so that a step changes nothing there. A linear step is one of
// these steps, by the matrix of the step before where the size is the same.
template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::solve_newton(double rate) {
  const auto where = on(queue_);
  const index_t nodes = mesh_.node_count();
  parallel_for("set given temperatures", where, nodes,
               with(SetGiven{}, fields_.conditions, fields_.given, fields_.temperature));
  const bool is_linear = !problem_.is_nonlinear();
  if (problem_.beta != 0) {
    linear::scale(where, T(0), fields_.y);
    take_step();  // of nothing: looks at the conductivity
  }
  double first = 0;
  for (int steps = 0;; ++steps) {
    const double residual = assemble_step(rate, is_linear && matrix_rate_ == rate);
    matrix_rate_ = rate;
    if (steps == 0) first = residual;
    if (!std::isfinite(residual)) fail_newton(steps, residual, first);
    if (residual <= settings_.newton_tolerance * first && steps > 0) return;
    if (residual == 0) return;
    if (steps == settings_.max_newton_steps) fail_newton(steps, residual, first);
    // Changes far below those of earlier steps need not be known to as many digits.
    load_ = std::max(load_, residual);
    solve_system(is_linear ? load_ : residual);
    ++statistics_.newton_steps;
    const StepSize<T> size = take_step();
    const double rounding = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    if (is_linear || static_cast<double>(size.change) <= rounding * static_cast<double>(size.temperature))
      return;
  }
}

// T += y / (1 + beta T). SolverError unless the conductivity stays positive.
template <class Arrays, class T, class Source>
StepSize<T> HeatEquation<Arrays, T, Source>::take_step() {
  StepSize<T> size{};
  parallel_reduce(
      "take a Newton step", on(queue_), mesh_.node_count(),
      TakeStep<typename Fields::Field>{fields_.temperature, fields_.y, static_cast<T>(problem_.beta)}, size);
  if (!(size.conductivity > 0)) fail_conductivity(static_cast<double>(size.conductivity), problem_.beta);
  return size;
}

// Makes A and b of a step, y = 0, and returns |b|. With `keep_matrix` A is already there.
template <class Arrays, class T, class Source>
double HeatEquation<Arrays, T, Source>::assemble_step(double rate, bool keep_matrix) {
  if (keep_matrix) assemble_terms<StateTerm>(rate);
  else assemble_terms<MatrixTerm | StateTerm>(rate);
  T squares = 0;
  timed(times_.boundary, [&] {
    if (!keep_matrix) eliminate_matrix();
    parallel_reduce("hold given temperatures", on(queue_), mesh_.node_count(),
                    HoldGiven<decltype(fields_.conditions), typename Fields::Field>{fields_.conditions,
                                                                                    fields_.b, fields_.y},
                    squares);
  });
  return std::sqrt(static_cast<double>(squares));
}

template <class Arrays, class T, class Source>
void HeatEquation<Arrays, T, Source>::compute_balance(double dt) {
  const SolveTimes kept = times_;
  assemble_terms<StateTerm>(dt > 0 ? 1 / dt : 0);
  times_ = kept;
}

template <class Arrays, class T, class Source>
double HeatEquation<Arrays, T, Source>::heat_flow(int condition) const {
  double flow = 0;
  parallel_reduce("heat flow", on(queue_), mesh_.node_count(),
                  HeatFlow<decltype(fields_.conditions), typename Fields::Field>{fields_.conditions,
                                                                                 fields_.b, condition},
                  flow);
  return flow;
}

}  // namespace strata::inline STRATA_ABI::thermal
