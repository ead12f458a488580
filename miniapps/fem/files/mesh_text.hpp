// MeshText: the content of a mesh file and a place in it. Readers of all formats take words, numbers and
// binary values from here, so that all messages name the file and the line (of binary parts: the byte).
//
// The whole file is held in memory. No count that a file states is believed before it is compared with the
// bytes that are left, and what a file says once and means often (ranges, sets of sets, groups) is counted,
// so that no file makes a reader allocate or do more than some multiple of its bytes (docs/security.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <strata/core/config.hpp>
#include <strata/miniapps/fem/files/count.hpp>
#include <strata/miniapps/fem/text.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

class MeshText {
 public:
  static constexpr std::size_t nowhere = std::string::npos;

  /// `name` stands in messages. From `comment` to the end of its line is no word; 0: there are no comments.
  MeshText(std::string name, std::string content);
  /// Reads a file. MeshFileError if that fails.
  static MeshText of_file(const std::string& path);

  void set_comment(char comment) { comment_ = comment; }
  void set_big_endian(bool big_endian) { big_endian_ = big_endian; }
  const std::string& name() const { return name_; }
  const std::string& content() const { return content_; }

  /// Bytes from the beginning; of a word that was just read, where it began.
  std::size_t position() const { return position_; }
  std::size_t word_position() const { return word_position_; }
  std::size_t remaining() const { return content_.size() - position_; }
  void seek(std::size_t position) { position_ = position; }

  /// Moves past blanks and comments; true when nothing else is left.
  bool at_end();
  /// The rest of the line, without its end; moves to the next line. Empty at the end of the file.
  std::string_view line();
  /// The next word. MeshError at the end of the file, where `what` was looked for.
  std::string_view word(std::string_view what);
  /// The next word, which stays; empty at the end of the file.
  std::string_view peek();
  std::int64_t integer(std::string_view what);
  /// MeshError if it is no number or not finite.
  double number(std::string_view what);
  /// A number of things, such as "the number of nodes"; MeshError if it is negative.
  Count announced(std::string_view what);
  /// How many of `what` follow, each of `bytes` or more.
  Count count(std::string_view what, Count bytes);
  /// MeshError unless `number` things of `bytes` or more can follow here.
  void expect_room(Count number, Count bytes, std::string_view what);
  /// To be called before things are made of which the file has no bytes of their own, as of a range or of a
  /// set that another one names. MeshError at `at` where all of them would be more than the file has bytes.
  void repeat(Count number, std::size_t at);
  /// Moves over `number` values of `bytes` each.
  void skip_bytes(Count number, Count bytes, std::string_view what);

  /// Binary values, in the byte order of the file.
  std::int64_t binary_integer(std::size_t bytes, bool is_signed, std::string_view what);
  /// `bytes` is 4 or 8; MeshError if it is not finite.
  double binary_number(std::size_t bytes, std::string_view what);

  /// "file:line: ", "file: byte 17: " in a binary file, "file: " of `nowhere` or where there is no content.
  std::string place(std::size_t position) const;
  /// Throws MeshError: `problem` at that place.
  [[noreturn]] void fail(std::size_t position, const std::string& problem) const;
  [[noreturn]] void fail(const std::string& problem) const { fail(word_position_, problem); }

 private:
  std::uint64_t raw(std::size_t bytes, std::string_view what);

  std::string name_;
  std::string content_;
  std::size_t position_ = 0;
  std::size_t word_position_ = 0;
  char comment_ = 0;
  bool big_endian_ = false;
  Count repeated_;
};

}  // namespace strata::inline STRATA_ABI::fem::detail
