// HeatOnDevice: a HeatEquation behind the interface Heat. For the device sources.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/thermal/heat_equation.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class Arrays, class T>
class HeatOnDevice final : public Heat {
 public:
  HeatOnDevice(const fem::Mesh<Arrays>& mesh, const Problem& problem, const SolveSettings& settings,
               HeatSetup setup)
      : setup_(std::move(setup)), begin_(miniapp::now_seconds()), heat_(mesh, problem, settings) {
    wait(mesh.device);
    setup_.graph_seconds = miniapp::now_seconds() - begin_;
  }

  const HeatSetup& setup() const override { return setup_; }
  const Problem& problem() const override { return heat_.problem(); }
  fem::HostMesh mesh() const override { return mesh_on_host(heat_.mesh()); }

  int give(const std::string& selector, double value) override {
    check_temperature(value, is_float, "the temperature of " + selector);
    return heat_.give(selected_nodes(heat_.mesh(), selector), value);
  }
  int give(const std::string& selector, const std::vector<double>& of_nodes) override {
    return heat_.give_values(selected_nodes(heat_.mesh(), selector), on_device(of_nodes));
  }
  void set_temperature(double value) override {
    check_temperature(value, is_float, "--initial");
    heat_.set_temperature(value);
  }
  void set_temperatures(const std::vector<double>& of_nodes) override {
    deep_copy(heat_.fields().temperature, on_device(of_nodes));
    heat_.forget_load();
  }
  std::vector<double> temperatures() const override { return on_host(heat_.fields().temperature); }

  void require_unique() const override { heat_.require_unique(); }
  void solve_steady() override { heat_.solve_steady(); }
  void step(double dt) override { heat_.step(dt); }

  void assemble() override { heat_.assemble(); }
  void add_load(const std::vector<double>& of_nodes) override {
    heat_.add_load(on_device(of_nodes));
    heat_.queue().wait();
  }
  double greatest_coupling() const override { return heat_.greatest_coupling(); }
  void eliminate() override { heat_.eliminate(); }
  void solve() override { heat_.solve(); }
  HeatSystem system() const override {
    const auto& graph = heat_.matrix().graph();
    HeatSystem system{{}, {}, on_host(heat_.matrix().values()), on_host(heat_.fields().b)};
    for (const double k : on_host(graph.row_map())) system.row_map.push_back(static_cast<index_t>(k));
    for (const double k : on_host(graph.entries())) system.entries.push_back(static_cast<index_t>(k));
    return system;
  }

  LinearResidual residual() const override { return heat_.residual(); }
  HeatState state(double dt) override;

  const SolveStatistics& statistics() const override { return heat_.statistics(); }
  const SolveTimes& times() const override { return heat_.times(); }
  void reset_times() override { heat_.reset_times(); }

 private:
  using Equation = HeatEquation<Arrays, T>;
  using Field = typename Equation::Fields::Field;
  static constexpr bool is_float = sizeof(T) == 4;

  Field on_device(const std::vector<double>& of_nodes) const {
    const Field field = create<Field>("given numbers", heat_.mesh().node_count(), on(heat_.mesh().device));
    const auto host = create_mirror(field);
    for (index_t n = 0; n < host.extent(0); ++n)
      host(n) = static_cast<T>(of_nodes.at(static_cast<std::size_t>(n)));
    deep_copy(field, host);
    return field;
  }
  template <class Array>
  static std::vector<double> on_host(const Array& array) {
    using Number = std::remove_const_t<typename Array::value_type>;
    std::vector<Number> list(static_cast<std::size_t>(array.extent(0)));
    fem::detail::copy_to(list.data(), array);
    return {list.begin(), list.end()};
  }

  HeatSetup setup_;
  double begin_;
  Equation heat_;
};

template <class Arrays, class T>
HeatState HeatOnDevice<Arrays, T>::state(double dt) {
  FieldExtremes range{};
  parallel_reduce("range of temperature", on(heat_.queue()), heat_.mesh().node_count(),
                  FieldRange<Field>{heat_.fields().temperature}, range);
  const auto arrays = heat_.element_arrays();
  const double rate = dt > 0 ? 1 / dt : 0;
  HeatIntegrals sums{};
  parallel_reduce(
      "integrals", on(heat_.queue()), heat_.mesh().element_count(),
      Integrals<std::remove_const_t<decltype(arrays)>>{arrays, problem().beta, problem().sink, rate}, sums);
  heat_.compute_balance(dt);
  HeatState state;
  state.least = range.least;
  state.mean = sums.temperature / sums.volume;
  state.greatest = range.greatest;
  state.volume = sums.volume;
  for (int k = 0; k < heat_.condition_count(); ++k) state.flows.push_back(heat_.heat_flow(k));
  state.source = sums.source;
  state.sink = sums.sink;
  state.stored = sums.stored;
  const double largest = range.greatest > -range.least ? range.greatest : -range.least;
  // Newton's steps end where they are rounding of the temperature.
  const double stored = problem().is_nonlinear() ? sums.storage * largest : sums.stored_magnitude;
  state.rounding =
      sums.conductivity * largest + stored + (sums.source < 0 ? -sums.source : sums.source) + sums.sink;
  return state;
}

template <class T, class Device>
std::unique_ptr<Heat> make_heat_of(const fem::Mesh<ArraysFor<Device>>& mesh, const Problem& problem,
                                   const SolveSettings& settings, HeatSetup setup) {
  return std::make_unique<HeatOnDevice<ArraysFor<Device>, T>>(mesh, problem, settings, std::move(setup));
}

}  // namespace strata::inline STRATA_ABI::thermal
