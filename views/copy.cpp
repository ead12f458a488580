#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <strata/core/allocation_report.hpp>
#include <strata/core/error.hpp>
#include <strata/core/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/host_space.hpp>
#include <strata/views/copy.hpp>
#include <strata/views/create.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

bool on_host(const SpaceId& space) { return space.kind == HostSpace::kind; }

class CopyScope {
 public:
  CopyScope(const CopySide& destination, const CopySide* source, std::size_t bytes, const QueueState& queue) {
    if (!hooks_active()) return;
    event_ = {.kind = EventKind::BeginCopy,
              .label = destination.label,
              .queue = queue.id(),
              .id = next_event_id(),
              .destination = destination.space,
              .destination_data = destination.data,
              .bytes = bytes};
    if (source != nullptr) {
      event_.source_label = source->label;
      event_.source = source->space;
      event_.source_data = source->data;
    }
    emit(event_);
  }
  ~CopyScope() {
    if (event_.id == 0) return;
    event_.kind = EventKind::EndCopy;
    emit(event_);
  }
  CopyScope(const CopyScope&) = delete;
  CopyScope& operator=(const CopyScope&) = delete;

 private:
  HookEvent event_{.kind = EventKind::BeginCopy};
};

[[noreturn]] void fail_resident(const char* label, SpaceId space, const LayoutDescriptor& layout) {
  std::string shape;
  for (int r = 0; r < layout.rank; ++r) shape += (r ? ", " : "") + std::to_string(layout.extent[r]);
  throw OutOfBounds("a copy or fill of \"" + std::string(label) + "\" on " + describe_space(space) +
                    ", of shape (" + shape +
                    "), touches elements that its memory does not hold: it is a slice; copy the rows that " +
                    "it holds with deep_copy_rows, or copy and fill a subview of them");
}

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
  const index_t lowest = -(before >= 0 ? before / size : -((-before + size - 1) / size));
  const index_t room = static_cast<index_t>(bytes) - before;
  const index_t end = room >= 0 ? room / size : -((-room + size - 1) / size);
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
        if (info.space.kind != s.space.kind || at >= info.bytes) return;
        s.space.instance = info.space.instance;
        s.inside = lies_within(info.data, info.bytes, s.data, *s.layout, s.element_bytes);
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
  if (queue != nullptr && &queue->instance() != &instance)
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
  target.fill(side, zero.data(), element_bytes);
  if (queue == nullptr) target.wait();
  return guard.take();
}

void copy_arrays(const CopySide& destination, const CopySide& source, std::size_t element_bytes,
                 QueueState* queue) {
  require_running("deep_copy");
  const LayoutDescriptor& to = *destination.layout;
  const LayoutDescriptor& from = *source.layout;
  bool equal = to.rank == from.rank;
  for (int r = 0; equal && r < to.rank; ++r) equal = to.extent[r] == from.extent[r];
  if (!equal)
    fail_shapes("deep_copy", destination.label, to.extent, to.rank, source.label, from.extent, from.rank);
  if (element_count(to) == 0) return;

  const bool blocking = queue == nullptr;
  if (blocking) {
    // The copy runs where the memory is that the host cannot reach; of two devices, on the destination's.
    DeviceInstance& at = on_host(destination.space) ? *source.instance : *destination.instance;
    queue = &at.default_queue();
    // Waited for here, not by an event: an error of the source's queue is then thrown once, and leaves the
    // destination's queue alone.
    if (!on_host(source.space) && source.instance != &at) source.instance->default_queue().wait();
  } else if (queue->instance().host_accessible() && !(on_host(destination.space) && on_host(source.space))) {
    throw WrongDevice(std::string("deep_copy: the queue belongs to ") + queue->instance().device_name() +
                      ", the arrays lie in " + describe_space(destination.space) + " and " +
                      describe_space(source.space) + "; use a queue of the device that owns one of them");
  }
  const CopyScope scope(destination, &source, static_cast<std::size_t>(element_count(to)) * element_bytes,
                        *queue);
  queue->copy(destination, source, element_bytes);
  if (blocking) queue->wait();
}

void fill_array(const CopySide& destination, const void* value, std::size_t element_bytes,
                QueueState* queue) {
  require_running("deep_copy");
  const index_t count = element_count(*destination.layout);
  if (count == 0) return;
  const bool blocking = queue == nullptr;
  if (blocking) queue = &destination.instance->default_queue();
  const CopyScope scope(destination, nullptr, static_cast<std::size_t>(count) * element_bytes, *queue);
  queue->fill(destination, value, element_bytes);
  if (blocking) queue->wait();
}

}  // namespace strata::inline STRATA_ABI::detail
