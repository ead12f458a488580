// HeatEquation: implements Heat (heat.hpp): the heat equation (element_system.hpp) on a mesh, with numbers of
// nodes on one device. For the device sources.
//
// Given temperatures hold at all times, also at the begin of a step: what the state has at those nodes is of
// no effect (but GivenStart::Jump makes its difference a change of the step). A step without
// temperature-dependent terms is solved for its change, to the tolerance times what drives this change, by
// one matrix as long as dt stays; nothing but the conjugate gradients waits.
//
// The system has the matrix and what makes it, on the device, or in parts on several, or in slices that go
// through it (system_at.hpp). Everything else is here, once, on one device and one queue.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/thermal/inflow_kernels.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>
#include <strata/miniapps/thermal/system.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class Device, class T>
class HeatEquation final : public Heat {
 public:
  /// Allocates the fields; all temperatures are free and 0.
  HeatEquation(std::unique_ptr<System<Device, T>> system, const Problem& problem,
               const SolveSettings& settings, const HeatSetup& setup);

  const HeatSetup& setup() const override { return setup_; }
  const Problem& problem() const override { return problem_; }
  fem::HostMesh mesh() const override { return system_->host_mesh(); }

  int give(const std::string& selector, double value) override {
    check_temperature(value, is_float, "the temperature of " + selector);
    return give_any(selector, static_cast<T>(value));
  }
  int give(const std::string& selector, const std::vector<double>& of_nodes) override {
    set(fields_.lift, of_nodes);  // as in add_load()
    return give_any(selector, fields_.lift);
  }
  int add_inflow(const std::string& selector, const Inflow& inflow) override;
  void set_temperature(double value) override {
    check_temperature(value, is_float, "--initial");
    deep_copy(fields_.temperature, static_cast<T>(value));
    load_ = 0;
  }
  void set_temperatures(const std::vector<double>& of_nodes) override {
    set(fields_.temperature, of_nodes);
    load_ = 0;
  }
  std::vector<double> temperatures() const override { return numbers_on_host(fields_.temperature); }
  TemperatureRange range() const override {
    TemperatureRange range{};
    launch_reduce(on(queue_).named("range of temperature"), nodes_, FieldRange{}, range,
                  in(fields_.temperature));
    return range;
  }

  void require_unique() const override {
    if (conditions_ == 0 && problem_.sink == 0 && !has_convection_) fail_singular();
  }
  void solve_steady() override;
  void start() override {
    if (settings_.start == GivenStart::Given) set_given();
    queue_.wait();
  }
  void step(double dt) override;

  // Of the settings' way to assemble; other solves store contributions, whatever those say.
  void assemble() override;
  void add_load(const std::vector<double>& of_nodes) override {
    set(fields_.lift, of_nodes);  // which is free until eliminate()
    linear::axpy(on(queue_), T(1), fields_.lift, fields_.b);
    queue_.wait();
  }
  double greatest_coupling() const override { return system_->greatest_coupling(); }
  void eliminate() override;
  void solve() override;
  HeatSystem system() const override {
    HeatSystem system = system_->matrix_on_host();
    system.b = numbers_on_host(fields_.b);
    return system;
  }

  LinearResidual residual() const override;
  HeatState state(double dt) override;

  StreamTotals streamed() const override { return system_->totals(); }
  const SolveStatistics& statistics() const override { return statistics_; }
  const SolveTimes& times() const override { return times_; }
  void reset_times() override { times_ = {}; }

 private:
  using Field = NodeField<Device, T>;
  static constexpr double none = -1;
  static constexpr bool is_float = sizeof(T) == 4;

  static void set(const Field& field, const std::vector<double>& of_nodes) {
    const auto host = create_mirror(field);
    for (index_t n = 0; n < host.extent(0); ++n)
      host(n) = static_cast<T>(of_nodes.at(static_cast<std::size_t>(n)));
    deep_copy(field, host);
  }
  template <class Value>
  int give_any(const std::string& selector, const Value& value) {
    const auto nodes = system_->select(selector);
    parallel_for("give temperatures", on(queue_), nodes.extent(0),
                 with(Give<Value>{conditions_, value}, nodes, fields_.conditions, fields_.given));
    queue_.wait();
    matrix_rate_ = none;
    load_ = 0;
    return conditions_++;
  }
  void set_given();
  void begin_step();
  void add_inflows(bool has_state);
  void set_film();
  void assemble_eliminated(double rate);
  void solve_change(double rate);
  void solve_newton(double rate);
  double assemble_newton(double rate);
  template <bool Frozen>
  StepSize<T> take_step();
  // The balance of each node at the state: heat that comes in, less what it takes up. 0 at free nodes of a
  // solution; at others it is minus the heat that the surroundings give. Overwrites b. After step(dt), dt;
  // else 0.
  void compute_balance(double dt) {
    system_->assemble_vector(coefficients(dt > 0 ? 1 / dt : 0));
    add_inflows(true);
  }
  std::vector<double> inflows(double& rounding) const;
  void timed(double& seconds, const auto& work) const { thermal::timed(queue_, seconds, work); }
  Coefficients<T> coefficients(double rate) const {
    return {static_cast<T>(problem_.beta), static_cast<T>(problem_.sink), static_cast<T>(rate), is_frozen_};
  }
  double solve_system(double relative, double absolute);  // returns |b|
  // What may be left of a step whose right-hand side is next to nothing, beside those of the steps before: a
  // state that comes to rest needs no further solving, and squares of it would underflow.
  double floor(double tolerance) const {
    return tolerance * static_cast<double>(std::numeric_limits<T>::epsilon()) * load_;
  }

  HeatSetup setup_;
  Problem problem_;
  SolveSettings settings_;
  std::unique_ptr<System<Device, T>> system_;
  Queue<Device> queue_;
  index_t nodes_;
  HeatFields<Device, T> fields_;
  // Of faces, on the host: they are few beside the nodes.
  struct FaceInflow {
    fem::NodeAreas areas;
    Inflow inflow;
  };
  std::vector<FaceInflow> inflows_;
  bool has_convection_ = false;
  int conditions_ = 0;
  double matrix_rate_ = none;  // the 1/dt that the linear matrix was eliminated for
  double norm_ = 0;            // |b| over the free rows
  // The greatest |b| of the steps so far; 0: temperatures were set, and what was to be solved is no measure.
  double load_ = 0;
  double floor_ = 0;        // of the last step
  bool is_frozen_ = false;  // the conductivity, in the matrix of a Newton step
  SolveStatistics statistics_;
  SolveTimes times_;
};

template <class T, class Device>
std::unique_ptr<Heat> make_heat_of(std::unique_ptr<System<Device, T>> system, const Problem& problem,
                                   const SolveSettings& settings, const HeatSetup& setup) {
  return std::make_unique<HeatEquation<Device, T>>(std::move(system), problem, settings, setup);
}

}  // namespace strata::inline STRATA_ABI::thermal

#include <strata/miniapps/thermal/heat_equation_solve.hpp>
