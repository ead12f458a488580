// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>

#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace {

constexpr std::string_view prefix = "box:";
constexpr const char* form = "write box:NXxNYxNZ[:LX,LY,LZ][:wave=A][:random=F], such as box:10x10x20:1,1,2";

[[noreturn]] void fail_box(std::string_view text, const std::string& why) {
  throw MeshError("the box \"" + std::string(text) + "\": " + why + "; " + form);
}

// The part before `separator`, which is taken off `text`; all of it where there is none.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

template <class T>
T parse_number(std::string_view whole, std::string_view text, const char* what) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) fail_box(whole, "\"" + std::string(text) + "\" is no " + what);
  return value;
}

// Three numbers, no more and no less.
template <class T>
void parse_three(std::string_view whole, std::string_view text, char separator, const char* what,
                 T (&numbers)[3]) {
  const std::string_view all = text;
  for (T& number : numbers) number = parse_number<T>(whole, take_until(text, separator), what);
  if (!text.empty() || all.back() == separator)
    fail_box(whole, "\"" + std::string(all) + "\" has more than three parts");
}

std::string number_text(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

}  // namespace

bool is_box(std::string_view text) { return text.starts_with(prefix); }

BoxSpec parse_box(std::string_view text) {
  BoxSpec box;
  std::string_view rest = text;
  if (!is_box(text)) fail_box(text, "it does not begin with box:");
  rest.remove_prefix(prefix.size());
  parse_three(text, take_until(rest, ':'), 'x', "number of elements", box.elements);
  for (int d = 0; d < 3; ++d) box.lengths[d] = static_cast<double>(box.elements[d]);
  if (text.back() == ':') fail_box(text, "nothing follows the last colon");
  for (bool first = true; !rest.empty(); first = false) {
    const std::string_view part = take_until(rest, ':');
    if (part.starts_with("wave=")) box.wave = parse_number<double>(text, part.substr(5), "number");
    else if (part.starts_with("random=")) box.random = parse_number<double>(text, part.substr(7), "number");
    else if (first) parse_three(text, part, ',', "length", box.lengths);
    else fail_box(text, "\"" + std::string(part) + "\" is not known");
  }
  check(box);
  return box;
}

std::string to_string(const BoxSpec& box) {
  std::string text(prefix);
  for (int d = 0; d < 3; ++d) text += (d > 0 ? "x" : "") + std::to_string(box.elements[d]);
  for (int d = 0; d < 3; ++d) text += (d > 0 ? "," : ":") + number_text(box.lengths[d]);
  if (box.wave != 0) text += ":wave=" + number_text(box.wave);
  if (box.random != 0) text += ":random=" + number_text(box.random);
  return text;
}

void check(const BoxSpec& box) {
  index_t left = max_elements;
  for (int d = 0; d < 3; ++d) {
    if (box.elements[d] < 1) fail_box(to_string(box), "it needs at least one element in each direction");
    if (!(box.lengths[d] > 0) || !std::isfinite(box.lengths[d]))
      fail_box(to_string(box), "its edges have to be longer than zero");
    left /= box.elements[d];
  }
  if (left == 0)
    fail_box(to_string(box),
             "it has more than " + std::to_string(max_elements) + " elements, the most that are numbered");
  if (!std::isfinite(box.wave) || !std::isfinite(box.random) || box.random < 0)
    fail_box(to_string(box), "wave and random have to be finite, and random not negative");
}

void fail_distorted_box(const BoxSpec& box, double least_scaled_jacobian) {
  fail_box(to_string(box), "its distortion turns elements inside out (scaled Jacobian " +
                               number_text(least_scaled_jacobian) +
                               "): wave is safe below 0.13, random below 0.16");
}

}  // namespace strata::inline STRATA_ABI::fem
