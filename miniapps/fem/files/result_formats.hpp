// The formats that ResultWriter chooses from. None of them has a thread; the mesh outlives them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <strata/miniapps/fem/files/result_writer.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

class ResultFormat {
 public:
  virtual ~ResultFormat() = default;
  virtual void write(double time, const std::vector<Field>& fields) = 0;
  /// Returns the files.
  virtual std::vector<std::string> finish() = 0;
};

std::unique_ptr<ResultFormat> make_csv_format(const std::string& path, const HostMesh& mesh);
std::unique_ptr<ResultFormat> make_vtu_format(const std::string& path, const HostMesh& mesh);
std::unique_ptr<ResultFormat> make_pvd_format(const std::string& path, const HostMesh& mesh);
std::unique_ptr<ResultFormat> make_exodus_format(const std::string& path, const HostMesh& mesh);
void write_legacy_vtk(const std::string& path, const HostMesh& mesh);

/// The name of one component of a field.
std::string component_name(const Field& field, int component);

}  // namespace strata::inline STRATA_ABI::fem::detail
