// HeatEquation: the heat equation (element_system.hpp) on a mesh, on one device.
//
//   using System = InCoreSystem<PlainArrays<Cuda>, double>;   // or PlacedSystem<Cuda, double>
//   HeatEquation<System> heat(System(mesh, problem, settings), problem, settings);
//   heat.give(select_nodes(mesh, "top"), 100.0);       // later calls win where lists overlap
//   heat.solve_steady();                               // or heat.step(dt), again and again
//   heat.fields().temperature                          // the solution, a number a node
//
// Given temperatures hold at all times, also at the begin of a step: what the state has at those nodes is of
// no effect (but GivenStart::Jump makes its difference a change of the step). A step without
// temperature-dependent terms is solved for its change, to the tolerance times what drives this change, by
// one matrix as long as dt stays; nothing but the conjugate gradients waits.
//
// The system has the matrix and what makes it: on the device (in_core_system.hpp), or in parts on several, or
// in slices that go through it (placed_system.hpp). Everything else is here, once, on one device.
//
// A solve enqueues on a queue of its own and waits for it; the fields may be read by any queue afterwards.
// Used by one thread at a time. Errors: SolverError, OutOfMemory, those of the launches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <strata/algorithms/linear/conjugate_gradients.hpp>
#include <strata/miniapps/fem/face_areas.hpp>
#include <strata/miniapps/thermal/boomeramg.hpp>
#include <strata/miniapps/thermal/boundary_kernels.hpp>
#include <strata/miniapps/thermal/heat_fields.hpp>
#include <strata/miniapps/thermal/inflow_kernels.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// `System`: InCoreSystem or PlacedSystem.
template <class System>
class HeatEquation {
 public:
  using Device = typename System::Device;
  using T = typename System::T;
  using Fields = HeatFields<Device, T>;
  using Field = typename Fields::Field;

  /// Allocates the fields; all temperatures are free and 0.
  HeatEquation(System system, const Problem& problem, const SolveSettings& settings);

  /// The bytes that fields and workspace of the solver take on the device.
  static index_t vector_bytes(index_t nodes, const Problem& problem, const SolveSettings& settings) {
    const auto rounded = [](index_t bytes) { return (bytes + granule - 1) / granule * granule; };
    const int vectors =
        Fields::field_count(problem) + Solver::vector_count(cg_options(settings)) + System::vector_count;
    return vectors * rounded(nodes * static_cast<index_t>(sizeof(T))) + rounded(4 * nodes) +
           rounded(static_cast<index_t>(problem.materials.size() * material_columns * sizeof(T))) +
           5 * granule;
  }

  /// Gives nodes a temperature; returns the number of the condition, 0 for the first.
  template <class List>
  int give(const List& nodes, double value) {
    parallel_for("give temperatures", on(queue_), nodes.extent(0),
                 with(GiveTemperature<T>{conditions_, static_cast<T>(value)}, nodes, fields_.conditions,
                      fields_.given));
    return given();
  }
  /// The same with a temperature for each node, that of its number in `values`, which has one for all nodes.
  template <class List>
  int give_values(const List& nodes, const Field& values) {
    parallel_for("give temperatures", on(queue_), nodes.extent(0),
                 with(GiveValues{conditions_}, nodes, values, fields_.conditions, fields_.given));
    return given();
  }
  /// The same by the host, with a list of its own: value_of(node). Needs no memory of the device.
  template <class F>
  int give_by_host(const std::vector<std::int32_t>& nodes, const F& value_of) {
    const auto conditions = create_mirror(fields_.conditions);
    const auto given_values = create_mirror(fields_.given);
    deep_copy(conditions, fields_.conditions);
    deep_copy(given_values, fields_.given);
    for (const std::int32_t node : nodes) {
      conditions(node) = conditions_;
      given_values(node) = static_cast<T>(value_of(node));
    }
    deep_copy(fields_.conditions, conditions);
    deep_copy(fields_.given, given_values);
    return given();
  }
  /// Lets heat in through faces with these areas; returns the number of the inflow, 0 for the first.
  int add_inflow(const fem::NodeAreas& faces, const Inflow& inflow);
  /// Sets all temperatures: the first guess, or the state at time 0.
  void set_temperature(double value) {
    deep_copy(fields_.temperature, static_cast<T>(value));
    forget_load();
  }
  /// To be called when temperatures were set in other ways: what was to be solved is no measure any more.
  void forget_load() { load_ = 0; }

  /// SolverError unless the steady solution is unique: some temperature is given, or there is convection or a
  /// sink.
  void require_unique() const {
    if (conditions_ == 0 && problem_.sink == 0 && !has_convection_) fail_singular();
  }
  /// Solves for the state that does not change in time.
  void solve_steady();
  /// Makes the state at time 0 the one that the first step starts from.
  void start() {
    if (settings_.start == GivenStart::Given) set_given();
    queue_.wait();
  }
  /// Steps on by dt.
  void step(double dt);

  /// The stages of a linear steady solve, for those who time them: the matrix and right-hand side, in the way
  /// of the settings (other solves store contributions, whatever those say); given temperatures; the
  /// solution.
  void assemble();
  void eliminate();
  void solve();

  /// Adds heat that is made at each node, `load`, to the right-hand side; between assemble() and eliminate(),
  /// when fields().lift is free for it.
  void add_load(const Field& load) { linear::axpy(on(queue_), T(1), load, fields_.b); }
  /// The greatest entry beside the diagonal, over the diagonal of its row, of the rows of free nodes; between
  /// assemble() and eliminate(). Where none is positive, temperatures keep to the given ones unless there is
  /// a source.
  double greatest_coupling() const;
  /// How well the last system is solved, computed anew; before compute_balance().
  LinearResidual residual() const;

  /// The balance of each node at the state: heat that comes in, less what it takes up. 0 at free nodes of a
  /// solution; at others it is minus the heat that the surroundings give. Overwrites fields().b. After
  /// step(dt), dt; else 0.
  void compute_balance(double dt);
  /// Heat that flows in through the nodes of a condition in a unit of time; after compute_balance.
  double heat_flow(int condition) const;
  /// Heat that comes in at the state, of each inflow; adds to `rounding` what their rounding is in proportion
  /// to.
  std::vector<double> inflows(double& rounding) const;

  const System& system() const { return system_; }
  const Fields& fields() const { return fields_; }
  const Problem& problem() const { return problem_; }
  const Queue<Device>& queue() const { return queue_; }
  int condition_count() const { return conditions_; }
  const SolveStatistics& statistics() const { return statistics_; }
  const SolveTimes& times() const { return times_; }
  void reset_times() { times_ = {}; }

 private:
  using Solver = typename System::Solver;
  static constexpr double none = -1;
  static constexpr index_t granule = 512;  // of memory
  static constexpr bool is_in_host_memory = Device::memory_space::host_accessible;

  int given() {
    queue_.wait();
    matrix_rate_ = none;
    forget_load();
    return conditions_++;
  }
  static linear::CgOptions cg_options(const SolveSettings& settings) {
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
  void set_given();
  void begin_step();
  void add_inflows(bool has_state);
  void set_film();
  void assemble_eliminated(double rate);
  void solve_change(double rate);
  void solve_newton(double rate);
  double assemble_newton(double rate);
  StepSize<T> take_step();
  StepSize<T> take_frozen_step();
  template <class Work>
  void timed(double& seconds, const Work& work) const {
    thermal::timed(queue_, seconds, work);
  }
  Coefficients<T> coefficients(double rate) const {
    return {static_cast<T>(problem_.beta), static_cast<T>(problem_.sink), static_cast<T>(rate), is_frozen_};
  }
  double solve_system(double relative, double absolute);  // returns |b|
  void prepare_boomeramg();
  // What may be left of a step whose right-hand side is next to nothing, beside those of the steps before: a
  // state that comes to rest needs no further solving, and squares of it would underflow.
  double floor(double tolerance) const {
    return tolerance * static_cast<double>(std::numeric_limits<T>::epsilon()) * load_;
  }

  System system_;
  Problem problem_;
  SolveSettings settings_;
  Queue<Device> queue_;
  Fields fields_;
  Solver cg_;
  std::unique_ptr<BoomerAmg> boomeramg_;  // of the matrix as it is
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
  double load_ = 0;            // the greatest |b| of the steps so far
  double floor_ = 0;           // of the last step
  bool is_frozen_ = false;     // the conductivity, in the matrix of a Newton step
  SolveStatistics statistics_;
  mutable SolveTimes times_;
};

}  // namespace strata::inline STRATA_ABI::thermal

#include <strata/miniapps/thermal/heat_equation_solve.hpp>
