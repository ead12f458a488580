// HeatOnDevice: implements the interface Heat by a HeatEquation. For the device sources.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/thermal/heat_equation.hpp>
#include <strata/miniapps/thermal/in_core_system.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// `make_system` makes a System.
template <class System>
class HeatOnDevice final : public Heat {
 public:
  template <class Make>
  HeatOnDevice(const Make& make_system, const Problem& problem, const SolveSettings& settings,
               HeatSetup setup)
      : setup_(std::move(setup)), begin_(miniapp::now_seconds()), heat_(make_system(), problem, settings) {
    wait(heat_.system().device());
    setup_.graph_seconds = miniapp::now_seconds() - begin_;
  }

  const HeatSetup& setup() const override { return setup_; }
  const Problem& problem() const override { return heat_.problem(); }
  fem::HostMesh mesh() const override { return heat_.system().host_mesh(); }

  int give(const std::string& selector, double value) override {
    check_temperature(value, is_float, "the temperature of " + selector);
    if constexpr (System::is_in_core) return heat_.give(heat_.system().select(selector), value);
    else return heat_.give_by_host(heat_.system().select(selector), [=](std::int32_t) { return value; });
  }
  int give(const std::string& selector, const std::vector<double>& of_nodes) override {
    if constexpr (System::is_in_core) {
      const Field values = create<Field>("given numbers", node_count(), on(heat_.system().device()));
      set(values, of_nodes);
      return heat_.give_values(heat_.system().select(selector), values);
    } else {
      return heat_.give_by_host(heat_.system().select(selector),
                                [&](std::int32_t n) { return of_nodes.at(static_cast<std::size_t>(n)); });
    }
  }
  int add_inflow(const std::string& selector, const Inflow& inflow) override {
    check(inflow, is_float, selector);
    return heat_.add_inflow(heat_.system().face_areas(selector), inflow);
  }
  void set_temperature(double value) override {
    check_temperature(value, is_float, "--initial");
    heat_.set_temperature(value);
  }
  void set_temperatures(const std::vector<double>& of_nodes) override {
    set(heat_.fields().temperature, of_nodes);
    heat_.forget_load();
  }
  std::vector<double> temperatures() const override { return numbers_on_host(heat_.fields().temperature); }

  TemperatureRange range() const override {
    FieldExtremes range{};
    launch_reduce(on(heat_.queue()).named("range of temperature"), node_count(), FieldRange{}, range,
                  in(heat_.fields().temperature));
    return {range.least, range.greatest};
  }

  void require_unique() const override { heat_.require_unique(); }
  void solve_steady() override { heat_.solve_steady(); }
  void start() override { heat_.start(); }
  void step(double dt) override { heat_.step(dt); }

  void assemble() override { heat_.assemble(); }
  void add_load(const std::vector<double>& of_nodes) override {
    set(heat_.fields().lift, of_nodes);
    heat_.add_load(heat_.fields().lift);
    heat_.queue().wait();
  }
  double greatest_coupling() const override { return heat_.greatest_coupling(); }
  void eliminate() override { heat_.eliminate(); }
  void solve() override { heat_.solve(); }
  HeatSystem system() const override {
    HeatSystem system = heat_.system().matrix_on_host();
    system.b = numbers_on_host(heat_.fields().b);
    return system;
  }

  LinearResidual residual() const override { return heat_.residual(); }
  HeatState state(double dt) override;

  StreamTotals streamed() const override { return heat_.system().totals(); }
  const SolveStatistics& statistics() const override { return heat_.statistics(); }
  const SolveTimes& times() const override { return heat_.times(); }
  void reset_times() override { heat_.reset_times(); }

 private:
  using T = typename System::T;
  using Equation = HeatEquation<System>;
  using Field = typename Equation::Field;
  static constexpr bool is_float = sizeof(T) == 4;

  index_t node_count() const { return heat_.system().node_count(); }
  static void set(const Field& field, const std::vector<double>& of_nodes) {
    const auto host = create_mirror(field);
    for (index_t n = 0; n < host.extent(0); ++n)
      host(n) = static_cast<T>(of_nodes.at(static_cast<std::size_t>(n)));
    deep_copy(field, host);
  }

  HeatSetup setup_;
  double begin_;
  Equation heat_;
};

template <class System>
HeatState HeatOnDevice<System>::state(double dt) {
  const TemperatureRange found = this->range();
  const HeatIntegrals sums = heat_.system().integrals(problem(), dt > 0 ? 1 / dt : 0);
  heat_.compute_balance(dt);
  HeatState state;
  state.least = found.least;
  state.mean = sums.temperature / sums.volume;
  state.greatest = found.greatest;
  state.volume = sums.volume;
  for (int k = 0; k < heat_.condition_count(); ++k) state.flows.push_back(heat_.heat_flow(k));
  state.source = sums.source;
  state.sink = sums.sink;
  state.stored = sums.stored;
  const double largest = found.greatest > -found.least ? found.greatest : -found.least;
  // Newton's steps end where they are rounding of the temperature.
  const double stored = problem().is_nonlinear() ? sums.storage * largest : sums.stored_magnitude;
  state.rounding =
      sums.conductivity * largest + stored + (sums.source < 0 ? -sums.source : sums.source) + sums.sink;
  state.inflows = heat_.inflows(state.rounding);
  return state;
}

template <class T, class Device>
std::unique_ptr<Heat> make_heat_of(const fem::Mesh<ArraysFor<Device>>& mesh, const Problem& problem,
                                   const SolveSettings& settings, HeatSetup setup) {
  using System = InCoreSystem<ArraysFor<Device>, T>;
  return std::make_unique<HeatOnDevice<System>>([&] { return System(mesh, problem, settings); }, problem,
                                                settings, std::move(setup));
}

}  // namespace strata::inline STRATA_ABI::thermal
