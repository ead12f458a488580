#include <utility>

#include <strata/miniapps/fem/files/result_writer.hpp>
#include <strata/miniapps/thermal/output.hpp>

namespace strata::inline STRATA_ABI::thermal {

void Output::open(const std::string& path, fem::HostMesh mesh) {
  writer_ = std::make_shared<fem::ResultWriter>(path, std::move(mesh));
}

void Output::write(double time, std::vector<double> temperature) {
  if (writer_) writer_->write(time, {{"temperature", 1, false, std::move(temperature)}});
}

void Output::finish() {
  if (writer_) files_ = writer_->finish();
}

}  // namespace strata::inline STRATA_ABI::thermal
