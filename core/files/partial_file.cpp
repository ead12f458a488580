// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <strata/core/files/file_size_limit.hpp>
#include <strata/core/files/partial_file.hpp>

namespace strata::inline STRATA_ABI::detail::files {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".partial";
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz012345";
constexpr std::size_t letter_count = 8;

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether `name` is that of a partial file of `file`, or of a state STEM_NUMBER.vtu of STEM.pvd.
bool is_partial_of(std::string_view name, const fs::path& file) {
  constexpr std::size_t after = 1 + letter_count + ending.size();
  if (name.size() <= after || !name.ends_with(ending)) return false;
  const std::string_view random = name.substr(name.size() - after + 1, letter_count);
  if (name[name.size() - after] != '.' || random.find_first_not_of(letters) != std::string_view::npos)
    return false;
  name.remove_suffix(after);
  if (name == file.filename().string()) return true;
  const std::string begin = file.stem().string() + "_";
  constexpr std::string_view state = ".vtu";
  if (file.extension() != ".pvd" || !name.starts_with(begin) || !name.ends_with(state)) return false;
  name.remove_prefix(begin.size());
  return name.size() > state.size() && is_number(name.substr(0, name.size() - state.size()));
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

// The place at the end of links. ELOOP where that is still a link.
int open_folder(const fs::path& file) {
  std::error_code none;
  if (fs::is_symlink(file, none)) {
    errno = ELOOP;
    return -1;
  }
  return ::open(folder_of(file).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void close_with_errno(int& file) noexcept {
  const int error = errno;
  if (file >= 0) ::close(std::exchange(file, -1));
  errno = error;
}

void remove_unless_locked(int folder, const std::string& name) {
  int file = openat(folder, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  // Whose lock is free may be at its place by now.
  if (flock(file, LOCK_EX | LOCK_NB) == 0 && is_name_of(folder, name, file))
    unlinkat(folder, name.c_str(), 0);
  close_with_errno(file);
}

// Some file systems say only when a file is closed that there was no room. The lock is the other
// descriptor's, too.
bool flush(int file) {
  const int again = dup(file);
  return again >= 0 && close(again) == 0;
}

}  // namespace

// Of the machine's own randomness: process numbers, and clocks, are the same in two containers.
std::string partial_name(const std::string& path) {
  std::random_device random;
  std::string name = path + ".";
  for (std::size_t k = 0; k < letter_count; ++k) name += letters[random() % letters.size()];
  return name.append(ending);
}

PartialFile::~PartialFile() { close(); }

bool PartialFile::create_locked(Name name) {
  while (true) {
    temporary_ = name(name_);
    file_ = openat(folder_, temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ < 0 && errno == EEXIST) continue;
    if (file_ < 0) return false;
    // Without a lock, on a file system that has none, nobody removes the file either. Another program that
    // has the lock takes it for one that a killed program left.
    const bool is_taken = !take_file_lock(file_) && errno == EWOULDBLOCK;
    if (!is_taken && is_name_of(folder_, temporary_, file_)) return true;
    close_with_errno(file_);
  }
}

bool PartialFile::create(const std::string& path, Name name) {
  close();
  const fs::path place = follow_links(path);
  name_ = place.filename().string();
  has_place_ = false;
  folder_ = open_folder(place);
  if (folder_ >= 0 && create_locked(name)) return true;
  close_with_errno(folder_);
  return false;
}

bool PartialFile::open(const std::string& path) {
  close();
  const fs::path place = follow_links(path);
  name_ = place.filename().string();
  has_place_ = true;
  folder_ = open_folder(place);
  if (folder_ >= 0) file_ = openat(folder_, name_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (file_ >= 0 && (take_file_lock(file_) || errno != EWOULDBLOCK)) return true;
  close_with_errno(file_);
  close_with_errno(folder_);
  return false;
}

std::uint64_t PartialFile::size() const {
  struct stat status {};
  return fstat(file_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

bool PartialFile::write(const void* data, std::size_t bytes, std::uint64_t offset) {
  const FileSizeErrors errors;
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = pwrite(file_, from, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    from += written;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

bool PartialFile::cut(std::uint64_t bytes) { return ftruncate(file_, static_cast<off_t>(bytes)) == 0; }

bool PartialFile::sync() {
  if (fsync(file_) != 0) return false;
  if (!has_place_) return true;
  // Where a file system cannot sync a folder, the renaming is still atomic.
  if (int folder = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    fsync(folder);
    close_with_errno(folder);
  }
  return true;
}

bool PartialFile::place() {
  if (!flush(file_)) return false;
  if (has_place_) return true;
  has_place_ = renameat(folder_, temporary_.c_str(), folder_, name_.c_str()) == 0;
  return has_place_;
}

void PartialFile::close() noexcept {
  // First its name: a file without its lock is one that others may remove.
  const int error = errno;
  if (file_ >= 0 && !has_place_) unlinkat(folder_, temporary_.c_str(), 0);
  errno = error;
  close_with_errno(file_);
  close_with_errno(folder_);
}

std::string follow_links(const std::string& path) {
  constexpr int most_links = 40;  // of which Linux follows no more either
  std::error_code error;
  fs::path place = path;
  for (int links = 0; links < most_links && fs::is_symlink(place, error); ++links) {
    const fs::path target = fs::read_symlink(place, error);
    if (error) break;
    place = place.parent_path() / target;  // which is `target` where that is absolute
  }
  return place.string();
}

bool can_create_beside(const std::string& path) {
  const fs::path place = follow_links(path);
  int folder = open_folder(place);
  if (folder < 0) return false;
  int file = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  const bool can = file >= 0;
  close_with_errno(file);
  close_with_errno(folder);
  if (can || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return can;
  return PartialFile().create(path);
}

void remove_abandoned_partials(const std::string& path) noexcept {
  try {
    const fs::path place = follow_links(path);
    int folder = open_folder(place);
    if (folder < 0) return;
    std::error_code error;
    for (fs::directory_iterator entry(folder_of(place), error), end; !error && entry != end;
         entry.increment(error))
      if (const std::string name = entry->path().filename().string(); is_partial_of(name, place))
        remove_unless_locked(folder, name);
    close_with_errno(folder);
  } catch (const std::exception&) {  // out of memory: nothing that has to be done
  }
}

bool take_file_lock(int file) noexcept {
  using namespace std::chrono_literals;
  for (int k = 0; k < 50; ++k) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    std::this_thread::sleep_for(1ms);
  }
  errno = EWOULDBLOCK;
  return false;
}

bool is_name_of(int folder, const std::string& name, int file) noexcept {
  struct stat opened {
  }, named{};
  return fstat(file, &opened) == 0 && fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace strata::inline STRATA_ABI::detail::files
