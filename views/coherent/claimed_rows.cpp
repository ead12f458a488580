// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <mutex>
#include <string>

#include <strata/core/error.hpp>
#include <strata/views/coherent/claimed_rows.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/managed_pages.hpp>

namespace strata::inline STRATA_ABI::detail {

void note_used_by(CoherentState& array, const ArrayPart& part, AccessMode mode, DeviceInstance* device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  note_pages(array, part, mode, device == nullptr ? host_memory : coherence.memory_of(*device));
}

void note_written(CoherentState& array, const ArrayPart& part) {
  const std::lock_guard lock(Coherence::get().mutex);
  part.visit([&](const Box& box) {
    array.directory.written(host_memory, box);
    array.log_kernel(host_memory, box, {});
  });
}

void note_lost(CoherentState& array, const ArrayPart& part, const std::string& launch) {
  const std::lock_guard lock(Coherence::get().mutex);
  std::string boxes;
  part.visit([&](const Box& box) {
    boxes += (boxes.empty() ? "" : ", ") + to_string(box);
    array.directory.dropped(host_memory, box);
    array.log_drop(host_memory, box);
  });
  if (boxes.empty()) return;
  ++array.losses;
  array.add_failure(std::make_exception_ptr(
      DataLost("the launch of " + launch + " failed while it may have written " + boxes + " of \"" +
               array.label + "\", whose values were nowhere else. Write them anew before they are read")));
}

}  // namespace strata::inline STRATA_ABI::detail
