// UnwrittenSearch: reports, in checked builds, elements that a kernel declares out and does not write.
//
//   mark_unwritten(box, device, space, queue);    // views/coherent/unwritten.hpp
//   const UnwrittenSearch<D> search(where, boxes);
//   <bind the kernel with search.notes() in force, and launch it, on `where`>
//   search.find("label of the kernel");           // NeverWritten at the next wait, with label and index
//
// The search is a kernel in the same queue, so that it runs after the kernel and before the next use of the
// array. It is compiled once for each kind of memory, for all arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/parallel_for.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/unwritten.hpp>
#include <strata/views/create.hpp>
#include <strata/views/mdarray.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Space>
struct FindUnwritten {
  UnwrittenBox box;
  ElementNote note;                  // of small elements
  unsigned char* written_otherwise;  // of these: whether some element was written that no view has reached
  bool reports;                      // else it looks for such elements

  STRATA_FUNCTION void operator()(index_t item) const {
    const LayoutDescriptor& layout = box.layout;
    index_t index[max_rank] = {};
    for (int r = layout.rank - 1; r >= 0; --r) {
      index[r] = item % layout.extent[r];
      item /= layout.extent[r];
    }
    index_t offset = layout.shift + (layout.rank > 0 ? leading_offset(layout, index[0]) : 0);
    for (int r = 1; r < layout.rank; ++r) offset += index[r] * layout.stride[r];
    const char* const address = box.base + offset * box.element_bytes;
    if (note.reached != nullptr &&
        *Space::resolve(note.reached + (address - note.begin) / box.element_bytes) != 0)
      return;
    const bool marked = is_marked(reinterpret_cast<const unsigned char*>(Space::resolve(address)));
    if (!reports) {
      if (!marked) *Space::resolve(written_otherwise) = 1;
      return;
    }
    if (!marked || (note.reached != nullptr && *Space::resolve(written_otherwise) != 0)) return;
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

 private:
  STRATA_FUNCTION bool is_marked(const unsigned char* element) const {
    for (int k = 0; k < box.element_bytes; ++k)
      if (element[k] != unwritten_byte(k)) return false;
    return true;
  }
};

// `Notes` is a parameter so that only checked builds compile that type.
template <class D, class Notes = std::vector<NoteOfArray>>
class UnwrittenSearch : public RefCounted {
 public:
  /// For boxes, a vector of UnwrittenBox, that are marked before the kernel.
  template <class Boxes>
  UnwrittenSearch(const On<D>& where, const Boxes& boxes) : where_(where) {
    for (const UnwrittenBox& box : boxes) add(box);
  }
  /// For those of a part of a call, a CoherentCall.
  template <class Call>
  UnwrittenSearch(const On<D>& where, const Call& call, int part)
      : UnwrittenSearch(where, call.unwritten(part)) {}
  const Notes& notes() const { return notes_; }

  /// Enqueues, after the kernel named `label`, the search of the boxes: NeverWritten at the next wait (on
  /// hosts at once) where an element was not written.
  void find(const char* label) const {
    using Space = typename D::memory_space;
    for (const Searched& of : boxes_) {
      const index_t elements = element_count(of.box.layout);
      if (of.note.reached == nullptr) {
        launch_for(label, where_, elements, FindUnwritten<Space>{of.box, {}, nullptr, true});
        continue;
      }
      // Results of reductions, functors of factories and second parts of an array are written without notes.
      if (!notes_[of.number].is_bound) continue;
      for (const bool reports : {false, true})
        launch_for(label, where_, elements,
                   FindUnwritten<Space>{of.box, of.note, of.reached.data(), reports});
    }
  }

 private:
  using Bytes = MDArray<unsigned char, D, rank<1>>;
  struct Searched {
    UnwrittenBox box;
    Bytes reached;  // of small elements: whether any was written otherwise, and then a byte an element
    ElementNote note;
    std::size_t number;  // in notes_
  };

  void add(const UnwrittenBox& box) {
    if (element_count(box.layout) == 0) return;
    Searched of{box, {}, {}, notes_.size()};
    if (box.element_bytes < least_marked_bytes) {
      const OffsetBounds bounds = offset_bounds(box.layout);
      try {
        of.reached = create<Bytes>("reached elements", bounds.highest - bounds.lowest + 2, where_);
      } catch (const OutOfMemory&) {
        return;  // the device has no memory for the notes
      }
      of.note = {box.base + bounds.lowest * box.element_bytes,
                 box.base + (bounds.highest + 1) * box.element_bytes, box.element_bytes,
                 of.reached.data() + 1};
      notes_.push_back({box.array, of.note});
    }
    boxes_.push_back(of);
  }

  const On<D> where_;
  std::vector<Searched> boxes_;
  Notes notes_;
};

}  // namespace strata::inline STRATA_ABI::detail
