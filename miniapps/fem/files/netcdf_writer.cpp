// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>
#include <fstream>
#include <map>

#include <strata/miniapps/fem/files/netcdf_writer.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

template <class Value>
void put(std::string& bytes, Value value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  for (std::size_t k = 0; k < sizeof value; ++k) {
    bytes += raw[std::endian::native == std::endian::little ? sizeof value - 1 - k : k];
  }
}

void put_integer(std::string& bytes, std::int64_t value) { put(bytes, static_cast<std::int32_t>(value)); }

void pad(std::string& bytes) { bytes.resize((bytes.size() + 3) / 4 * 4); }

void put_name(std::string& bytes, const std::string& name) {
  put_integer(bytes, static_cast<std::int64_t>(name.size()));
  bytes += name;
  pad(bytes);
}

void put_text(std::string& bytes, const std::string& name, const std::string& text) {
  put_name(bytes, name);
  put_integer(bytes, static_cast<int>(NetcdfWriter::Type::Characters));
  put_name(bytes, text);
}

constexpr std::int64_t tag_dimension = 10, tag_variable = 11, tag_attribute = 12;

void put_list(std::string& bytes, std::int64_t tag, std::int64_t length) {
  put_integer(bytes, length == 0 ? 0 : tag);
  put_integer(bytes, length);
}

}  // namespace

std::string NetcdfBytes::integers(const std::vector<std::int64_t>& values) {
  std::string bytes;
  bytes.reserve(4 * values.size());
  for (const std::int64_t value : values) put_integer(bytes, value);
  return bytes;
}

std::string NetcdfBytes::number(double value) { return numbers(&value, 1, 0, 1); }

std::string NetcdfBytes::numbers(const double* values, std::size_t count, std::size_t first,
                                 std::size_t stride) {
  std::string bytes;
  bytes.reserve(8 * count);
  for (std::size_t k = 0; k < count; ++k) put(bytes, values[first + k * stride]);
  return bytes;
}

std::string NetcdfBytes::strings(const std::vector<std::string>& texts, std::size_t length) {
  std::string bytes;
  for (const std::string& text : texts) {
    bytes += text.substr(0, length - 1);
    bytes.resize((bytes.size() / length + 1) * length);
  }
  return bytes;
}

void NetcdfWriter::add_attribute(const std::string& name, const std::string& text) {
  put_text(attributes_, name, text);
  ++number_of_attributes_;
}

void NetcdfWriter::add_attribute(const std::string& name, std::int32_t value) {
  put_name(attributes_, name);
  for (const std::int64_t word : {4, 1}) put_integer(attributes_, word);  // one int
  put_integer(attributes_, value);
  ++number_of_attributes_;
}

void NetcdfWriter::add_attribute(const std::string& name, float value) {
  put_name(attributes_, name);
  for (const std::int64_t word : {5, 1}) put_integer(attributes_, word);  // one float
  put(attributes_, value);
  ++number_of_attributes_;
}

void NetcdfWriter::add_dimension(const std::string& name, std::int64_t length) {
  dimensions_.emplace_back(name, length);
}

std::size_t NetcdfWriter::place(const std::string& dimension) const {
  std::size_t k = 0;
  while (dimensions_.at(k).first != dimension) ++k;
  return k;
}

std::uint64_t NetcdfWriter::bytes_of(const std::vector<std::string>& dimensions, Type type) const {
  std::uint64_t bytes = type == Type::Characters ? 1 : type == Type::Integer ? 4 : 8;
  for (const std::string& name : dimensions)
    bytes *= static_cast<std::uint64_t>(dimensions_[place(name)].second);
  return (bytes + 3) / 4 * 4;
}

void NetcdfWriter::add(const std::string& name, Type type, std::vector<std::string> dimensions,
                       std::function<std::string()> values, Texts texts) {
  const std::uint64_t bytes = bytes_of(dimensions, type);
  variables_.push_back(
      {name, type, std::move(dimensions), std::move(values), std::move(texts), false, bytes});
}

void NetcdfWriter::add_record(const std::string& name, std::vector<std::string> dimensions) {
  const std::uint64_t bytes = bytes_of(dimensions, Type::Number);
  variables_.push_back({name, Type::Number, std::move(dimensions), nullptr, {}, true, bytes});
}

std::string NetcdfWriter::header(std::uint64_t data_begin) const {
  std::string bytes("CDF\x02", 4);
  put_integer(bytes, records_);
  put_list(bytes, tag_dimension, static_cast<std::int64_t>(dimensions_.size()));
  for (const auto& [name, length] : dimensions_) {
    put_name(bytes, name);
    put_integer(bytes, length);
  }
  put_list(bytes, tag_attribute, number_of_attributes_);
  bytes += attributes_;
  put_list(bytes, tag_variable, static_cast<std::int64_t>(variables_.size()));
  std::uint64_t records_begin = data_begin;
  for (const Variable& variable : variables_) records_begin += variable.is_record ? 0 : variable.bytes;
  for (const Variable& variable : variables_) {
    put_name(bytes, variable.name);
    put_integer(bytes, static_cast<std::int64_t>(variable.dimensions.size()) + (variable.is_record ? 1 : 0));
    if (variable.is_record) put_integer(bytes, static_cast<std::int64_t>(place("time_step")));
    for (const std::string& name : variable.dimensions)
      put_integer(bytes, static_cast<std::int64_t>(place(name)));
    put_list(bytes, tag_attribute, static_cast<std::int64_t>(variable.texts.size()));
    for (const auto& [name, text] : variable.texts) put_text(bytes, name, text);
    put_integer(bytes, static_cast<int>(variable.type));
    put(bytes, static_cast<std::uint32_t>(variable.bytes));
    std::uint64_t& begin = variable.is_record ? records_begin : data_begin;
    put(bytes, begin);
    begin += variable.bytes;
  }
  return bytes;
}

void NetcdfWriter::require_sizes(const std::string& name) const {
  for (const Variable& variable : variables_) {
    if (variable.bytes > 0xfffffffcu) {
      throw MeshFileError("cannot write " + name + ": its variable " + variable.name + " would have " +
                          std::to_string(variable.bytes) +
                          " bytes, and the format allows 4294967292; write .vtu or .pvd files");
    }
  }
}

void NetcdfWriter::write_fixed(const std::function<void(const std::string&)>& write) const {
  write(header());
  for (const Variable& variable : variables_) {
    if (variable.is_record) continue;
    std::string values = variable.values();
    pad(values);
    write(values);
  }
}

void NetcdfWriter::begin(const std::string& path) {
  require_sizes(path);
  file_ = std::make_unique<AtomicFile>(path);
  write_fixed([this](const std::string& bytes) { file_->write(bytes); });
}

void NetcdfWriter::write_to(const std::string& name,
                            const std::function<void(const std::string&)>& write) const {
  require_sizes(name);
  write_fixed(write);
}

std::uint64_t NetcdfWriter::record_bytes() const {
  std::uint64_t bytes = 0;
  for (const Variable& variable : variables_) bytes += variable.is_record ? variable.bytes : 0;
  return bytes;
}

namespace {

std::int64_t read_integer(std::istream& file) {
  unsigned char raw[4] = {};
  file.read(reinterpret_cast<char*>(raw), sizeof raw);
  return file ? std::int64_t{raw[0]} << 24 | raw[1] << 16 | raw[2] << 8 | raw[3] : -1;
}

// The dimensions of a file as this program writes it; none of another file.
std::map<std::string, std::int64_t> dimensions_in(std::istream& file) {
  constexpr std::int64_t most = 4096;  // of dimensions, and of characters of a name
  char begin[8];
  file.clear();
  file.seekg(0);
  if (!file.read(begin, sizeof begin) || std::memcmp(begin, "CDF\x02", 4) != 0) return {};
  if (read_integer(file) != tag_dimension) return {};
  std::map<std::string, std::int64_t> dimensions;
  const std::int64_t count = read_integer(file);
  for (std::int64_t k = 0; k < count && count <= most; ++k) {
    const std::int64_t size = read_integer(file);
    if (size < 0 || size > most) return {};
    std::string name(static_cast<std::size_t>((size + 3) / 4 * 4), '\0');
    file.read(name.data(), static_cast<std::streamsize>(name.size()));
    name.resize(static_cast<std::size_t>(size));
    const std::int64_t length = read_integer(file);
    if (!file) return {};
    dimensions[name] = length;
  }
  return dimensions;
}

}  // namespace

std::string NetcdfWriter::difference_of_dimensions(std::istream& old) const {
  const std::map<std::string, std::int64_t> found = dimensions_in(old);
  if (found.empty()) return "it is no Exodus II file as this program writes it";
  const std::pair<const char*, const char*> words[] = {{"num_nodes", "nodes"}, {"num_elem", "elements"}};
  for (const auto& [name, word] : words) {
    const auto there = found.find(name);
    const std::int64_t own = dimensions_[place(name)].second;
    if (there != found.end() && there->second != own)
      return "it has " + std::to_string(there->second) + " " + word + ", this run has " + std::to_string(own);
  }
  for (const auto& [name, length] : dimensions_) {
    const auto there = found.find(name);
    if (there == found.end()) return "it has no " + name;
    if (there->second != length)
      return "its " + name + " is " + std::to_string(there->second) + ", that of this run is " +
             std::to_string(length);
  }
  return found.size() == dimensions_.size() ? "" : "it has more sets or fields than this run";
}

NetcdfWriter::Series NetcdfWriter::require_same(const std::string& path, std::istream& old) const {
  std::uint64_t place = 0;
  std::string found;
  // If the dimensions differ, they are reported.
  const auto expect = [&](const std::string& wanted, std::size_t any_at, const std::string& what) {
    found.resize(wanted.size());
    old.read(found.data(), static_cast<std::streamsize>(found.size()));
    place += wanted.size();
    bool same = static_cast<bool>(old);
    for (std::size_t k = 0; same && k < wanted.size(); ++k)
      same = found[k] == wanted[k] || (k >= any_at && k < any_at + 4);
    if (same) return;
    const std::string difference = difference_of_dimensions(old);
    throw MeshFileError("cannot go on with " + path + ": it is no result of the same mesh with the same " +
                        "fields (" + (difference.empty() ? what : difference) + "); write to another file");
  };
  const std::string wanted = header();
  expect(wanted, 4, "its fields or sets are others");
  Series series;
  for (std::size_t k = 4; k < 8; ++k) series.count = series.count << 8 | static_cast<unsigned char>(found[k]);
  for (const Variable& variable : variables_) {
    if (variable.is_record) continue;
    std::string values = variable.values();
    pad(values);
    expect(values, values.size(), "the values of its " + variable.name + " are others");
  }
  series.begin = place;
  old.seekg(0, std::ios::end);
  series.size = static_cast<std::uint64_t>(old.tellg());
  return series;
}

void NetcdfWriter::require_same(const std::string& path) const {
  std::ifstream old(path, std::ios::binary);
  static_cast<void>(require_same(path, old));
}

void NetcdfWriter::go_on(const std::string& path, double before) {
  std::ifstream old(path, std::ios::binary);
  auto [begin, size, count] = require_same(path, old);
  const std::uint64_t bytes = record_bytes();
  const std::uint64_t whole = bytes > 0 && size > begin ? (size - begin) / bytes : 0;
  if (whole < static_cast<std::uint64_t>(count)) count = static_cast<std::int64_t>(whole);  // cut short
  for (records_ = 0; records_ < count; ++records_) {
    old.seekg(static_cast<std::streamoff>(begin + static_cast<std::uint64_t>(records_) * bytes));
    char found[8], raw[8];
    if (!old.read(found, sizeof found)) break;
    for (std::size_t k = 0; k < 8; ++k)
      raw[std::endian::native == std::endian::little ? 7 - k : k] = found[k];
    double time = 0;
    std::memcpy(&time, raw, sizeof time);
    if (!(time < before)) break;
  }
  // First the count: a program that is killed between the two leaves records that are not counted, rather
  // than a count of records that are not there.
  file_ = std::make_unique<AtomicFile>(path, static_cast<std::size_t>(size));
  write_count();
  file_->shorten(static_cast<std::size_t>(begin + static_cast<std::uint64_t>(records_) * bytes));
}

void NetcdfWriter::write_count() {
  std::string number;
  put_integer(number, records_);
  file_->overwrite(4, number.data(), number.size());
  file_->keep();
}

void NetcdfWriter::write_record(const std::vector<std::string>& values) {
  for (const std::string& value : values) file_->write(value);
  // A program that is killed between the two leaves a record that is not counted, which no reader minds. The
  // first record comes with its count, as the file has no name before.
  if (records_ > 0) file_->keep();
  ++records_;
  write_count();
}

void NetcdfWriter::finish() {
  write_count();
  file_->commit();
  file_.reset();
}

}  // namespace strata::inline STRATA_ABI::fem::detail
