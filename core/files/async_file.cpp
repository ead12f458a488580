// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/core/files/async_file.hpp>
#include <strata/core/files/file_requests.hpp>

namespace strata::inline STRATA_ABI::detail::files {

namespace {

std::string quoted(const std::string& path) { return "\"" + path + "\""; }

// The folder that the file is, or was to be, in.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string free_bytes(const std::string& path) {
  struct statvfs space {};
  if (statvfs(path.c_str(), &space) != 0 && statvfs(folder_of(path).c_str(), &space) != 0) return "";
  return ", " + string_from_bytes(static_cast<index_t>(space.f_bavail * space.f_frsize)) + " are free";
}

std::string advice(const std::string& path, int error, index_t needed) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return (needed < 0 ? "the disk is full" : string_from_bytes(needed) + " were needed") +
             free_bytes(path) + "; make room, or put the file on another file system";
    case EFBIG:
      return "the file would be larger than this process or file system allows; raise the limit (ulimit -f), "
             "or "
             "put the file on another file system";
    case ENOENT:
    case ENOTDIR:
      return access(folder_of(path).c_str(), F_OK) == 0
                 ? "there is no such file in that folder: correct the path"
                 : "make the folder " + quoted(folder_of(path)) + ", or correct the path";
    case EEXIST:
      return "give `overwrite` to replace it, or open it with open_file_array";
    case EACCES:
    case EPERM:
    case EROFS:
      return "change who may use the file and its folder, or open it for_reading";
    case EISDIR:
      return "it is a folder; give the path of a file";
    case EMFILE:
    case ENFILE:
      return "close other files, or raise the limit (ulimit -n)";
    case EIO:
      return "the disk, or the way to it, is at fault: see the system's log";
    default:
      return "see the system's log";
  }
}

[[noreturn]] void fail_negative(const char* action, const std::string& path, index_t bytes, index_t offset) {
  throw FileError(std::string("cannot ") + action + " " + std::to_string(bytes) + " bytes at offset " +
                  std::to_string(offset) + " of " + quoted(path) + ": both must be at least 0");
}

int open_file(const std::string& path, AsyncFile::Mode mode) {
  const int flags = mode == AsyncFile::Mode::Read        ? O_RDONLY
                    : mode == AsyncFile::Mode::ReadWrite ? O_RDWR
                                                         : O_RDWR | O_CREAT | O_EXCL;
  int file;
  do file = open(path.c_str(), flags | O_CLOEXEC, 0666);
  while (file < 0 && errno == EINTR);
  if (file < 0) throw_file_error(mode == AsyncFile::Mode::Create ? "create" : "open", path, errno);
  struct stat status {};
  if (fstat(file, &status) == 0 && !S_ISREG(status.st_mode)) {
    close(file);
    throw FileError("cannot open " + quoted(path) + ": it is not a regular file; give the path of one");
  }
  return file;
}

// The same file once more, for direct I/O; -1 where the file system has none.
int open_direct([[maybe_unused]] int file, [[maybe_unused]] bool writable) {
#if defined(O_DIRECT)
  // By its number: another file may be at the path by now.
  const std::string same = "/proc/self/fd/" + std::to_string(file);
  return open(same.c_str(), (writable ? O_RDWR : O_RDONLY) | O_DIRECT | O_CLOEXEC);
#else
  return -1;
#endif
}

}  // namespace

void throw_file_error(const std::string& action, const std::string& path, int error, index_t needed) {
  throw FileError("cannot " + action + " " + quoted(path) + ": " + std::strerror(error) + " (errno " +
                  std::to_string(error) + "); " + advice(path, error, needed));
}

AsyncFile::AsyncFile(const std::string& path, Mode mode, const Options& options)
    : path_(path), writable_(mode != Mode::Read) {
  if (options.request_bytes < 4096 || options.request_bytes % 4096 != 0 || options.in_flight < 1 ||
      options.in_flight > 1024)
    throw FileError("cannot open " + quoted(path) + " with requests of " +
                    std::to_string(options.request_bytes) + " bytes, " + std::to_string(options.in_flight) +
                    " in flight: give a multiple of 4096, and 1 to 1024");
  buffered_ = open_file(path, mode);
  if (options.direct) direct_ = open_direct(buffered_, writable_);
#if defined(POSIX_FADV_RANDOM)
  // Only the ends of direct transfers are read through it: no page beside them is to come into the cache.
  if (direct_ >= 0) posix_fadvise(buffered_, 0, 0, POSIX_FADV_RANDOM);
#endif
  try {
    requests_ = new FileRequests(buffered_, direct_, options);
  } catch (...) {
    if (direct_ >= 0) close(direct_);
    close(buffered_);
    throw;
  }
}

AsyncFile::~AsyncFile() {
  delete requests_;
  if (direct_ >= 0) close(direct_);
  close(buffered_);
}

AsyncFile::Ticket AsyncFile::begin(bool is_write, char* memory, index_t bytes, index_t offset) {
  const char* const action = is_write ? "write" : "read";
  if (bytes < 0 || offset < 0) fail_negative(action, path_, bytes, offset);
  if (is_write && !writable_)
    throw FileError("cannot write to " + quoted(path_) + ": it is open for reading only");
  if (requests_->is_forked())
    throw FileError(std::string("cannot ") + action + " " + quoted(path_) +
                    " in a child of the process that opened it; open it anew there");
  return bytes == 0 ? Ticket() : Ticket(requests_->add(is_write, memory, bytes, offset));
}

AsyncFile::Ticket AsyncFile::read(void* to, index_t bytes, index_t offset) {
  return begin(false, static_cast<char*>(to), bytes, offset);
}

AsyncFile::Ticket AsyncFile::write(const void* from, index_t bytes, index_t offset) {
  return begin(true, const_cast<char*>(static_cast<const char*>(from)), bytes, offset);
}

bool AsyncFile::is_done(const Ticket& ticket) const {
  return !ticket.transfer_ || requests_->is_done(static_cast<const FileTransfer&>(*ticket.transfer_));
}

void AsyncFile::wait(const Ticket& ticket) const {
  if (!ticket.transfer_) return;
  const auto& transfer = static_cast<const FileTransfer&>(*ticket.transfer_);
  requests_->wait(transfer);
  if (transfer.error == 0) return;
  const std::string what = std::string(transfer.is_write ? "write " : "read ") +
                           std::to_string(transfer.bytes) + " bytes at offset " +
                           std::to_string(transfer.offset) + " of";
  if (transfer.at_end) {
    const index_t end = size();
    throw FileError("cannot " + what + " " + quoted(path_) + ": the file ends at byte " +
                    std::to_string(end) + ": it was truncated, at least " +
                    std::to_string(transfer.offset + transfer.bytes - end) +
                    " bytes are missing; restore it, or make it anew");
  }
  const std::string where = transfer.error_offset == transfer.offset
                                ? ""
                                : " (from byte " + std::to_string(transfer.error_offset) + ")";
  throw_file_error(what, path_ + where, transfer.error,
                   transfer.is_write ? transfer.offset + transfer.bytes - transfer.error_offset : -1);
}

void AsyncFile::sync() const {
  int result;
  do result = fsync(buffered_);
  while (result != 0 && errno == EINTR);
  if (result != 0) throw_file_error("bring to the disk all of", path_, errno);
}

index_t AsyncFile::size() const {
  struct stat status {};
  if (fstat(buffered_, &status) != 0) throw_file_error("see the size of", path_, errno);
  return static_cast<index_t>(status.st_size);
}

AsyncFile::Engine AsyncFile::engine() const { return requests_->engine(); }
void AsyncFile::inject(const Fault& fault) { requests_->inject(fault); }
AsyncFile::Requests AsyncFile::requests() const { return requests_->counts(); }

}  // namespace strata::inline STRATA_ABI::detail::files
