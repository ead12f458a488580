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

std::int64_t NetcdfClassic::size() {
  // 2^32-1, or 2^64-1, stands for records that are still written: larger than any size here.
  return version_ == 5 ? text_.binary_integer(8, true, "a size") : text_.binary_integer(4, false, "a size");
}

std::string NetcdfClassic::name() {
  const std::int64_t length = size();
  const std::size_t begin = text_.position();
  text_.skip_bytes(length, 1, "bytes of a name");
  std::string result = text_.content().substr(begin, static_cast<std::size_t>(length));
  text_.skip_bytes((4 - length % 4) % 4, 1, "bytes of a name");
  return result;
}

std::int64_t NetcdfClassic::list_length(int tag, const char* what) {
  const std::int64_t found = text_.binary_integer(4, false, what);
  const std::size_t at = text_.word_position();
  const std::int64_t length = size();
  if (found != tag && (found != 0 || length != 0)) {
    text_.fail(at, std::string("expected the list of ") + what + "; the file is damaged: write it again");
  }
  text_.expect_room(length, 8, what);
  return length;
}

void NetcdfClassic::read_dimensions() {
  const std::int64_t number = list_length(tag_dimension, "dimensions");
  for (std::int64_t k = 0; k < number; ++k) {
    std::string label = name();
    const std::int64_t length = size();
    if (length < 0) text_.fail("the dimension " + in_quotes(label) + " is negative");
    dimensions_.emplace_back(std::move(label), length);
  }
}

std::map<std::string, std::string> NetcdfClassic::read_attributes() {
  std::map<std::string, std::string> texts;
  const std::int64_t number = list_length(tag_attribute, "attributes");
  for (std::int64_t k = 0; k < number; ++k) {
    const std::string label = name();
    const std::int64_t type = text_.binary_integer(4, false, "the type of an attribute");
    if (type < 1 || type > 11) text_.fail("the attribute " + in_quotes(label) + " has an unknown type");
    const std::int64_t values = size();
    const std::size_t bytes = type_bytes[static_cast<std::size_t>(type)];
    const std::size_t begin = text_.position();
    text_.skip_bytes(values, bytes, "values of an attribute");
    const auto length = static_cast<std::size_t>(values) * bytes;
    if (type == type_char) texts[label] = text_.content().substr(begin, length);
    text_.skip_bytes(static_cast<std::int64_t>((4 - length % 4) % 4), 1, "bytes of an attribute");
  }
  return texts;
}

void NetcdfClassic::read_variables() {
  const std::int64_t number = list_length(tag_variable, "variables");
  for (std::int64_t k = 0; k < number; ++k) {
    const std::string label = name();
    Variable variable;
    variable.values = 1;
    const std::int64_t rank = size();
    text_.expect_room(rank, 4, "dimensions of a variable");
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      const std::int64_t id = size();
      if (id < 0 || static_cast<std::size_t>(id) >= dimensions_.size()) {
        text_.fail("the variable " + in_quotes(label) + " has a dimension that the file does not have");
      }
      const auto& [dimension, length] = dimensions_[static_cast<std::size_t>(id)];
      variable.dimensions.push_back(dimension);
      if (axis == 0 && length == 0) {
        variable.is_record = true;
      } else if (__builtin_mul_overflow(variable.values, length, &variable.values)) {
        text_.fail("the variable " + in_quotes(label) + " has more values than can be counted");
      }
    }
    variable.texts = read_attributes();
    variable.type = static_cast<int>(text_.binary_integer(4, false, "the type of a variable"));
    if (variable.type < 1 || variable.type > 11)
      text_.fail("the variable " + in_quotes(label) + " has an unknown type");
    size();  // in bytes, which the dimensions say as well
    variable.begin = static_cast<std::uint64_t>(
        text_.binary_integer(version_ == 1 ? 4 : 8, false, "the place of a variable"));
    variables_[label] = std::move(variable);
  }
}

std::int64_t NetcdfClassic::dimension(const std::string& label) const {
  for (const auto& [dimension, length] : dimensions_) {
    if (dimension == label) return length;
  }
  return 0;
}

const NetcdfClassic::Variable* NetcdfClassic::find(const std::string& label) const {
  const auto found = variables_.find(label);
  return found == variables_.end() ? nullptr : &found->second;
}

const NetcdfClassic::Variable& NetcdfClassic::require(const std::string& label, std::int64_t number) {
  const Variable* variable = find(label);
  if (variable == nullptr)
    text_.fail(0, "the file has no variable " + in_quotes(label) + "; it is no complete Exodus II file");
  if (variable->values != number || variable->is_record) {
    text_.fail(0, "the variable " + in_quotes(label) + " has " + std::to_string(variable->values) +
                      " values, not " + std::to_string(number) + "; the file is damaged: write it again");
  }
  const std::size_t bytes = type_bytes[static_cast<std::size_t>(variable->type)];
  const std::size_t size = text_.content().size();
  if (variable->begin > size || static_cast<std::uint64_t>(number) > (size - variable->begin) / bytes) {
    text_.fail(size,
               "the file ends within the variable " + in_quotes(label) + "; it is truncated: write it again");
  }
  text_.seek(variable->begin);
  return *variable;
}

std::vector<std::int64_t> NetcdfClassic::integers(const std::string& label, std::int64_t number) {
  const Variable& variable = require(label, number);
  if (is_float(variable.type)) text_.fail("the variable " + in_quotes(label) + " should be of integers");
  std::vector<std::int64_t> result(static_cast<std::size_t>(number));
  const std::size_t bytes = type_bytes[static_cast<std::size_t>(variable.type)];
  for (std::int64_t& value : result) value = text_.binary_integer(bytes, is_signed(variable.type), "a value");
  return result;
}

std::vector<double> NetcdfClassic::numbers(const std::string& label, std::int64_t number) {
  const Variable& variable = require(label, number);
  if (!is_float(variable.type))
    text_.fail("the variable " + in_quotes(label) + " should be of floating-point numbers");
  std::vector<double> result(static_cast<std::size_t>(number));
  const std::size_t bytes = type_bytes[static_cast<std::size_t>(variable.type)];
  for (double& value : result) value = text_.binary_number(bytes, "a value of " + label);
  return result;
}

std::vector<std::string> NetcdfClassic::strings(const std::string& label) {
  const Variable* variable = find(label);
  if (variable == nullptr || variable->type != type_char || variable->dimensions.size() != 2) return {};
  const std::int64_t rows = dimension(variable->dimensions[0]), length = dimension(variable->dimensions[1]);
  require(label, variable->values);
  std::vector<std::string> result;
  if (length == 0) return result;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::string text = text_.content().substr(text_.position(), static_cast<std::size_t>(length));
    text_.skip_bytes(length, 1, "characters");
    result.push_back(text.substr(0, text.find('\0')));
  }
  return result;
}

}  // namespace strata::inline STRATA_ABI::fem::detail
