// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <sys/stat.h>

#include <strata/miniapps/fem/text.hpp>

namespace strata::inline STRATA_ABI::fem {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

namespace {

// std::from_chars takes no leading plus.
std::string_view without_plus(std::string_view word) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  return word;
}

}  // namespace

bool to_integer(std::string_view word, std::int64_t& value) {
  word = without_plus(word);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && end == word.data() + word.size();
}

bool to_number(std::string_view word, double& value) {
  word = without_plus(word);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc{} && end == word.data() + word.size()) return true;
  // Fortran's exponent, 1.5D+3; and numbers out of the range of doubles, which from_chars refuses.
  std::string digits(word);
  for (char& c : digits)
    if (c == 'D' || c == 'd') c = 'e';
  const char* const last = digits.data() + digits.size();
  const auto [stop, status] = std::from_chars(digits.data(), last, value);
  const bool is_out_of_range = status == std::errc::result_out_of_range;
  if (is_out_of_range) value = std::strtod(digits.c_str(), nullptr);
  return stop == last && (is_out_of_range || status == std::errc{});
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string result;
  for (const char c : text.substr(0, longest)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > longest ? "..." : "");
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

std::string bytes_of_file(const std::string& path, std::size_t most,
                          const std::function<void(const std::string& reason)>& fail) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("it is a folder or device; give the path of a file");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) fail(std::strerror(errno));
  std::string content(std::min(static_cast<std::size_t>(status.st_size), most), '\0');
  const std::size_t got = std::fread(content.data(), 1, content.size(), file.get());
  if (std::ferror(file.get()) != 0) fail("reading stopped after " + std::to_string(got) + " bytes");
  content.resize(got);
  return content;
}

}  // namespace strata::inline STRATA_ABI::fem
