// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/core/files/file_size_limit.hpp>
#include <strata/core/files/partial_file.hpp>
#include <strata/views/coherent/file_storage.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// A new name in a folder outlives the end of power when the folder is on the disk. Some systems refuse; then
// it is as old as they make it.
void sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  static_cast<void>(fsync(file));
  close(file);
}

// Whether there is something at the path, which may be replaced: who reads it keeps what it is. FileError
// where it may not.
bool is_replaceable(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return false;  // opening reports it
  if (!S_ISREG(status.st_mode))
    throw FileError("cannot replace \"" + path + "\": it is not a regular file; give another path");
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;  // who may not read it may replace it
  const bool is_written = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  if (is_written)
    throw FileError("cannot replace \"" + path +
                    "\": it is open for writing, in this or another process; wait for the end of that array");
  return true;
}

// Blocks where a file has none, as a copy that leaves out zeros makes it: a page of a mapping that finds no
// room when it is written ends the program. File systems that write to new blocks each time may refuse.
void fill_holes(int file, const std::string& path) {
#if defined(__linux__)
  constexpr index_t block = 512;  // of stat, whatever the file system's
  struct stat status {};
  if (fstat(file, &status) != 0 || block * status.st_blocks >= status.st_size) return;
  int error;
  do error = fallocate(file, 0, 0, status.st_size) == 0 ? 0 : errno;
  while (error == EINTR);
  if (error != 0 && error != EOPNOTSUPP && error != ENOSYS)
    files::throw_file_error("fill the holes of", path, error, status.st_size - block * status.st_blocks);
#endif
}

}  // namespace

FileStorage* FileStorage::create(const std::string& path, bool overwrites, const FileHeader& header) {
  // What is replaced stays until the new one has all its blocks.
  if (overwrites && is_replaceable(path)) {
    const std::string beside =
        files::partial_name(path);  // a killed program, or one elsewhere, may have our number
    std::unique_ptr<FileStorage> storage(create(beside, false, header));
    if (rename(beside.c_str(), path.c_str()) != 0) {
      const int error = errno;
      unlink(beside.c_str());
      files::throw_file_error("replace", path, error);
    }
    sync_folder_of(path);
    storage->file_.rename(path);
    return storage.release();
  }
  std::unique_ptr<FileStorage> storage(new FileStorage(path, files::AsyncFile::Mode::Create));
  try {
    storage->header_ = header;
    storage->lock(true);
    const index_t bytes = header.data_offset + header.data_bytes;
    // All blocks now: a page of a mapping that finds no room when it is written ends the program.
    int error;
    const files::FileSizeErrors errors;
    do error = posix_fallocate(storage->file_.descriptor(), 0, static_cast<off_t>(bytes));
    while (error == EINTR);
    if (error != 0)
      files::throw_file_error("make a file of " + std::to_string(bytes) + " bytes at", path, error, bytes);
    storage->write_header(FileHeader::State::BeingWritten);
    sync_folder_of(path);
    storage->map();
  } catch (...) {
    unlink(path.c_str());
    throw;
  }
  return storage.release();
}

FileStorage* FileStorage::open(const std::string& path, bool reads_only, bool allows_incomplete,
                               FileHeader& header) {
  std::unique_ptr<FileStorage> storage(
      new FileStorage(path, reads_only ? files::AsyncFile::Mode::Read : files::AsyncFile::Mode::ReadWrite));
  const int file = storage->file_.descriptor();
  storage->reads_only_ = reads_only;
  std::memset(static_cast<void*>(&header), 0, sizeof header);
  const ssize_t bytes = pread(file, &header, sizeof header, 0);
  if (bytes < 0) files::throw_file_error("read the header of", path, errno);
  // Who writes the file holds the lock, and the file says that it is incomplete; the latter is clearer.
  if (!(reads_only && allows_incomplete)) {
    try {
      storage->lock(!reads_only);
    } catch (const FileError&) {
      check_header(header, bytes, storage->file_.size(), allows_incomplete, path);
      throw;
    }
  }
  check_header(header, bytes, storage->file_.size(), allows_incomplete, path);
  storage->header_ = header;
  if (header.state == FileHeader::State::Complete) storage->on_disk_ = OnDisk::Complete;
  if (!reads_only) fill_holes(file, path);
  storage->map();
  return storage.release();
}

FileStorage::~FileStorage() {
  if (map_ != nullptr) munmap(map_, static_cast<std::size_t>(mapped_));
}

// For the time that the file is open. File systems without locks do without.
void FileStorage::lock(bool exclusive) {
  int result;
  do result = flock(file_.descriptor(), (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result != 0 && errno == EWOULDBLOCK)
    throw FileError("cannot open \"" + path() + "\"" + (exclusive ? " for writing" : "") +
                    ": it is open elsewhere, in this or another process" +
                    (exclusive ? "" : ", for writing") + "; wait for the end of that array");
}

void FileStorage::map() {
  mapped_ = header_.data_offset + header_.data_bytes;
  // Of a file for reading a private one: what launches write is this process' own.
  void* const address = mmap(nullptr, static_cast<std::size_t>(mapped_), PROT_READ | PROT_WRITE,
                             (reads_only_ ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED), file_.descriptor(), 0);
  if (address == MAP_FAILED)
    files::throw_file_error("map the " + std::to_string(mapped_) + " bytes of", path(), errno);
  map_ = static_cast<char*>(address);
}

// To the disk: before it says incomplete no element changes, and after it says complete none has to be
// written.
void FileStorage::write_header(FileHeader::State state) {
  header_.state = state;
  header_.checksum = checksum_of(header_);
  const files::FileSizeErrors errors;
  const ssize_t bytes = pwrite(file_.descriptor(), &header_, sizeof header_, 0);
  if (bytes != ssize_t{sizeof header_})
    files::throw_file_error("write the header of", path(), bytes < 0 ? errno : ENOSPC, FileHeader::size);
  file_.sync();
}

void FileStorage::check_use(bool writes) const {
  if (writes && reads_only_)
    throw FileError("cannot write to the array in \"" + path() +
                    "\": it was opened for_reading; open it without for_reading to change it");
  const index_t end = file_.size();
  if (end < mapped_)
    throw FileError("cannot use the array in \"" + path() + "\": the file ends at byte " +
                    std::to_string(end) + " of " + std::to_string(mapped_) +
                    ": it was truncated while it was open; restore it, or make "
                    "it anew");
}

void FileStorage::mark_incomplete() {
  if (reads_only_ || on_disk_.load(std::memory_order_acquire) == OnDisk::BeingWritten) return;
  const std::lock_guard guard(mutex_);
  if (on_disk_.load(std::memory_order_relaxed) == OnDisk::BeingWritten) return;
  write_header(FileHeader::State::BeingWritten);
  on_disk_.store(OnDisk::BeingWritten, std::memory_order_release);
}

void FileStorage::complete() {
  check_use(true);
  changed_again();
  const std::lock_guard guard(mutex_);
  if (on_disk_.load(std::memory_order_relaxed) == OnDisk::Complete) return;
  unwritten_ = {0, mapped_};
  int error = injected_error_;
  if (error == 0 && msync(map_, static_cast<std::size_t>(mapped_), MS_SYNC) != 0) error = errno;
  if (error != 0) files::throw_file_error("bring to the disk the changes of", path(), error);
  file_.sync();  // what went past the page cache, too
  unwritten_ = {};
  on_disk_.store(OnDisk::Unknown, std::memory_order_release);
  write_header(FileHeader::State::Complete);
  on_disk_.store(OnDisk::Complete, std::memory_order_release);
}

void FileStorage::read_ahead() {
  check_use(false);
  char* const begin = data();
#if defined(MADV_POPULATE_READ)
  if (madvise(begin, static_cast<std::size_t>(data_bytes()), MADV_POPULATE_READ) == 0) return;
  if (errno != EINVAL && errno != ENOSYS)
    files::throw_file_error("read the " + std::to_string(data_bytes()) + " bytes of", path(), errno);
#endif
  static_cast<void>(madvise(begin, static_cast<std::size_t>(data_bytes()), MADV_WILLNEED));
}

void FileStorage::write_back() {
  if (!reads_only_ && data_bytes() > 0) write_back(first_byte(), data_bytes());
}

void FileStorage::give_memory_back() {
  {
    const std::lock_guard guard(mutex_);
    if (unwritten_.end > 0) return;
  }
  static_cast<void>(madvise(data(), static_cast<std::size_t>(data_bytes()), MADV_DONTNEED));
  static_cast<void>(posix_fadvise(file_.descriptor(), first_byte(), data_bytes(), POSIX_FADV_DONTNEED));
}

void FileStorage::before_direct_read(index_t first_byte, index_t bytes) {
  if (!reads_only_ && file_.is_direct() && bytes > 0) write_back(first_byte, bytes);
}

// What the mapping has changed there goes to the disk, with what could not be written before.
void FileStorage::write_back(index_t first_byte, index_t bytes) {
  const Part before = changed_again();
  const index_t page = sysconf(_SC_PAGESIZE);
  Part part{first_byte / page * page, first_byte + bytes};
  if (before.end > 0) part = {std::min(part.begin, before.begin), std::max(part.end, before.end)};
  const int error = write_pages(part);
  if (error == 0 && before.end == 0) return;
  const std::lock_guard guard(mutex_);
  if (error == 0 && unwritten_ == before) unwritten_ = {};
  if (error == 0) return;
  unwritten_ = unwritten_.end == 0
                   ? part
                   : Part{std::min(part.begin, unwritten_.begin), std::max(part.end, unwritten_.end)};
  files::throw_file_error("write back " + std::to_string(part.end - part.begin) + " bytes at offset " +
                              std::to_string(part.begin) + " of",
                          path(), error);
}

// 0, or errno.
int FileStorage::write_pages(Part part) {
  if (injected_error_ != 0) return injected_error_;
#if defined(__linux__)
  // The pages alone: msync would also write what the file system knows of the file, and wait for the disk.
  if (sync_file_range(file_.descriptor(), part.begin, part.end - part.begin,
                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) == 0)
    return 0;
  if (errno != ENOSYS && errno != EINVAL && errno != ESPIPE) return errno;
#endif
  return msync(map_ + part.begin, static_cast<std::size_t>(part.end - part.begin), MS_SYNC) == 0 ? 0 : errno;
}

// Linux takes pages whose writing failed for written, and reports the failure once: before the next attempt
// they are marked as changed. Which these are.
FileStorage::Part FileStorage::changed_again() {
  const std::lock_guard guard(mutex_);
  if (unwritten_.end == 0) return {};
  int error = EINVAL;
#if defined(MADV_POPULATE_WRITE)
  char* const begin = map_ + unwritten_.begin;
  if (madvise(begin, static_cast<std::size_t>(unwritten_.end - unwritten_.begin), MADV_POPULATE_WRITE) == 0)
    return unwritten_;
  error = errno;
#endif
  files::throw_file_error("write once more what could not be written before of", path(), error);
}

void FileStorage::before_direct_write(index_t, index_t) {
  check_use(true);
  mark_incomplete();
}

}  // namespace strata::inline STRATA_ABI::detail
