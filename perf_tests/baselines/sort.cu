// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

#include "baselines/sort.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

struct BySize {
  template <class T>
  __device__ bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

// Sorts in place, with memory for as many keys and values again where the algorithm wants it.
template <class T, SortKind Kind>
class Sorter {
 public:
  Sorter(CudaPlace place, SortArrays<T> arrays) : place_(place), a_(arrays) {
    const auto n = static_cast<std::size_t>(a_.n);
    if constexpr (Kind != SortKind::Functor) other_keys_ = cuda_array<T>(n);
    if constexpr (Kind == SortKind::Pairs) other_values_ = cuda_array<std::ptrdiff_t>(n);
    sort(nullptr, bytes_);
    temporary_ = cuda_array<char>(bytes_);
  }
  void run() const {
    std::size_t bytes = bytes_;
    copy(a_.keys, a_.source);
    sort(temporary_.get(), bytes);
    cuda_finish(place_);
  }

 private:
  template <class U>
  void copy(U* to, const U* from) const {
    cuda_check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(a_.n) * sizeof(U), cudaMemcpyDeviceToDevice,
                               stream_of(place_)));
  }
  void sort(void* temporary, std::size_t& bytes) const {
    constexpr int bits = 8 * sizeof(T);
    const cudaStream_t stream = stream_of(place_);
    if constexpr (Kind == SortKind::Functor) {
      cuda_check(cub::DeviceMergeSort::SortKeys(temporary, bytes, a_.keys, a_.n, BySize{}, stream));
    } else {
      cub::DoubleBuffer<T> keys(a_.keys, other_keys_.get());
      if constexpr (Kind == SortKind::Keys) {
        cuda_check(cub::DeviceRadixSort::SortKeys(temporary, bytes, keys, a_.n, 0, bits, stream));
      } else {
        cub::DoubleBuffer<std::ptrdiff_t> values(a_.values, other_values_.get());
        cuda_check(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, values, a_.n, 0, bits, stream));
        if (temporary && values.Current() != a_.values) copy(a_.values, values.Current());
      }
      if (temporary && keys.Current() != a_.keys) copy(a_.keys, keys.Current());
    }
  }

  CudaPlace place_;
  SortArrays<T> a_;
  std::shared_ptr<T> other_keys_;
  std::shared_ptr<std::ptrdiff_t> other_values_;
  std::shared_ptr<char> temporary_;
  std::size_t bytes_ = 0;
};

template <class T, SortKind Kind>
Sweep sorter(const char* name, CudaPlace place, const SortArrays<T>& arrays) {
  return {{name, [sorter = Sorter<T, Kind>(place, arrays)] { sorter.run(); }}};
}

}  // namespace

template <class T>
Sweep sort_by_cub(CudaPlace place, SortKind kind, SortArrays<T> arrays) {
  switch (kind) {
    case SortKind::Keys:
      return sorter<T, SortKind::Keys>("radix sort", place, arrays);
    case SortKind::Functor:
      return sorter<T, SortKind::Functor>("merge sort", place, arrays);
    case SortKind::Pairs:
      return sorter<T, SortKind::Pairs>("radix sort", place, arrays);
  }
  return {};
}
template <class T>
Competitor copy_for_cub(CudaPlace place, SortArrays<T> arrays) {
  return {
      "copy", [place, arrays] {
        cuda_check(cudaMemcpyAsync(arrays.keys, arrays.source, static_cast<std::size_t>(arrays.n) * sizeof(T),
                                   cudaMemcpyDeviceToDevice, stream_of(place)));
        cuda_finish(place);
      }};
}
template Competitor copy_for_cub(CudaPlace, SortArrays<float>);
template Competitor copy_for_cub(CudaPlace, SortArrays<double>);
template Sweep sort_by_cub(CudaPlace, SortKind, SortArrays<float>);
template Sweep sort_by_cub(CudaPlace, SortKind, SortArrays<double>);

}  // namespace perf
