// The binary interface of DLPack 1.x, as its specification gives it: what dlpack.cpp reads and writes. Names
// are Strata's own, so that a program may include DLPack's header too; sizes and offsets are asserted.
// Private: users see `DLManagedTensorVersioned*` only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <strata/core/config.hpp>

struct DLManagedTensorVersioned;

namespace strata::inline STRATA_ABI::detail {

/// Tensors of another major version have another layout after `flags`.
inline constexpr std::uint32_t dlpack_major_version = 1;
inline constexpr std::uint32_t dlpack_minor_version = 0;
inline constexpr std::uint64_t dlpack_read_only = 1;

/// Where memory lies.
enum class DLPackDeviceType : std::int32_t { Cpu = 1, Cuda = 2, CudaPinned = 3, CudaManaged = 13 };

struct DLPackDevice {
  DLPackDeviceType type;
  std::int32_t id;  // 0 but for Cuda
};

struct DLPackElementType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLPackContents {
  void* data;
  DLPackDevice device;
  std::int32_t rank;
  DLPackElementType element;
  std::int64_t* extents;
  std::int64_t* strides;  // in elements; null: those of the right layout
  std::uint64_t byte_offset;
};

/// What any major version begins with.
struct DLPackHead {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned* self);  // may be null
  std::uint64_t flags;
};

struct DLPackManaged {
  DLPackHead head;
  DLPackContents tensor;
};

static_assert(sizeof(void*) != 8 ||
                  (offsetof(DLPackHead, deleter) == 16 && sizeof(DLPackHead) == 32 &&
                   offsetof(DLPackContents, rank) == 16 && offsetof(DLPackContents, element) == 20 &&
                   offsetof(DLPackContents, byte_offset) == 40 && sizeof(DLPackContents) == 48 &&
                   sizeof(DLPackManaged) == 80),
              "strata: this compiler lays out the structures of DLPack otherwise than its specification");

}  // namespace strata::inline STRATA_ABI::detail
