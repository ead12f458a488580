// FileRequests: the requests of one AsyncFile, waiting and in flight, and the engine that carries them out.
//
// A FileTransfer is a transfer of the user, cut into requests. Those of its aligned middle come first:
// writing its ends through the page cache meanwhile could dirty a page that also holds a part of the middle
// (pages of the cache may be larger than 4096 bytes), which the kernel could then not drop when the middle is
// written directly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <strata/core/files/async_file.hpp>

namespace strata::inline STRATA_ABI::detail::files {

class FileTransfer;

struct FileRequest {
  Ref<FileTransfer> transfer;
  char* memory;
  index_t bytes;
  index_t offset;
  bool is_direct;
  index_t done = 0;     // of `bytes`
  index_t at_most = 0;  // bytes of the next try
  int descriptor = -1;  // of the next try
};

class FileTransfer : public RefCounted {
 public:
  bool is_write = false;
  index_t bytes = 0;
  index_t offset = 0;
  // Guarded by the lock of FileRequests.
  std::vector<FileRequest> ends;  // begun after the middle
  index_t left = 0;               // requests that have not ended
  bool done = false;
  int error = 0;        // the first one
  bool at_end = false;  // of the file: a read has reached it
  index_t error_offset = 0;
};

/// Carries requests out. begin() and flush() are called with the lock of FileRequests held.
class FileEngine {
 public:
  virtual ~FileEngine() = default;
  /// Takes over the request, and calls FileRequests::end with it later, from a thread of its own.
  virtual void begin(FileRequest* request) = 0;
  /// After some begin().
  virtual void flush() {}
};

class FileRequests {
 public:
  FileRequests(int buffered, int direct, const AsyncFile::Options& options);
  ~FileRequests();

  Ref<FileTransfer> add(bool is_write, char* memory, index_t bytes, index_t offset);
  void wait(const FileTransfer& transfer);
  bool is_done(const FileTransfer& transfer);
  void inject(const AsyncFile::Fault& fault);
  AsyncFile::Requests counts();
  AsyncFile::Engine engine();
  bool is_forked() const;

  /// For engines: the request ended with `result` bytes, or minus an errno.
  void end(FileRequest* request, index_t result);
  /// Carries a request out on the calling thread; the result as for end().
  static index_t carry_out(const FileRequest& request);

 private:
  using Lock = std::unique_lock<std::mutex>;
  void start_engine();
  void fill();
  void settle(FileRequest* request, index_t result);
  void finish(FileRequest* request);
  bool is_aligned(const void* memory) const;
  void cut(const Ref<FileTransfer>& transfer, char* memory, index_t bytes, index_t offset);

  const int buffered_, direct_;
  const AsyncFile::Options options_;
  const int process_;
  index_t memory_alignment_ = 4096;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<FileRequest*> waiting_;
  int in_flight_ = 0;
  index_t transfers_ = 0;  // not done
  std::vector<AsyncFile::Fault> faults_;
  AsyncFile::Requests counts_;
  AsyncFile::Engine chosen_ = AsyncFile::Engine::Best;
  std::unique_ptr<FileEngine> engine_;
};

/// Four threads that read and write.
std::unique_ptr<FileEngine> make_thread_engine(FileRequests& requests);
/// Null where Strata was built without liburing, or the system forbids io_uring.
std::unique_ptr<FileEngine> make_uring_engine(FileRequests& requests, int in_flight);

}  // namespace strata::inline STRATA_ABI::detail::files
