// What the tests of DLPack share: tensors that another library made, and what another library reads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <strata/views/dlpack.hpp>
#include <strata/views/dlpack_abi.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
static_assert(sizeof(DLManagedTensorVersioned) == sizeof(strata::detail::DLPackManaged) &&
              offsetof(DLManagedTensorVersioned, dl_tensor) == sizeof(strata::detail::DLPackHead) &&
              offsetof(DLTensor, byte_offset) == offsetof(strata::detail::DLPackContents, byte_offset));
#endif

namespace strata_tests {

using strata::detail::DLPackElementType;
using strata::detail::DLPackManaged;

template <class T, class L = strata::LayoutRight, int R = 2>
using HostView = strata::View<T, strata::Serial, strata::RankExtents<R>, L>;

// What another library reads.
inline DLPackManaged contents(const strata::DLPackTensor& tensor) {
  DLPackManaged managed;
  std::memcpy(&managed, static_cast<const void*>(tensor.get()), sizeof(managed));
  return managed;
}

template <class T>
const T* first_element(const DLPackManaged& managed) {
  return reinterpret_cast<const T*>(static_cast<const char*>(managed.tensor.data) +
                                    managed.tensor.byte_offset);
}

// A tensor that another library made, of rank 2.
struct Foreign {
  DLPackManaged managed{};
  std::int64_t extents[2] = {2, 3};
  std::int64_t strides[2] = {3, 1};
  int* deleted = nullptr;
  void (*before_deleting)() = nullptr;

  Foreign(void* data, DLPackElementType element, int* count) : deleted(count) {
    managed.head = {1, 1, this, destroy, 0};
    managed.tensor = {data, {strata::detail::DLPackDeviceType::Cpu, 0}, 2, element, extents, strides, 0};
  }
  strata::DLPackTensor tensor() {
    return strata::DLPackTensor(reinterpret_cast<DLManagedTensorVersioned*>(&managed));
  }

  static void destroy(DLManagedTensorVersioned* self) {
    DLPackManaged managed;
    std::memcpy(&managed, static_cast<const void*>(self), sizeof(managed));
    auto* const foreign = static_cast<Foreign*>(managed.head.context);
    if (foreign->before_deleting) foreign->before_deleting();
    ++*foreign->deleted;
  }
};

inline constexpr DLPackElementType float64{2, 64, 1};

}  // namespace strata_tests
