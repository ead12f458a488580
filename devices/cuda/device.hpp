// Cuda: NVIDIA GPUs, any number of them in one process; `Cuda{1}` is the second.
//
// Launches return after enqueueing. Kernels are compiled by nvcc only, in the files that strata_add_kernels
// names (docs/cuda.md); in other files arrays, copies and queues work, and a launch is a compile-time error
// that says so. Settings: cuda_*; statistics and native handles: cuda/control.hpp.
//
// CudaManaged and CudaPinned are the same GPUs with arrays in managed and in pinned memory, which the host
// may index too, once the work on them was waited for. Kernels of all three may use each other's arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout_left.hpp>
#include <strata/devices/cuda/execution.hpp>
#include <strata/devices/cuda/space.hpp>
#include <strata/devices/device.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// How many GPUs there are; 0 where there is no driver.
int cuda_count();
/// Throws NoSuchDevice, with the reason, unless 0 <= index < cuda_count().
void require_cuda(int index);

enum class CudaMemoryKind { Device, Managed, Pinned };
DeviceInstance& cuda_backend(int index, CudaMemoryKind kind);

}  // namespace detail

/// What Cuda, CudaManaged and CudaPinned share; the members are those of the concept Device.
template <class Space, detail::CudaMemoryKind Kind>
class CudaDevice {
 public:
  /// Memory, layout of plain arrays, index of kernels and launches, as the concept Device asks for.
  using memory_space = Space;
  using layout = LayoutLeft;
  using index_type = index_t;
  using size_type = index_t;
  using execution = detail::CudaExecution;

  /// The first GPU. Makes no call to the driver, and does not fail on machines without a GPU.
  constexpr CudaDevice() = default;
  /// NoSuchDevice unless 0 <= index < count().
  explicit CudaDevice(int index) : index_(index) { detail::require_cuda(index); }

  /// The number of GPUs; 0 without a driver.
  static int count() { return detail::cuda_count(); }
  constexpr int index() const { return index_; }
  /// NoSuchDevice where there is no such GPU.
  detail::DeviceInstance& backend() const { return detail::cuda_backend(index_, Kind); }

  friend constexpr bool operator==(CudaDevice a, CudaDevice b) { return a.index_ == b.index_; }

 private:
  int index_ = 0;
};

/// GPUs, with arrays in their own memory.
struct Cuda : CudaDevice<CudaSpace, detail::CudaMemoryKind::Device> {
  using CudaDevice::CudaDevice;
  /// As messages and visit_device call it.
  static constexpr char name[] = "Cuda";
};
/// GPUs, with arrays in managed memory.
struct CudaManaged : CudaDevice<CudaManagedSpace, detail::CudaMemoryKind::Managed> {
  using CudaDevice::CudaDevice;
  /// As messages and visit_device call it.
  static constexpr char name[] = "CudaManaged";
};
/// GPUs, with arrays in pinned host memory.
struct CudaPinned : CudaDevice<CudaPinnedSpace, detail::CudaMemoryKind::Pinned> {
  using CudaDevice::CudaDevice;
  /// As messages and visit_device call it.
  static constexpr char name[] = "CudaPinned";
};

}  // namespace strata::inline STRATA_ABI
