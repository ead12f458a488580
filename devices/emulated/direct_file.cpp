// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include <unistd.h>

#include <strata/core/files/async_file.hpp>
#include <strata/devices/emulated/direct_file.hpp>
#include <strata/devices/emulated/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// All bytes, by pread or pwrite.
template <class Transfer>
void transfer_all(const char* action, const std::string& path, std::size_t bytes, const Transfer& transfer) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t count = transfer(done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) files::throw_file_error(action, path, errno);
    if (count == 0) files::throw_file_error(action, path, ENODATA);
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace

EmulatedDirectFile::EmulatedDirectFile(int descriptor, const char* path)
    : descriptor_(dup(descriptor)), path_(path) {
  if (descriptor_ < 0) files::throw_file_error("open for an emulated device", path_, errno);
}
EmulatedDirectFile::~EmulatedDirectFile() { close(descriptor_); }

void EmulatedDirectFile::read(QueueState& queue, void* to, std::size_t bytes, index_t offset) {
  static_cast<EmulatedQueue&>(queue).transfer(path_.c_str(), to, bytes, true, [=, this](char* memory) {
    transfer_all("read", path_, bytes, [&](std::size_t done) {
      return pread(descriptor_, memory + done, bytes - done, offset + static_cast<index_t>(done));
    });
  });
}
void EmulatedDirectFile::write(QueueState& queue, const void* from, std::size_t bytes, index_t offset) {
  static_cast<EmulatedQueue&>(queue).transfer(
      path_.c_str(), const_cast<void*>(from), bytes, false, [=, this](char* memory) {
        transfer_all("write", path_, bytes, [&](std::size_t done) {
          return pwrite(descriptor_, memory + done, bytes - done, offset + static_cast<index_t>(done));
        });
      });
}

}  // namespace strata::inline STRATA_ABI::detail
