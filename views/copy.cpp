// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <strata/core/allocation_report.hpp>
#include <strata/core/error.hpp>
#include <strata/core/floor_div.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/host/space.hpp>
#include <strata/devices/recording.hpp>
#include <strata/views/copy.hpp>
#include <strata/views/create.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

bool on_host(const SpaceId& space) { return space.kind == HostSpace::kind; }
bool reached_by_host(const SpaceId& space) { return on_host(space) || space.shared; }

// Between devices of two kinds, which know nothing of each other: by way of the host.
void copy_by_host(const CopySide& destination, const CopySide& source, std::size_t element_bytes) {
  LayoutDescriptor packed{};
  packed.rank = destination.layout->rank;
  packed.span = element_count(*destination.layout);
  index_t stride = 1;
  for (int r = packed.rank - 1; r >= 0; --r) {
    packed.extent[r] = destination.layout->extent[r];
    packed.stride[r] = stride;
    stride *= packed.extent[r];
  }
  std::vector<char> bytes(static_cast<std::size_t>(packed.span) * element_bytes);
  const CopySide host{bytes.data(), {HostSpace::kind, 0}, &packed, "a copy on its way", nullptr};
  QueueState& from = source.instance->default_queue();
  from.copy(host, source, element_bytes);
  from.wait();
  QueueState& to = destination.instance->default_queue();
  to.copy(destination, host, element_bytes);
  to.wait();
}

// Of a copy, of a fill where there is no source, or, with BeginInitialize, of the zeroing of a new array.
HookEvent copy_event(const CopySide& destination, const CopySide* source, std::size_t bytes,
                     QueueState& queue, EventKind begin = EventKind::BeginCopy) {
  HookEvent event{.kind = begin,
                  .label = destination.label,
                  .device = queue.instance().device_name(),
                  .instance = queue.instance().index(),
                  .queue = queue.id(),
                  .destination = destination.space,
                  .destination_data = destination.data,
                  .bytes = bytes};
  if (source == nullptr) return event;
  event.source_label = source->label;
  event.source = source->space;
  event.source_data = source->data;
  return event;
}

[[noreturn]] void fail_resident(const char* label, SpaceId space, const LayoutDescriptor& layout) {
  std::string shape;
  for (int r = 0; r < layout.rank; ++r) shape += (r ? ", " : "") + std::to_string(layout.extent[r]);
  throw OutOfBounds(
      "a copy or fill of \"" + std::string(label) + "\" on " + describe_space(space) + ", of shape (" +
      shape +
      "), touches elements that its memory does not hold: it is a slice, of which deep_copy_rows "
      "copies the rows that it holds, or a subview that leaves its array");
}

// A copy or a fill of a recording. User-supplied layouts are refused: a recording could not keep their
// mappings alive.
class RecordedCopy final : public RecordedStep {
 public:
  RecordedCopy(const CopySide& destination, const CopySide& source, std::size_t element_bytes)
      : destination_(destination), source_(source), element_bytes_(element_bytes) {
    keep(destination, destination_layout_, destination_label_, destination_);
    keep(source, source_layout_, source_label_, source_);
  }
  RecordedCopy(const CopySide& destination, const void* value, std::size_t element_bytes)
      : destination_(destination),
        source_(),
        element_bytes_(element_bytes),
        value_(static_cast<const char*>(value), static_cast<const char*>(value) + element_bytes) {
    keep(destination, destination_layout_, destination_label_, destination_);
  }
  RecordedCopy(const CopySide& destination, const CopySide& source, Conversion how)
      : RecordedCopy(destination, source, static_cast<std::size_t>(how.parts * bytes_of(how.to))) {
    how_ = how;
  }
  void run(QueueState& queue) const override {
    const bool fill = !value_.empty();
    const profiling::EventScope scope([&] {
      const auto bytes = static_cast<std::size_t>(element_count(destination_layout_)) * element_bytes_;
      return copy_event(destination_, fill ? nullptr : &source_, bytes, queue);
    });
    if (fill) queue.fill(destination_, value_.data(), element_bytes_);
    else if (how_.to != NumberKind::None) queue.convert(destination_, source_, how_);
    else queue.copy(destination_, source_, element_bytes_);
  }

 private:
  static void keep(const CopySide& side, LayoutDescriptor& layout, std::string& label, CopySide& kept) {
    if (side.layout->offset != nullptr)
      throw Error(std::string("deep_copy of \"") + side.label +
                  "\": copies of user-supplied layouts cannot be recorded; write a parallel_for");
    layout = *side.layout;
    label = side.label;
    kept.layout = &layout;
    kept.label = label.c_str();
  }

  CopySide destination_, source_;
  LayoutDescriptor destination_layout_, source_layout_;
  std::string destination_label_, source_label_;
  std::size_t element_bytes_;
  std::vector<char> value_;
  Conversion how_{NumberKind::None, NumberKind::None, 1};
};

// Whether the copy was recorded as a step; throws Error for a copy that a recording cannot hold.
template <class... Arguments>
bool recorded(const char* label, QueueState* queue, QueueState& usual, const Arguments&... arguments) {
  if (current_recording == nullptr) return false;
  const std::string what = std::string("the copy or fill of \"") + label + "\"";
  check_recordable(what.c_str(), queue != nullptr ? *queue : usual, queue == nullptr);
  if (!current_recording->takes_steps()) return false;
  current_recording->add(new RecordedCopy(arguments...));
  return true;
}

void require_same_shape(const CopySide& destination, const CopySide& source) {
  const LayoutDescriptor& to = *destination.layout;
  const LayoutDescriptor& from = *source.layout;
  bool equal = to.rank == from.rank;
  for (int r = 0; equal && r < to.rank; ++r) equal = to.extent[r] == from.extent[r];
  if (!equal)
    fail_shapes("deep_copy", destination.label, to.extent, to.rank, source.label, from.extent, from.rank);
}

// Whether no queue copies from one memory to the other.
bool has_no_common_queue(const CopySide& destination, const CopySide& source) {
  return destination.space.kind != source.space.kind && !reached_by_host(destination.space) &&
         !reached_by_host(source.space);
}

// The queue of a copy: the one given, or a default queue after all work on both.
QueueState& queue_for(const CopySide& destination, const CopySide& source, QueueState* given) {
  if (given == nullptr) {
    // The copy runs where the memory is that the host cannot reach; of two devices, on the destination's.
    const bool at_source =
        on_host(destination.space) || (destination.space.shared && !reached_by_host(source.space));
    DeviceInstance& at = at_source ? *source.instance : *destination.instance;
    // Waited for here, not by an event: an error of the source's queue is then thrown once, and leaves the
    // destination's queue alone.
    if (!on_host(source.space) && &source.instance->default_queue() != &at.default_queue())
      source.instance->default_queue().wait();
    return at.default_queue();
  }
  if (given->instance().host_accessible() && !(on_host(destination.space) && on_host(source.space)))
    throw WrongDevice(std::string("deep_copy: the queue belongs to ") + given->instance().device_name() +
                      ", the arrays lie in " + describe_space(destination.space) + " and " +
                      describe_space(source.space) + "; use a queue of the device that owns one of them");
  return *given;
}

// Whether kernels of `at` may convert the elements of an array in place.
bool reaches(DeviceInstance& at, const CopySide& side) {
  if (at.host_accessible()) return reached_by_host(side.space);
  // Memories of one GPU share its queues; only hosts can call a mapping of a user.
  return side.layout->offset == nullptr && &side.instance->default_queue() == &at.default_queue();
}

// One side of a conversion, or, where kernels of the queue do not reach it, a packed array of the same
// shape that they reach. Its memory may be used by work that is enqueued before it is freed.
struct Packed {
  Packed(QueueState& queue, const CopySide& original, std::size_t bytes)
      : side(original), element_bytes(bytes), is_copy(!reaches(queue.instance(), original)) {
    if (!is_copy) return;
    packed_.rank = original.layout->rank;
    packed_.span = element_count(*original.layout);
    index_t stride = 1;
    for (int r = packed_.rank - 1; r >= 0; --r) {
      packed_.extent[r] = original.layout->extent[r];
      packed_.stride[r] = stride;
      stride *= packed_.extent[r];
    }
    DeviceInstance& at = queue.instance();
    memory_ = AllocationRef(at.allocate({static_cast<std::size_t>(packed_.span) * bytes,
                                         "elements on the way to their conversion", bytes, &packed_}));
    side = {memory_.get()->data, memory_.get()->space, &packed_, original.label, &at};
  }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  CopySide side;
  std::size_t element_bytes;
  bool is_copy;

 private:
  LayoutDescriptor packed_{};
  AllocationRef memory_;
};

}  // namespace

bool lies_within(const void* begin, std::size_t bytes, const void* data, const LayoutDescriptor& layout,
                 std::size_t element_bytes) {
  if (element_count(layout) == 0) return true;
  // Addresses of device memory are numbers here; differences of pointers are for elements of one array.
  const auto address = reinterpret_cast<std::uintptr_t>(data),
             first = reinterpret_cast<std::uintptr_t>(begin);
  const auto size = static_cast<index_t>(element_bytes);
  const OffsetBounds bounds = offset_bounds(layout);
  // In whole elements, downwards: nothing overflows, and an array may begin anywhere.
  const auto before = static_cast<index_t>(address - first);  // negative where it begins below
  const index_t lowest = -floor_div(before, size);
  const index_t end = floor_div(static_cast<index_t>(bytes) - before, size);
  return bounds.lowest >= lowest && bounds.highest < end;
}

void check_resident(const Allocation& record, const void* data, const LayoutDescriptor& layout,
                    std::size_t element_bytes) {
  if (!lies_within(record.data, record.bytes, data, layout, element_bytes))
    fail_resident(record.label, record.space, layout);
}

int instance_of(SpaceId space, const void* data, const LayoutDescriptor& layout, std::size_t element_bytes) {
  struct Search {
    SpaceId space;
    const void* data;
    const LayoutDescriptor* layout;
    std::size_t element_bytes;
    bool inside = true;
    std::string label;
  } search{space, data, &layout, element_bytes, true, {}};
  visit_allocations(
      [](void* context, const AllocationInfo& info) {
        auto& s = *static_cast<Search*>(context);
        const auto at =
            reinterpret_cast<std::uintptr_t>(s.data) - reinterpret_cast<std::uintptr_t>(info.data);
        if (info.space.kind != s.space.kind || at >= info.span) return;
        s.space.instance = info.space.instance;
        s.inside = lies_within(info.data, info.span, s.data, *s.layout, s.element_bytes);
        s.label = info.label;
      },
      &search);
  if (!search.inside) fail_resident(search.label.c_str(), search.space, layout);
  return search.space.instance;
}

void rethrow_creating(const char* label, const index_t* extents, int count) {
  try {
    throw;
  } catch (const ExtentError& error) {
    std::string shape;
    for (int r = 0; r < count; ++r) shape += (r ? ", " : "") + std::to_string(extents[r]);
    throw ExtentError("create \"" + std::string(label) + "\" with extents (" + shape + "): " + error.what());
  }
}

void fail_rows(const char* label, ResidentRows rows, index_t extent) {
  throw OutOfBounds(std::string("deep_copy_rows \"") + label + "\": it does not hold rows [" +
                    std::to_string(rows.begin) + ", " + std::to_string(rows.end) + ") of its " +
                    std::to_string(extent) + "; ask for rows that both arrays hold");
}

void fail_mirror(const char* label) {
  throw LayoutError(
      "create_mirror \"" + std::string(label) +
      "\": it is a slice, which holds some rows of an array only; make a slice of the same rows on "
      "the host with create_slice, and copy with deep_copy_rows");
}

Allocation* create_storage(DeviceInstance& instance, QueueState* queue, const char* label, index_t span,
                           std::size_t element_bytes, const LayoutDescriptor& layout, bool fill) {
  require_running("an allocation");
  // Memories of one GPU share its queues.
  if (queue != nullptr && &queue->instance().default_queue() != &instance.default_queue())
    throw WrongDevice(std::string("create \"") + label + "\": the queue belongs to another device instance");
  const auto count = static_cast<std::size_t>(span);
  if (count > std::numeric_limits<std::size_t>::max() / 2 / element_bytes)
    fail_extents_overflow(layout.extent, layout.rank, "a memory");
  const std::size_t bytes = count * element_bytes;
  Allocation* const record = instance.allocate({bytes, label, element_bytes, &layout});
  if (!fill || bytes == 0) return record;
  AllocationRef guard(record);  // frees it if filling fails
  LayoutDescriptor storage{};
  storage.rank = 1;
  storage.extent[0] = span;
  storage.stride[0] = 1;
  storage.span = span;
  const std::vector<char> zero(element_bytes, 0);
  const CopySide side{record->data, record->space, &storage, record->label, &instance};
  QueueState& target = queue ? *queue : instance.default_queue();
  const profiling::EventScope scope(
      [&] { return copy_event(side, nullptr, bytes, target, EventKind::BeginInitialize); });
  target.fill(side, zero.data(), element_bytes);
  if (queue == nullptr) target.wait();
  return guard.take();
}

void copy_arrays(const CopySide& destination, const CopySide& source, std::size_t element_bytes,
                 QueueState* queue) {
  require_running("deep_copy");
  require_same_shape(destination, source);
  if (element_count(*destination.layout) == 0) return;

  if (recorded(destination.label, queue, destination.instance->default_queue(), destination, source,
               element_bytes))
    return;
  if (queue == nullptr && has_no_common_queue(destination, source))
    return copy_by_host(destination, source, element_bytes);
  QueueState& at = queue_for(destination, source, queue);
  const auto bytes = static_cast<std::size_t>(element_count(*destination.layout)) * element_bytes;
  const profiling::EventScope scope([&] { return copy_event(destination, &source, bytes, at); });
  at.copy(destination, source, element_bytes);
  if (queue == nullptr) at.wait();
}

void convert_arrays(const CopySide& destination, const CopySide& source, Conversion how, QueueState* queue) {
  require_running("deep_copy");
  require_same_shape(destination, source);
  if (element_count(*destination.layout) == 0) return;
  if (destination.space == source.space &&
      conversion_overlaps(destination.data, *destination.layout, source.data, *source.layout, how))
    throw CopyError(std::string("deep_copy: \"") + destination.label + "\" and \"" + source.label +
                    "\", whose elements have two types, overlap in " + describe_space(source.space) +
                    "; convert into an array of its own");

  if (current_recording != nullptr) {
    QueueState& usual = destination.instance->default_queue();
    QueueState& at = queue != nullptr ? *queue : usual;
    if (!reaches(at.instance(), destination) || !reaches(at.instance(), source))
      throw Error(std::string("deep_copy of \"") + source.label + "\" to \"" + destination.label +
                  "\": a conversion between two memories cannot be recorded; record a copy, and a conversion "
                  "between two arrays of the device");
    if (recorded(destination.label, queue, usual, destination, source, how)) return;
  }
  const bool blocking = queue == nullptr;
  if (blocking && has_no_common_queue(destination, source)) {
    source.instance->default_queue().wait();
    queue = &destination.instance->default_queue();
  }
  QueueState& at = queue_for(destination, source, queue);
  const auto bytes =
      static_cast<std::size_t>(element_count(*destination.layout) * how.parts * bytes_of(how.to));
  const profiling::EventScope scope([&] { return copy_event(destination, &source, bytes, at); });
  // What kernels of the queue do not reach is converted by way of a packed array there.
  const Packed from(at, source, static_cast<std::size_t>(how.parts * bytes_of(how.from)));
  const Packed to(at, destination, static_cast<std::size_t>(how.parts * bytes_of(how.to)));
  if (from.is_copy) copy_arrays(from.side, source, from.element_bytes, blocking ? nullptr : &at);
  at.convert(to.side, from.side, how);
  if (to.is_copy) copy_arrays(destination, to.side, to.element_bytes, blocking ? nullptr : &at);
  if (blocking) at.wait();
}

void fill_array(const CopySide& destination, const void* value, std::size_t element_bytes,
                QueueState* queue) {
  require_running("deep_copy");
  const index_t count = element_count(*destination.layout);
  if (count == 0) return;
  if (recorded(destination.label, queue, destination.instance->default_queue(), destination, value,
               element_bytes))
    return;
  const bool blocking = queue == nullptr;
  if (blocking) queue = &destination.instance->default_queue();
  const auto bytes = static_cast<std::size_t>(count) * element_bytes;
  const profiling::EventScope scope([&] { return copy_event(destination, nullptr, bytes, *queue); });
  queue->fill(destination, value, element_bytes);
  if (blocking) queue->wait();
}

}  // namespace strata::inline STRATA_ABI::detail
