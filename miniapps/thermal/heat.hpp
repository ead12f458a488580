// Heat: a heat problem on some device, as the rest of the application sees it: plain numbers in host vectors,
// whatever the device and the type of the fields. Runs, checks and the tests of the method are written
// against it, once for all devices.
//
//   HeatRequest request{"box:8x8x8"};
//   request.problem = uniform({2, 1, 0});
//   auto heat = make_heat(Threads{}, request);         // make_heat.hpp
//   heat->give("z_min", 100.0);
//   heat->solve_steady();                              // or heat->step(dt), again and again
//   heat->temperatures()
//
// Calls wait for what they start. Not thread safe. Errors: SolverError, MeshError, OutOfMemory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <strata/miniapps/fem/host_mesh.hpp>
#include <strata/miniapps/thermal/parameters.hpp>
#include <strata/views/coherent/memory_mode.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The problem on a mesh with blocks of these names and numbers.
using ProblemOfBlocks =
    std::function<Problem(const std::vector<std::string>& names, const std::vector<std::int64_t>& ids)>;
/// The same material everywhere.
ProblemOfBlocks uniform(const Material& material, double beta = 0, double sink = 0);

/// What is to be solved.
struct HeatRequest {
  std::string mesh;  ///< as in fem/load_mesh.hpp
  int refinements = 0;
  std::string type = "double";  ///< of the fields: "double" or "float"
  ProblemOfBlocks problem = uniform({});
  SolveSettings solve{};
  index_t memory_limit = 0;               ///< bytes of the device for all arrays; 0: what it has
  int devices = 1;                        ///< of the kind, that share elements and matrix; of a host parts
  std::optional<MemoryMode> memory = {};  ///< of coherent arrays; none: as is fastest, in core plain arrays
};

/// Where it is solved, and what that took.
struct HeatSetup {
  std::string device, type, mesh;
  index_t nodes = 0, elements = 0;
  bool shares_host_memory = false;   ///< then its arithmetic is that of Serial
  double mesh_seconds = 0;           ///< until the mesh was on the device
  double graph_seconds = 0;          ///< until the matrix's graph was
  std::vector<std::string> remarks;  ///< of the reader, and on what goes through the device in slices
  bool is_streamed = false;          ///< whether anything does
};

/// What went through the device in slices so far; of a problem that is there as a whole, nothing.
struct StreamTotals {
  index_t bytes_to_device = 0, bytes_to_host = 0;
  index_t passes = 0;  ///< over elements, or over the rows of the matrix
  double seconds = 0, predicted_seconds = 0;
};

/// What can be said of a state.
struct HeatState {
  double least = 0, mean = 0, greatest = 0;  ///< temperatures
  double volume = 0;
  std::vector<double> flows;    ///< heat in through the nodes of each condition, in a unit of time
  std::vector<double> inflows;  ///< of each add_inflow, likewise
  double source = 0;            ///< heat made in a unit of time
  double sink = 0;              ///< heat that the sink takes
  double stored = 0;            ///< heat that was stored in a unit of time of the last step; steady: 0
  double rounding = 0;  ///< to which the rounding of all these rates is in proportion, with factor epsilon

  /// What should be 0.
  double imbalance() const;
};

/// The least and the greatest temperature.
struct TemperatureRange {
  double least = 0, greatest = 0;
};

/// The matrix and the right-hand side.
struct HeatSystem {
  std::vector<index_t> row_map, entries;
  std::vector<double> values, b;
};

class Heat {
 public:
  virtual ~Heat() = default;

  virtual const HeatSetup& setup() const = 0;
  virtual const Problem& problem() const = 0;
  /// All of the mesh, as writers take it.
  virtual fem::HostMesh mesh() const = 0;

  /// Gives the nodes of a selector (fem/selector.hpp) a temperature, from now on and at the begin of the next
  /// step; returns the number of the condition, 0 for the first. Later ones win.
  virtual int give(const std::string& selector, double value) = 0;
  /// The same with a temperature for each node: `of_nodes` has one for every node of the mesh.
  virtual int give(const std::string& selector, const std::vector<double>& of_nodes) = 0;
  /// Lets heat in through the faces of a selector, from now on, besides what comes in there already; returns
  /// the number of the inflow, 0 for the first. Where temperatures are given they stay.
  virtual int add_inflow(const std::string& selector, const Inflow& inflow) = 0;
  /// Sets the state: at time 0, or the first guess.
  virtual void set_temperature(double value) = 0;
  virtual void set_temperatures(const std::vector<double>& of_nodes) = 0;
  virtual std::vector<double> temperatures() const = 0;
  virtual TemperatureRange range() const = 0;

  /// SolverError unless the steady solution is unique.
  virtual void require_unique() const = 0;
  virtual void solve_steady() = 0;
  /// Makes the state the one that the first step will start from: given temperatures are there, unless they
  /// jump.
  virtual void start() = 0;
  virtual void step(double dt) = 0;

  /// The stages of a linear steady solve (heat_equation.hpp).
  virtual void assemble() = 0;
  virtual void add_load(const std::vector<double>& of_nodes) = 0;
  virtual double greatest_coupling() const = 0;
  virtual void eliminate() = 0;
  virtual void solve() = 0;
  virtual HeatSystem system() const = 0;

  /// How well the last system is solved; before state().
  virtual LinearResidual residual() const = 0;
  /// `dt` of the step that led here; 0: steady.
  virtual HeatState state(double dt) = 0;

  virtual StreamTotals streamed() const { return {}; }
  virtual const SolveStatistics& statistics() const = 0;
  virtual const SolveTimes& times() const = 0;
  virtual void reset_times() = 0;
};

/// Makes it on some device.
using MakeHeat = std::function<std::unique_ptr<Heat>(const HeatRequest&)>;

}  // namespace strata::inline STRATA_ABI::thermal
