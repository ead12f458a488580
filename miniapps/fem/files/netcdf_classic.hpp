// NetcdfClassic: a netCDF file of the classic formats (CDF-1, -2 and -5: docs.unidata.ucar.edu/nug, "File
// format specifications") in memory. Exodus II files that are not HDF5 are read through it: netCDF's own
// library takes the counts of a damaged file for what they say, and asks for the memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <strata/miniapps/fem/files/mesh_text.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

class NetcdfClassic {
 public:
  struct Variable {
    std::vector<std::size_t> dimensions;       // their places in the list of the file
    std::map<std::string, std::string> texts;  // attributes of characters
    int type = 0;
    Count values;  // of all dimensions; of one record where the first is the unlimited one
    bool is_record = false;
    Count begin;
  };

  /// Reads the header. MeshError if it is damaged.
  explicit NetcdfClassic(MeshText& text);

  /// 0 if there is none, as Exodus II leaves out dimensions of size 0.
  Count dimension(const std::string& name) const;
  const Variable* find(const std::string& name) const;
  /// All values of a variable that has `number` of them. MeshError if it is not there, or has others.
  std::vector<std::int64_t> integers(const std::string& name, Count number);
  std::vector<double> numbers(const std::string& name, Count number);
  /// The rows of a variable of characters, up to their ends; empty if there is none.
  std::vector<std::string> strings(const std::string& name);

 private:
  Count size();  // as wide as sizes are in this format
  std::string name();
  void read_dimensions();
  std::map<std::string, std::string> read_attributes();
  void read_variables();
  Count list_length(int tag, const char* what);
  const Variable& require(const std::string& name, Count number);

  MeshText& text_;
  int version_ = 1;
  std::vector<Count> dimensions_;
  std::map<std::string, Count> dimensions_by_name_;  // the first of that name
  Count read_;                                       // bytes of variables
  std::map<std::string, Variable> variables_;
};

}  // namespace strata::inline STRATA_ABI::fem::detail
