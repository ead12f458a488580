// system_atomics: the values of a coherent array as atomics that the host and several devices share, while
// their kernels run.
//
//   const CoherentArray<int, rank<1>> counters("counters", 2, MemoryMode::Managed);
//   const auto shared = system_atomics(counters, Cuda{0});          // refuses memory that is not fit
//   parallel_for(on(Cuda{0}), n, [=] STRATA_FUNCTION(int i) { shared(0).fetch_add(1); });
//   shared(0).fetch_add(1);                                         // the host, meanwhile
//   wait(Cuda{0});
//
// Memory is fit for a device where its operations are atomic to the host's:
//
//   hosts        all memory of the host
//   Emulated     the same; without emulated::Config::host_atomics managed memory only
//   Cuda         managed memory, with concurrent managed access; pinned memory (MemoryMode::Mapped), where
//                the link has atomics (not PCIe); any host memory, where kernels reach pageable memory
//
// so use MemoryMode::Managed. The memory is checked here, when it is handed over, not at each operation.
//
// The array does not track these operations: when this returns the host has the current values, and until the
// operations of all devices are done (wait) neither launches nor host views may use the array. It must live
// as long. Elements of one cache line slow each other down: those that different threads use all the time are
// best kept 128 bytes apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/assert.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/system_atomic_ref.hpp>

namespace strata::inline STRATA_ABI {

/// A handle to values in suitable memory, made by system_atomics. Kernels on all its devices, and the host,
/// copy it.
template <class T>
class SystemAtomics {
 public:
  /// None.
  constexpr SystemAtomics() = default;
  /// For system_atomics.
  STRATA_FUNCTION constexpr SystemAtomics(T* values, index_t size) : values_(values), size_(size) {}

  /// The number of values.
  STRATA_FUNCTION constexpr index_t size() const { return size_; }
  /// Element i. Checked builds report an index outside.
  STRATA_FUNCTION SystemAtomicRef<T> operator()(index_t i) const {
    STRATA_ASSERT(i >= 0 && i < size_, "strata: an index outside of SystemAtomics");
    return SystemAtomicRef<T>(values_ + i);
  }
  /// Elements [begin, begin + size), counted from 0.
  STRATA_FUNCTION SystemAtomics part(index_t begin, index_t size) const {
    STRATA_ASSERT(begin >= 0 && size >= 0 && begin + size <= size_,
                  "strata: a part outside of SystemAtomics");
    return {values_ + begin, size};
  }

 private:
  T* values_ = nullptr;
  index_t size_ = 0;
};

namespace detail {

/// Throws Error, with the reason and what to use instead, unless the memory of the array is fit for the
/// device.
void require_system_atomics(const CoherentState& array, const DeviceInstance& device);
/// Waits for the work that uses the array, and brings its values to the host. Returns their address.
char* hand_over(const Ref<CoherentState>& array);

}  // namespace detail

/// The elements of `array`, of rank 0 or 1, for the host and `devices`. Throws Error where its memory is not
/// fit for one of them, AccessConflict where the calling thread has a view of it, and what made earlier work
/// on it fail.
template <class T, int Rank, class LayoutType, Device... D>
SystemAtomics<T> system_atomics(const BasicCoherentArray<T, Rank, LayoutType>& array, const D&... devices) {
  static_assert(Rank <= 1, "strata: system_atomics: the array has rank 0 or 1");
  if (!array) detail::fail_no_array();
  (detail::require_system_atomics(*array.state(), devices.backend()), ...);
  return {reinterpret_cast<T*>(detail::hand_over(array.state())), array.size()};
}

}  // namespace strata::inline STRATA_ABI
