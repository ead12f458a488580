// OutputFile: an output file of records. Records that cannot be written to the path (no such folder, no
// permission, a full disk) go to a file in the folder of temporary files, and stderr says so.
//
// Not thread safe. Never throws for errors of the file system.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::files {

class OutputFile {
 public:
  /// `what` names the contents in messages ("trace"). In `path`, "%p" stands for the number of the process.
  /// Every file begins with `opening`. A file that exists is replaced.
  OutputFile(std::string what, const std::string& path, std::string opening = "");
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Writes whole records.
  void write(std::string_view records);
  /// Writes the end, closes. False when not everything was written.
  bool finish(std::string_view ending);

 private:
  bool open_asked();
  bool open_fallback();
  bool write_here(std::string_view text);
  void fall_back(const std::string& reason);
  void close_file();

  const std::string what_;
  const std::string opening_;
  std::string path_;
  int file_ = -1;
  bool fallen_back_ = false;
  std::size_t written_ = 0;  // whole records
  std::size_t lost_ = 0;
};

/// `path` with the number of the process for each "%p".
std::string expand_path(const std::string& path);

}  // namespace strata::inline STRATA_ABI::detail::files
