// SPDX-License-Identifier: Apache-2.0
#include <strata/devices/cuda/control.hpp>
#include <strata/devices/cuda/instance.hpp>
#include <strata/devices/cuda/queue.hpp>

namespace strata::inline STRATA_ABI::cuda {

MemoryStatistics memory_statistics(const Cuda& device) {
  return detail::CudaInstance::get(device.index()).statistics();
}
std::size_t trim(const Cuda& device, std::size_t keep) {
  return detail::CudaInstance::get(device.index()).trim(keep);
}
void set_memory_limit(const Cuda& device, std::size_t bytes) {
  detail::CudaInstance::get(device.index()).set_limit(bytes);
}
CUstream_st* native_stream(const Queue<Cuda>& queue) {
  return static_cast<detail::CudaQueue&>(queue.state()).stream_for_others();
}
Queue<Cuda> adopt_stream(CUstream_st* stream, const Cuda& device) {
  return Queue<Cuda>(device, detail::CudaInstance::get(device.index()).create_queue(stream));
}

}  // namespace strata::inline STRATA_ABI::cuda
