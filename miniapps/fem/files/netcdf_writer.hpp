// NetcdfWriter: writes a netCDF file of the classic format CDF-2 (docs.unidata.ucar.edu/nug, "File format
// specifications"): first all dimensions and variables are named, then fixed values are written once, and
// records one after the other. The file has its name from the first record on, and is whole after each: its
// count of records is changed when a record is there.
//
// Not thread safe. MeshFileError if the file cannot be written, or if a variable is too large for the format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <strata/miniapps/fem/files/atomic_file.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

/// Values as bytes of the file.
class NetcdfBytes {
 public:
  static std::string integers(const std::vector<std::int64_t>& values);  // of 32 bits
  static std::string number(double value);
  /// Every `stride`th of `values`, from `first` on.
  static std::string numbers(const double* values, std::size_t count, std::size_t first, std::size_t stride);
  /// Rows of `length` characters; longer texts are cut.
  static std::string strings(const std::vector<std::string>& texts, std::size_t length);
};

class NetcdfWriter {
 public:
  enum class Type { Characters = 2, Integer = 4, Number = 6 };
  using Texts = std::vector<std::pair<std::string, std::string>>;

  void add_attribute(const std::string& name, const std::string& text);
  void add_attribute(const std::string& name, std::int32_t value);
  void add_attribute(const std::string& name, float value);
  /// Length 0 is that of the records.
  void add_dimension(const std::string& name, std::int64_t length);
  /// A variable of fixed values, which `values` gives as bytes once; in the form of NetcdfBytes.
  void add(const std::string& name, Type type, std::vector<std::string> dimensions,
           std::function<std::string()> values, Texts texts = {});
  /// A variable of numbers with one row of `dimensions` in every record.
  void add_record(const std::string& name, std::vector<std::string> dimensions);

  /// Writes the header and the fixed values.
  void begin(const std::string& path);
  /// Hands on the bytes of a whole file without records; `name` stands in messages.
  void write_to(const std::string& name, const std::function<void(const std::string&)>& write) const;
  /// Goes on with a file that has the same header and fixed values; of its records stay those from the
  /// first on whose first number is less than `before`, and of a file that was cut short those that are
  /// whole. MeshFileError, as of require_same(), if it is another file.
  void go_on(const std::string& path, double before);
  /// MeshFileError that says what differs, unless the file at `path` has the same header and fixed values.
  void require_same(const std::string& path) const;
  /// Writes the values of all record variables, in the order in which they were added.
  void write_record(const std::vector<std::string>& values);
  /// Completes the file.
  void finish();

 private:
  struct Variable {
    std::string name;
    Type type;
    std::vector<std::string> dimensions;
    std::function<std::string()> values;
    Texts texts;
    bool is_record;
    std::uint64_t bytes;  // of one record where it has records; a multiple of 4
  };

  // What a file has that is gone on with: where its records begin, its bytes, and how many records it counts.
  struct Series {
    std::uint64_t begin = 0, size = 0;
    std::int64_t count = 0;
  };

  Series require_same(const std::string& path, std::istream& old) const;
  std::string difference_of_dimensions(std::istream& old) const;
  std::uint64_t bytes_of(const std::vector<std::string>& dimensions, Type type) const;
  void require_sizes(const std::string& name) const;
  void write_fixed(const std::function<void(const std::string&)>& write) const;
  std::string header(std::uint64_t data_begin) const;
  std::string header() const { return header(header(0).size()); }
  std::uint64_t record_bytes() const;
  void write_count();
  std::size_t place(const std::string& dimension) const;

  std::vector<std::pair<std::string, std::int64_t>> dimensions_;
  std::string attributes_;
  std::int64_t number_of_attributes_ = 0;
  std::vector<Variable> variables_;
  std::unique_ptr<AtomicFile> file_;
  std::int64_t records_ = 0;
};

}  // namespace strata::inline STRATA_ABI::fem::detail
