// EmulatedDirectFile: a file that an emulated instance reads and writes itself, at the speed of its link to
// the host. Private to this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/devices/direct_file.hpp>

namespace strata::inline STRATA_ABI::detail {

class EmulatedDirectFile final : public DirectFile {
 public:
  /// Of an open descriptor, of which it makes one of its own. FileError.
  EmulatedDirectFile(int descriptor, const char* path);
  ~EmulatedDirectFile() override;

  /// A failure poisons the queue with FileError.
  void read(QueueState& queue, void* to, std::size_t bytes, index_t offset) override;
  void write(QueueState& queue, const void* from, std::size_t bytes, index_t offset) override;

 private:
  const int descriptor_;
  const std::string path_;
};

}  // namespace strata::inline STRATA_ABI::detail
