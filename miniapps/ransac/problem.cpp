// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>

#include <strata/algorithms/random.hpp>
#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/ransac/problem.hpp>

namespace strata::inline STRATA_ABI::ransac {

using miniapp::UsageError;

namespace {

constexpr std::int32_t width = 640, height = 480;
// Streams of random numbers, by their index.
constexpr index_t of_flow = -1, of_samples = -2;

}  // namespace

FlowModel flow_of(std::uint64_t seed) {
  RandomStream draws(seed, of_flow);
  FlowModel flow;
  flow.centre_x = static_cast<float>(draws.next().uniform<std::int32_t>(width / 4, 3 * width / 4));
  flow.centre_y = static_cast<float>(draws.next().uniform<std::int32_t>(height / 4, 3 * height / 4));
  // Multiples of 2^-10, so that no device rounds.
  flow.dilation = static_cast<float>(draws.next().uniform<std::int32_t>(51, 154)) / 1024;
  flow.rotation = static_cast<float>(draws.next().uniform<std::int32_t>(51, 154)) / 1024;
  flow.exists = true;
  return flow;
}

std::vector<FlowVector> make_vectors(index_t n, std::uint64_t seed) {
  if (n < 2 || n > most_vectors)
    throw UsageError(std::to_string(n) + " vectors: two determine a flow; give 2 to " +
                     std::to_string(most_vectors));
  const FlowModel flow = flow_of(seed);
  std::vector<FlowVector> vectors;
  vectors.reserve(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) {
    RandomStream draws(seed, i);
    const auto below = [&](std::int32_t end) { return draws.next().uniform<std::int32_t>(0, end); };
    FlowVector v{below(width), below(height), 0, 0};
    if (below(2) == 0) {
      const FlowPoint end = moved_by(flow, v.x, v.y);
      v.to_x = end.x + below(3) - 1;
      v.to_y = end.y + below(3) - 1;
    } else {
      v.to_x = below(width);
      v.to_y = below(height);
    }
    vectors.push_back(v);
  }
  return vectors;
}

namespace {

[[noreturn]] void fail_line(const std::string& name, index_t line, const std::string& what) {
  throw UsageError(name + ", line " + std::to_string(line) + ": " + what);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::int32_t coordinate(std::string_view text, const std::string& name, index_t line) {
  const std::string shown = "\"" + std::string(text.substr(0, 40)) + "\"";
  std::int32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  const bool is_number = status == std::errc() || status == std::errc::result_out_of_range;
  if (!is_number || stop != end)
    fail_line(name, line, shown + " is no integer: coordinates are whole points");
  if (status != std::errc() || value > largest_coordinate || value < -largest_coordinate)
    fail_line(name, line,
              shown + " is too large: coordinates are -" + std::to_string(largest_coordinate) + " to " +
                  std::to_string(largest_coordinate) + ", whose products fit 64 bits");
  return value;
}

// The columns of a line; more than four count, too.
std::vector<std::string_view> columns_of(std::string_view text) {
  std::vector<std::string_view> columns;
  while (true) {
    const std::size_t comma = text.find(',');
    columns.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return columns;
    text.remove_prefix(comma + 1);
  }
}

// "x, y, vx, vy": words that begin with a letter, and are not the numbers nan and inf.
bool is_heading(const std::vector<std::string_view>& columns) {
  for (const std::string_view column : columns) {
    if (column.empty()) return false;
    const char first = static_cast<char>(column.front() | 0x20);
    if (first < 'a' || first > 'z') return false;
    if (column.size() >= 3 && (first == 'n' || first == 'i')) {
      std::string word(column.substr(0, 3));
      for (char& letter : word) letter = static_cast<char>(letter | 0x20);
      if (word == "nan" || word == "inf") return false;
    }
  }
  return true;
}

}  // namespace

std::vector<FlowVector> read_vectors(std::istream& stream, const std::string& name) {
  std::vector<FlowVector> vectors;
  bool may_be_heading = true;
  index_t line = 0;
  for (std::string text; std::getline(stream, text);) {
    ++line;
    if (trimmed(text).empty()) continue;
    const std::vector<std::string_view> columns = columns_of(text);
    const bool skipped = may_be_heading && is_heading(columns);
    may_be_heading = false;
    if (columns.size() != 4)
      fail_line(name, line,
                "there are " + std::to_string(columns.size()) +
                    " columns: a vector has four, x,y,x',y': where it begins and where it ends");
    if (skipped) continue;
    if (std::ssize(vectors) == most_vectors)
      fail_line(name, line, "there are more than " + std::to_string(most_vectors) + " vectors: give fewer");
    const auto at = [&](std::size_t c) { return coordinate(columns[c], name, line); };
    vectors.push_back({at(0), at(1), at(2), at(3)});
  }
  if (stream.bad()) throw UsageError(name + " cannot be read");
  if (vectors.size() < 2)
    fail_line(name, line,
              "the file ends after " + std::to_string(vectors.size()) +
                  (vectors.size() == 1 ? " vector" : " vectors") + ": two determine a flow; give at least 2");
  return vectors;
}

std::vector<FlowVector> read_vectors(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError("the file \"" + path + "\" cannot be read");
  return read_vectors(file, "\"" + path + "\"");
}

Problem make_problem(std::vector<FlowVector> vectors, index_t iterations, index_t error, double convergence,
                     std::uint64_t seed) {
  const auto n = static_cast<std::int32_t>(vectors.size());
  if (n < 2) throw UsageError("two vectors determine a flow: give at least 2");
  miniapp::require_between("--iterations", iterations, 1, most_iterations, "iterations");
  if (error < 1 || error > largest_error)
    throw UsageError("--error " + std::to_string(error) +
                     ": points from which on a vector is an outlier, 1 to " + std::to_string(largest_error));
  if (!(convergence > 0 && convergence <= 1))
    throw UsageError("--convergence " + std::to_string(convergence) +
                     ": the share of outliers below which a flow is a candidate, above 0 and at most 1");
  Problem problem;
  problem.vectors = std::move(vectors);
  problem.error = static_cast<std::int32_t>(error);
  problem.limit = static_cast<std::int32_t>(std::ceil(convergence * n));
  RandomStream draws(seed, of_samples);
  problem.samples.reserve(static_cast<std::size_t>(2 * iterations));
  for (index_t k = 0; k < 2 * iterations; ++k)
    problem.samples.push_back(draws.next().uniform<std::int32_t>(0, n));
  return problem;
}

}  // namespace strata::inline STRATA_ABI::ransac
