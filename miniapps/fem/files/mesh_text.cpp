// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <strata/miniapps/fem/files/mesh_text.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

MeshText::MeshText(std::string name, std::string content)
    : name_(std::move(name)), content_(std::move(content)) {}

MeshText MeshText::of_file(const std::string& path) {
  return MeshText(path, bytes_of_file(path, std::string::npos, [&](const std::string& reason) {
                    throw MeshFileError("cannot read the mesh file " + path + ": " + reason);
                  }));
}

bool MeshText::at_end() {
  while (position_ < content_.size()) {
    const char c = content_[position_];
    if (comment_ != 0 && c == comment_) {
      const std::size_t end = content_.find('\n', position_);
      position_ = end == std::string::npos ? content_.size() : end;
    } else if (is_blank(c)) {
      ++position_;
    } else {
      return false;
    }
  }
  return true;
}

std::string_view MeshText::line() {
  word_position_ = position_;
  const std::size_t end = std::min(content_.find('\n', position_), content_.size());
  std::string_view result = std::string_view(content_).substr(position_, end - position_);
  if (!result.empty() && result.back() == '\r') result.remove_suffix(1);
  position_ = std::min(end + 1, content_.size());
  return result;
}

std::string_view MeshText::peek() {
  if (at_end()) return {};
  std::size_t end = position_;
  while (end < content_.size() && !is_blank(content_[end]) && (comment_ == 0 || content_[end] != comment_)) {
    ++end;
  }
  return std::string_view(content_).substr(position_, end - position_);
}

std::string_view MeshText::word(std::string_view what) {
  const std::string_view result = peek();
  word_position_ = position_;
  if (result.empty()) {
    fail("the file ends where " + std::string(what) + " should follow; it is truncated: write it again");
  }
  position_ += result.size();
  return result;
}

std::int64_t MeshText::integer(std::string_view what) {
  const std::string_view text = word(what);
  std::int64_t value = 0;
  if (!to_integer(text, value)) {
    fail("expected " + std::string(what) + ", an integer, and found " + in_quotes(text));
  }
  return value;
}

double MeshText::number(std::string_view what) {
  const std::string_view text = word(what);
  double value = 0;
  if (!to_number(text, value)) {
    fail("expected " + std::string(what) + ", a number, and found " + in_quotes(text));
  }
  if (!std::isfinite(value)) fail(std::string(what) + " is " + in_quotes(text) + ", which is not finite");
  return value;
}

Count MeshText::announced(std::string_view what) {
  const std::int64_t number = integer(what);
  if (number < 0) fail(std::string(what) + " is " + std::to_string(number) + "; correct it");
  return number;
}

Count MeshText::count(std::string_view what, Count bytes) {
  const Count number = announced("the number of " + std::string(what));
  expect_room(number, bytes, what);
  return number;
}

void MeshText::expect_room(Count number, Count bytes, std::string_view what) {
  if (number * bytes <= remaining()) return;
  fail(number.text() + " " + std::string(what) + " are announced, but only " + std::to_string(remaining()) +
       " bytes follow; the file is truncated or damaged: write it again");
}

void MeshText::repeat(Count number, std::size_t at) {
  repeated_ += number;
  if (repeated_ <= content_.size()) return;
  fail(at, "ranges, sets or groups stand for more entries than the file has bytes (" +
               std::to_string(content_.size()) + "); correct them, or write out what they stand for");
}

void MeshText::skip_bytes(Count number, Count bytes, std::string_view what) {
  word_position_ = position_;
  expect_room(number, bytes, what);
  position_ += (number * bytes).size();
}

std::uint64_t MeshText::raw(std::size_t bytes, std::string_view what) {
  word_position_ = position_;
  if (remaining() < bytes) {
    fail("the file ends where " + std::string(what) + " should follow; it is truncated: write it again");
  }
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < bytes; ++k) {
    const auto byte = static_cast<unsigned char>(content_[position_ + (big_endian_ ? k : bytes - 1 - k)]);
    value = (value << 8) | byte;
  }
  position_ += bytes;
  return value;
}

std::int64_t MeshText::binary_integer(std::size_t bytes, bool is_signed, std::string_view what) {
  const std::uint64_t value = raw(bytes, what);
  const int unused = 64 - 8 * static_cast<int>(bytes);
  if (is_signed) return static_cast<std::int64_t>(value << unused) >> unused;
  if (value > static_cast<std::uint64_t>(INT64_MAX)) fail(std::string(what) + " is too large");
  return static_cast<std::int64_t>(value);
}

double MeshText::binary_number(std::size_t bytes, std::string_view what) {
  const std::uint64_t value = raw(bytes, what);
  const double number = bytes == 4 ? double{std::bit_cast<float>(static_cast<std::uint32_t>(value))}
                                   : std::bit_cast<double>(value);
  if (!std::isfinite(number)) fail(std::string(what) + " is not finite");
  return number;
}

std::string MeshText::place(std::size_t position) const {
  if (content_.empty() || position == nowhere) return name_ + ": ";
  position = std::min(position, content_.size());
  const std::string_view before = std::string_view(content_).substr(0, position);
  // Lines of a file with binary parts mean nothing to its reader.
  if (content_.find('\0') != std::string::npos) return name_ + ": byte " + std::to_string(position) + ": ";
  return name_ + ":" + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ": ";
}

void MeshText::fail(std::size_t position, const std::string& problem) const {
  throw MeshError(place(position) + problem);
}

}  // namespace strata::inline STRATA_ABI::fem::detail
