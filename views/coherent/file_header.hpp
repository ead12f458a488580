// FileHeader: the first 4096 bytes of a file that holds an array. Numbers are in the byte order of the
// machine that wrote them, which the header names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The type of the elements of a file.
struct FileElement {
  enum class Kind : std::uint32_t { Other, Bool, Signed, Unsigned, Float, Complex, Half, Bfloat };
  Kind kind;
  index_t bytes;
  std::string name;  // of Other: as the compiler mangles it
};
/// For people: "double", "int32", "complex of 16 bytes", "struct Particle of 24 bytes".
std::string to_string(const FileElement& element);

struct FileHeader {
  enum class State : std::uint32_t { BeingWritten = 1, Complete = 2 };
  static constexpr char right_magic[9] =
      "\x89STRATA\n";  // not a text, and spoilt where line ends are converted
  static constexpr std::uint32_t right_byte_order = 0x01020304, newest_version = 1;
  static constexpr index_t size = 4096;

  char magic[8];
  std::uint32_t byte_order;
  std::uint32_t version;
  State state;
  std::uint32_t element_kind;  // FileElement::Kind
  std::int64_t element_bytes;
  char element_name[256];  // of Other, as compilers of the Itanium ABI mangle it; ends with a 0
  char layout_name[256];   // "right", "left", "tiled<8>"; others as their type is mangled
  std::int64_t rank;
  std::int64_t extents[8];
  std::int64_t data_offset;  // a multiple of 4096
  std::int64_t data_bytes;   // the file ends after these
  char reserved[3456];       // zeros
  std::uint64_t checksum;    // of all bytes before: FNV-1a, 64 bits
};
static_assert(sizeof(FileHeader) == FileHeader::size && max_rank == 8);

std::uint64_t checksum_of(const FileHeader& header);
/// Throws FileError where these are not the first `bytes` bytes of a sound file of `file_bytes` bytes that
/// may be used; `path` is for the message.
void check_header(const FileHeader& header, index_t bytes, index_t file_bytes, bool allows_incomplete,
                  const std::string& path);

}  // namespace strata::inline STRATA_ABI::detail
