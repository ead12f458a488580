// ResultWriter: writes the fields of a run on a thread of its own, while the next steps compute. The name
// says the format:
//   .csv         node numbers, coordinates and fields of nodes of the last state, with 17 digits
//   .vtu         the last state, for ParaView and VTK
//   .pvd         all states: NAME_0000.vtu, NAME_0001.vtu ... and NAME.pvd, which lists them with their times
//   .e .exo .g   all states in one Exodus II file, with the sets of the mesh
// Every file is written under another name and renamed when it is complete; an Exodus II file, with its first
// state. After every state all files are whole, whatever happens to the run then, and a series can go on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <strata/miniapps/fem/host_mesh.hpp>

namespace strata::inline STRATA_ABI::fem {

/// Values of nodes or elements. Three components are called NAMEx, NAMEy, NAMEz where a format has no
/// vectors, two or more than three NAME1, NAME2 ...
struct Field {
  std::string name;
  int components = 1;
  bool of_elements = false;
  std::vector<double> values;  // the components of one node or element side by side
};

/// One thread may use a writer at a time.
class ResultWriter {
 public:
  /// A new series, or, with a time in `from`, one that goes on with what is at `path`: its states before that
  /// time stay, later ones make room. MeshFileError if the format is not known, if another writer has the
  /// name (the message says which process on which host), or if the file at `path` is of something else
  /// (Exodus II: thrown by require_series(), or as by write()).
  ResultWriter(std::string path, HostMesh mesh, std::optional<double> from = {});
  /// Waits; errors are lost.
  ~ResultWriter();
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  /// A look before anything is computed, and before the first write(): MeshFileError that says what differs,
  /// where a series that is to go on is of another mesh or of other fields than these. Values do not matter.
  void require_series(const std::vector<Field>& fields);
  /// Queues the state at `time`; waits only while two others are queued. Fields must be the same ones at all
  /// times. MeshError if a field has not as many values as the mesh needs; an error of a state before is
  /// thrown here and by every later call.
  void write(double time, std::vector<Field> fields);
  /// Waits until everything that is queued is in its files. Throws as write() does.
  void wait();
  /// Waits until everything is written; returns the files. Throws as write() does.
  std::vector<std::string> finish();
  /// The files that this writer has written so far, whole, also after an error. Waits.
  std::vector<std::string> files();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
  std::vector<std::string> finished_;
};

/// Writes one state and returns the files.
std::vector<std::string> write_result(const std::string& path, const HostMesh& mesh, double time,
                                      std::vector<Field> fields);

/// Writes a mesh with its blocks and sets: Exodus II (.e .exo .g) or legacy VTK (.vtk). MeshFileError
/// otherwise.
void write_mesh(const std::string& path, const HostMesh& mesh);

/// Throws MeshFileError unless the format of `path` is known, its folder takes a file, and nobody writes it:
/// for a look before the hours that lead to the first state.
void require_writable(const std::string& path);

/// The formats of ResultWriter, for help texts.
std::string_view writable_formats();

}  // namespace strata::inline STRATA_ABI::fem
