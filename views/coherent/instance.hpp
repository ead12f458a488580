// Instance: the memory that an array has on one device: contiguous rows, in the layout of the whole array, so
// that views of it accept global indices. It grows in place where the device can reserve addresses, and
// otherwise into a larger block.
//
// Not thread-safe: the owner locks. Freeing never waits; work that is enqueued may still use the memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/core/allocation.hpp>
#include <strata/core/box.hpp>
#include <strata/core/layout.hpp>
#include <strata/devices/backend.hpp>

namespace strata::inline STRATA_ABI::detail {

struct ArrayPart;

/// How an array lies in every memory.
struct ArrayShape {
  Box domain;
  LayoutDescriptor layout;  // of the whole array, from its first element on
  index_t element_bytes;
  bool contiguous_rows;  // in whole tiles; otherwise parts of it are not contiguous, and it is held whole

  index_t bytes_of(const Box& box) const { return box.size() * element_bytes; }
  index_t bytes() const { return layout.span * element_bytes; }
  /// The bytes in which rows lie, from the first of the array on: whole tiles.
  struct Bytes {
    index_t begin, end;
  };
  Bytes bytes_of_rows(ResidentRows rows) const;
  /// The rows of a box; of an array of rank 0 one.
  ResidentRows rows_of(const Box& box) const;
  /// The smallest run of rows with all of a part.
  ResidentRows rows_of(const ArrayPart& part) const;
  /// Part `box` alone, at the same addresses.
  LayoutDescriptor layout_of(const Box& box) const;
};

class Instance {
 public:
  /// Memory that was allocated elsewhere, for all of the array.
  void adopt(const AllocationRef& block, char* base, const ArrayShape& shape);

  bool has_memory() const { return rows_.begin < rows_.end; }
  /// The rows that have memory.
  ResidentRows rows() const { return rows_; }
  /// The rows that were asked for, which may be fewer.
  ResidentRows asked() const { return asked_; }
  /// Bytes of memory.
  index_t bytes() const { return bytes_; }
  /// Where the first element of the array is, or would be.
  char* base() const { return base_; }

  /// The memory that `rows` need in addition.
  struct Growth {
    ResidentRows rows;  // all that will have memory
    index_t bytes;      // more
    bool in_place;      // otherwise a new block is needed, to which the old one is copied
  };
  Growth growth(const ArrayShape& shape, DeviceInstance& device, const char* label, ResidentRows rows);
  /// Grows. False, with nothing changed, where the device has no memory. Where it does not grow in place,
  /// `old` is what there was; its block is freed by its end.
  bool grow(const ArrayShape& shape, DeviceInstance& device, const char* label, const Growth& growth,
            Instance& old);
  /// Notes that `rows` were asked for; returns how many bytes more than ever before that is.
  index_t ask(const ArrayShape& shape, ResidentRows rows);
  void drop() { *this = {}; }

 private:
  Ref<ReservedMemory> reserved_;
  bool can_reserve_ = true;
  AllocationRef block_;
  char* base_ = nullptr;
  ResidentRows rows_{0, 0};
  ResidentRows asked_{0, 0};
  index_t bytes_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
