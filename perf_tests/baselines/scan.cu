// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <cub/device/device_scan.cuh>

#include "baselines/scan.hpp"
#include "common/cuda_check.hpp"

namespace perf {

template <class T>
Sweep scan_baseline(CudaPlace place, ScanArrays<T> a) {
  const auto n = static_cast<long long>(a.n);
  std::size_t needed = 0;
  cuda_check(cub::DeviceScan::InclusiveSum(nullptr, needed, a.x, a.y, n, stream_of(place)));
  const auto temporary = cuda_array<char>(needed);
  return {{"InclusiveSum", [=] {
             std::size_t bytes = needed;
             cuda_check(cub::DeviceScan::InclusiveSum(temporary.get(), bytes, a.x, a.y, n, stream_of(place)));
             cuda_finish(place);
           }}};
}

template Sweep scan_baseline(CudaPlace, ScanArrays<double>);
template Sweep scan_baseline(CudaPlace, ScanArrays<float>);
template Sweep scan_baseline(CudaPlace, ScanArrays<std::int64_t>);

}  // namespace perf
