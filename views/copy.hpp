// Copies and fills of views without a template for each rank: descriptors, and one entry point each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <strata/core/conversion.hpp>
#include <strata/core/layout_descriptor.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI::detail {

// The offset of an index, of a mapping that has no description and can only be called.
template <class M>
index_t call_mapping(const void* raw, const index_t* i) {
  const M& mapping = *static_cast<const M*>(raw);
  constexpr int rank_max = M::extents_type::max_rank_value;
  const auto call = [&]<std::size_t... R>(std::index_sequence<R...>) {
    return static_cast<index_t>(mapping(i[R]...));
  };
  if constexpr (!M::extents_type::has_dynamic_rank) {
    return call(std::make_index_sequence<rank_max>());
  } else {
    index_t offset = 0;
    const auto try_rank = [&]<std::size_t R>(std::integral_constant<std::size_t, R>) {
      if (mapping.extents().rank() == static_cast<int>(R)) offset = call(std::make_index_sequence<R>());
    };
    [&]<std::size_t... R>(std::index_sequence<R...>) {
      (try_rank(std::integral_constant<std::size_t, R>()), ...);
    }
    (std::make_index_sequence<rank_max + 1>());
    return offset;
  }
}

// Whether the indices of a mapping may begin elsewhere than at 0.
template <class M>
concept HasIndexRanges = requires(const M& m) {
  m.from_zero();
};

/// How the elements of a mapping lie; `mapping` must outlive the description where it is user-supplied.
template <class M>
LayoutDescriptor describe(const M& mapping) {
  if constexpr (requires { mapping.describe(); }) {
    return mapping.describe();
  } else {
    LayoutDescriptor d{};
    d.rank = mapping.extents().rank();
    for (int r = 0; r < d.rank; ++r) d.extent[r] = mapping.extents().extent(r);
    d.span = mapping.required_span_size();
    d.offset = call_mapping<M>;
    d.mapping = &mapping;
    return d;
  }
}

/// Whether the elements that `layout` places around `data` all lie in the `bytes` at `begin`; false for a
/// slice, as its other rows are not in memory.
bool lies_within(const void* begin, std::size_t bytes, const void* data, const LayoutDescriptor& layout,
                 std::size_t element_bytes);

/// Throws OutOfBounds where they do not; `record` is the allocation of the array.
void check_resident(const Allocation& record, const void* data, const LayoutDescriptor& layout,
                    std::size_t element_bytes);

/// Throws OutOfBounds: deep_copy_rows of rows that the array does not hold.
[[noreturn]] void fail_rows(const char* label, ResidentRows rows, index_t extent);
/// Throws LayoutError: the mirror of a slice.
[[noreturn]] void fail_mirror(const char* label);

/// The number of the instance whose live allocation, in memory of the kind of `space`, holds `data`; without
/// one, that of `space`. Throws OutOfBounds as check_resident. Slow: it searches all allocations.
int instance_of(SpaceId space, const void* data, const LayoutDescriptor& layout, std::size_t element_bytes);

/// One side of a copy of `view`, whose mapping `layout` describes. An unmanaged view belongs to the instance
/// whose live allocation it points into; on hosts, and in memory that Strata did not allocate, to the
/// device's first instance. Throws OutOfBounds where elements lie outside of the
/// allocation.
template <class V>
CopySide copy_side(const V& view, const LayoutDescriptor& layout) {
  constexpr std::size_t element_bytes = sizeof(typename V::value_type);
  auto* const data = const_cast<typename V::value_type*>(view.data());
  if (const Allocation* const record = view.allocation().get()) {
    if (current_keeper != nullptr) current_keeper->keep(*record);
    check_resident(*record, data, layout, element_bytes);
    return {data, record->space, &layout, record->label, static_cast<DeviceInstance*>(record->owner)};
  }
  using D = typename V::device_type;
  DeviceInstance* instance = &D().backend();
  if constexpr (!V::memory_space::host_accessible)
    instance = &D(instance_of(instance->space(), data, layout, element_bytes)).backend();
  return {data, instance->space(), &layout, "", instance};
}

/// Copies on `queue`, or (null) after all work on both default queues, waiting for the copy. Both sides have
/// the same extents. Throws ShapeMismatch, CopyError and the errors of earlier work on the queue it waits
/// for.
void copy_arrays(const CopySide& destination, const CopySide& source, std::size_t element_bytes,
                 QueueState* queue);

/// The same of arrays whose elements have two types.
void convert_arrays(const CopySide& destination, const CopySide& source, Conversion how, QueueState* queue);

/// Fills on `queue`, or after all work on the default queue, waiting for it.
void fill_array(const CopySide& destination, const void* value, std::size_t element_bytes, QueueState* queue);

}  // namespace strata::inline STRATA_ABI::detail
