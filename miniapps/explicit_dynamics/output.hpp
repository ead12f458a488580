// Output: the states of a simulation in files, of the formats of fem/files/result_writer.hpp, written while
// the next steps compute. Fields of nodes: u (displacements), v (velocities); of elements: stress (Cauchy's,
// xx yy zz xy yz zx) and mises (von Mises' equivalent of it).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <strata/miniapps/explicit_dynamics/dynamics.hpp>
#include <strata/miniapps/fem/files/result_writer.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// "bar.csv" and "Serial" make "bar.Serial.csv"; without a suffix it is the path itself.
std::string with_suffix(const std::string& path, const std::string& suffix);

class Output {
 public:
  /// No path: nothing is written. MeshFileError for a format that is not known.
  Output(const std::string& path, const std::string& suffix, Dynamics& simulation);

  /// Adds the present state. Waits for the simulation, not for the file.
  void write();
  /// Waits for the files; throws what went wrong with them.
  void finish();
  const std::vector<std::string>& files() const { return files_; }

 private:
  Dynamics& simulation_;
  std::unique_ptr<fem::ResultWriter> writer_;
  std::vector<std::string> files_;
};

}  // namespace strata::inline STRATA_ABI::dynamics
