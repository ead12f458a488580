// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <limits>

#include <strata/miniapps/fem/mesh_error.hpp>
#include <strata/miniapps/fem/selector.hpp>
#include <strata/miniapps/fem/text.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace {

using Comparison = Condition::Comparison;

constexpr const char* form =
    "write x, y or z, then <=, >=, <, > or ==, then a number, or min or max with a number added or taken "
    "away, such as x<=min+2; join several by &";

[[noreturn]] void fail_condition(std::string_view whole, std::string_view part, const char* why) {
  throw MeshError("the selector \"" + std::string(whole) + "\": in \"" + std::string(part) + "\" " + why +
                  "; " + form);
}

// A number with an optional sign, + included, which from_chars does not take.
double parse_offset(std::string_view whole, std::string_view part, std::string_view text) {
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text = trimmed(text.substr(1));
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value, std::chars_format::general);
  if (error != std::errc() || stopped != end || text.starts_with('-') || value - value != 0)
    fail_condition(whole, part, "no number follows the comparison");
  return negative ? -value : value;
}

Condition parse_condition(std::string_view whole, std::string_view part) {
  Condition condition;
  std::string_view rest = trimmed(part);
  if (rest.empty() || rest[0] < 'x' || rest[0] > 'z')
    fail_condition(whole, part, "the coordinate is none of x, y and z");
  condition.direction = rest[0] - 'x';
  rest = trimmed(rest.substr(1));
  const auto take = [&](std::string_view sign, Comparison comparison) {
    if (!rest.starts_with(sign)) return false;
    condition.comparison = comparison;
    rest = trimmed(rest.substr(sign.size()));
    return true;
  };
  if (!take("<=", Comparison::LessEqual) && !take(">=", Comparison::GreaterEqual) &&
      !take("==", Comparison::Equal) && !take("<", Comparison::Less) && !take(">", Comparison::Greater))
    fail_condition(whole, part, "no comparison follows the coordinate");
  if (rest.starts_with("min")) condition.from = Condition::From::Minimum;
  else if (rest.starts_with("max")) condition.from = Condition::From::Maximum;
  if (condition.from != Condition::From::Zero) {
    rest = trimmed(rest.substr(3));
    if (rest.empty()) return condition;
    if (rest[0] != '+' && rest[0] != '-')
      fail_condition(whole, part, "what follows min or max begins with neither + nor -");
  }
  condition.offset = parse_offset(whole, part, rest);
  return condition;
}

std::string list_of_sets(const std::vector<std::pair<std::int64_t, std::string>>& sets) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t k = 0; k < sets.size() && k < most; ++k) {
    text += k > 0 ? ", " : "";
    text += sets[k].second.empty() ? std::to_string(sets[k].first) : sets[k].second;
  }
  if (sets.size() > most) text += " and " + std::to_string(sets.size() - most) + " more";
  return sets.empty() ? "none" : text;
}

}  // namespace

bool is_comparison(std::string_view text) {
  return text.find_first_of("<>") != std::string_view::npos || text.find("==") != std::string_view::npos;
}

std::vector<Condition> parse_conditions(std::string_view text) {
  std::vector<Condition> conditions;
  for (std::string_view rest = text;;) {
    const std::size_t end = rest.find('&');
    conditions.push_back(parse_condition(text, rest.substr(0, end)));
    if (end == std::string_view::npos) return conditions;
    rest.remove_prefix(end + 1);
  }
}

std::pair<std::string, std::string> split_setting(std::string_view text) {
  for (std::size_t at = text.size(); at-- > 0;) {
    if (text[at] != '=') continue;
    const char before = at > 0 ? text[at - 1] : ' ';
    if (before == '<' || before == '>') continue;
    if (before == '=') {  // the second of ==
      --at;
      continue;
    }
    return {std::string(trimmed(text.substr(0, at))), std::string(trimmed(text.substr(at + 1)))};
  }
  return {std::string(trimmed(text)), std::string()};
}

void fail_no_set(const std::string& name, const SetNames& sets) {
  throw MeshError("the mesh " + sets.mesh + " has no set \"" + name + "\"; its side sets: " +
                  list_of_sets(sets.side_sets) + "; its node sets: " + list_of_sets(sets.node_sets) +
                  "; other selectors are `all` and comparisons such as x<=min+2");
}

void fail_empty_selection(const std::string& selector, const char* what, const std::string& source) {
  throw MeshError("the selector \"" + selector + "\" names no " + what + " of the mesh " + source +
                  ": look at its numbers and the units of the mesh");
}

namespace detail {

CoordinateInterval interval_of(const Condition& condition, const BoundingBox& box) {
  const int d = condition.direction;
  const double infinity = std::numeric_limits<double>::infinity();
  const double tolerance = 1e-9 * box.largest_edge();
  double value = condition.offset;
  if (condition.from == Condition::From::Minimum) value += box.low[d];
  if (condition.from == Condition::From::Maximum) value += box.high[d];
  switch (condition.comparison) {
    case Comparison::LessEqual:
      return {d, -infinity, value + tolerance};
    case Comparison::GreaterEqual:
      return {d, value - tolerance, infinity};
    // What is equal up to the tolerance is not less: the interval ends just before it.
    case Comparison::Less:
      return {d, -infinity, value - 2 * tolerance};
    case Comparison::Greater:
      return {d, value + 2 * tolerance, infinity};
    case Comparison::Equal:
      break;
  }
  return {d, value - tolerance, value + tolerance};
}

}  // namespace detail

}  // namespace strata::inline STRATA_ABI::fem
