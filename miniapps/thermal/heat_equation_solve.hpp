// How HeatEquation (heat_equation.hpp, which includes this file) assembles and solves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/thermal/heat_equation.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class System>
HeatEquation<System>::HeatEquation(System system, const Problem& problem, const SolveSettings& settings)
    : system_(std::move(system)),
      problem_(problem),
      settings_(settings),
      queue_(system_.queue()),
      cg_(system_.solver(cg_options(settings))) {
  check(problem, system_.block_names(), sizeof(T) == 4);
  if (settings.use_boomeramg) require_boomeramg(device_name(system_.device()), is_in_host_memory);
  const auto place = on(system_.device());
  const index_t nodes = system_.node_count();
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
  if (problem.has_inflows) {
    fields_.inflow = create<Field>("heat in through faces", nodes, place);
    fields_.film = create<Field>("film of faces", nodes, place);
  }
  system_.bind(fields_);
}

template <class System>
int HeatEquation<System>::add_inflow(const fem::NodeAreas& faces, const Inflow& inflow) {
  if (!problem_.has_inflows) fail_no_inflows();
  const auto coming = create_mirror(fields_.inflow), film = create_mirror(fields_.film);
  deep_copy(coming, fields_.inflow);
  deep_copy(film, fields_.film);
  for (std::size_t k = 0; k < faces.nodes.size(); ++k) {
    coming(faces.nodes[k]) +=
        static_cast<T>(faces.areas[k] * (inflow.flux + inflow.coefficient * inflow.outside));
    film(faces.nodes[k]) += static_cast<T>(faces.areas[k] * inflow.coefficient);
  }
  deep_copy(fields_.inflow, coming);
  deep_copy(fields_.film, film);
  has_convection_ = has_convection_ || inflow.coefficient > 0;
  inflows_.push_back({faces, inflow});
  matrix_rate_ = none;
  forget_load();
  return static_cast<int>(inflows_.size()) - 1;
}

// After an assembly of the right-hand side, with StateTerm or at temperature 0.
template <class System>
void HeatEquation<System>::add_inflows(bool has_state) {
  if (!problem_.has_inflows) return;
  const auto where = on(queue_);
  if (has_state)
    parallel_for("add inflow", where, system_.node_count(),
                 with(AddInflowOfState{}, fields_.inflow, fields_.film, fields_.temperature, fields_.b));
  else parallel_for("add inflow", where, system_.node_count(), with(AddInflow{}, fields_.inflow, fields_.b));
}

// Before given temperatures are taken out of the matrix, which takes the film from where lift will be.
template <class System>
void HeatEquation<System>::set_film() {
  if (!problem_.has_inflows) return;
  parallel_for("film of faces", on(queue_), system_.node_count(),
               with(FilmOfStep<T>{is_frozen_ ? T(0) : static_cast<T>(problem_.beta)}, fields_.film,
                    fields_.temperature, fields_.lift));
}

template <class System>
double HeatEquation<System>::solve_system(double relative, double absolute) {
  linear::CgOptions options = cg_options(settings_);
  options.relative_tolerance = relative;
  options.absolute_tolerance = absolute;
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
template <class System>
void HeatEquation<System>::prepare_boomeramg() {
  if constexpr (is_in_host_memory && System::is_in_core) {  // it is refused elsewhere
    if (!settings_.use_boomeramg || boomeramg_) return;
    const auto& matrix = system_.matrix();
    const auto& graph = matrix.graph();
    queue_.wait();
    boomeramg_ = std::make_unique<BoomerAmg>(matrix.rows(), graph.row_map().data(), graph.entries().data(),
                                             matrix.values().data());
    cg_.set_preconditioner([amg = boomeramg_.get()](const auto& where, const auto& r, const auto& z) {
      where.queue->wait();
      amg->apply(r.data(), z.data());
    });
  }
}

template <class System>
LinearResidual HeatEquation<System>::residual() const {
  const ResidualSquares squares = system_.residual();
  return {std::sqrt(squares.residual), std::sqrt(squares.right_hand_side), std::sqrt(squares.magnitude),
          floor_, load_};
}

template <class System>
double HeatEquation<System>::greatest_coupling() const {
  return system_.greatest_coupling();
}

template <class System>
void HeatEquation<System>::assemble() {
  matrix_rate_ = none;
  system_.assemble_steady(coefficients(0), times_);
  add_inflows(false);
}

template <class System>
void HeatEquation<System>::eliminate() {
  linear::copy(on(queue_), fields_.temperature, fields_.y);
  timed(times_.boundary, [&] {
    boomeramg_.reset();
    set_film();
    system_.eliminate();
    double squares = 0;
    launch_reduce(on(queue_).named("apply given temperatures"), system_.node_count(), ApplyGiven{},
                  Sum(squares), in(fields_.conditions), in(fields_.given), in(fields_.lift), inout(fields_.b),
                  inout(fields_.y));
    norm_ = std::sqrt(squares);
  });
  // Nothing drives free nodes: the solution is 0 there.
  if (norm_ == 0)
    parallel_for("no load", on(queue_), system_.node_count(), with(SetLoad{}, fields_.b, fields_.y));
}

template <class System>
void HeatEquation<System>::solve() {
  timed(times_.solve, [&] { solve_system(0, settings_.tolerance * norm_); });
  linear::copy(on(queue_), fields_.y, fields_.temperature);
  queue_.wait();
}

template <class System>
void HeatEquation<System>::solve_steady() {
  require_unique();
  if (problem_.is_nonlinear()) {
    set_given();
    return solve_newton(0);
  }
  assemble();
  eliminate();
  solve();
}

template <class System>
void HeatEquation<System>::set_given() {
  parallel_for("set given temperatures", on(queue_), system_.node_count(),
               with(SetGiven{}, fields_.conditions, fields_.given, fields_.temperature));
}

// Leaves what the step changes so far.
template <class System>
void HeatEquation<System>::begin_step() {
  if (settings_.start == GivenStart::Jump) {
    parallel_for("jump to given temperatures", on(queue_), system_.node_count(),
                 with(JumpToGiven{}, fields_.conditions, fields_.given, fields_.temperature, fields_.change));
    return;
  }
  set_given();
  linear::scale(on(queue_), T(0), fields_.change);
}

template <class System>
void HeatEquation<System>::step(double dt) {
  timed(times_.steps, [&] { begin_step(); });
  if (problem_.is_nonlinear()) solve_newton(1 / dt);
  else solve_change(1 / dt);
}

template <class System>
void HeatEquation<System>::assemble_eliminated(double rate) {
  boomeramg_.reset();
  timed(times_.boundary, [&] { set_film(); });
  system_.template assemble_eliminated<MatrixTerm | StateTerm>(coefficients(rate), times_);
  timed(times_.boundary, [&] { add_inflows(true); });
}

// The first step with a dt makes the matrix; all solve A y = b, b being the residual of the old state, and
// add y.
template <class System>
void HeatEquation<System>::solve_change(double rate) {
  const bool has_matrix = matrix_rate_ == rate;
  if (!has_matrix) {
    assemble_eliminated(rate);
    matrix_rate_ = rate;
  }
  timed(times_.steps, [&] {
    if (has_matrix) {
      system_.template assemble<StateTerm>(coefficients(rate));
      add_inflows(true);
    }
    parallel_for("hold given temperatures", on(queue_), system_.node_count(),
                 with(HoldGiven{}, fields_.conditions, fields_.b, fields_.y));
    floor_ = floor(settings_.tolerance);
    load_ = std::max(load_, solve_system(settings_.tolerance, floor_));
    linear::axpy(on(queue_), T(1), fields_.y, fields_.temperature);
    linear::axpy(on(queue_), T(1), fields_.y, fields_.change);
  });
}

// Newton's method from a state that has the given temperatures, so that a step changes nothing there.
//
// A step that makes a conductivity negative or does not halve the residual is taken back, and the rest of
// them are Picard's, at a frozen conductivity: those get along with steep fronts in short time steps. They
// need not reduce the residual at once; limits at each node keep the conductivity positive on the way.
template <class System>
void HeatEquation<System>::solve_newton(double rate) {
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
template <class System>
auto HeatEquation<System>::take_step() -> StepSize<T> {
  StepSize<T> size{};
  launch_reduce(on(queue_).named("take a Newton step"), system_.node_count(),
                TakeStep<T>{static_cast<T>(problem_.beta)}, size, inout(fields_.temperature),
                inout(fields_.change), in(fields_.y));
  return size;
}

// The same of a step at a frozen conductivity.
template <class System>
auto HeatEquation<System>::take_frozen_step() -> StepSize<T> {
  StepSize<T> size{};
  launch_reduce(on(queue_).named("take a Picard step"), system_.node_count(),
                TakeFrozenStep<T>{static_cast<T>(problem_.beta)}, size, inout(fields_.temperature),
                inout(fields_.change), in(fields_.y));
  return size;
}

// Makes A and b of a step, y = 0, and returns |b|.
template <class System>
double HeatEquation<System>::assemble_newton(double rate) {
  assemble_eliminated(rate);
  double squares = 0;
  timed(times_.boundary, [&] {
    parallel_for("hold given temperatures", on(queue_), system_.node_count(),
                 with(HoldGiven{}, fields_.conditions, fields_.b, fields_.y));
    launch_reduce(on(queue_).named("Newton residual"), system_.node_count(), AddSquare{}, Sum(squares),
                  in(fields_.b));
  });
  return std::sqrt(squares);
}

template <class System>
void HeatEquation<System>::compute_balance(double dt) {
  system_.template assemble<StateTerm>(coefficients(dt > 0 ? 1 / dt : 0));
  add_inflows(true);
}

// By the host: faces are few, and sums have the same bits for all devices.
template <class System>
std::vector<double> HeatEquation<System>::inflows(double& rounding) const {
  std::vector<double> flows;
  if (inflows_.empty()) return flows;
  const std::vector<double> temperatures = numbers_on_host(fields_.temperature);
  for (const auto& [faces, inflow] : inflows_) {
    double sum = 0;
    for (std::size_t k = 0; k < faces.nodes.size(); ++k) {
      const double t = temperatures[static_cast<std::size_t>(faces.nodes[k])];
      sum += faces.areas[k] * (inflow.flux + inflow.coefficient * (inflow.outside - t));
      rounding += faces.areas[k] *
                  (std::abs(inflow.flux) + inflow.coefficient * (std::abs(inflow.outside) + std::abs(t)));
    }
    flows.push_back(sum);
  }
  return flows;
}

template <class System>
double HeatEquation<System>::heat_flow(int condition) const {
  double flow = 0;
  launch_reduce(on(queue_).named("heat flow"), system_.node_count(), HeatFlow{condition}, Sum(flow),
                in(fields_.conditions), in(fields_.b));
  return flow;
}

}  // namespace strata::inline STRATA_ABI::thermal
