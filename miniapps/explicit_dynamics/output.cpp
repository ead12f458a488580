// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

#include <strata/miniapps/explicit_dynamics/output.hpp>

namespace strata::inline STRATA_ABI::dynamics {

namespace {

std::vector<double> von_mises(const std::vector<double>& stress) {
  std::vector<double> result(stress.size() / 6);
  for (std::size_t e = 0; e < result.size(); ++e) {
    const double* s = stress.data() + 6 * e;
    const double a = s[0] - s[1], b = s[1] - s[2], c = s[2] - s[0];
    result[e] = std::sqrt((a * a + b * b + c * c) / 2 + 3 * (s[3] * s[3] + s[4] * s[4] + s[5] * s[5]));
  }
  return result;
}

}  // namespace

Output::Output(const std::string& path, Dynamics& simulation, std::optional<double> from)
    : simulation_(simulation) {
  if (!path.empty()) writer_ = std::make_unique<fem::ResultWriter>(path, simulation.mesh(), from);
}

std::vector<fem::Field> Output::fields() {
  std::vector<double> stress = simulation_.get(Field::Cauchy), mises = von_mises(stress);
  std::vector<fem::Field> fields;
  fields.push_back({"u", 3, false, simulation_.get(Field::Displacement)});
  fields.push_back({"v", 3, false, simulation_.get(Field::Velocity)});
  fields.push_back({"stress", 6, true, std::move(stress)});
  fields.push_back({"mises", 1, true, std::move(mises)});
  return fields;
}

void Output::require_series() {
  if (writer_) writer_->require_series(fields());
}

void Output::write() {
  if (writer_) writer_->write(simulation_.clock().time, fields());
}

void Output::wait() {
  if (writer_) writer_->wait();
}

void Output::finish() {
  if (writer_) static_cast<void>(writer_->finish());
}

std::vector<std::string> Output::files() const {
  return writer_ ? writer_->files() : std::vector<std::string>{};
}

}  // namespace strata::inline STRATA_ABI::dynamics
