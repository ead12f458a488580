// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <utility>

#include <strata/core/files/file_size_limit.hpp>
#include <strata/miniapps/fem/files/atomic_file.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

constexpr std::size_t buffered = std::size_t{1} << 16;

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(strata::detail::files::follow_links(path)) {
  if (!file_.create(path_)) fail("creating it");
}

AtomicFile::AtomicFile(std::string path, std::size_t bytes)
    : path_(std::move(path)), written_(bytes), kept_(bytes) {
  if (!file_.open(path_)) fail("opening it");
}

AtomicFile::~AtomicFile() { drop(); }

void AtomicFile::drop() noexcept {
  if (!file_.is_open()) return;
  // Where even this is refused, the file has more than it says.
  if (file_.has_place()) static_cast<void>(file_.cut(kept_));
  file_.close();
}

void AtomicFile::fail(const char* what) {
  const std::string reason =
      errno == EWOULDBLOCK ? "another program writes it" : strata::detail::files::file_error_text(errno);
  drop();
  throw MeshFileError("cannot write " + path_ + ": " + what + " failed: " + reason +
                      "; check the folder, its permissions and the space on its disk");
}

void AtomicFile::require_open() const {
  if (!file_.is_open()) throw MeshFileError("cannot write " + path_ + ": it failed before");
}

void AtomicFile::flush() {
  if (!file_.write(buffer_.data(), buffer_.size(), written_)) fail("writing");
  written_ += buffer_.size();
  buffer_.clear();
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  require_open();
  if (bytes > 0 && buffer_.size() + bytes <= buffered) {
    buffer_.append(static_cast<const char*>(data), bytes);
    return;
  }
  flush();
  if (!file_.write(data, bytes, written_)) fail("writing");
  written_ += bytes;
}

void AtomicFile::overwrite(std::size_t offset, const void* data, std::size_t bytes) {
  require_open();
  flush();
  if (!file_.write(data, bytes, offset)) fail("writing");
}

void AtomicFile::shorten(std::size_t bytes) {
  require_open();
  if (!file_.cut(bytes)) fail("shortening it");
  written_ = kept_ = bytes;
}

void AtomicFile::keep() {
  require_open();
  flush();
  if (!file_.place()) fail(file_.has_place() ? "writing" : "giving it its name");
  kept_ = written_;
}

void AtomicFile::commit() {
  keep();
  file_.close();
}

}  // namespace strata::inline STRATA_ABI::fem::detail
