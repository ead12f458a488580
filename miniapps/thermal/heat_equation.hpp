// HeatEquation: the heat equation (element_system.hpp) on a mesh, on one device.
//
//   HeatEquation<PlainArrays<Cuda>, double> heat(mesh, problem, settings);
//   heat.give(select_nodes(mesh, "top"), 100.0);       // later calls win where lists overlap
//   heat.solve_steady();                               // or heat.step(dt), again and again
//   heat.fields().temperature                          // the solution, a number a node
//
// Given temperatures hold at all times, also at the begin of a step: what the state has at those nodes is of
// no effect. A step without temperature-dependent terms is solved for its change, to the tolerance times what
// drives this change, by one matrix as long as dt stays; nothing but the conjugate gradients waits.
//
// A solve enqueues on a queue of its own and waits for it; the fields may be read by any queue afterwards.
// The mesh is shared, not copied. Used by one thread at a time. Errors: SolverError, OutOfMemory, those of
// the launches.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

#include <strata/algorithms/linear/conjugate_gradients.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/miniapps/thermal/boomeramg.hpp>
#include <strata/miniapps/thermal/boundary_kernels.hpp>
#include <strata/miniapps/thermal/mesh_parts.hpp>
#include <strata/miniapps/thermal/parameters.hpp>
#include <strata/views/mirror.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// All arrays of the application besides the mesh; numbers of T.
template <class Arrays, class T>
struct HeatFields {
  template <class U, index_t... N>
  using element_array = typename Arrays::template element_array<U, N...>;
  template <class U, index_t... N>
  using node_array = typename Arrays::template node_array<U, N...>;
  using Field = node_array<T, rank<1>>;

  Field temperature;                             // the state, and the solution
  Field change;                                  // since the begin of the time step
  Field before, change_before;                   // the last Newton step, where steps may be taken back
  Field given;                                   // temperatures, where
  node_array<std::int32_t, rank<1>> conditions;  // names a condition
  Field lift;                                    // what given temperatures contribute to free rows
  Field b, y;                                    // the system's right-hand side and solution
  element_array<T, 8, 8> element_matrix;
  element_array<T, 8> element_vector;
  element_array<fem::SlotWord, 8> slots;  // (element, corner): places in the matrix's row
  node_array<T, material_columns> materials;
};

template <class Arrays, class T>
class HeatEquation {
 public:
  using Device = typename Arrays::device_type;
  using Mesh = fem::Mesh<Arrays>;
  using Fields = HeatFields<Arrays, T>;
  using Matrix = linear::CrsMatrix<T, Device>;

  /// Builds the graph of the matrix and allocates the fields; all temperatures are free and 0.
  HeatEquation(const Mesh& mesh, const Problem& problem, const SolveSettings& settings);

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
  int give_values(const List& nodes, const typename Fields::Field& values) {
    parallel_for("give temperatures", on(queue_), nodes.extent(0),
                 with(GiveValues{conditions_}, nodes, values, fields_.conditions, fields_.given));
    return given();
  }
  /// Sets all temperatures: the first guess, or the state at time 0.
  void set_temperature(double value) {
    deep_copy(fields_.temperature, static_cast<T>(value));
    forget_load();
  }
  /// To be called when temperatures were set in other ways: what was to be solved is no measure any more.
  void forget_load() { load_ = 0; }

  /// SolverError unless the steady solution is unique: some temperature is given, or there is a sink.
  void require_unique() const {
    if (conditions_ == 0 && problem_.sink == 0) fail_singular();
  }
  /// Solves for the state that does not change in time.
  void solve_steady();
  /// Steps on by dt.
  void step(double dt);

  /// The stages of a linear steady solve, for those who time them: the matrix and right-hand side, in the way
  /// of the settings (other solves store contributions, whatever those say); given temperatures; the
  /// solution.
  void assemble();
  void eliminate();
  void solve();

  /// Adds heat that is made at each node to the right-hand side; between assemble() and eliminate().
  void add_load(const typename Fields::Field& load) { linear::axpy(on(queue_), T(1), load, fields_.b); }
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

  const Mesh& mesh() const { return mesh_; }
  const Fields& fields() const { return fields_; }
  const Matrix& matrix() const { return matrix_; }
  const Problem& problem() const { return problem_; }
  const Queue<Device>& queue() const { return queue_; }
  int condition_count() const { return conditions_; }
  const SolveStatistics& statistics() const { return statistics_; }
  const SolveTimes& times() const { return times_; }
  void reset_times() { times_ = {}; }
  /// What kernels read (assembly_kernels.hpp).
  auto element_arrays() const {
    return ElementArrays<decltype(mesh_.element_nodes), decltype(mesh_.coordinates),
                         decltype(mesh_.element_blocks), decltype(fields_.materials), typename Fields::Field>{
        mesh_.element_nodes, mesh_.coordinates,   mesh_.element_blocks,
        fields_.materials,   fields_.temperature, fields_.change};
  }
  auto matrix_places() const {
    const auto& graph = matrix_.graph();
    return MatrixPlaces{mesh_.element_nodes, fields_.slots, graph.row_map(), graph.entries()};
  }

 private:
  static constexpr double none = -1;
  static constexpr bool is_in_host_memory = Device::memory_space::host_accessible;

  int given() {
    queue_.wait();
    matrix_rate_ = none;
    forget_load();
    return conditions_++;
  }
  void allocate_contributions();
  // Of these and eliminate_matrix, none waits.
  template <int Kind>
  void compute_contributions(double rate);
  template <int Kind>
  void add_contributions();
  template <int Kind>
  void assemble_terms(double rate);
  void scatter();
  void gather_computed();
  void set_given();
  void solve_change(double rate);
  void solve_newton(double rate);
  double assemble_newton(double rate);
  StepSize<T> take_step();
  StepSize<T> take_frozen_step();
  template <class Work>
  void timed(double& seconds, const Work& work) const {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    work();
    queue_.wait();
    seconds += std::chrono::duration<double>(Clock::now() - start).count();
  }
  Coefficients<T> coefficients(double rate) const {
    return {static_cast<T>(problem_.beta), static_cast<T>(problem_.sink), static_cast<T>(rate), is_frozen_};
  }
  void eliminate_matrix();
  double solve_system(double relative, double absolute);  // returns |b|
  void prepare_boomeramg();
  // What may be left of a step whose right-hand side is next to nothing, beside those of the steps before: a
  // state that comes to rest needs no further solving, and squares of it would underflow.
  double floor(double tolerance) const {
    return tolerance * static_cast<double>(std::numeric_limits<T>::epsilon()) * load_;
  }

  Mesh mesh_;
  Problem problem_;
  SolveSettings settings_;
  Queue<Device> queue_;
  Fields fields_;
  MatrixGraph<Arrays> graph_;
  Matrix matrix_;
  linear::ConjugateGradients<Matrix> cg_;
  std::unique_ptr<BoomerAmg> boomeramg_;  // of the matrix as it is
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
