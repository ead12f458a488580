// AtomicFile: a file that is there as a whole or not at all. It is written under another name in the same
// folder (core/files/partial_file.hpp), and takes its own when it is complete; until then a file that was
// there before stays. A file that grows is complete at each keep(): what comes after the last one is cut off
// again. What is cut or removed is the file that was written, by its descriptor, whatever has its name by
// then.
//
// Not thread safe. MeshFileError for whatever the file system refuses; no file is left then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <strata/core/config.hpp>
#include <strata/core/files/partial_file.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  /// Goes on at the end of a file that is there and has `bytes` bytes.
  AtomicFile(std::string path, std::size_t bytes);
  /// Removes what was written since the last keep(), unless commit() was called.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& path() const { return path_; }
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Replaces bytes that were written before; goes on at the end.
  void overwrite(std::size_t offset, const void* data, std::size_t bytes);
  /// Keeps the first `bytes` only; to be called after keep().
  void shorten(std::size_t bytes);
  /// What is there now, is kept; gives the file its name.
  void keep();
  /// The same, and ends it.
  void commit();

 private:
  [[noreturn]] void fail(const char* what);
  void require_open() const;
  void flush();
  void drop() noexcept;

  std::string path_;
  strata::detail::files::PartialFile file_;
  std::string buffer_;                    // the bytes after written_
  std::uint64_t written_ = 0, kept_ = 0;  // bytes of the file
};

}  // namespace strata::inline STRATA_ABI::fem::detail
