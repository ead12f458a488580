// Output: the states of a simulation in files, of the formats of fem/files/result_writer.hpp, written while
// the next steps compute. Fields of nodes: u (displacements), v (velocities); of elements: stress (Cauchy's,
// xx yy zz xy yz zx) and mises (von Mises' equivalent of it).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <strata/miniapps/explicit_dynamics/dynamics.hpp>
#include <strata/miniapps/fem/files/result_writer.hpp>

namespace strata::inline STRATA_ABI::dynamics {

class Output {
 public:
  /// No path: nothing is written. A run that goes on at a time (`from`) goes on with the series there.
  /// MeshFileError for a format that is not known.
  Output(const std::string& path, Dynamics& simulation, std::optional<double> from);

  /// MeshFileError where the series to go on with is of another mesh: a look before the first write().
  void require_series();
  /// Adds the present state. Waits for the simulation, not for the file.
  void write();
  /// Waits for the files; throws what went wrong with them.
  void wait();
  void finish();
  /// What was written, whole, also after an error.
  std::vector<std::string> files() const;

 private:
  std::vector<fem::Field> fields();

  Dynamics& simulation_;
  std::unique_ptr<fem::ResultWriter> writer_;
};

}  // namespace strata::inline STRATA_ABI::dynamics
