// VTK's XML format of unstructured grids, with raw appended data (https://docs.vtk.org, "VTK file formats"),
// and the .pvd files by which ParaView puts several of them in order of time.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <strata/miniapps/fem/files/atomic_file.hpp>
#include <strata/miniapps/fem/files/result_formats.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

std::string in_digits(double value) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 17).ptr};
}

std::string xml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// The text that xml() was made of.
std::string plain(std::string text) {
  for (const auto& [word, character] : {std::pair{"&lt;", "<"}, {"&quot;", "\""}, {"&amp;", "&"}})
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at)
      text.replace(at, std::strlen(word), character);
  return text;
}

// The text between `begin` and `end`; empty where it is not.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t first = at + begin.size(), last = text.find(end, first);
  return last == std::string::npos ? "" : text.substr(first, last - first);
}

// Header and data are collected in two passes over the same arrays: the header has each array's place in the
// data.
class VtuFile {
 public:
  explicit VtuFile(const HostMesh& mesh) : mesh_(mesh) { make_topology(); }

  void write(const std::string& path, double time, const std::vector<Field>& fields) {
    header_ =
        std::string(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"") +
        (std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian") +
        "\" header_type=\"UInt64\">\n<UnstructuredGrid>\n<FieldData>\n<DataArray type=\"Float64\" "
        "Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">" +
        in_digits(time) + "</DataArray>\n</FieldData>\n<Piece NumberOfPoints=\"" +
        std::to_string(mesh_.coordinates.size()) + "\" NumberOfCells=\"" +
        std::to_string(mesh_.elements.size()) + "\">\n";
    arrays_.clear();
    offset_ = 0;
    section("PointData", [&] {
      array("Int64", "node", 1, node_ids_);
      for (const Field& field : fields) {
        if (!field.of_elements) array("Float64", field.name, field.components, field.values);
      }
    });
    section("CellData", [&] {
      array("Int64", "element", 1, element_ids_);
      array("Int64", "block", 1, blocks_);
      for (const Field& field : fields) {
        if (field.of_elements) array("Float64", field.name, field.components, field.values);
      }
    });
    section("Points", [&] { array("Float64", "Points", 3, mesh_.coordinates); });
    section("Cells", [&] {
      array("Int32", "connectivity", 1, mesh_.elements);
      array("Int64", "offsets", 1, offsets_);
      array("UInt8", "types", 1, types_);
    });
    header_ += "</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_";
    AtomicFile file(path);
    file.write(header_);
    for (const Array& array : arrays_) {
      file.write(&array.bytes, sizeof array.bytes);
      file.write(array.data, array.bytes);
    }
    file.write("\n</AppendedData>\n</VTKFile>\n");
    file.commit();
  }

  /// Why the file at `path` is no state of this mesh as write() makes it; empty: it is.
  std::string difference(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    std::string head, line;
    while (std::getline(file, line) && line != "<AppendedData encoding=\"raw\">") head += line + "\n";
    const auto begin = static_cast<std::uint64_t>(file ? std::int64_t{file.tellg()} + 1 : 0);  // after "_"
    if (begin == 0) return "cannot be read";
    const auto count = [&](const char* name, const char* what, std::size_t own) {
      const std::string found = between(head, std::string(name) + "=\"", "\"");
      return found == std::to_string(own)
                 ? std::string()
                 : "has " + found + " " + what + ", this run has " + std::to_string(own);
    };
    if (std::string other = count("NumberOfPoints", "nodes", mesh_.coordinates.size()); !other.empty())
      return other;
    if (std::string other = count("NumberOfCells", "elements", mesh_.elements.size()); !other.empty())
      return other;
    const auto is_same = [&](const char* name, const auto& values) {
      const std::string of_array = between(head, std::string("Name=\"") + name + "\"", "/>");
      const std::string offset = between(of_array, "offset=\"", "\"");
      const std::uint64_t bytes = values.size() * sizeof values[0];
      std::uint64_t found = 0;
      std::string content(bytes, '\0');
      file.seekg(static_cast<std::streamoff>(begin + std::strtoull(offset.c_str(), nullptr, 10)));
      file.read(reinterpret_cast<char*>(&found), sizeof found);
      file.read(content.data(), static_cast<std::streamsize>(bytes));
      return file && found == bytes && std::memcmp(content.data(), values.data(), bytes) == 0;
    };
    if (!is_same("Points", mesh_.coordinates)) return "has nodes at other places";
    return is_same("connectivity", mesh_.elements) ? "" : "has elements between other nodes";
  }

 private:
  struct Array {
    const void* data;
    std::uint64_t bytes;
  };

  void make_topology() {
    constexpr unsigned char hexahedron = 12;
    const auto nodes = static_cast<std::int32_t>(mesh_.coordinates.size());
    const auto elements = static_cast<std::int32_t>(mesh_.elements.size());
    for (std::int32_t node = 0; node < nodes; ++node) node_ids_.push_back(mesh_.node_id(node));
    for (std::int32_t element = 0; element < elements; ++element) {
      element_ids_.push_back(mesh_.element_id(element));
      const auto block = static_cast<std::size_t>(mesh_.element_blocks[static_cast<std::size_t>(element)]);
      blocks_.push_back(mesh_.blocks[block].id);
      offsets_.push_back(8 * (std::int64_t{element} + 1));
      types_.push_back(hexahedron);
    }
  }

  template <class Content>
  void section(const char* name, Content content) {
    header_ += std::string("<") + name + ">\n";
    content();
    header_ += std::string("</") + name + ">\n";
  }

  template <class Values>
  void array(const char* type, const std::string& name, int components, const Values& values) {
    const std::uint64_t bytes = values.size() * sizeof values[0];
    header_ += std::string("<DataArray type=\"") + type + "\" Name=\"" + xml(name) +
               "\" NumberOfComponents=\"" + std::to_string(components) + "\" format=\"appended\" offset=\"" +
               std::to_string(offset_) + "\"/>\n";
    arrays_.push_back({values.data(), bytes});
    offset_ += sizeof bytes + bytes;
  }

  const HostMesh& mesh_;
  std::vector<std::int64_t> node_ids_, element_ids_, blocks_, offsets_;
  std::vector<unsigned char> types_;
  std::string header_;
  std::vector<Array> arrays_;
  std::uint64_t offset_ = 0;
};

class VtuFormat : public OneFileFormat {
 public:
  VtuFormat(const std::string& path, const HostMesh& mesh) : OneFileFormat(path), file_(mesh) {}

  void write(double time, const std::vector<Field>& fields) override {
    file_.write(path_, time, fields);
    written_ = true;
  }

 private:
  VtuFile file_;
};

class PvdFormat : public ResultFormat {
 public:
  PvdFormat(const std::string& path, const HostMesh& mesh, std::optional<double> from)
      : path_(path), file_(mesh) {
    if (from && std::filesystem::exists(path_)) go_on(*from);
  }

  void write(double time, const std::vector<Field>& fields) override {
    std::string number = std::to_string(states_);
    if (number.size() < 4) number.insert(0, 4 - number.size(), '0');
    const std::filesystem::path path(path_);
    const std::string name = path.stem().string() + "_" + number + ".vtu";
    const std::string full = (path.parent_path() / name).string();
    file_.write(full, time, fields);
    const std::string entry =
        "<DataSet timestep=\"" + in_digits(time) + "\" part=\"0\" file=\"" + xml(name) + "\"/>\n";
    AtomicFile list(path_);
    list.write(head_ + entries_ + entry + "</Collection>\n</VTKFile>\n");
    list.commit();
    entries_ += entry;
    files_.push_back(full);
    ++states_;
  }

  std::vector<std::string> files() const override {
    std::vector<std::string> all;
    if (!files_.empty()) all.push_back(path_);
    all.insert(all.end(), files_.begin(), files_.end());
    return all;
  }

 private:
  // Keeps the entries of earlier times; what is written takes the numbers after them.
  void go_on(double from) {
    std::ifstream old(path_);
    std::string line, begin, last;
    for (int k = 0; k < 3 && std::getline(old, line); ++k) begin += line + "\n";
    if (begin != head_)
      throw MeshFileError("cannot go on with " + path_ +
                          ": it is no list of states as this program writes them; write to another file");
    while (std::getline(old, line)) {
      const std::string time = between(line, "timestep=\"", "\"");
      if (time.empty() || !(std::strtod(time.c_str(), nullptr) < from)) break;
      entries_ += line + "\n";
      ++states_;
      last = between(line, "file=\"", "\"");
    }
    if (states_ == 0) return;
    const std::string state = (std::filesystem::path(path_).parent_path() / plain(last)).string();
    if (const std::string difference = file_.difference(state); !difference.empty())
      throw MeshFileError("cannot go on with " + path_ + ": it is no result of the same mesh (its state " +
                          state + " " + difference + "); write to another file");
  }

  const std::string head_ =
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n<Collection>\n";

  std::string path_;
  VtuFile file_;
  std::string entries_;
  std::size_t states_ = 0;
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<ResultFormat> make_vtu_format(const std::string& path, const HostMesh& mesh) {
  return std::make_unique<VtuFormat>(path, mesh);
}

std::unique_ptr<ResultFormat> make_pvd_format(const std::string& path, const HostMesh& mesh,
                                              std::optional<double> from) {
  return std::make_unique<PvdFormat>(path, mesh, from);
}

}  // namespace strata::inline STRATA_ABI::fem::detail
