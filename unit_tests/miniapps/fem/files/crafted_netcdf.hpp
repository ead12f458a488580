// A netCDF file of a classic format, byte by byte, so that it may say what no library would write.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fem_files_testing {

class CraftedNetcdf {
 public:
  enum Type { Characters = 2, Integers = 4, Doubles = 6 };

  explicit CraftedNetcdf(int version) : version_(version) {}

  std::int64_t add_dimension(const std::string& name, std::int64_t length) {
    dimensions_.emplace_back(name, length);
    return static_cast<std::int64_t>(dimensions_.size()) - 1;
  }
  /// The values are the bytes `data`, or those of the variable before where there are none.
  void add(const std::string& name, Type type, const std::vector<std::int64_t>& dimensions,
           const std::string& data, const std::string& elem_type = "") {
    variables_.push_back({name, elem_type, dimensions, data, type});
  }

  std::string bytes() const {
    std::string result = header(header(0).size());
    for (const Variable& variable : variables_) result += variable.data;
    return result;
  }

  static std::string integers(const std::vector<std::int64_t>& values) {
    std::string result;
    for (const std::int64_t value : values) put(result, value, 4);
    return result;
  }
  /// Zeros: of doubles or characters.
  static std::string zeros(std::size_t bytes) { return std::string(bytes, '\0'); }

 private:
  struct Variable {
    std::string name, elem_type;
    std::vector<std::int64_t> dimensions;
    std::string data;
    Type type;
  };

  static void put(std::string& bytes, std::int64_t value, int width) {
    for (int shift = 8 * (width - 1); shift >= 0; shift -= 8)
      bytes += static_cast<char>(value >> shift & 255);
  }
  void put_size(std::string& bytes, std::int64_t value) const { put(bytes, value, version_ == 5 ? 8 : 4); }
  void put_text(std::string& bytes, const std::string& text) const {
    put_size(bytes, static_cast<std::int64_t>(text.size()));
    bytes += text;
    bytes.resize((bytes.size() + 3) / 4 * 4);
  }
  void put_list(std::string& bytes, int tag, std::size_t length) const {
    put(bytes, length == 0 ? 0 : tag, 4);
    put_size(bytes, static_cast<std::int64_t>(length));
  }

  std::string header(std::size_t place) const {
    std::string bytes = std::string("CDF") + static_cast<char>(version_);
    put_size(bytes, 0);  // records
    put_list(bytes, 10, dimensions_.size());
    for (const auto& [name, length] : dimensions_) {
      put_text(bytes, name);
      put_size(bytes, length);
    }
    put_list(bytes, 12, 0);  // attributes of the file
    put_list(bytes, 11, variables_.size());
    std::size_t begin = place;
    for (const Variable& variable : variables_) {
      put_text(bytes, variable.name);
      put_size(bytes, static_cast<std::int64_t>(variable.dimensions.size()));
      for (const std::int64_t dimension : variable.dimensions) put_size(bytes, dimension);
      put_list(bytes, 12, variable.elem_type.empty() ? 0 : 1);
      if (!variable.elem_type.empty()) {
        put_text(bytes, "elem_type");
        put(bytes, Characters, 4);
        put_text(bytes, variable.elem_type);
      }
      put(bytes, variable.type, 4);
      put_size(bytes, 0);  // in bytes, which readers take from the dimensions
      if (!variable.data.empty()) begin = place;
      put(bytes, static_cast<std::int64_t>(begin), version_ == 1 ? 4 : 8);
      place += variable.data.size();
    }
    return bytes;
  }

  int version_;
  std::vector<std::pair<std::string, std::int64_t>> dimensions_;
  std::vector<Variable> variables_;
};

}  // namespace fem_files_testing
