// Comma-separated values: node,x,y,z and the fields of nodes, one row a node, 17 significant digits, so that
// reading a number gives the same double.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>

#include <strata/miniapps/fem/files/atomic_file.hpp>
#include <strata/miniapps/fem/files/result_formats.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

class CsvFormat : public OneFileFormat {
 public:
  CsvFormat(const std::string& path, const HostMesh& mesh) : OneFileFormat(path), mesh_(mesh) {}

  void write(double, const std::vector<Field>& fields) override {
    AtomicFile file(path_);
    std::string rows = "node,x,y,z";
    for (const Field& field : fields) {
      for (int c = 0; !field.of_elements && c < field.components; ++c) rows += "," + component_name(field, c);
    }
    rows += '\n';
    for (std::size_t node = 0; node < mesh_.coordinates.size(); ++node) {
      rows += std::to_string(mesh_.node_id(static_cast<std::int32_t>(node)));
      for (const double x : mesh_.coordinates[node]) append(rows, x);
      for (const Field& field : fields) {
        const auto components = static_cast<std::size_t>(field.components);
        for (std::size_t c = 0; !field.of_elements && c < components; ++c) {
          append(rows, field.values[components * node + c]);
        }
      }
      rows += '\n';
      if (rows.size() > std::size_t{1} << 20) {
        file.write(rows);
        rows.clear();
      }
    }
    file.write(rows);
    file.commit();
    written_ = true;
  }

 private:
  static void append(std::string& row, double value) {
    std::array<char, 40> digits;
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 17)
            .ptr;
    row += ',';
    row.append(digits.data(), end);
  }

  const HostMesh& mesh_;
};

}  // namespace

std::unique_ptr<ResultFormat> make_csv_format(const std::string& path, const HostMesh& mesh) {
  return std::make_unique<CsvFormat>(path, mesh);
}

std::string component_name(const Field& field, int component) {
  if (field.components == 1) return field.name;
  return field.name +
         (field.components == 3 ? std::string(1, "xyz"[component]) : std::to_string(component + 1));
}

}  // namespace strata::inline STRATA_ABI::fem::detail
