// Output: where the temperatures of a run go, by fem::ResultWriter, while the next steps compute.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <strata/miniapps/fem/upload.hpp>

namespace strata::inline STRATA_ABI::fem {
class ResultWriter;
}

namespace strata::inline STRATA_ABI::thermal {

/// Writes states to the file of --output, in the format of its ending; without a name it does nothing.
class Output {
 public:
  /// MeshFileError for an ending that is no format.
  template <class Arrays>
  Output(const std::string& path, const fem::Mesh<Arrays>& mesh) {
    if (!path.empty()) open(path, fem::download(mesh));
  }

  /// The temperature of each node at a time. Errors of writing come with this call, a later one or finish.
  void write(double time, std::vector<double> temperature);
  /// Ends the files.
  void finish();
  const std::vector<std::string>& files() const { return files_; }

 private:
  void open(const std::string& path, fem::HostMesh mesh);

  std::shared_ptr<fem::ResultWriter> writer_;
  std::vector<std::string> files_;
};

}  // namespace strata::inline STRATA_ABI::thermal
