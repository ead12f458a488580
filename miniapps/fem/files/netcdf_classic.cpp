// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <strata/miniapps/fem/files/netcdf_classic.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

// Types 1 to 11 of the format: byte, char, short, int, float, double, and of CDF-5 ubyte, ushort, uint,
// int64, uint64.
constexpr std::array<std::size_t, 12> type_bytes = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
constexpr int type_char = 2;
bool is_float(int type) { return type == 5 || type == 6; }
bool is_signed(int type) { return type <= 6 || type == 10; }

constexpr int tag_dimension = 10, tag_variable = 11, tag_attribute = 12;

}  // namespace

NetcdfClassic::NetcdfClassic(MeshText& text) : text_(text) {
  text_.set_big_endian(true);
  text_.skip_bytes(3, 1, "bytes of the header");
  version_ = static_cast<int>(text_.binary_integer(1, false, "the version"));
  size();  // the number of records
  read_dimensions();
  read_attributes();
  read_variables();
}

Count NetcdfClassic::size() {
  // 2^32-1, or 2^64-1, stands for records that are still written: larger than any size here.
  return version_ == 5 ? text_.binary_integer(8, true, "a size") : text_.binary_integer(4, false, "a size");
}

std::string NetcdfClassic::name() {
  const Count length = size();
  const std::size_t begin = text_.position();
  text_.skip_bytes(length, 1, "bytes of a name");
  std::string result = text_.content().substr(begin, length.size());
  text_.skip_bytes((4 - length.value() % 4) % 4, 1, "bytes of a name");
  return result;
}

Count NetcdfClassic::list_length(int tag, const char* what) {
  const std::int64_t found = text_.binary_integer(4, false, what);
  const std::size_t at = text_.word_position();
  const Count length = size();
  if (found != tag && (found != 0 || length != 0)) {
    text_.fail(at, std::string("expected the list of ") + what + "; the file is damaged: write it again");
  }
  text_.expect_room(length, 8, what);
  return length;
}

void NetcdfClassic::read_dimensions() {
  const Count number = list_length(tag_dimension, "dimensions");
  for (std::int64_t k = 0; k < number; ++k) {
    std::string label = name();
    dimensions_.push_back(size());
    dimensions_by_name_.emplace(std::move(label), dimensions_.back());
  }
}

std::map<std::string, std::string> NetcdfClassic::read_attributes() {
  std::map<std::string, std::string> texts;
  const Count number = list_length(tag_attribute, "attributes");
  for (std::int64_t k = 0; k < number; ++k) {
    const std::string label = name();
    const std::int64_t type = text_.binary_integer(4, false, "the type of an attribute");
    if (type < 1 || type > 11) text_.fail("the attribute " + in_quotes(label) + " has an unknown type");
    const Count values = size();
    const Count bytes = type_bytes[static_cast<std::size_t>(type)];
    const std::size_t begin = text_.position();
    text_.skip_bytes(values, bytes, "values of an attribute");
    const std::size_t length = (values * bytes).size();
    if (type == type_char) texts[label] = text_.content().substr(begin, length);
    text_.skip_bytes((4 - length % 4) % 4, 1, "bytes of an attribute");
  }
  return texts;
}

void NetcdfClassic::read_variables() {
  const Count number = list_length(tag_variable, "variables");
  for (std::int64_t k = 0; k < number; ++k) {
    const std::string label = name();
    Variable variable;
    variable.values = 1;
    const Count rank = size();
    text_.expect_room(rank, 4, "dimensions of a variable");
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      const Count id = size();
      if (id >= dimensions_.size()) {
        text_.fail("the variable " + in_quotes(label) + " has a dimension that the file does not have");
      }
      const Count length = dimensions_[id.size()];
      variable.dimensions.push_back(id.size());
      if (axis == 0 && length == 0) {
        variable.is_record = true;
      } else {
        variable.values *= length;
      }
    }
    variable.texts = read_attributes();
    variable.type = static_cast<int>(text_.binary_integer(4, false, "the type of a variable"));
    if (variable.type < 1 || variable.type > 11)
      text_.fail("the variable " + in_quotes(label) + " has an unknown type");
    size();  // in bytes, which the dimensions say as well
    variable.begin = text_.binary_integer(version_ == 1 ? 4 : 8, false, "the place of a variable");
    variables_[label] = std::move(variable);
  }
}

Count NetcdfClassic::dimension(const std::string& label) const {
  const auto found = dimensions_by_name_.find(label);
  return found == dimensions_by_name_.end() ? Count() : found->second;
}

const NetcdfClassic::Variable* NetcdfClassic::find(const std::string& label) const {
  const auto found = variables_.find(label);
  return found == variables_.end() ? nullptr : &found->second;
}

const NetcdfClassic::Variable& NetcdfClassic::require(const std::string& label, Count number) {
  const Variable* variable = find(label);
  if (variable == nullptr)
    text_.fail(0, "the file has no variable " + in_quotes(label) + "; it is no complete Exodus II file");
  if (variable->values != number || variable->is_record) {
    text_.fail(0, "the variable " + in_quotes(label) + " has " + variable->values.text() + " values, not " +
                      number.text() + "; the file is damaged: write it again");
  }
  const Count bytes = number * type_bytes[static_cast<std::size_t>(variable->type)];
  const std::size_t size = text_.content().size();
  if (variable->begin + bytes > size) {
    text_.fail(size,
               "the file ends within the variable " + in_quotes(label) + "; it is truncated: write it again");
  }
  // Each byte belongs to one variable, and each variable is read once.
  read_ += bytes;
  if (read_ > size) {
    text_.fail(variable->begin.size(), "the variable " + in_quotes(label) +
                                           " lies where others do; the file is damaged: write it again");
  }
  text_.seek(variable->begin.size());
  return *variable;
}

std::vector<std::int64_t> NetcdfClassic::integers(const std::string& label, Count number) {
  const Variable& variable = require(label, number);
  if (is_float(variable.type)) text_.fail("the variable " + in_quotes(label) + " should be of integers");
  std::vector<std::int64_t> result(number.size());
  const std::size_t bytes = type_bytes[static_cast<std::size_t>(variable.type)];
  for (std::int64_t& value : result) value = text_.binary_integer(bytes, is_signed(variable.type), "a value");
  return result;
}

std::vector<double> NetcdfClassic::numbers(const std::string& label, Count number) {
  const Variable& variable = require(label, number);
  if (!is_float(variable.type))
    text_.fail("the variable " + in_quotes(label) + " should be of floating-point numbers");
  std::vector<double> result(number.size());
  const std::size_t bytes = type_bytes[static_cast<std::size_t>(variable.type)];
  for (double& value : result) value = text_.binary_number(bytes, "a value of " + label);
  return result;
}

std::vector<std::string> NetcdfClassic::strings(const std::string& label) {
  const Variable* variable = find(label);
  if (variable == nullptr || variable->type != type_char || variable->dimensions.size() != 2) return {};
  const Count rows = dimensions_[variable->dimensions[0]];
  const std::size_t length = dimensions_[variable->dimensions[1]].size();
  require(label, variable->values);
  std::vector<std::string> result;
  if (length == 0) return result;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::string text = text_.content().substr(text_.position(), length);
    text_.skip_bytes(length, 1, "characters");
    result.push_back(text.substr(0, text.find('\0')));
  }
  return result;
}

}  // namespace strata::inline STRATA_ABI::fem::detail
