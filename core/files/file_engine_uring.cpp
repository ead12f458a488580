// io_uring by way of liburing, where Strata was built with it.
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/files/file_requests.hpp>

#if defined(STRATA_HAS_LIBURING)
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <liburing.h>

#include <strata/core/error.hpp>
#endif

namespace strata::inline STRATA_ABI::detail::files {

#if defined(STRATA_HAS_LIBURING)

namespace {

// The thread that holds the lock of FileRequests puts requests into the ring; one thread takes ended requests
// out of it, and puts in those that waited.
class UringEngine : public FileEngine {
 public:
  UringEngine(FileRequests& requests, const io_uring& ring)
      : requests_(requests), ring_(ring), thread_([this] { work(); }) {}
  ~UringEngine() override {
    io_uring_sqe* const last = io_uring_get_sqe(&ring_);  // nothing else is in the ring
    io_uring_prep_nop(last);
    io_uring_sqe_set_data(last, nullptr);
    flush();
    thread_.join();
    io_uring_queue_exit(&ring_);
  }

  void begin(FileRequest* request) override {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);  // it has room for all that may be in flight
    char* const memory = request->memory + request->done;
    const auto bytes = static_cast<unsigned>(request->at_most);
    const auto offset = static_cast<__u64>(request->offset + request->done);
    if (request->transfer->is_write) io_uring_prep_write(entry, request->descriptor, memory, bytes, offset);
    else io_uring_prep_read(entry, request->descriptor, memory, bytes, offset);
    // Bytes in the page cache would be copied by the calling thread.
    if (!request->is_direct) io_uring_sqe_set_flags(entry, IOSQE_ASYNC);
    io_uring_sqe_set_data(entry, request);
  }
  void flush() override {
    for (;;) {
      const int result = io_uring_submit(&ring_);
      if (result >= 0 && io_uring_sq_ready(&ring_) == 0) return;
      // Out of memory for a moment: the requests stay in the ring.
      if (result < 0 && result != -EINTR && result != -EAGAIN && result != -EBUSY && result != -ENOMEM)
        throw FileError(std::string("io_uring takes no requests: ") + std::strerror(-result));
      if (result < 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

 private:
  void work() {
    for (;;) {
      io_uring_cqe* entry = nullptr;
      if (io_uring_wait_cqe(&ring_, &entry) != 0) continue;  // a signal
      auto* const request = static_cast<FileRequest*>(io_uring_cqe_get_data(entry));
      const int result = entry->res;
      io_uring_cqe_seen(&ring_, entry);
      if (request == nullptr) return;
      requests_.end(request, result);
    }
  }

  FileRequests& requests_;
  io_uring ring_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<FileEngine> make_uring_engine(FileRequests& requests, int in_flight) {
  io_uring ring{};
  if (io_uring_queue_init(static_cast<unsigned>(in_flight), &ring, 0) != 0) return nullptr;
  try {
    return std::make_unique<UringEngine>(requests, ring);
  } catch (...) {
    io_uring_queue_exit(&ring);
    throw;
  }
}

#else

std::unique_ptr<FileEngine> make_uring_engine(FileRequests&, int) { return nullptr; }

#endif

}  // namespace strata::inline STRATA_ABI::detail::files
