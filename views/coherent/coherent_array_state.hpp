// The functions of CoherentArray that do not depend on the type of elements.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/allocation.hpp>
#include <strata/core/box.hpp>
#include <strata/core/layout_descriptor.hpp>
#include <strata/core/ref.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/memory_mode.hpp>
#include <strata/views/coherent/transfer_counters.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

/// A part of an array, and the memories that have it: "Host", "Cuda{1}"; none where it was never written.
struct Residence {
  Box box;                            ///< the part
  std::vector<std::string> memories;  ///< that have it
};

namespace detail {

class CoherentState;
// The state of an array is known to views/coherent/coherent_state.hpp alone. Files that hold arrays count it
// out of line.
template <>
void Ref<CoherentState>::acquire();
template <>
Ref<CoherentState>::~Ref();

/// A new state; `main` describes all of the array in the host's memory. `current`: the host has its values.
Ref<CoherentState> make_coherent(const char* label, const LayoutDescriptor& layout, std::size_t element_bytes,
                                 bool contiguous_rows, const CopySide& main, const AllocationRef& storage,
                                 bool current, MemoryMode mode);
/// The memory of the host that the array is in is the user's, who has the values there after the last handle.
void adopt_host_memory(CoherentState& array);
/// The values of all of the array are in memory of a device that was allocated elsewhere.
void adopt_device_memory(CoherentState& array, const CopySide& side, const AllocationRef& block);

/// For arrays in files (file_array.hpp); no effect on others. Before a use: FileError where the file may not
/// be used so.
void check_file_use(const CoherentState& array, bool writes);
/// Before elements change: on the disk the file is marked incomplete.
void mark_file_incomplete(const CoherentState& array);

/// Throws Error: a handle of no array was used.
[[noreturn]] void fail_no_array();
/// Frees the memory of destroyed arrays, where no copy uses it any more.
void drop_leftovers();

/// The box of one element.
Box box_of_element(const index_t* index, int rank);
const char* label_of(const CoherentState& array);
const Box& domain_of(const CoherentState& array);
char* main_base(const CoherentState& array);
MemoryMode mode_of(const CoherentState& array);
/// Throws Error where the mode of the array decides itself what is copied: `what` ("a task") decides that.
void require_copies(const CoherentState& array, const char* what);
std::vector<Residence> where(const CoherentState& array, const Box& box);
TransferCounters counters_of(const CoherentState& array);
std::string explain(CoherentState& array);
void set_budget(DeviceInstance& device, index_t bytes);
index_t budget_of(DeviceInstance& device);
index_t resident_bytes(DeviceInstance& device);

/// The view `V` of an array whose first element is, or would be, at `base`. Use of `rows` was declared:
/// checked builds refuse other rows.
template <class V>
V view_of_rows(const typename V::mapping_type& mapping, char* base, [[maybe_unused]] ResidentRows rows) {
  using T = typename V::element_type;
  if constexpr (checked_build && V::layout_type::contiguous_rows && V::extents_type::max_rank_value > 0) {
    const typename V::mapping_type part(mapping.extents(), rows);
    // Only the beginning of the resident rows differs: the address is that of their first element.
    return V::at_origin({}, reinterpret_cast<T*>(base), part);
  } else {
    return V(reinterpret_cast<T*>(base), mapping);
  }
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
