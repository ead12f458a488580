// Checkpoints: the state of a simulation in a file, from which a run goes on to the same bits.
//
// A file is written under another name, brought to disk and renamed, so that a run that is killed leaves the
// checkpoint before. It holds what the simulation was (mesh, type, material), which has to be the same for a
// restart, and a checksum. The mesh is identified by a checksum of its coordinates and corners, so that its
// file may have moved. Files are of one kind of machine (byte order).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/miniapps/explicit_dynamics/dynamics.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// A checkpoint cannot be written, read, or used for this simulation; the message names the file and says
/// why.
class CheckpointError : public Error {
 public:
  using Error::Error;
};

/// What of a simulation has to be the same for a restart, one line each. Waits.
std::string describe(Dynamics& simulation);

/// Writes `path`, or leaves what was there. Waits. CheckpointError; SimulationError when the simulation has
/// failed.
void write_checkpoint(const std::string& path, const std::string& description, Dynamics& simulation);

/// CheckpointError unless `path` is a checkpoint, and as long as it has to be: a look before the mesh is
/// read.
void require_checkpoint(const std::string& path);

/// Sets the simulation to the state in `path`. CheckpointError when the file is damaged or of something else;
/// the simulation is as it was then.
void restart(const std::string& path, const std::string& description, Dynamics& simulation);

}  // namespace strata::inline STRATA_ABI::dynamics
