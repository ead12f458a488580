// find_unwritten: reports, in checked builds, what a kernel did not write of what it declared out.
//
//   mark_unwritten(box, device, space, queue);         // views/coherent/unwritten.hpp
//   <launch the kernel, on `where`>
//   find_unwritten("label of the kernel", where, box);  // NeverWritten at the next wait, with label and
//   index
//
// A kernel in the same queue, so that it looks after the kernel and before whoever uses the array next. One
// for each kind of memory, whatever the array.
#pragma once

#include <strata/algorithms/parallel_for.hpp>
#include <strata/views/coherent/unwritten.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Space>
struct FindUnwritten {
  UnwrittenBox box;

  STRATA_FUNCTION void operator()(index_t item) const {
    const LayoutDescriptor& layout = box.layout;
    index_t index[max_rank] = {};
    for (int r = layout.rank - 1; r >= 0; --r) {
      index[r] = item % layout.extent[r];
      item /= layout.extent[r];
    }
    index_t offset = layout.shift + (layout.rank > 0 ? leading_offset(layout, index[0]) : 0);
    for (int r = 1; r < layout.rank; ++r) offset += index[r] * layout.stride[r];
    const auto* const element = reinterpret_cast<const unsigned char*>(
        Space::resolve(static_cast<const char*>(box.base + offset * box.element_bytes)));
    for (int k = 0; k < box.element_bytes; ++k)
      if (element[k] != unwritten_byte(k)) return;
    BadAccess found;
    found.data = box.base;
    found.count = found.rank = layout.rank;
    for (int r = 0; r < layout.rank; ++r) found.index[r] = box.lower[r] + index[r];
#if defined(__CUDA_ARCH__)
    report_unwritten_on_device(found, box.label);
#else
    report_unwritten(found, box.label);
#endif
  }
};

/// Enqueues on `where`, behind the kernel named `label`, the search of the box that was marked before it:
/// NeverWritten at the next wait (on hosts at once) where an element still has the pattern.
template <class D>
void find_unwritten(const char* label, const On<D>& where, const UnwrittenBox& box) {
  const index_t elements = element_count(box.layout);
  if (box.element_bytes < least_unwritten_bytes || elements == 0) return;
  launch_for(label, where, elements, FindUnwritten<typename D::memory_space>{box});
}

}  // namespace strata::inline STRATA_ABI::detail
