// Dynamics: a simulation on some device, as the rest of the application sees it: plain numbers in host
// vectors, whatever the device and the type of the fields. The tests and checks are written against it, once
// for all devices.
//
//   auto s = make_simulation(Threads{}, "box:8x8x8", 0, "double", parameters);   // make_simulation.hpp
//   s->fix("x_max", all_directions);
//   s->set_velocity("x<=min", 1, 0, 0);
//   s->advance(1000);
//   const Energies e = s->energies();
//
// Time: step n moves the nodes from t_n to t_n+1 with the velocity of the middle, from forces at t_n. After
// it the displacements are of t_n+1, the velocities of t_n+1/2, stresses and element forces of t_n.
//
// advance() enqueues and does not wait; what gives numbers waits for all of it, but for seen(), which waits
// for one look. wait() throws SimulationError when the simulation has failed since. Not thread safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/stream_report.hpp>
#include <strata/core/error.hpp>
#include <strata/miniapps/explicit_dynamics/parameters.hpp>
#include <strata/miniapps/fem/host_mesh.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// An element turned inside out, or the time step collapsed; the message names the element, the step and the
/// time. The state is that of the moment it was seen, and stays readable.
class SimulationError : public Error {
 public:
  using Error::Error;
};

/// Bits of the directions in which a node is held.
inline constexpr std::uint8_t all_directions = 7;

/// Sums over the body, in the units of the parameters.
struct Energies {
  double kinetic = 0;    ///< of the middle of the last step
  double work = 0;       ///< done on the elements since the start, up to there: kinetic + work is constant
  double elastic = 0;    ///< stored by the stresses, at the begin of the last step
  double hourglass = 0;  ///< work done on the hourglass modes
  double momentum[3] = {};
  double reaction[3] = {};  ///< impulse of what holds the fixed nodes

  double total() const { return kinetic + work; }
};

/// The data of a line of progress.
struct Look {
  Clock clock;
  Energies energies;
};

/// What a state is made of, for files and comparisons. Entries in the order of the arrays' indices.
enum class Field {
  Displacement,      ///< (node, 3)
  Velocity,          ///< (node, 3)
  Force,             ///< (node, 3), of the elements
  Reaction,          ///< (node, 3), impulses
  Mass,              ///< (node)
  VelocityGradient,  ///< (element, 9), of the three functors
  Rotation,          ///< (element, 9)
  Stretch,           ///< (element, 6): xx yy zz xy yz zx
  Stress,            ///< (element, 6), unrotated
  Cauchy,            ///< (element, 6), as seen from outside
  Hourglass,         ///< (element, 3, 4), unrotated
};

class Dynamics {
 public:
  virtual ~Dynamics() = default;

  virtual std::string device() const = 0;
  virtual std::string type() const = 0;
  virtual index_t node_count() const = 0;
  virtual index_t element_count() const = 0;
  virtual const Parameters& parameters() const = 0;

  /// Initial values. Selectors are those of fem/selector.hpp. Fixing a node also stops it there.
  virtual void fix(const std::string& selector, std::uint8_t directions) = 0;
  virtual void set_velocity(const std::string& selector, double x, double y, double z) = 0;
  /// Any of Displacement, Velocity, Rotation, Stretch, Stress, Hourglass.
  virtual void set(Field field, const std::vector<double>& values) = 0;
  virtual std::vector<double> get(Field field) = 0;
  /// Undeformed, (node, 3).
  virtual std::vector<double> coordinates() = 0;
  /// All of the mesh, as writers take it.
  virtual fem::HostMesh mesh() = 0;

  /// Enqueues `steps` steps.
  virtual void advance(index_t steps) = 0;
  /// Not 0: advance() does steps up to a multiple of this number well together, and they are done when it
  /// returns.
  virtual index_t steps_at_once() { return 0; }
  /// Sentences on where the fields are, if not in the device's memory, else nothing.
  virtual std::string storage() const { return {}; }
  /// Bytes of all fields of steps, as the host has them.
  virtual index_t bytes() const = 0;
  /// Of the last run of steps, of fields that go through their device in slices.
  virtual const StreamReport& report() const = 0;
  /// Waits for them.
  virtual void wait() = 0;

  /// Enqueues a look, after the steps so far; to be fetched by seen() before a third one.
  virtual void look() { looks_[looked_++ % 2] = {clock(), energies()}; }
  /// The oldest look that was not fetched. Waits for it, not for what was enqueued after it, so that a
  /// device need not run out of work (the looks of this base class wait for everything).
  virtual Look seen() { return looks_[seen_++ % 2]; }

  /// A step of the elements under a given motion: displacements of its end and velocities during it, (node,
  /// 3).
  virtual void impose(const std::vector<double>& displacement, const std::vector<double>& velocity,
                      double dt) = 0;

  virtual Clock clock() = 0;
  virtual Energies energies() = 0;
  /// The largest stable step of the configuration, before the safety factor.
  virtual double stable_dt() = 0;

  /// The state as bytes, the same for all devices; restore() takes those of a simulation of the same mesh,
  /// type and device kind, and goes on to the same bits. Error when the sizes differ.
  virtual std::vector<char> state() = 0;
  virtual void restore(const std::vector<char>& state) = 0;

 private:
  Look looks_[2];
  std::size_t looked_ = 0, seen_ = 0;
};

}  // namespace strata::inline STRATA_ABI::dynamics
