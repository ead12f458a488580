// Copies, fills and conversions of emulated queues: the host's threads move the bytes, through the accessible
// mapping.
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <strata/core/allocation_report.hpp>
#include <strata/core/conversion.hpp>
#include <strata/core/copy_execute.hpp>
#include <strata/core/copy_plan.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/emulated/call_counts.hpp>
#include <strata/devices/emulated/execution.hpp>
#include <strata/devices/emulated/managed_pages.hpp>
#include <strata/devices/emulated/platform.hpp>
#include <strata/devices/emulated/queue.hpp>
#include <strata/devices/emulated/shared_memory.hpp>
#include <strata/devices/host/space.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// A layout of one's own cannot be kept by value, but its offsets can.
struct LayoutTable {
  LayoutDescriptor layout;
  std::vector<index_t> offsets;

  explicit LayoutTable(const LayoutDescriptor& original) : layout(original) {
    if (original.offset == nullptr) return;
    const index_t n = element_count(original);
    offsets.reserve(static_cast<std::size_t>(n));
    index_t index[max_rank + 1] = {};
    for (index_t k = 0; k < n; ++k) {
      offsets.push_back(original.offset(original.mapping, index));
      for (int r = original.rank - 1; r >= 0 && ++index[r] == original.extent[r]; --r) index[r] = 0;
    }
  }
  /// Valid while the table does not move.
  LayoutDescriptor descriptor() const {
    LayoutDescriptor d = layout;
    if (d.offset == nullptr) return d;
    d.mapping = this;
    d.offset = [](const void* raw, const index_t* index) {
      const auto& table = *static_cast<const LayoutTable*>(raw);
      index_t k = 0;
      for (int r = 0; r < table.layout.rank; ++r) k = k * table.layout.extent[r] + index[r];
      return table.offsets[static_cast<std::size_t>(k)];
    };
    return d;
  }
};

std::size_t bytes_of(const CopySide& side, std::size_t element_bytes) {
  return static_cast<std::size_t>(element_count(*side.layout)) * element_bytes;
}

void check_places(const CopySide& destination, const CopySide& source, int to, int from, int here) {
  for (const CopySide* side : {&destination, &source})
    if (side->space.kind != EmulatedSpace::kind && side->space.kind != HostSpace::kind && !side->space.shared)
      throw WrongDevice("a copy on Emulated{" + std::to_string(here) + "} cannot reach \"" + side->label +
                        "\" in " + describe_space(side->space) + "; copy through a host mirror");
  if (to != here && from != here)
    throw WrongDevice("a copy on a queue of Emulated{" + std::to_string(here) + "} was given \"" +
                      destination.label + "\" in " + describe_space(destination.space) + " and \"" +
                      source.label + "\" in " + describe_space(source.space) +
                      "; use a queue of an instance that owns one of them");
}

}  // namespace

// Shared memory is the host's, or, where the other side is not this instance's, on this instance: copies by a
// device have one side there.
int EmulatedQueue::place(const CopySide& side, const CopySide& other) const {
  const int here = core_->instance();
  if (side.space.kind == EmulatedSpace::kind) return side.space.instance;
  const bool other_is_here = other.space.kind == EmulatedSpace::kind && other.space.instance == here;
  return side.space.shared && (&side == &other || !other_is_here) ? here : Timeline::host;
}

char* EmulatedQueue::address(const CopySide& side) const {
  char* const data = static_cast<char*>(side.data);
  if (side.space.kind == EmulatedSpace::kind)
    return data + Platform::get().memory->offset(side.space.instance);
  char* const managed =
      side.space.kind == emulated_managed_kind ? managed_pages::address_for_copies(data) : nullptr;
  return managed != nullptr ? managed : data;
}

void EmulatedQueue::copy(const CopySide& destination, const CopySide& source, std::size_t element_bytes) {
  const int to = place(destination, source), from = place(source, destination);
  check_places(destination, source, to, from, core_->instance());
  CopyPieces pieces = plan_copy(*destination.layout, *source.layout, element_bytes);
  const bool elementwise = !pieces.empty() && pieces.front().kind == CopyKind::ElementWise;
  char* const d = address(destination);
  char* const s = address(source);
  if (!elementwise && to == from) {
    if (copies_onto_itself(pieces, d - s)) return;
    if (sides_overlap(pieces, d - s))
      throw CopyError(std::string("deep_copy: parts of \"") + destination.label + "\" overlap in " +
                      describe_space(destination.space) + "; copy through an array of its own");
  }
  count_call(&CallCounts::copies);
  QueueCore::Work work;
  if (elementwise) {
    auto tables = std::make_shared<std::pair<LayoutTable, LayoutTable>>(LayoutTable(*destination.layout),
                                                                        LayoutTable(*source.layout));
    work.run = [=] {
      copy_elementwise(d, tables->first.descriptor(), s, tables->second.descriptor(), element_bytes);
    };
  } else {
    work.run = [=, pieces = std::move(pieces)] { copy_pieces(d, s, pieces); };
  }

  const std::size_t bytes = bytes_of(destination, element_bytes);
  const auto place_copy = [&](Platform& platform) {
    const TimeSpan time = platform.timeline.copy(core_->time, from, to, bytes, destination.label);
    if (platform.fails(emulated::Fault::Copy))
      work.run = [what = std::string("copy of \"") + source.label + "\" in " + describe_space(source.space) +
                         " to \"" + destination.label + "\" in " + describe_space(destination.space)] {
        throw CopyError(what + " failed (failure injected); the destination is unchanged");
      };
    return time;
  };
  submit(destination.label, bytes, work, std::cref(place_copy), true);
}

void EmulatedQueue::transfer(const char* label, void* memory, std::size_t bytes, bool to_device,
                             const std::function<void(char*)>& run) {
  const int here = core_->instance();
  char* const data = static_cast<char*>(memory) + Platform::get().memory->offset(here);
  QueueCore::Work work{[=] { run(data); }};
  submit(label, bytes, work, [&](Platform& platform) {
    const TimeSpan time = platform.timeline.copy(core_->time, to_device ? Timeline::host : here,
                                                 to_device ? here : Timeline::host, bytes, label);
    if (platform.fails(emulated::Fault::Copy))
      work.run = [what = std::string(label)] {
        throw CopyError("a transfer of \"" + what + "\" failed (failure injected)");
      };
    return time;
  });
}

void EmulatedQueue::fill(const CopySide& destination, const void* value, std::size_t element_bytes) {
  const int here = core_->instance();
  if (place(destination, destination) != here)
    throw WrongDevice("a fill on a queue of Emulated{" + std::to_string(here) + "} was given \"" +
                      destination.label + "\" in " + describe_space(destination.space) +
                      "; use a queue of the instance that owns it");
  count_call(&CallCounts::copies);
  char* const d = address(destination);
  const auto* const bytes = static_cast<const char*>(value);
  auto table = std::make_shared<LayoutTable>(*destination.layout);
  QueueCore::Work work{[=, kept = std::vector<char>(bytes, bytes + element_bytes)] {
    fill_on_host(d, table->descriptor(), kept.data(), element_bytes);
  }};

  const std::size_t size = bytes_of(destination, element_bytes);
  submit(destination.label, size, work, [&](Platform& platform) {
    return platform.timeline.copy(core_->time, here, here, size, destination.label);
  });
}

void EmulatedQueue::convert(const CopySide& destination, const CopySide& source, const Conversion& how) {
  const int here = core_->instance();
  const int to = place(destination, source), from = place(source, destination);
  check_places(destination, source, to, from, here);
  char* const d = address(destination);
  char* const s = address(source);
  QueueCore::Work work{[=, to_layout = *destination.layout, from_layout = *source.layout] {
    convert_on_host(d, to_layout, s, from_layout, how);
  }};
  const std::size_t bytes = bytes_of(destination, static_cast<std::size_t>(how.parts * bytes_of(how.to)));
  submit(destination.label, bytes, work, [&](Platform& platform) {
    const TimeSpan time = platform.timeline.copy(core_->time, from, to, bytes, destination.label);
    if (platform.fails(emulated::Fault::Copy))
      work.run = [what = std::string("conversion of \"") + source.label + "\" in " +
                         describe_space(source.space) + " to \"" + destination.label + "\" in " +
                         describe_space(destination.space)] {
        throw CopyError(what + " failed (failure injected); the destination is unchanged");
      };
    return time;
  });
}

}  // namespace strata::inline STRATA_ABI::detail
