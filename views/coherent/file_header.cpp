// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <cxxabi.h>

#include <strata/core/error.hpp>
#include <strata/views/coherent/file_header.hpp>

namespace strata::inline STRATA_ABI::detail {

std::string to_string(const FileElement& element) {
  using Kind = FileElement::Kind;
  const std::string bits = std::to_string(8 * element.bytes),
                    bytes = std::to_string(element.bytes) + " bytes";
  switch (element.kind) {
    case Kind::Bool:
      return "bool";
    case Kind::Signed:
      return "int" + bits;
    case Kind::Unsigned:
      return "uint" + bits;
    case Kind::Float:
      return element.bytes == 4 ? "float" : element.bytes == 8 ? "double" : "floating-point of " + bytes;
    case Kind::Complex:
      return "complex of " + bytes;
    case Kind::Half:
      return "half_t";
    case Kind::Bfloat:
      return "bfloat16_t";
    case Kind::Other:
      break;
  }
  int status = 0;
  char* const name = abi::__cxa_demangle(element.name.c_str(), nullptr, nullptr, &status);
  const std::string text = (name != nullptr ? name : element.name) + " of " + bytes;
  std::free(name);
  return text;
}

std::uint64_t checksum_of(const FileHeader& header) {
  std::uint64_t sum = 0xcbf29ce484222325;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&header);
  for (std::size_t k = 0; k < offsetof(FileHeader, checksum); ++k) sum = (sum ^ bytes[k]) * 0x100000001b3;
  return sum;
}

void check_header(const FileHeader& header, index_t bytes, index_t file_bytes, bool allows_incomplete,
                  const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw FileError("cannot open \"" + path + "\": " + why);
  };
  if (bytes < index_t{sizeof header.magic} ||
      std::memcmp(header.magic, FileHeader::right_magic, sizeof header.magic) != 0)
    refuse("it is not a file of an array of Strata; give the path of one that file_array made");
  if (bytes < FileHeader::size)
    refuse("it ends at byte " + std::to_string(bytes) +
           ", in its header: it was truncated; restore it, or make it "
           "anew");
  if (header.byte_order != FileHeader::right_byte_order)
    refuse("its numbers have another byte order than this machine's; write it anew on such a machine");
  if (header.version != FileHeader::newest_version)
    refuse("its format has version " + std::to_string(header.version) + ", this library reads version " +
           std::to_string(FileHeader::newest_version) + "; use the library that wrote it, or a newer one");
  if (header.checksum != checksum_of(header) || header.rank < 0 || header.rank > max_rank ||
      header.data_offset < FileHeader::size || header.data_offset % FileHeader::size != 0 ||
      header.data_bytes < 0 || header.data_bytes > index_t{1} << 62 ||
      header.data_offset > index_t{1} << 40 || header.element_name[255] != 0 || header.layout_name[255] != 0)
    refuse("its header is damaged; restore it, or make it anew");
  if (header.state != FileHeader::State::Complete && !allows_incomplete)
    refuse(
        "it is incomplete: it is being written, or the program that wrote it ended before all was on the "
        "disk; "
        "make it anew, or give `allow_incomplete` to use what is there");
  const index_t end = header.data_offset + header.data_bytes;
  if (file_bytes < end)
    refuse("the file ends at byte " + std::to_string(file_bytes) + " of " + std::to_string(end) +
           ": it was truncated; restore it, or make it anew");
  if (file_bytes > end)
    refuse("it has " + std::to_string(file_bytes) + " bytes, its header says " + std::to_string(end) +
           ": something was added to it; remove what is too much");
}

}  // namespace strata::inline STRATA_ABI::detail
