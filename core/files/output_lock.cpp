// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/core/files/file_size_limit.hpp>
#include <strata/core/files/output_lock.hpp>
#include <strata/core/files/partial_file.hpp>

namespace strata::inline STRATA_ABI::detail::files {

namespace {

constexpr std::string_view opening = "strata: written by ";

std::string who_am_i() {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
    return "process " + std::to_string(getpid());
  return "process " + std::to_string(getpid()) + " on " + host;
}

// The first bytes of a file, without those that would control a terminal.
std::string text_of(int file) {
  char text[400];
  const ssize_t bytes = pread(file, text, sizeof text, 0);
  std::string result(text, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  while (!result.empty() && result.back() == '\n') result.pop_back();
  for (char& c : result)
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
  return result;
}

void close_file(int& file) noexcept {
  if (file >= 0) close(std::exchange(file, -1));
}

}  // namespace

OutputLock::OutputLock(const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path place = follow_links(path);
  path_ = place.string();
  name_ = place.filename().string() + ".lock";
  folder_ =
      open(place.has_parent_path() ? place.parent_path().c_str() : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  try {
    while (folder_ >= 0 && !create() && errno == EEXIST && remove_stale()) continue;
  } catch (...) {
    close_file(folder_);
    throw;
  }
  if (file_ < 0) close_file(folder_);
}

OutputLock::~OutputLock() {
  // The name goes while it is locked: who finds no name makes a file anew.
  if (file_ >= 0 && is_name_of(folder_, name_, file_)) unlinkat(folder_, name_.c_str(), 0);
  close_file(file_);
  close_file(folder_);
}

OutputLock::OutputLock(OutputLock&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)),
      file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      name_(std::move(other.name_)) {}

OutputLock& OutputLock::operator=(OutputLock&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(file_, other.file_);
  path_.swap(other.path_);
  name_.swap(other.name_);
  return *this;
}

// False with EEXIST where the file of another process is there, or has replaced this one.
bool OutputLock::create() {
  file_ = openat(folder_, name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file_ < 0) return false;
  if (!take_file_lock(file_)) {
    const bool has_locks = errno == EWOULDBLOCK;
    if (!has_locks) unlinkat(folder_, name_.c_str(), 0);
    close_file(file_);
    errno = has_locks ? EEXIST : ENOLCK;
    return false;
  }
  // Between the two, another program may have taken it for the file of a killed process, and removed it.
  if (!is_name_of(folder_, name_, file_)) {
    close_file(file_);
    errno = EEXIST;
    return false;
  }
  const std::string text = std::string(opening) + who_am_i() + "\n";
  const FileSizeErrors errors;
  static_cast<void>(!pwrite(file_, text.data(), text.size(), 0));  // on a full disk it locks without a word
  return true;
}

// Removes the file of a program that is no more. False where locks do not say who is; FileError where it
// lives.
bool OutputLock::remove_stale() const {
  constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  int file = openat(folder_, name_.c_str(), O_RDWR | flags);  // NFS locks what may be written
  if (file < 0 && errno != ENOENT) file = openat(folder_, name_.c_str(), O_RDONLY | flags);
  if (file < 0 && errno == ENOENT) return true;
  const std::string lock = path_ + ".lock";
  if (file < 0 && (errno == EACCES || errno == EPERM))
    throw FileError(
        "cannot write " + path_ + ": the file " + lock +
        " is there and may not be read: another user's program may be writing it; ask its owner, or "
        "write to another file");
  struct stat status {};
  const bool is_file = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  std::string text = is_file ? text_of(file) : std::string();
  if (!is_file || (!text.empty() && !text.starts_with(opening))) {
    close_file(file);
    throw FileError(
        "cannot write " + path_ + ": the file " + lock +
        ", which would say that it is being written, is there and is something else; move it away, or "
        "write to another file");
  }
  if (take_file_lock(file)) {
    const bool removed = !is_name_of(folder_, name_, file) || unlinkat(folder_, name_.c_str(), 0) == 0;
    close_file(file);
    if (removed) return true;
    throw FileError("cannot write " + path_ + ": a program that is no more left the file " + lock +
                    ", which may not be removed; ask its owner to do so, or write to another file");
  }
  const bool is_held = errno == EWOULDBLOCK;
  text = text_of(file);  // by now, it is there
  close_file(file);
  if (!is_held) return false;
  text.erase(0, opening.size());
  throw FileError("cannot write " + path_ + ": " + (text.empty() ? "another program" : text) +
                  " writes it; wait for its end, or write to another file");
}

}  // namespace strata::inline STRATA_ABI::detail::files
