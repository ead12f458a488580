// The format: https://math.nist.gov/MatrixMarket/formats.html. No number that the file states is believed
// before it is compared with the bytes that are left: time and memory are in proportion to the file.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/factorize/sparse_matrix.hpp>
#include <strata/miniapps/fem/text.hpp>

namespace strata::inline STRATA_ABI::factorize {

using fem::in_quotes;
using fem::lower_case;

namespace {

constexpr std::string_view banner = "%%MatrixMarket";
constexpr const char* first_line = "%%MatrixMarket matrix coordinate|array real|integer general|symmetric";

std::string content_of(const std::string& path, std::size_t most) {
  return fem::bytes_of_file(path, most, [&](const std::string& reason) {
    throw InputError("--input " + path + ": the file cannot be read: " + reason +
                     "; the inputs that are no files are spd, random and thermal");
  });
}

// The words of a file, and which line they are in. Lines that begin with % are comments.
class Words {
 public:
  Words(std::string name, const std::string& content) : name_(std::move(name)), rest_(content) {}

  const std::string& name() const { return name_; }
  index_t line() const { return line_; }
  std::size_t remaining() const { return rest_.size() + line_rest_.size(); }
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(name_ + ":" + std::to_string(std::max<index_t>(line_, 1)) + ": " + problem);
  }

  /// To the next line; false: there is none.
  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_rest_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++line_;
    return true;
  }
  /// The next word of the line; empty: there is none.
  std::string_view word_of_line() {
    while (!line_rest_.empty() && fem::is_blank(line_rest_.front())) line_rest_.remove_prefix(1);
    std::size_t end = 0;
    while (end < line_rest_.size() && !fem::is_blank(line_rest_[end])) ++end;
    const std::string_view word = line_rest_.substr(0, end);
    line_rest_.remove_prefix(end);
    return word;
  }
  /// The next word of the file; empty: there is none.
  std::string_view word() {
    while (true) {
      if (const std::string_view word = word_of_line(); !word.empty()) return word;
      do
        if (!next_line()) return {};
      while (!line_rest_.empty() && line_rest_.front() == '%');
    }
  }

 private:
  std::string name_;
  std::string_view rest_, line_rest_;
  index_t line_ = 0;
};

index_t integer(Words& words, std::string_view word, const char* what) {
  index_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size())
    words.fail(std::string("expected ") + what + ", a whole number, and found " + in_quotes(word));
  return value;
}

double number(Words& words, std::string_view word) {
  double value = 0;
  if (!fem::to_number(word, value)) words.fail("expected an element, a number, and found " + in_quotes(word));
  if (!std::isfinite(value)) words.fail("the element " + in_quotes(word) + " is not finite");
  return value;
}

// What the first lines say.
struct Header {
  bool is_coordinate = false, is_symmetric = false;
  index_t order = 0, entries = 0;
  index_t line = 0;  // of the sizes
};

Header read_header(Words& words) {
  words.next_line();
  std::string parts[5];
  for (std::string& part : parts) part = lower_case(words.word_of_line());
  if (parts[0] != lower_case(banner) || parts[1] != "matrix")
    words.fail(std::string("this is no file of MatrixMarket, which begins with ") + first_line);
  Header header;
  header.is_coordinate = parts[2] == "coordinate";
  header.is_symmetric = parts[4] == "symmetric";
  if (!header.is_coordinate && parts[2] != "array")
    words.fail("the format is " + in_quotes(parts[2]) + ": coordinate and array can be read");
  if (parts[3] != "real" && parts[3] != "integer")
    words.fail("the elements are " + in_quotes(parts[3]) + ": real and integer can be read");
  if (!header.is_symmetric && parts[4] != "general")
    words.fail("the matrix is " + in_quotes(parts[4]) + ": general and symmetric can be read");

  const char* const names[] = {"the number of rows", "the number of columns", "the number of entries"};
  index_t sizes[3] = {0, 0, 0};
  for (int k = 0; k < (header.is_coordinate ? 3 : 2); ++k) {
    const std::string_view word = k == 0 ? words.word() : words.word_of_line();
    if (word.empty()) words.fail(std::string("the line of the sizes lacks ") + names[k]);
    sizes[k] = integer(words, word, names[k]);
    if (sizes[k] < 0) words.fail(std::string(names[k]) + " is negative: " + std::to_string(sizes[k]));
  }
  if (!words.word_of_line().empty())
    words.fail(std::string("the line of the sizes has more than ") +
               (header.is_coordinate ? "rows, columns and entries" : "rows and columns"));
  if (sizes[0] != sizes[1])
    words.fail("the matrix has " + std::to_string(sizes[0]) + " rows and " + std::to_string(sizes[1]) +
               " columns: a square one is needed");
  if (sizes[0] == 0) words.fail("the matrix has no rows: at least one is needed");
  if (sizes[0] > index_t{1} << 29) words.fail("a matrix of more than 2^29 rows is too large");
  header.order = sizes[0];
  header.entries = header.is_coordinate  ? sizes[2]
                   : header.is_symmetric ? header.order * (header.order + 1) / 2
                                         : header.order * header.order;
  header.line = words.line();
  // Blanks and digits of each; the last one needs no end of its line.
  const index_t least = header.is_coordinate ? 6 : 2;
  if (header.entries > (static_cast<index_t>(words.remaining()) + 1) / least)
    words.fail(std::to_string(header.entries) +
               " elements are announced, and the file is too short for them: it is cut off, or the sizes are "
               "wrong");
  return header;
}

// The word of an element that was announced.
std::string_view next_word(Words& words, const Header& header, index_t done) {
  const std::string_view word = words.word();
  if (word.empty())
    words.fail("the file ends after " + std::to_string(done) + " of the " + std::to_string(header.entries) +
               " elements that line " + std::to_string(header.line) + " announces");
  return word;
}

void require_end(Words& words, const Header& header) {
  if (const std::string_view word = words.word(); !word.empty())
    words.fail("there is more, " + in_quotes(word) + ", than the " + std::to_string(header.entries) +
               " elements that line " + std::to_string(header.line) + " announces");
}

std::unique_ptr<MatrixInput> read_coordinates(Words& words, const Header& header, const std::string& text) {
  std::vector<SparseEntry> entries;
  entries.reserve(static_cast<std::size_t>(header.entries * (header.is_symmetric ? 2 : 1)));
  const auto index = [&](std::string_view word, const char* what) {
    if (word.empty()) words.fail(std::string("the line of an element lacks ") + what);
    const index_t value = integer(words, word, what);
    if (value < 1 || value > header.order)
      words.fail(std::string(what) + " of an element is " + std::to_string(value) + ", in a matrix of " +
                 std::to_string(header.order) + " rows, which are counted from 1");
    return value - 1;
  };
  for (index_t k = 0; k < header.entries; ++k) {
    const index_t row = index(next_word(words, header, k), "the row");
    const index_t column = index(words.word_of_line(), "the column");
    const std::string_view value = words.word_of_line();
    if (value.empty()) words.fail("the line of an element lacks its value");
    if (header.is_symmetric && column > row)
      words.fail("the element (" + std::to_string(row + 1) + ", " + std::to_string(column + 1) +
                 ") is above the diagonal: symmetric files have those on and below it");
    entries.push_back({row, column, number(words, value), words.line()});
    if (!words.word_of_line().empty())
      words.fail("the line of an element has more than row, column and value");
  }
  require_end(words, header);
  return std::make_unique<SparseMatrix>(header.order, text, words.name(), header.is_symmetric,
                                        std::move(entries));
}

// All elements, column by column, as the file has them; of a symmetric matrix the lower triangle.
class ArrayMatrix final : public MatrixInput {
 public:
  ArrayMatrix(index_t order, std::string text, std::string name, bool is_symmetric,
              std::vector<double> values)
      : MatrixInput(order, std::move(text)),
        name_(std::move(name)),
        is_symmetric_(is_symmetric),
        values_(std::move(values)) {}

  void read(index_t row, index_t first, index_t count, double* values) const override {
    for (index_t k = 0; k < count; ++k) values[k] = value(row, first + k);
  }
  void require_symmetric() const override {
    for (index_t i = 0; !is_symmetric_ && i < order_; ++i)
      for (index_t j = 0; j < i; ++j)
        if (value(i, j) != value(j, i))
          throw InputError(name_ + ": the matrix is not symmetric: the element (" + std::to_string(i + 1) +
                           ", " + std::to_string(j + 1) + ") is " + miniapp::number_text(value(i, j)) +
                           ", (" + std::to_string(j + 1) + ", " + std::to_string(i + 1) + ") is " +
                           miniapp::number_text(value(j, i)) + ": take lu");
  }

 private:
  double value(index_t i, index_t j) const {
    if (!is_symmetric_) return values_[static_cast<std::size_t>(j * order_ + i)];
    const index_t column = std::min(i, j), row = std::max(i, j);
    return values_[static_cast<std::size_t>(column * order_ - column * (column - 1) / 2 + row - column)];
  }

  std::string name_;
  bool is_symmetric_;
  std::vector<double> values_;
};

std::unique_ptr<MatrixInput> read_array(Words& words, const Header& header, const std::string& text) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(header.entries));
  for (index_t k = 0; k < header.entries; ++k) values.push_back(number(words, next_word(words, header, k)));
  require_end(words, header);
  return std::make_unique<ArrayMatrix>(header.order, text, words.name(), header.is_symmetric,
                                       std::move(values));
}

}  // namespace

bool is_matrix_market(const std::string& path) {
  const std::string begin = content_of(path, banner.size());
  return path.ends_with(".mtx") || lower_case(begin) == lower_case(banner);
}

std::unique_ptr<MatrixInput> make_matrix_market(const std::string& path) {
  const std::string content = content_of(path, std::string::npos);
  Words words(path, content);
  const Header header = read_header(words);
  const std::string text = path + ", MatrixMarket";
  return header.is_coordinate ? read_coordinates(words, header, text) : read_array(words, header, text);
}

}  // namespace strata::inline STRATA_ABI::factorize
