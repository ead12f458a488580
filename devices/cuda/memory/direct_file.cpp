// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include <strata/core/log.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/memory/direct_file.hpp>
#include <strata/devices/cuda/queue.hpp>

#if defined(STRATA_HAS_CUFILE)
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <type_traits>

#include <cufile.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/core/files/async_file.hpp>
#endif

namespace strata::inline STRATA_ABI::detail {

namespace {

void warn_without_cufile(const std::string& why) {
  static const bool warned = [&] {
    log_message(LogLevel::Warning,
                "GPUs do not read and write files themselves: %s. The host does it for them.", why.c_str());
    return true;
  }();
  static_cast<void>(warned);
}

}  // namespace

#if defined(STRATA_HAS_CUFILE)

namespace {

// The functions of the library, where there is one.
class CuFile {
 public:
  static const CuFile& get() {
    static const CuFile& library = *new CuFile;
    return library;
  }

  decltype(&cuFileDriverOpen) driver_open = nullptr;
  decltype(&cuFileHandleRegister) handle_register = nullptr;
  decltype(&cuFileHandleDeregister) handle_deregister = nullptr;
  decltype(&cuFileReadAsync) read_async = nullptr;
  decltype(&cuFileWriteAsync) write_async = nullptr;
  std::string problem;  // empty: all is well

 private:
  CuFile() {
    void* const library = dlopen("libcufile.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const why = dlerror();
      problem = std::string("cuFile is not found (") + (why != nullptr ? why : "libcufile.so.0") +
                "); install it, of the CUDA Toolkit: libcufile";
      return;
    }
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr && problem.empty())
        problem = std::string("cuFile has no ") + name + ": it is too old";
    };
    load(driver_open, "cuFileDriverOpen");
    load(handle_register, "cuFileHandleRegister");
    load(handle_deregister, "cuFileHandleDeregister");
    load(read_async, "cuFileReadAsync");
    load(write_async, "cuFileWriteAsync");
    if (!problem.empty()) return;
    const CUfileError_t opened = driver_open();
    if (opened.err != CU_FILE_SUCCESS)
      problem = std::string("cuFile does not start: ") + cufileop_status_error(opened.err);
  }
};

class CudaDirectFile final : public DirectFile {
 public:
  CudaDirectFile(CudaInstance& gpu, int descriptor, CUfileHandle_t handle, const char* path)
      : gpu_(gpu), descriptor_(descriptor), handle_(handle), path_(path) {}
  ~CudaDirectFile() override {
    CuFile::get().handle_deregister(handle_);
    close(descriptor_);
  }

  void read(QueueState& queue, void* to, std::size_t bytes, index_t offset) override {
    transfer(queue, to, bytes, offset, false);
  }
  void write(QueueState& queue, const void* from, std::size_t bytes, index_t offset) override {
    transfer(queue, const_cast<void*>(from), bytes, offset, true);
  }
  void check() override {
    const std::lock_guard lock(mutex_);
    while (!requests_.empty() && requests_.front().ended && requests_.front().ended->complete()) {
      const Request first = requests_.front();
      requests_.pop_front();
      if (first.done != static_cast<ssize_t>(first.bytes)) fail(first);
    }
  }
  void forget() override {
    const std::lock_guard lock(mutex_);
    requests_.clear();
  }

 private:
  // cuFile reads these when the transfer's turn comes, and writes `done` by its end.
  struct Request {
    std::size_t bytes;
    off_t file_offset, memory_offset;
    ssize_t done;
    bool is_write;
    Ref<EventState> ended;
  };

  void transfer(QueueState& any_queue, void* memory, std::size_t bytes, index_t offset, bool is_write) {
    auto& queue = static_cast<CudaQueue&>(any_queue);
    const std::lock_guard queue_lock(queue.mutex);
    const std::lock_guard lock(mutex_);
    const CudaDeviceScope scope(gpu_.index());
    Request& request = requests_.emplace_back(Request{bytes, offset, 0, 0, is_write, {}});
    const CuFile& library = CuFile::get();
    const CUfileError_t result = (is_write ? library.write_async : library.read_async)(
        handle_, memory, &request.bytes, &request.file_offset, &request.memory_offset, &request.done,
        reinterpret_cast<CUstream>(queue.stream()));
    queue.submitted();
    if (result.err == CU_FILE_SUCCESS) {
      request.ended = queue.record();
      return;
    }
    Request failed = request;
    requests_.pop_back();
    failed.done = -static_cast<ssize_t>(result.err);
    fail(failed);
  }

  static constexpr const char* how_to_go_on =
      "; its log (cufile.log) says more, and STRATA_CUDA_DIRECT_FILES=0 has the host do it";
  [[noreturn]] void fail(const Request& request) const {
    const std::string what = (request.is_write ? "write " : "read ") + std::to_string(request.bytes) +
                             " bytes at offset " + std::to_string(request.file_offset) + " of";
    if (request.done >= 0)
      throw FileError("cannot " + what + " \"" + path_ + "\": cuFile did " + std::to_string(request.done) +
                      " of them" + how_to_go_on);
    const ssize_t code = -request.done;
    if (code > CUFILEOP_BASE_ERR)
      throw FileError("cannot " + what + " \"" + path_ + "\": cuFile says " +
                      cufileop_status_error(static_cast<CUfileOpError>(code)) + how_to_go_on);
    // cuFile knows the error of the file system, and does not hand it on.
    if (code == 1)
      throw FileError("cannot " + what + " \"" + path_ + "\": the file system failed" + how_to_go_on);
    files::throw_file_error(what, path_, static_cast<int>(code));
  }

  CudaInstance& gpu_;
  const int descriptor_;
  const CUfileHandle_t handle_;
  const std::string path_;
  std::mutex mutex_;
  std::deque<Request> requests_;  // which stay where they are
};

// The same file by a descriptor of its own, past the page cache where the file system can.
int open_again(int descriptor, bool writes) {
  const std::string name = "/proc/self/fd/" + std::to_string(descriptor);
  const int flags = (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC;
  const int direct = ::open(name.c_str(), flags | O_DIRECT);
  return direct >= 0 ? direct : ::open(name.c_str(), flags);
}

}  // namespace

Ref<DirectFile> open_cuda_direct_file(CudaInstance& gpu, int descriptor, const char* path, bool writes) {
  if (!settings().cuda_direct_files) return {};
  const CudaDeviceScope scope(gpu.index());
  const CuFile& library = CuFile::get();
  if (!library.problem.empty()) {
    warn_without_cufile(library.problem);
    return {};
  }
  const int own = open_again(descriptor, writes);
  if (own < 0) {
    warn_without_cufile("\"" + std::string(path) + "\" cannot be opened once more: " + std::strerror(errno));
    return {};
  }
  CUfileDescr_t description{};
  description.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = own;
  CUfileHandle_t handle = nullptr;
  const CUfileError_t result = library.handle_register(&handle, &description);
  if (result.err != CU_FILE_SUCCESS) {
    close(own);
    warn_without_cufile("cuFile does not take \"" + std::string(path) +
                        "\": " + cufileop_status_error(result.err));
    return {};
  }
  return Ref<DirectFile>(new CudaDirectFile(gpu, own, handle, path));
}

#else

Ref<DirectFile> open_cuda_direct_file(CudaInstance&, int, const char*, bool) {
  if (settings().cuda_direct_files)
    warn_without_cufile("Strata was built without cuFile (STRATA_ENABLE_CUFILE, which needs cufile.h)");
  return {};
}

#endif

}  // namespace strata::inline STRATA_ABI::detail
