// How HeatEquation (heat_equation.hpp, which includes this file) assembles and solves.
#pragma once

#include <algorithm>

#include <strata/miniapps/thermal/heat_equation.hpp>

namespace strata::inline STRATA_ABI::thermal {

namespace detail {

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

template <class Arrays, class T>
HeatEquation<Arrays, T>::HeatEquation(const Mesh& mesh, const Problem& problem, const SolveSettings& settings)
    : mesh_(mesh),
      problem_(problem),
      settings_(settings),
      queue_(mesh.device),
      graph_(matrix_graph(mesh)),
      matrix_(graph_.graph,
              create<typename Matrix::values_type>("matrix", graph_.graph.entry_count(), on(mesh.device))),
      cg_(matrix_) {
  check(problem, mesh.block_names, sizeof(T) == 4);
  if (settings.use_boomeramg) require_boomeramg(Device::name, is_in_host_memory);
  const auto place = on(mesh.device);
  const index_t nodes = mesh.node_count(), elements = mesh.element_count();
  using Field = typename Fields::Field;
  for (auto [field, label] :
       {std::pair{&fields_.temperature, "temperature"}, std::pair{&fields_.change, "change of temperature"},
        std::pair{&fields_.given, "given temperature"}, std::pair{&fields_.lift, "lift"},
        std::pair{&fields_.b, "b"}, std::pair{&fields_.y, "y"}})
    *field = create<Field>(label, nodes, place);
  fields_.conditions = create<decltype(fields_.conditions)>("conditions", nodes, place);
  deep_copy(fields_.conditions, free_node);
  if (problem.beta != 0) {
    fields_.before = create<Field>("temperature before", nodes, place);
    fields_.change_before = create<Field>("change before", nodes, place);
  }
  // The other ways do without the largest of the arrays.
  if (settings.assembly == Assembly::Gather || problem.is_nonlinear()) allocate_contributions();
  fields_.element_vector = create<decltype(fields_.element_vector)>("element vectors", elements, place);
  fields_.slots = graph_.slots;
  fields_.materials =
      detail::make_material_table<decltype(fields_.materials)>(problem.materials, mesh.device);
}

template <class Arrays, class T>
template <int Kind>
void HeatEquation<Arrays, T>::compute_contributions(double rate) {
  parallel_for("element contributions", on(queue_), mesh_.element_count(),
               with(ElementContributions<T, Kind, BlockSource>{coefficients(rate), {}}, mesh_.element_nodes,
                    mesh_.coordinates, mesh_.element_blocks, fields_.materials, fields_.temperature,
                    fields_.change, fields_.element_matrix, fields_.element_vector));
}

template <class Arrays, class T>
template <int Kind>
void HeatEquation<Arrays, T>::add_contributions() {
  if constexpr ((Kind & MatrixTerm) != 0) {
    const GatherRows gather{
        mesh_.node_offsets,     mesh_.node_corners, matrix_places(), fields_.element_matrix,
        fields_.element_vector, matrix_.values(),   fields_.b};
    parallel_for("gather rows", on(queue_), gather.work(mesh_.node_count()), gather);
  } else {
    parallel_for("gather vector", on(queue_), mesh_.node_count(),
                 GatherVector{mesh_.node_offsets, mesh_.node_corners, fields_.element_vector, fields_.b});
  }
}

template <class Arrays, class T>
template <int Kind>
void HeatEquation<Arrays, T>::assemble_terms(double rate) {
  timed(times_.compute, [&] { compute_contributions<Kind>(rate); });
  timed(times_.fill, [&] { add_contributions<Kind>(); });
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::scatter() {
  const auto where = on(queue_);
  const auto arrays = element_arrays();
  const auto places = matrix_places();
  timed(times_.fill, [&] {
    linear::scale(where, T(0), matrix_.values());
    linear::scale(where, T(0), fields_.b);
    parallel_for("scatter elements", where, mesh_.element_count(),
                 ScatterElements<MatrixTerm, std::remove_const_t<decltype(arrays)>, BlockSource,
                                 std::remove_const_t<decltype(places)>, typename Matrix::values_type>{
                     arrays, coefficients(0), {}, places, matrix_.values(), fields_.b});
  });
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::gather_computed() {
  const auto arrays = element_arrays();
  const auto places = matrix_places();
  timed(times_.fill, [&] {
    parallel_for("gather computed elements", on(queue_), mesh_.node_count(),
                 GatherComputed<MatrixTerm, std::remove_const_t<decltype(arrays)>, BlockSource,
                                decltype(mesh_.node_offsets), decltype(mesh_.node_corners),
                                std::remove_const_t<decltype(places)>, typename Matrix::values_type>{
                     arrays,
                     coefficients(0),
                     {},
                     mesh_.node_offsets,
                     mesh_.node_corners,
                     places,
                     matrix_.values(),
                     fields_.b});
  });
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::allocate_contributions() {
  fields_.element_matrix =
      create<decltype(fields_.element_matrix)>("element matrices", mesh_.element_count(), on(mesh_.device));
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::eliminate_matrix() {
  boomeramg_.reset();
  const auto& graph = matrix_.graph();
  parallel_for("eliminate given temperatures", on(queue_), mesh_.node_count(),
               EliminateGiven{graph.row_map(), graph.entries(), matrix_.values(), fields_.conditions,
                              fields_.given, fields_.lift});
}

template <class Arrays, class T>
double HeatEquation<Arrays, T>::solve_system(double relative, double absolute) {
  linear::CgOptions options;
  options.relative_tolerance = relative;
  options.absolute_tolerance = absolute;
  options.max_iterations = settings_.max_iterations;
  options.preconditioner = settings_.preconditioner;
  options.chebyshev_degree = settings_.chebyshev_degree;
  options.backend = settings_.backend;
  cg_.set_options(options);
  prepare_boomeramg();
  const linear::CgResult result = cg_.solve(on(queue_), fields_.b, fields_.y);
  statistics_.cg_iterations += result.iterations;
  statistics_.residual =
      result.right_hand_side > 0 ? result.residual / result.right_hand_side : result.residual;
  if (!result) fail_solve(result, settings_, relative > 0 ? result.right_hand_side : norm_);
  return result.right_hand_side;
}

// Once for each matrix.
template <class Arrays, class T>
void HeatEquation<Arrays, T>::prepare_boomeramg() {
  if constexpr (is_in_host_memory) {  // the constructor refuses it elsewhere
    if (!settings_.use_boomeramg || boomeramg_) return;
    const auto& graph = matrix_.graph();
    queue_.wait();
    boomeramg_ = std::make_unique<BoomerAmg>(matrix_.rows(), graph.row_map().data(), graph.entries().data(),
                                             matrix_.values().data());
    cg_.set_preconditioner([amg = boomeramg_.get()](const auto& where, const auto& r, const auto& z) {
      where.queue->wait();
      amg->apply(r.data(), z.data());
    });
  }
}

template <class Arrays, class T>
LinearResidual HeatEquation<Arrays, T>::residual() const {
  const auto& graph = matrix_.graph();
  ResidualSquares squares{};
  parallel_reduce("true residual", on(queue_), mesh_.node_count(),
                  TrueResidual{graph.row_map(), graph.entries(), matrix_.values(), fields_.conditions,
                               fields_.b, fields_.y},
                  squares);
  return {std::sqrt(squares.residual), std::sqrt(squares.right_hand_side), std::sqrt(squares.magnitude),
          floor_, load_};
}

template <class Arrays, class T>
double HeatEquation<Arrays, T>::greatest_coupling() const {
  const auto& graph = matrix_.graph();
  double greatest = 0;
  parallel_reduce("greatest coupling", on(queue_), mesh_.node_count(),
                  GreatestCoupling{graph.row_map(), graph.entries(), matrix_.values(), fields_.conditions},
                  greatest);
  return greatest;
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::assemble() {
  matrix_rate_ = none;
  if (settings_.assembly == Assembly::Atomic) return scatter();
  if (settings_.assembly == Assembly::Fused) return gather_computed();
  assemble_terms<MatrixTerm>(0);
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::eliminate() {
  linear::copy(on(queue_), fields_.temperature, fields_.y);
  timed(times_.boundary, [&] {
    eliminate_matrix();
    double squares = 0;
    parallel_reduce("apply given temperatures", on(queue_), mesh_.node_count(),
                    ApplyGiven{fields_.conditions, fields_.given, fields_.lift, fields_.b, fields_.y},
                    squares);
    norm_ = std::sqrt(squares);
  });
  // Nothing drives free nodes: the solution is 0 there.
  if (norm_ == 0)
    parallel_for("no load", on(queue_), mesh_.node_count(), with(SetLoad{}, fields_.b, fields_.y));
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::solve() {
  timed(times_.solve, [&] { solve_system(0, settings_.tolerance * norm_); });
  linear::copy(on(queue_), fields_.y, fields_.temperature);
  queue_.wait();
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::solve_steady() {
  require_unique();
  if (problem_.is_nonlinear()) {
    set_given();
    return solve_newton(0);
  }
  assemble();
  eliminate();
  solve();
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::set_given() {
  parallel_for("set given temperatures", on(queue_), mesh_.node_count(),
               with(SetGiven{}, fields_.conditions, fields_.given, fields_.temperature));
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::step(double dt) {
  if (!fields_.element_matrix) allocate_contributions();
  timed(times_.steps, [&] {
    set_given();
    linear::scale(on(queue_), T(0), fields_.change);
  });
  if (problem_.is_nonlinear()) solve_newton(1 / dt);
  else solve_change(1 / dt);
}

// The first step with a dt makes the matrix; all solve A y = b, b being the residual of the old state, and
// add y.
template <class Arrays, class T>
void HeatEquation<Arrays, T>::solve_change(double rate) {
  const bool has_matrix = matrix_rate_ == rate;
  if (!has_matrix) {
    assemble_terms<MatrixTerm | StateTerm>(rate);
    timed(times_.boundary, [&] { eliminate_matrix(); });
    matrix_rate_ = rate;
  }
  timed(times_.steps, [&] {
    if (has_matrix) {
      compute_contributions<StateTerm>(rate);
      add_contributions<StateTerm>();
    }
    parallel_for("hold given temperatures", on(queue_), mesh_.node_count(),
                 with(HoldGiven{}, fields_.conditions, fields_.b, fields_.y));
    floor_ = floor(settings_.tolerance);
    load_ = std::max(load_, solve_system(settings_.tolerance, floor_));
    linear::axpy(on(queue_), T(1), fields_.y, fields_.temperature);
    linear::copy(on(queue_), fields_.y, fields_.change);
  });
}

// Newton's method from a state that has the given temperatures, so that a step changes nothing there.
//
// A step that makes a conductivity negative or does not halve the residual is taken back, and the rest of
// them are Picard's, at a frozen conductivity: those get along with steep fronts in short time steps. They
// need not reduce the residual at once; limits at each node keep the conductivity positive on the way.
template <class Arrays, class T>
void HeatEquation<Arrays, T>::solve_newton(double rate) {
  matrix_rate_ = none;
  is_frozen_ = false;
  linear::scale(on(queue_), T(0), fields_.y);
  const bool is_steady = rate == 0;
  // A step of nothing looks at the conductivity.
  if (!(take_step().conductivity > 0)) fail_conductivity(problem_.beta, is_steady);
  const double first = norm_ = assemble_newton(rate);
  floor_ = floor(settings_.newton_tolerance);
  load_ = std::max(load_, first);
  bool is_rounding = false;  // the last step was too small for temperatures to show it, and of no use
  for (int steps = 0;; ++steps) {
    statistics_.newton_begin = first;
    statistics_.newton_residual = norm_;
    if (!std::isfinite(norm_)) fail_newton(steps, norm_, first, is_steady);
    if (is_rounding || norm_ <= std::max(floor_, settings_.newton_tolerance * first)) return;
    if (steps == settings_.max_newton_steps) fail_newton(steps, norm_, first, is_steady);
    timed(times_.solve, [&] { solve_system(0, settings_.tolerance * norm_); });
    ++statistics_.newton_steps;
    if (is_frozen_) ++statistics_.frozen_steps;
    const bool may_take_back = problem_.beta != 0 && !is_frozen_;
    if (may_take_back) {
      linear::copy(on(queue_), fields_.temperature, fields_.before);
      linear::copy(on(queue_), fields_.change, fields_.change_before);
    }
    const StepSize<T> size = is_frozen_ ? take_frozen_step() : take_step();
    const bool is_conducting = size.conductivity > 0;
    const double rounding = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    const bool is_small =
        is_conducting && static_cast<double>(size.change) <= rounding * static_cast<double>(size.temperature);
    const double last = norm_;
    if (is_conducting) norm_ = assemble_newton(rate);
    else if (!may_take_back) fail_conductivity(problem_.beta, is_steady);
    is_rounding = is_small && !(norm_ <= last / 2);  // in short time steps small changes matter
    if (!may_take_back || (is_conducting && (is_rounding || norm_ <= last / 2))) continue;
    linear::copy(on(queue_), fields_.before, fields_.temperature);
    linear::copy(on(queue_), fields_.change_before, fields_.change);
    is_frozen_ = true;
    norm_ = assemble_newton(rate);
  }
}

// Where the conductivity does not stay positive, so says the result, and temperatures are of no use.
template <class Arrays, class T>
StepSize<T> HeatEquation<Arrays, T>::take_step() {
  StepSize<T> size{};
  parallel_reduce("take a Newton step", on(queue_), mesh_.node_count(),
                  TakeStep<typename Fields::Field>{fields_.temperature, fields_.change, fields_.y,
                                                   static_cast<T>(problem_.beta)},
                  size);
  return size;
}

// The same of a step at a frozen conductivity.
template <class Arrays, class T>
StepSize<T> HeatEquation<Arrays, T>::take_frozen_step() {
  StepSize<T> size{};
  parallel_reduce("take a Picard step", on(queue_), mesh_.node_count(),
                  TakeFrozenStep<typename Fields::Field>{fields_.temperature, fields_.change, fields_.y,
                                                         static_cast<T>(problem_.beta)},
                  size);
  return size;
}

// Makes A and b of a step, y = 0, and returns |b|.
template <class Arrays, class T>
double HeatEquation<Arrays, T>::assemble_newton(double rate) {
  assemble_terms<MatrixTerm | StateTerm>(rate);
  double squares = 0;
  timed(times_.boundary, [&] {
    eliminate_matrix();
    parallel_for("hold given temperatures", on(queue_), mesh_.node_count(),
                 with(HoldGiven{}, fields_.conditions, fields_.b, fields_.y));
    parallel_reduce("Newton residual", on(queue_), mesh_.node_count(), SumOfSquares{fields_.b}, squares);
  });
  return std::sqrt(squares);
}

template <class Arrays, class T>
void HeatEquation<Arrays, T>::compute_balance(double dt) {
  const double rate = dt > 0 ? 1 / dt : 0;
  compute_contributions<StateTerm>(rate);
  add_contributions<StateTerm>();
}

template <class Arrays, class T>
double HeatEquation<Arrays, T>::heat_flow(int condition) const {
  double flow = 0;
  parallel_reduce("heat flow", on(queue_), mesh_.node_count(),
                  HeatFlow<decltype(fields_.conditions), typename Fields::Field>{fields_.conditions,
                                                                                 fields_.b, condition},
                  flow);
  return flow;
}

}  // namespace strata::inline STRATA_ABI::thermal
