// Using CUB on a queue: which stream, which GPU, and memory for the time of a call. Compiled by nvcc only.
//
// CUB, unlike Strata's own launches, asks which GPU is current, so that of the queue is made current for the
// call. The temporary memory of CUB and of the algorithms is one piece of the queue's scratch memory, which
// the order of the queue keeps from others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <strata/devices/cuda/execution.hpp>

namespace strata::inline STRATA_ABI::detail {

/// One launch that calls CUB.
class CubLaunch {
 public:
  /// `waits`: for its result.
  CubLaunch(const LaunchInfo& info, index_t items, bool waits = false)
      : queue_(cuda_queue_for(info, waits)), launch_(queue_, EventKind::BeginFor, info, items) {
    check(cudaStreamGetDevice(stream(), &device_), "cudaStreamGetDevice");
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ != device_) check(cudaSetDevice(device_), "cudaSetDevice");
    else before_ = -1;
  }
  ~CubLaunch() {
    if (before_ >= 0) cudaSetDevice(before_);
  }
  CubLaunch(const CubLaunch&) = delete;
  CubLaunch& operator=(const CubLaunch&) = delete;

  cudaStream_t stream() const { return launch_.stream(); }
  void check(cudaError_t code, const char* tried) const { launch_.check(static_cast<int>(code), tried); }
  CudaLaunch& launch() { return launch_; }
  CudaQueue& queue() const { return queue_; }

  /// The bytes that `ask(bytes)` says an algorithm of CUB needs for so many items. A thread asks once as long
  /// as neither the number nor the GPU is another, as CUB takes microseconds to answer.
  template <class Ask>
  std::size_t bytes_needed(index_t items, const Ask& ask, const char* algorithm) const {
    struct Known {
      index_t items = -1;
      int device = 0;
      std::size_t bytes = 0;
    };
    static thread_local Known known;  // each type of `ask` has its own
    if (known.items != items || known.device != device_) {
      std::size_t bytes = 0;
      check(ask(bytes), algorithm);
      known = {items, device_, bytes};
    }
    return known.bytes;
  }
  /// Scratch memory; one piece a launch.
  char* scratch(std::size_t bytes) { return static_cast<char*>(launch_.scratch(bytes).partials); }
  /// Runs `work.run()`, by up to a thread an item, ahead of the end of what CUB has launched, for which it
  /// waits itself. `most_blocks` of a multiprocessor; 0: four times as many as it holds.
  template <class Work>
  void run(Work work, index_t items, int most_blocks = 0);

 private:
  CudaQueue& queue_;
  CudaLaunch launch_;
  int device_ = 0;
  int before_ = -1;  // the current GPU to restore; -1: none
};

template <class Work>
void CubLaunch::run(Work work, index_t items, int most_blocks) {
  CudaKernel& kernel = cuda_kernel<&cuda_run<Work>>();
  const auto& on_device = cuda_kernel_on(queue_, kernel);
  const index_t block = on_device.block, most = most_blocks > 0
                                                    ? index_t{most_blocks} * cuda_multiprocessors(queue_)
                                                    : 4 * index_t{on_device.resident_blocks};
  const index_t blocks = smaller_of((items + block - 1) / block, most);
  work.check.ahead = on_device.waits_itself;
  launch_.run(kernel, cuda_line(blocks, block), &work, work.check.ahead);
}

/// The pieces of one scratch memory, each 256-byte aligned.
class ScratchPlan {
 public:
  /// Room for `count` of T; returns its place.
  template <class T>
  std::size_t add(index_t count) {
    const std::size_t place = bytes_;
    bytes_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return place;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// The user's predicate or order as CUB calls it. In checked builds it says where bad accesses of views that
/// it holds are reported, which Strata's own kernels do when they begin.
template <class F>
struct CubFunctor {
  F functor;
  CudaCheck check;

  template <class... T>
  __device__ bool operator()(const T&... arguments) const {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
    block_check = check.record;
    block_launch = check.launch;
    block_note_count = 0;
#endif
    return static_cast<bool>(functor(arguments...));
  }
};

/// In checked builds, before any view is used: CUB's kernels do not begin as Strata's do, and note nothing.
STRATA_FUNCTION inline void note_nothing() {
#if defined(STRATA_CHECKED) && STRATA_CHECKED && defined(__CUDA_ARCH__)
  block_note_count = 0;
#endif
}

/// Items that a functor gives, `get(k)`, as a range to read.
template <class Get>
class ReadIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename Get::value_type;
  using difference_type = index_t;
  using pointer = const value_type*;
  using reference = value_type;

  STRATA_FUNCTION explicit ReadIterator(const Get& get) : get_(get) {}

  STRATA_FUNCTION reference operator*() const { return (*this)[0]; }
  STRATA_FUNCTION reference operator[](index_t k) const {
    note_nothing();
    return get_(at_ + k);
  }
  STRATA_FUNCTION ReadIterator& operator+=(index_t k) {
    at_ += k;
    return *this;
  }
  STRATA_FUNCTION ReadIterator& operator-=(index_t k) { return *this += -k; }
  STRATA_FUNCTION ReadIterator& operator++() { return *this += 1; }
  STRATA_FUNCTION ReadIterator& operator--() { return *this += -1; }
  friend STRATA_FUNCTION ReadIterator operator+(ReadIterator it, index_t k) { return it += k; }
  friend STRATA_FUNCTION ReadIterator operator-(ReadIterator it, index_t k) { return it -= k; }
  friend STRATA_FUNCTION index_t operator-(const ReadIterator& a, const ReadIterator& b) {
    return a.at_ - b.at_;
  }
  friend STRATA_FUNCTION bool operator==(const ReadIterator& a, const ReadIterator& b) {
    return a.at_ == b.at_;
  }
  friend STRATA_FUNCTION bool operator!=(const ReadIterator& a, const ReadIterator& b) {
    return a.at_ != b.at_;
  }

 private:
  Get get_;
  index_t at_ = 0;
};

/// Items that a functor takes, `put(k, value)`, as a range to write.
template <class Put>
class WriteIterator {
 public:
  class Element {
   public:
    STRATA_FUNCTION Element(const Put& put, index_t at) : put_(put), at_(at) {}
    template <class T>
    STRATA_FUNCTION const Element& operator=(const T& value) const {
      note_nothing();
      put_(at_, value);
      return *this;
    }

   private:
    const Put& put_;
    index_t at_;
  };
  using iterator_category = std::random_access_iterator_tag;
  using value_type = void;
  using difference_type = index_t;
  using pointer = void;
  using reference = Element;

  STRATA_FUNCTION explicit WriteIterator(const Put& put) : put_(put) {}

  STRATA_FUNCTION Element operator*() const { return {put_, at_}; }
  STRATA_FUNCTION Element operator[](index_t k) const { return {put_, at_ + k}; }
  STRATA_FUNCTION WriteIterator& operator+=(index_t k) {
    at_ += k;
    return *this;
  }
  STRATA_FUNCTION WriteIterator& operator++() { return *this += 1; }
  friend STRATA_FUNCTION WriteIterator operator+(WriteIterator it, index_t k) { return it += k; }

 private:
  Put put_;
  index_t at_ = 0;
};

// Passes the number that CUB writes to `counter` to the result.
template <class Result>
struct CubCount {
  Result result;
  const index_t* counter;
  CudaCheck check;

  __device__ void run() const {
    if (blockIdx.x == 0 && threadIdx.x == 0)
      result.finish.on_device(static_cast<typename Result::value_type>(*counter));
  }
};

/// Copies a count in device memory to its result; for host variables, waits for the queue.
template <class Result>
void deliver_count(CubLaunch& call, const Result& result, const index_t* counter) {
  if constexpr (Result::waits) {
    index_t count = 0;
    call.launch().fetch(&count, counter, sizeof count);
    result.finish.on_host(static_cast<typename Result::value_type>(count));
  } else {
    call.run(CubCount<Result>{result, counter, call.launch().check()}, 1);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
