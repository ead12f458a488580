#include <cerrno>
#include <cstring>
#include <utility>

#include <unistd.h>

#include <strata/miniapps/fem/files/atomic_file.hpp>
#include <strata/miniapps/fem/files/partial_file.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

AtomicFile::AtomicFile(std::string path) : path_(behind_links(path)) {
  const int descriptor = create_partial(path_, temporary_);
  if (descriptor < 0) fail("creating it");
  file_ = fdopen(descriptor, "wb");
  if (file_ != nullptr) return;
  const int error = errno;
  close(descriptor);
  std::remove(temporary_.c_str());
  errno = error;
  fail("creating it");
}

AtomicFile::AtomicFile(std::string path, std::size_t bytes)
    : path_(std::move(path)), has_name_(true), kept_(bytes) {
  file_ = std::fopen(path_.c_str(), "r+b");
  if (file_ == nullptr) fail("opening it");
  if (std::fseek(file_, 0, SEEK_END) != 0) fail("opening it");
}

AtomicFile::~AtomicFile() { drop(); }

void AtomicFile::drop() noexcept {
  if (file_ == nullptr) return;
  std::fclose(std::exchange(file_, nullptr));
  if (!has_name_) std::remove(temporary_.c_str());
  else if (truncate(path_.c_str(), static_cast<off_t>(kept_)) != 0) return;  // the file was removed meanwhile
}

void AtomicFile::fail(const char* what) {
  const std::string reason = std::strerror(errno);
  drop();
  throw MeshFileError("cannot write " + path_ + ": " + what + " failed: " + reason +
                      "; check the folder, its permissions and the space on its disk");
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  if (file_ == nullptr) throw MeshFileError("cannot write " + path_ + ": it failed before");
  if (bytes != 0 && std::fwrite(data, 1, bytes, file_) != bytes) fail("writing");
}

void AtomicFile::overwrite(std::size_t offset, const void* data, std::size_t bytes) {
  if (std::fseek(file_, static_cast<long>(offset), SEEK_SET) != 0) fail("writing");
  write(data, bytes);
  if (std::fseek(file_, 0, SEEK_END) != 0) fail("writing");
}

void AtomicFile::shorten(std::size_t bytes) {
  if (ftruncate(fileno(file_), static_cast<off_t>(bytes)) != 0 || std::fseek(file_, 0, SEEK_END) != 0)
    fail("shortening it");
  kept_ = bytes;
}

void AtomicFile::keep() {
  if (std::fflush(file_) != 0) fail("writing");
  const long size = std::ftell(file_);
  if (size < 0) fail("writing");
  if (!has_name_ && std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("giving it its name");
  has_name_ = true;
  kept_ = static_cast<std::size_t>(size);
}

void AtomicFile::commit() {
  // Some file systems tell of a full disk when a file is closed, which is before it has its name.
  if (has_name_) keep();
  else if (std::fflush(file_) != 0) fail("writing");
  const int status = std::fclose(std::exchange(file_, nullptr));
  if (status == 0 && (has_name_ || std::rename(temporary_.c_str(), path_.c_str()) == 0)) return;
  const int error = errno;
  if (!has_name_) std::remove(temporary_.c_str());
  errno = error;
  fail(status == 0 ? "giving it its name" : "writing");
}

}  // namespace strata::inline STRATA_ABI::fem::detail
