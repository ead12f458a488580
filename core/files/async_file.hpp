// AsyncFile: large runs of bytes between memory and a file, many requests in flight.
//
//   AsyncFile file("data", AsyncFile::Mode::ReadWrite);
//   AsyncFile::Ticket a = file.read(buffer, bytes, offset);   // returns at once
//   ...
//   file.wait(a);                                             // the bytes are there, or FileError
//
// A transfer is cut at multiples of 4096 of the file. Its aligned middle bypasses the page cache (O_DIRECT),
// in requests of Options::request_bytes. The rest at its ends goes through the page cache, as does all of it
// if memory and file offset are not aligned alike, or on file systems without direct I/O. io_uring carries
// the requests out where Strata was built with liburing and the system allows it, elsewhere four threads do;
// both start with the first transfer.
//
// Order: transfers are not ordered. Wait for a write before you read the same bytes. A write that was waited
// for is seen by all later reads, direct or not, of all processes; after sync() it survives a power failure.
// Do not touch the memory of a transfer until its ticket was waited for, even if it fails.
//
// Threads: all functions may be called from any thread. Not after a fork: a child must open the file again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>
#include <strata/core/ref.hpp>

namespace strata::inline STRATA_ABI::detail::files {

class FileRequests;

class AsyncFile {
 public:
  enum class Mode {
    Read,       ///< the file exists
    ReadWrite,  ///< the file exists
    Create,     ///< for reading and writing; the file does not exist
  };
  enum class Engine { Best, Uring, Threads };
  struct Options {
    bool direct = true;                        ///< bypass the page cache, where the file system can
    Engine engine = Engine::Best;              ///< Best: Uring if available, else Threads
    index_t request_bytes = index_t{2} << 20;  ///< of one request, a multiple of 4096
    int in_flight = 32;                        ///< most requests at once
  };
  /// A transfer: copyable, may be waited for any number of times; an empty one is done.
  class Ticket {
   public:
    Ticket() = default;
    explicit Ticket(const Ref<RefCounted>& transfer) : transfer_(transfer) {}

   private:
    friend class AsyncFile;
    Ref<RefCounted> transfer_;  // a FileTransfer
  };
  /// For tests: makes a request fail, or end early.
  struct Fault {
    index_t request = 0;   ///< which: 0 is the next that is begun
    int error = 0;         ///< it fails with this errno; 0: it does not
    index_t at_most = -1;  ///< it transfers no more bytes than that; negative: all
  };

  /// Opens the file. FileError has the path, the system's error and what to do.
  AsyncFile(const std::string& path, Mode mode) : AsyncFile(path, mode, Options()) {}
  AsyncFile(const std::string& path, Mode mode, const Options& options);
  /// Waits for all transfers; their errors are dropped.
  ~AsyncFile();
  AsyncFile(const AsyncFile&) = delete;
  AsyncFile& operator=(const AsyncFile&) = delete;

  /// Begins to copy `bytes` bytes from byte `offset` of the file on. FileError only where the call itself is
  /// wrong: a negative number, a write to a file that is open for reading, a use after fork.
  [[nodiscard]] Ticket read(void* to, index_t bytes, index_t offset);
  [[nodiscard]] Ticket write(const void* from, index_t bytes, index_t offset);
  /// Returns when all of the transfer has ended. FileError where it failed, at each call: with the path, the
  /// bytes, the offset, the system's error and what to do.
  void wait(const Ticket& ticket) const;
  /// Whether wait() would return or throw at once.
  bool is_done(const Ticket& ticket) const;
  /// After this, writes that were waited for survive a power failure. FileError.
  void sync() const;

  const std::string& path() const { return path_; }
  /// Notes that the file has another path now. Before the first transfer.
  void rename(const std::string& path) { path_ = path; }
  /// Of the buffered descriptor, which this owns.
  int descriptor() const { return buffered_; }
  /// The bytes of the file now. FileError.
  index_t size() const;
  /// Whether there is direct I/O.
  bool is_direct() const { return direct_ >= 0; }
  /// The engine of the next transfer: Uring or Threads.
  Engine engine() const;

  void inject(const Fault& fault);
  /// Requests that were begun so far: {direct, through the page cache}.
  struct Requests {
    index_t direct = 0;
    index_t buffered = 0;
  };
  Requests requests() const;

 private:
  Ticket begin(bool is_write, char* memory, index_t bytes, index_t offset);

  std::string path_;
  const bool writable_;
  int buffered_ = -1;
  int direct_ = -1;
  FileRequests* requests_ = nullptr;
};

/// Throws FileError for errno `error`: "cannot ACTION "PATH": what the system says; what to do". `needed`
/// bytes are named where the disk is full; negative: unknown.
[[noreturn]] void throw_file_error(const std::string& action, const std::string& path, int error,
                                   index_t needed = -1);

}  // namespace strata::inline STRATA_ABI::detail::files
