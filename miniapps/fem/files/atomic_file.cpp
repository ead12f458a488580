#include <cerrno>
#include <cstring>
#include <utility>

#include <unistd.h>

#include <strata/miniapps/fem/files/atomic_file.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporary_(path_ + "." + std::to_string(getpid()) + ".partial") {
  file_ = std::fopen(temporary_.c_str(), "wb");
  if (file_ == nullptr) fail("creating it");
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}

void AtomicFile::fail(const char* what) {
  const std::string reason = std::strerror(errno);
  if (file_ != nullptr) {
    std::fclose(file_);
    std::remove(temporary_.c_str());
    file_ = nullptr;
  }
  throw MeshFileError("cannot write " + path_ + ": " + what + " failed: " + reason +
                      "; check the folder, its permissions and the space on its disk");
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, file_) != bytes) fail("writing");
}

void AtomicFile::overwrite(std::size_t offset, const void* data, std::size_t bytes) {
  if (std::fseek(file_, static_cast<long>(offset), SEEK_SET) != 0) fail("writing");
  write(data, bytes);
  if (std::fseek(file_, 0, SEEK_END) != 0) fail("writing");
}

void AtomicFile::commit() {
  if (std::fflush(file_) != 0) fail("writing");
  const int status = std::fclose(std::exchange(file_, nullptr));
  if (status == 0 && std::rename(temporary_.c_str(), path_.c_str()) == 0) return;
  const int error = errno;
  std::remove(temporary_.c_str());
  errno = error;
  fail(status == 0 ? "giving it its name" : "writing");
}

}  // namespace strata::inline STRATA_ABI::fem::detail
