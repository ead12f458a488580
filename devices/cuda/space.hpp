// The memories that kernels on CUDA GPUs use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Memory of one GPU: the host may not touch it.
struct CudaSpace {
  /// As the concept MemorySpace asks for.
  static constexpr char kind[] = "Cuda";
  /// Views in it hold the address of index 0 (views/view.hpp).
  static constexpr bool views_hold_origin = true;
  static constexpr bool host_accessible = false;

  /// The address itself.
  template <class T>
  [[nodiscard]] STRATA_FUNCTION static constexpr T* resolve(T* address) {
    return address;
  }
};

/// Managed memory: pages move to the host or GPU that touches them.
struct CudaManagedSpace {
  /// As the concept MemorySpace asks for, and the memory whose kernels reach this one.
  using family = CudaSpace;
  static constexpr char kind[] = "CudaManaged";
  /// Views in it hold the address of index 0 (views/view.hpp).
  static constexpr bool views_hold_origin = true;
  static constexpr bool host_accessible = true;

  /// The address itself.
  template <class T>
  [[nodiscard]] STRATA_FUNCTION static constexpr T* resolve(T* address) {
    return address;
  }
};

/// Pinned host memory, which GPUs reach over their link.
struct CudaPinnedSpace {
  /// As the concept MemorySpace asks for, and the memory whose kernels reach this one.
  using family = CudaSpace;
  static constexpr char kind[] = "CudaPinned";
  /// Views in it hold the address of index 0 (views/view.hpp).
  static constexpr bool views_hold_origin = true;
  static constexpr bool host_accessible = true;

  /// The address itself.
  template <class T>
  [[nodiscard]] STRATA_FUNCTION static constexpr T* resolve(T* address) {
    return address;
  }
};

}  // namespace strata::inline STRATA_ABI
