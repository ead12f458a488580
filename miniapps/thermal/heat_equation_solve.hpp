// How HeatEquation (heat_equation.hpp, which includes this file) assembles and solves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/thermal/heat_equation.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class Device, class T>
HeatEquation<Device, T>::HeatEquation(std::unique_ptr<System<Device, T>> system, const Problem& problem,
                                      const SolveSettings& settings, const HeatSetup& setup)
    : setup_(setup),
      problem_(problem),
      settings_(settings),
      system_(std::move(system)),
      queue_(system_->queue()),
      nodes_(system_->node_count()) {
  check(problem, system_->block_names(), is_float);
  const Device device = queue_.device();
  if (settings.use_boomeramg) require_boomeramg(device_name(device), Device::memory_space::host_accessible);
  const auto create_field = [&](Field& field, const char* label) {
    field = create<Field>(label, nodes_, on(device));
  };
  for (const auto& [field, label] :
       {std::pair{&fields_.temperature, "temperature"}, std::pair{&fields_.change, "change of temperature"},
        std::pair{&fields_.given, "given temperature"}, std::pair{&fields_.lift, "lift"},
        std::pair{&fields_.b, "b"}, std::pair{&fields_.y, "y"}})
    create_field(*field, label);
  fields_.conditions = create<decltype(fields_.conditions)>("conditions", nodes_, on(device));
  deep_copy(fields_.conditions, free_node);
  if (problem.beta != 0) {
    create_field(fields_.before, "temperature before");
    create_field(fields_.change_before, "change before");
  }
  if (problem.has_inflows) {
    create_field(fields_.inflow, "heat in through faces");
    create_field(fields_.film, "film of faces");
  }
  system_->bind(fields_);
  wait(device);
  setup_.graph_seconds += miniapp::now_seconds();  // less those of the begin (make_heat.cpp)
}

template <class Device, class T>
int HeatEquation<Device, T>::add_inflow(const std::string& selector, const Inflow& inflow) {
  check(inflow, is_float, selector);
  const fem::NodeAreas faces = system_->face_areas(selector);
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
  load_ = 0;
  return static_cast<int>(inflows_.size()) - 1;
}

// After an assembly of the right-hand side, with StateTerm or at temperature 0.
template <class Device, class T>
void HeatEquation<Device, T>::add_inflows(bool has_state) {
  if (!problem_.has_inflows) return;
  const auto where = on(queue_);
  if (has_state)
    parallel_for("add inflow", where, nodes_,
                 with(AddInflowOfState{}, fields_.inflow, fields_.film, fields_.temperature, fields_.b));
  else parallel_for("add inflow", where, nodes_, with(AddInflow{}, fields_.inflow, fields_.b));
}

// Before given temperatures are taken out of the matrix, which takes the film from where lift will be.
template <class Device, class T>
void HeatEquation<Device, T>::set_film() {
  if (!problem_.has_inflows) return;
  parallel_for("film of faces", on(queue_), nodes_,
               with(FilmOfStep<T>{is_frozen_ ? T(0) : static_cast<T>(problem_.beta)}, fields_.film,
                    fields_.temperature, fields_.lift));
}

template <class Device, class T>
double HeatEquation<Device, T>::solve_system(double relative, double absolute) {
  linear::CgOptions options = cg_options(settings_);
  options.relative_tolerance = relative;
  options.absolute_tolerance = absolute;
  const linear::CgResult result = system_->solve(options);
  statistics_.cg_iterations += result.iterations;
  statistics_.residual =
      result.right_hand_side > 0 ? result.residual / result.right_hand_side : result.residual;
  if (!result) fail_solve(result, settings_, relative > 0 ? result.right_hand_side : norm_);
  return result.right_hand_side;
}

template <class Device, class T>
LinearResidual HeatEquation<Device, T>::residual() const {
  const ResidualSquares squares = system_->residual();
  return {std::sqrt(squares.residual), std::sqrt(squares.right_hand_side), std::sqrt(squares.magnitude),
          floor_, load_};
}

template <class Device, class T>
void HeatEquation<Device, T>::assemble() {
  matrix_rate_ = none;
  system_->assemble(MatrixTerm, coefficients(0), false, times_);
  add_inflows(false);
}

template <class Device, class T>
void HeatEquation<Device, T>::eliminate() {
  linear::copy(on(queue_), fields_.temperature, fields_.y);
  timed(times_.boundary, [&] {
    set_film();
    system_->eliminate();
    double squares = 0;
    launch_reduce(on(queue_).named("apply given temperatures"), nodes_, ApplyGiven{}, Sum(squares),
                  in(fields_.conditions), in(fields_.given), in(fields_.lift), inout(fields_.b),
                  inout(fields_.y));
    norm_ = std::sqrt(squares);
  });
  // Nothing drives free nodes: the solution is 0 there.
  if (norm_ == 0) linear::copy(on(queue_), fields_.b, fields_.y);
}

template <class Device, class T>
void HeatEquation<Device, T>::solve() {
  timed(times_.solve, [&] { solve_system(0, settings_.tolerance * norm_); });
  linear::copy(on(queue_), fields_.y, fields_.temperature);
  queue_.wait();
}

template <class Device, class T>
void HeatEquation<Device, T>::solve_steady() {
  require_unique();
  if (problem_.is_nonlinear()) {
    set_given();
    return solve_newton(0);
  }
  assemble();
  eliminate();
  solve();
}

template <class Device, class T>
void HeatEquation<Device, T>::set_given() {
  parallel_for("set given temperatures", on(queue_), nodes_,
               with(SetGiven{}, fields_.conditions, fields_.given, fields_.temperature));
}

// Leaves what the step changes so far.
template <class Device, class T>
void HeatEquation<Device, T>::begin_step() {
  if (settings_.start == GivenStart::Jump) {
    parallel_for("jump to given temperatures", on(queue_), nodes_,
                 with(JumpToGiven{}, fields_.conditions, fields_.given, fields_.temperature, fields_.change));
    return;
  }
  set_given();
  linear::scale(on(queue_), T(0), fields_.change);
}

template <class Device, class T>
void HeatEquation<Device, T>::step(double dt) {
  timed(times_.steps, [&] { begin_step(); });
  if (problem_.is_nonlinear()) solve_newton(1 / dt);
  else solve_change(1 / dt);
}

template <class Device, class T>
void HeatEquation<Device, T>::assemble_eliminated(double rate) {
  timed(times_.boundary, [&] { set_film(); });
  system_->assemble(MatrixTerm | StateTerm, coefficients(rate), true, times_);
  timed(times_.boundary, [&] { add_inflows(true); });
}

// The first step with a dt makes the matrix; all solve A y = b, b being the residual of the old state, and
// add y.
template <class Device, class T>
void HeatEquation<Device, T>::solve_change(double rate) {
  const bool has_matrix = matrix_rate_ == rate;
  if (!has_matrix) {
    assemble_eliminated(rate);
    matrix_rate_ = rate;
  }
  timed(times_.steps, [&] {
    if (has_matrix) {
      system_->assemble_vector(coefficients(rate));
      add_inflows(true);
    }
    parallel_for("hold given temperatures", on(queue_), nodes_,
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
template <class Device, class T>
void HeatEquation<Device, T>::solve_newton(double rate) {
  matrix_rate_ = none;
  is_frozen_ = false;
  linear::scale(on(queue_), T(0), fields_.y);
  const bool is_steady = rate == 0;
  // A step of nothing looks at the conductivity.
  if (!(take_step<false>().conductivity > 0)) fail_conductivity(problem_.beta, is_steady);
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
    const StepSize<T> size = is_frozen_ ? take_step<true>() : take_step<false>();
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
template <class Device, class T>
template <bool Frozen>
StepSize<T> HeatEquation<Device, T>::take_step() {
  StepSize<T> size{};
  launch_reduce(on(queue_).named(Frozen ? "take a Picard step" : "take a Newton step"), nodes_,
                TakeStep<T, Frozen>{static_cast<T>(problem_.beta)}, size, inout(fields_.temperature),
                inout(fields_.change), in(fields_.y));
  return size;
}

// Makes A and b of a step, y = 0, and returns |b|.
template <class Device, class T>
double HeatEquation<Device, T>::assemble_newton(double rate) {
  assemble_eliminated(rate);
  double squares = 0;
  timed(times_.boundary, [&] {
    parallel_for("hold given temperatures", on(queue_), nodes_,
                 with(HoldGiven{}, fields_.conditions, fields_.b, fields_.y));
    launch_reduce(on(queue_).named("Newton residual"), nodes_, AddSquare{}, Sum(squares), in(fields_.b));
  });
  return std::sqrt(squares);
}

// Heat that comes in at the state, of each inflow; adds to `rounding` what their rounding is in proportion
// to. By the host: faces are few, and sums have the same bits for all devices.
template <class Device, class T>
std::vector<double> HeatEquation<Device, T>::inflows(double& rounding) const {
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

template <class Device, class T>
HeatState HeatEquation<Device, T>::state(double dt) {
  const TemperatureRange found = this->range();
  const HeatIntegrals sums = system_->integrals(problem_, dt > 0 ? 1 / dt : 0);
  compute_balance(dt);
  HeatState state;
  state.least = found.least;
  state.mean = sums.temperature / sums.volume;
  state.greatest = found.greatest;
  state.volume = sums.volume;
  for (int k = 0; k < conditions_; ++k) {
    double flow = 0;
    launch_reduce(on(queue_).named("heat flow"), nodes_, HeatFlow{k}, Sum(flow), in(fields_.conditions),
                  in(fields_.b));
    state.flows.push_back(flow);
  }
  state.source = sums.source;
  state.sink = sums.sink;
  state.stored = sums.stored;
  const double largest = found.greatest > -found.least ? found.greatest : -found.least;
  // Newton's steps end where they are rounding of the temperature.
  const double stored = problem_.is_nonlinear() ? sums.storage * largest : sums.stored_magnitude;
  state.rounding =
      sums.conductivity * largest + stored + (sums.source < 0 ? -sums.source : sums.source) + sums.sink;
  state.inflows = inflows(state.rounding);
  return state;
}

}  // namespace strata::inline STRATA_ABI::thermal
