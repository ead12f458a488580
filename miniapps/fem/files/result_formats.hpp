// The formats that ResultWriter chooses from. None of them has a thread; the mesh outlives them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <strata/miniapps/fem/files/result_writer.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

class ResultFormat {
 public:
  virtual ~ResultFormat() = default;
  /// What was written before is still there when it fails.
  virtual void write(double time, const std::vector<Field>& fields) = 0;
  /// MeshFileError where a series that is to go on is of another mesh or other fields. Before the first
  /// write().
  virtual void require_series(const std::vector<Field>& fields) { static_cast<void>(fields); }
  /// Completes the files.
  virtual void finish() {}
  /// Those that are there.
  virtual std::vector<std::string> files() const = 0;
};

/// A format of one file, which is there from the first complete write on.
class OneFileFormat : public ResultFormat {
 public:
  explicit OneFileFormat(const std::string& path) : path_(path) {}
  std::vector<std::string> files() const final {
    return written_ ? std::vector{path_} : std::vector<std::string>{};
  }

 protected:
  std::string path_;
  bool written_ = false;
};

std::unique_ptr<ResultFormat> make_csv_format(const std::string& path, const HostMesh& mesh);
std::unique_ptr<ResultFormat> make_vtu_format(const std::string& path, const HostMesh& mesh);
/// Formats of series, which go on with one that is at `path` where `from` has a time.
std::unique_ptr<ResultFormat> make_pvd_format(const std::string& path, const HostMesh& mesh,
                                              std::optional<double> from = {});
std::unique_ptr<ResultFormat> make_exodus_format(const std::string& path, const HostMesh& mesh,
                                                 std::optional<double> from = {});
void write_legacy_vtk(const std::string& path, const HostMesh& mesh);

/// The name of one component of a field.
std::string component_name(const Field& field, int component);

}  // namespace strata::inline STRATA_ABI::fem::detail
