// SPDX-License-Identifier: Apache-2.0
#include <span>
#include <string>

#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/coherent/managed_pages.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

Ref<CoherentState> make_coherent(const char* label, const LayoutDescriptor& layout, std::size_t element_bytes,
                                 bool contiguous_rows, const CopySide& main, const AllocationRef& storage,
                                 bool current, MemoryMode mode) {
  const ArrayShape shape{
      layout.rank == 0 ? Box()
                       : Box::from_extents(std::span(layout.extent, static_cast<std::size_t>(layout.rank))),
      layout, static_cast<index_t>(element_bytes), contiguous_rows};
  return Ref<CoherentState>(
      new CoherentState(label, shape, {static_cast<char*>(main.data), storage, main.instance, main.space},
                        current ? MemorySet{host_memory} : MemorySet(), mode));
}

void adopt_host_memory(CoherentState& array) { array.is_adopted = true; }

void adopt_device_memory(CoherentState& array, const CopySide& side, const AllocationRef& block) {
  Coherence& coherence = Coherence::get();
  // What others did to the memory so far is not known here.
  side.instance->wait_all();
  const std::lock_guard lock(coherence.mutex);
  const MemoryId memory = coherence.memory_of(*side.instance);
  array.instance(memory).adopt(block, static_cast<char*>(side.data), array.shape);
  array.is_adopted = true;
  array.adopted_on = side.instance;
  array.memory_changed();
  array.directory.written(memory, array.shape.domain);
  array.log_kernel(memory, array.shape.domain, {});
}

void fail_no_array() {
  throw Error(
      "a CoherentArray was used that is no array yet, as nothing was assigned to it; create it first");
}

void drop_leftovers() {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  coherence.drop_leftovers();
}

Box box_of_element(const index_t* index, int rank) {
  if (rank == 0) return {};
  index_t upper[max_rank] = {};
  for (int r = 0; r < rank; ++r) upper[r] = index[r] + 1;
  const auto dimensions = static_cast<std::size_t>(rank);
  return {std::span(index, dimensions), std::span<const index_t>(upper, dimensions)};
}
const char* label_of(const CoherentState& array) { return array.label.c_str(); }
const Box& domain_of(const CoherentState& array) { return array.shape.domain; }
char* main_base(const CoherentState& array) { return array.main.base; }
MemoryMode mode_of(const CoherentState& array) { return array.mode; }

void require_copies(const CoherentState& array, const char* what) {
  if (array.mode == MemoryMode::Smart || array.mode == MemoryMode::Pinned) return;
  throw Error("\"" + array.label + "\" is in the memory mode " + to_string(array.mode) + ", and " + what +
              " decides itself what is copied when; create it as smart or pinned");
}

std::vector<Residence> where(const CoherentState& array, const Box& box) {
  const ArrayPart part = part_of_box(array.shape.domain, box, array.label.c_str(), "where()");
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  std::vector<Residence> parts;
  array.directory.map().visit(part.first, [&](const Box& b, MemorySet memories) {
    Residence residence{b, {}};
    memories.visit([&](MemoryId memory) { residence.memories.push_back(coherence.memories.name(memory)); });
    parts.push_back(std::move(residence));
  });
  return parts;
}

TransferCounters counters_of(const CoherentState& array) {
  const std::lock_guard lock(Coherence::get().mutex);
  TransferCounters counters = array.counters;
  counters.faults = faults_of(array);
  return counters;
}

// Where pages are, as far as uses were declared.
static std::string explain_pages(const CoherentState& array) {
  std::string text;
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  array.pages.map().visit(array.shape.domain, [&](const Box& box, MemorySet memories) {
    if (memories.empty()) return;
    text += "\n  pages of " + to_string(box) + ": with";
    const char* separator = " ";
    memories.visit([&](MemoryId memory) {
      text += separator + coherence.memories.name(memory);
      separator = ", ";
    });
  });
  return text;
}

// The copies and allocations that there have been.
static std::string explain_counters(const TransferCounters& counters) {
  std::string text;
  const auto add = [&](const TransferCount& count, const char* one, const char* many, const char* what) {
    if (count.count == 0) return;
    text += (text.empty() ? "" : "; ") + std::to_string(count.count) + (count.count == 1 ? one : many) +
            what + ", " + std::to_string(count.bytes) + " bytes";
  };
  add(counters.allocated, " allocation", " allocations", " on devices");
  add(counters.host_to_device, " copy", " copies", " from the host to devices");
  add(counters.device_to_host, " copy", " copies", " from devices to the host");
  add(counters.peer, " copy", " copies", " from device to device");
  add(counters.same_device, " copy", " copies", " within a device, to more memory");
  add(counters.prefetched_to_devices, " prefetch", " prefetches", " to devices");
  add(counters.prefetched_to_host, " prefetch", " prefetches", " to the host");
  const PageFaults& faults = counters.faults;
  if (!faults.is_known) text += (text.empty() ? "" : "; ") + std::string("page faults are not known");
  else if (faults.count > 0)
    text += (text.empty() ? "" : "; ") + std::to_string(faults.count) +
            (faults.count == 1 ? " page fault" : " page faults") + ", which moved " +
            std::to_string(faults.to_devices) + " bytes to devices and " + std::to_string(faults.to_host) +
            " to the host";
  return "\n  " + (text.empty() ? "nothing was copied" : text);
}

std::string explain(CoherentState& array) {
  std::string text =
      "\"" + array.label + "\": " + to_string(array.shape.domain) + ", " +
      std::to_string(array.shape.element_bytes) + " bytes an element; memory mode " + to_string(array.mode) +
      (array.mode != MemoryMode::Smart && !array.main.space.shared ? " (in memory of the host)" : "") + "; ";
  if (!array.shape.contiguous_rows)
    text += "its rows are not contiguous: devices hold all of it, and parts are packed to be copied";
  else if (array.shape.layout.tile_log2 >= 0)
    text += "tiles of " + std::to_string(1 << array.shape.layout.tile_log2) +
            " rows: parts cut at tiles are contiguous, others are packed to be copied";
  else text += "its rows are contiguous";
  for (const Residence& part : where(array, array.shape.domain)) {
    text += "\n  " + to_string(part.box) + ": ";
    for (const std::string& memory : part.memories)
      text += (&memory == part.memories.data() ? "" : ", ") + memory;
    if (part.memories.empty()) text += "never written";
  }
  if (array.mode == MemoryMode::Managed) text += explain_pages(array);
  return text + explain_counters(counters_of(array)) + "\n";
}

void set_budget(DeviceInstance& device, index_t bytes) { Coherence::get().set_budget(device, bytes); }

index_t budget_of(DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  return coherence.memories[coherence.memory_of(device)].residency.budget();
}

index_t resident_bytes(DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  for (MemoryId m = 1; m < coherence.memories.size(); ++m)
    if (coherence.memories[m].device == &device) return coherence.memories[m].residency.bytes();
  return 0;
}

}  // namespace detail

namespace coherent {

TransferCounters counters() {
  const std::lock_guard lock(detail::Coherence::get().mutex);
  TransferCounters counters = detail::Coherence::get().totals;
  detail::Coherence::get().add_faults(counters);
  return counters;
}
void reset_counters() {
  const std::lock_guard lock(detail::Coherence::get().mutex);
  detail::Coherence::get().forget_counts();
}

}  // namespace coherent
}  // namespace strata::inline STRATA_ABI
