// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <strata/core/files/file_requests.hpp>
#include <strata/core/files/file_size_limit.hpp>

namespace strata::inline STRATA_ABI::detail::files {

namespace {

// Of parts of the file that go past the page cache: its pages are at least that large.
constexpr index_t page = 4096;
constexpr int thread_count = 4;

// The alignment of addresses for direct I/O. If the kernel does not report it (before 6.1), 512 is tried:
// requests that it refuses go through the page cache.
index_t direct_alignment([[maybe_unused]] int file) {
#if defined(STATX_DIOALIGN)
  struct statx status {};
  if (statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0 && status.stx_dio_mem_align > 0)
    return status.stx_dio_mem_align;
#endif
  return 512;
}

// Whether the page cache has a part of the file. After a direct write it should not: a page that is there was
// read meanwhile, and may be old.
bool is_cached([[maybe_unused]] int file, [[maybe_unused]] index_t offset, [[maybe_unused]] index_t bytes) {
#if defined(__linux__)
  // cachestat(2), of Linux 6.5; glibc 2.36 does not have it yet.
  constexpr long cachestat = 451;
  struct {
    std::uint64_t offset, length;
  } const range{static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(bytes)};
  struct {
    std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
  } counts{};
  return syscall(cachestat, static_cast<unsigned>(file), &range, &counts, 0U) == 0 && counts.cached > 0;
#else
  return false;
#endif
}

class ThreadEngine : public FileEngine {
 public:
  explicit ThreadEngine(FileRequests& requests) : requests_(requests) {
    try {
      for (int t = 0; t < thread_count; ++t) threads_.emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~ThreadEngine() override { stop(); }

  void begin(FileRequest* request) override {
    const std::lock_guard lock(mutex_);
    queue_.push_back(request);
    changed_.notify_one();
  }

 private:
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stops_ || !queue_.empty(); });
      if (queue_.empty()) return;
      FileRequest* const request = queue_.front();
      queue_.pop_front();
      lock.unlock();
      requests_.end(request, FileRequests::carry_out(*request));
      lock.lock();
    }
  }

  FileRequests& requests_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FileRequest*> queue_;
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<FileEngine> make_thread_engine(FileRequests& requests) {
  return std::make_unique<ThreadEngine>(requests);
}

FileRequests::FileRequests(int buffered, int direct, const AsyncFile::Options& options)
    : buffered_(buffered),
      direct_(direct),
      options_(options),
      process_(getpid()),
      memory_alignment_(direct >= 0 ? direct_alignment(direct) : page) {}

FileRequests::~FileRequests() {
  if (is_forked()) {  // its threads are the parent's
    static_cast<void>(engine_.release());
    return;
  }
  Lock lock(mutex_);
  ended_.wait(lock, [&] { return transfers_ == 0; });
  lock.unlock();
  engine_.reset();
}

bool FileRequests::is_forked() const { return getpid() != process_; }

// ---- cutting

bool FileRequests::is_aligned(const void* memory) const {
  return reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::uintptr_t>(memory_alignment_) == 0;
}

void FileRequests::cut(const Ref<FileTransfer>& transfer, char* memory, index_t bytes, index_t offset) {
  const index_t end = offset + bytes;
  index_t first = (offset + page - 1) / page * page, last = end / page * page;
  const bool is_direct = direct_ >= 0 && first < last && is_aligned(memory + (first - offset));
  if (!is_direct) first = offset, last = end;
  for (index_t at = first; at < last; at += options_.request_bytes)
    waiting_.push_back(new FileRequest{transfer, memory + (at - offset),
                                       std::min(options_.request_bytes, last - at), at, is_direct});
  transfer->left = (last - first + options_.request_bytes - 1) / options_.request_bytes;
  if (offset < first) transfer->ends.push_back({{}, memory, first - offset, offset, false});
  if (last < end) transfer->ends.push_back({{}, memory + (last - offset), end - last, last, false});
}

Ref<FileTransfer> FileRequests::add(bool is_write, char* memory, index_t bytes, index_t offset) {
  const Ref<FileTransfer> transfer(new FileTransfer);
  transfer->is_write = is_write;
  transfer->bytes = bytes;
  transfer->offset = offset;
  const Lock lock(mutex_);
  start_engine();
  cut(transfer, memory, bytes, offset);
  ++transfers_;
  fill();
  return transfer;
}

// ---- in flight

void FileRequests::start_engine() {
  if (engine_) return;
  if (options_.engine != AsyncFile::Engine::Threads) engine_ = make_uring_engine(*this, options_.in_flight);
  chosen_ = engine_ ? AsyncFile::Engine::Uring : AsyncFile::Engine::Threads;
  if (!engine_) engine_ = make_thread_engine(*this);
}

void FileRequests::fill() {
  bool any = false;
  while (in_flight_ < options_.in_flight && !waiting_.empty()) {
    FileRequest* const request = waiting_.front();
    waiting_.pop_front();
    if (request->transfer->error != 0) {
      finish(request);
      continue;
    }
    request->descriptor = request->is_direct ? direct_ : buffered_;
    request->at_most = request->bytes - request->done;
    ++(request->is_direct ? counts_.direct : counts_.buffered);
    int error = 0;
    for (AsyncFile::Fault& fault : faults_) {
      if (fault.request-- != 0) continue;
      error = fault.error;
      if (fault.at_most >= 0) request->at_most = std::min(request->at_most, fault.at_most);
    }
    std::erase_if(faults_, [](const AsyncFile::Fault& fault) { return fault.request < 0; });
    if (error != 0) {
      settle(request, -error);
      continue;
    }
    ++in_flight_;
    any = true;
    engine_->begin(request);
  }
  if (any) engine_->flush();
}

index_t FileRequests::carry_out(const FileRequest& request) {
  const FileSizeErrors errors;
  char* const memory = request.memory + request.done;
  const auto bytes = static_cast<std::size_t>(request.at_most);
  const auto offset = static_cast<off_t>(request.offset + request.done);
  const ssize_t result = request.transfer->is_write ? pwrite(request.descriptor, memory, bytes, offset)
                                                    : pread(request.descriptor, memory, bytes, offset);
  return result < 0 ? -errno : static_cast<index_t>(result);
}

void FileRequests::end(FileRequest* request, index_t result) {
  const Lock lock(mutex_);
  --in_flight_;
  settle(request, result);
  fill();
}

// Handles the result of one try: tries the rest again, or ends the request.
void FileRequests::settle(FileRequest* request, index_t result) {
  FileTransfer& transfer = *request->transfer;
  const index_t at = request->offset + request->done;
  if (result == -EINTR || result == -EAGAIN) {
    waiting_.push_front(request);
  } else if (result == -EINVAL && request->is_direct) {  // it asks for more than it said
    request->is_direct = false;
    waiting_.push_front(request);
  } else if (result <= 0) {
    if (transfer.error == 0) {
      transfer.error = result < 0 ? static_cast<int>(-result) : EIO;
      transfer.at_end = result == 0 && !transfer.is_write;
      transfer.error_offset = at;
    }
    finish(request);
  } else if (transfer.is_write && request->is_direct && is_cached(buffered_, at, result)) {
    // Written once more, into the page that was touched meanwhile.
    request->is_direct = false;
    waiting_.push_front(request);
  } else if (request->done += result; request->done < request->bytes) {
    request->is_direct = request->is_direct && result % page == 0;
    waiting_.push_front(request);
  } else {
    finish(request);
  }
}

void FileRequests::finish(FileRequest* request) {
  const std::unique_ptr<FileRequest> owned(request);
  FileTransfer& transfer = *request->transfer;
  if (--transfer.left > 0) return;
  if (transfer.error == 0 && !transfer.ends.empty()) {
    for (FileRequest& end : transfer.ends) {
      end.transfer = request->transfer;
      waiting_.push_front(new FileRequest(end));
      end.transfer = {};
    }
    transfer.left = static_cast<index_t>(transfer.ends.size());
    transfer.ends.clear();
    return;
  }
  transfer.done = true;
  --transfers_;
  ended_.notify_all();
}

// ---- asking

void FileRequests::wait(const FileTransfer& transfer) {
  Lock lock(mutex_);
  ended_.wait(lock, [&] { return transfer.done; });
}

bool FileRequests::is_done(const FileTransfer& transfer) {
  const Lock lock(mutex_);
  return transfer.done;
}

void FileRequests::inject(const AsyncFile::Fault& fault) {
  const Lock lock(mutex_);
  faults_.push_back(fault);
}

AsyncFile::Requests FileRequests::counts() {
  const Lock lock(mutex_);
  return counts_;
}

AsyncFile::Engine FileRequests::engine() {
  const Lock lock(mutex_);
  start_engine();
  return chosen_;
}

}  // namespace strata::inline STRATA_ABI::detail::files
