// HeatEquation: the heat equation (element_system.hpp) on a mesh, on one device.
//
//   HeatEquation<PlainArrays<Cuda>, double> heat(mesh, problem, settings);
//   heat.give(select_nodes(mesh, "top"), 100.0);       // later calls win where lists overlap
//   heat.solve_steady();                               // or heat.step(dt), again and again
//   heat.fields().temperature                          // the solution, a number a node
//
// A solve enqueues on a queue of its own and waits for it; the fields may be read by any queue afterwards.
// The mesh is shared, not copied. Used by one thread at a time. Errors: SolverError, OutOfMemory, those of
// the launches.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include <strata/algorithms/linear/conjugate_gradients.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/miniapps/fem/node_graph.hpp>
#include <strata/miniapps/thermal/boundary_kernels.hpp>
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
  Field old;                                     // at the begin of the time step
  Field given;                                   // temperatures, where
  node_array<std::int32_t, rank<1>> conditions;  // names a condition
  Field lift;                                    // what given temperatures contribute to free rows
  Field b, y;                                    // the system's right-hand side and solution
  element_array<T, 8, 8> element_matrix;
  element_array<T, 8> element_vector;
  element_array<std::uint8_t, 8, 8> slots;  // (element, row, column): place in the matrix's row
  node_array<T, material_columns> materials;
};

template <class Arrays, class T, class Source = BlockSource>
class HeatEquation {
 public:
  using Device = typename Arrays::device_type;
  using Mesh = fem::Mesh<Arrays>;
  using Fields = HeatFields<Arrays, T>;
  using Matrix = linear::CrsMatrix<T, Device>;

  /// Builds the graph of the matrix and allocates the fields; all temperatures are free and 0.
  HeatEquation(const Mesh& mesh, const Problem& problem, const SolveSettings& settings,
               const Source& source = {});

  /// Gives nodes a temperature; returns the number of the condition, 0 for the first.
  template <class List>
  int give(const List& nodes, double value) {
    parallel_for("give temperatures", on(queue_), nodes.extent(0),
                 with(GiveTemperature<T>{conditions_, static_cast<T>(value)}, nodes, fields_.conditions,
                      fields_.given));
    queue_.wait();
    matrix_rate_ = none;
    return conditions_++;
  }
  /// The same with a temperature for each node: value(x, y, z) of a functor that devices can call.
  template <class List, class Function>
  int give_values(const List& nodes, const Function& function) {
    parallel_for("give temperatures", on(queue_), nodes.extent(0),
                 with(GiveValues<T, Function>{conditions_, function}, nodes, mesh_.coordinates,
                      fields_.conditions, fields_.given));
    queue_.wait();
    matrix_rate_ = none;
    return conditions_++;
  }
  /// Sets the temperature of every node: value(x, y, z).
  template <class Function>
  void set_temperatures(const Function& function) {
    parallel_for("set temperatures", on(queue_), mesh_.node_count(),
                 with(SetValues<T, Function>{function}, mesh_.coordinates, fields_.temperature));
    queue_.wait();
  }
  /// Sets all temperatures: the first guess, or the state at time 0.
  void set_temperature(double value) { deep_copy(fields_.temperature, static_cast<T>(value)); }

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
        fields_.materials,   fields_.temperature, fields_.old};
  }

 private:
  static constexpr double none = -1;

  void allocate_contributions();
  template <int Kind>
  void assemble_terms(double rate);
  void scatter();
  void gather_computed();
  void solve_newton(double rate);
  double assemble_step(double rate, bool keep_matrix);
  StepSize<T> take_step();
  template <class Work>
  void timed(double& seconds, const Work& work) const {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    work();
    queue_.wait();
    seconds += std::chrono::duration<double>(Clock::now() - start).count();
  }
  Coefficients<T> coefficients(double rate) const {
    return {static_cast<T>(problem_.beta), static_cast<T>(problem_.sink), static_cast<T>(rate)};
  }
  void eliminate_matrix();
  void solve_system(double norm);

  Mesh mesh_;
  Problem problem_;
  SolveSettings settings_;
  Source source_;
  Queue<Device> queue_;
  Fields fields_;
  Matrix matrix_;
  linear::ConjugateGradients<Matrix> cg_;
  int conditions_ = 0;
  double matrix_rate_ = none;  // the 1/dt that the linear matrix was eliminated for
  double norm_ = 0;            // |b| over the free rows
  double load_ = 0;            // the greatest one of all steps
  SolveStatistics statistics_;
  mutable SolveTimes times_;
};

}  // namespace strata::inline STRATA_ABI::thermal

#include <strata/miniapps/thermal/heat_equation_solve.hpp>
