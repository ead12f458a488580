// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include <strata/core/allocation_report.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/host/space.hpp>
#include <strata/devices/recording.hpp>
#include <strata/views/dlpack.hpp>
#include <strata/views/dlpack_abi.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

namespace {

// ---- memories and elements

struct MemoryKind {
  const char* kind;  // of the memory space
  DLPackDeviceType type;
};
constexpr MemoryKind memory_kinds[] = {{HostSpace::kind, DLPackDeviceType::Cpu},
                                       {"Cuda", DLPackDeviceType::Cuda},
                                       {"CudaPinned", DLPackDeviceType::CudaPinned},
                                       {"CudaManaged", DLPackDeviceType::CudaManaged}};

const MemoryKind* memory_kind(const char* kind) {
  for (const MemoryKind& known : memory_kinds)
    if (std::strcmp(known.kind, kind) == 0) return &known;
  return nullptr;
}

std::string quoted(const char* label) { return "\"" + std::string(label) + "\""; }

std::string device_name(const DLPackDevice& device) {
  for (const MemoryKind& known : memory_kinds)
    if (known.type == device.type) return describe_space({known.kind, device.id});
  return "a device of DLPack's type " + std::to_string(static_cast<int>(device.type));
}

std::string element_name(const DLPackElementType& element) {
  static constexpr const char* names[] = {"int", "uint", "float", nullptr, "bfloat", "complex", "bool"};
  const char* const name = element.code < std::size(names) ? names[element.code] : nullptr;
  std::string text = name != nullptr ? name : "type " + std::to_string(element.code) + " of ";
  text += std::to_string(element.bits);
  return element.lanes == 1 ? text : text + " in vectors of " + std::to_string(element.lanes);
}

DLPackElementType element_type(const DLPackElements& elements) {
  return {static_cast<std::uint8_t>(elements.code), static_cast<std::uint8_t>(8 * elements.bytes), 1};
}

std::string numbers(const index_t* values, int count) {
  std::string text = "(";
  for (int r = 0; r < count; ++r) text += (r ? ", " : "") + std::to_string(values[r]);
  return text + ")";
}

LayoutDescriptor descriptor_of(const DLPackShape& shape) {
  LayoutDescriptor layout{};
  layout.rank = shape.rank;
  for (int r = 0; r < shape.rank; ++r) {
    layout.extent[r] = shape.extent[r];
    layout.stride[r] = shape.stride[r];
  }
  layout.shift = shape.shift;
  return layout;
}

void set_right_strides(DLPackShape& shape) {
  index_t stride = 1;
  for (int r = shape.rank - 1; r >= 0; --r) {
    shape.stride[r] = stride;
    stride *= shape.extent[r] > 0 ? shape.extent[r] : 1;
  }
}

// ---- export

// Structures of DLPack are copied, byte by byte, from and to what both sides know by names of their own.
struct Exported {
  alignas(DLPackManaged) char managed[sizeof(DLPackManaged)];  // first: its address is the tensor's
  AllocationRef owner;
  std::int64_t extents[max_rank] = {};
  std::int64_t strides[max_rank] = {};
};

void delete_exported(DLManagedTensorVersioned* tensor) { delete reinterpret_cast<Exported*>(tensor); }

DLPackHead head_of(const DLManagedTensorVersioned* tensor) {
  DLPackHead head;
  std::memcpy(&head, static_cast<const void*>(tensor), sizeof(head));
  return head;
}

// ---- import

// Which tensor owns the memory of an allocation; the record itself says which instance works on it. Never
// destroyed: views in static storage may be the last.
struct AdoptedTensors {
  std::mutex mutex;
  std::unordered_map<const Allocation*, DLManagedTensorVersioned*> tensors;
};

AdoptedTensors& adopted() {
  static AdoptedTensors* const instance = new AdoptedTensors;
  return *instance;
}

// Its errors stay with the queue: an event only reports them. A thread that records a graph must not wait.
void wait_for_default_queue(DeviceInstance& instance) noexcept {
  if (runtime_ended() || current_recording != nullptr) return;
  try {
    instance.default_queue().record()->wait();
  } catch (...) {
  }
}

void release_adopted(Allocation& record) noexcept {
  DLManagedTensorVersioned* tensor = nullptr;
  {
    AdoptedTensors& all = adopted();
    const std::lock_guard lock(all.mutex);
    const auto found = all.tensors.find(&record);
    if (found == all.tensors.end()) return;  // it was never taken over
    tensor = found->second;
    all.tensors.erase(found);
  }
  if (record.space.kind != HostSpace::kind)
    wait_for_default_queue(*static_cast<DeviceInstance*>(record.owner));
  const DLPackTensor dropped(tensor);
}

// Whether a view in memory of `kind` may show what lies on `device`.
bool accepts(const char* kind, const DLPackDevice& device) {
  const MemoryKind* const own = memory_kind(kind);
  if (own == nullptr) return false;
  return own->type == device.type ||
         (own->type == DLPackDeviceType::Cpu &&
          (device.type == DLPackDeviceType::CudaPinned || device.type == DLPackDeviceType::CudaManaged));
}

DLPackShape shape_of(const DLPackContents& tensor, const std::string& asked) {
  if (tensor.rank < 0 || tensor.rank > max_rank)
    throw ExtentError(asked + "it has " + std::to_string(tensor.rank) + " dimensions, an array has at most " +
                      std::to_string(max_rank));
  if (tensor.rank > 0 && tensor.extents == nullptr) throw DLPackError(asked + "it has no extents");
  DLPackShape shape;
  shape.rank = tensor.rank;
  for (int r = 0; r < shape.rank; ++r) {
    shape.extent[r] = tensor.extents[r];
    if (shape.extent[r] < 0)
      throw ExtentError(asked + "extent " + std::to_string(r) + " is " + std::to_string(shape.extent[r]));
  }
  if (tensor.strides == nullptr) set_right_strides(shape);
  else
    for (int r = 0; r < shape.rank; ++r) shape.stride[r] = tensor.strides[r];
  return shape;
}

// The offsets of the elements have to fit, in bytes.
void check_span(const DLPackShape& shape, std::size_t element_bytes, const std::string& asked) {
  index_t span = 1;
  bool fits = true;
  for (int r = 0; r < shape.rank; ++r) {
    index_t part = 0;
    fits = fits && !__builtin_mul_overflow(shape.extent[r] - 1, shape.stride[r], &part) &&
           part != INT64_MIN && !__builtin_add_overflow(span, part < 0 ? -part : part, &span);
  }
  fits = fits && !__builtin_mul_overflow(span, static_cast<index_t>(element_bytes), &span);
  if (!fits)
    throw ExtentError(asked + "extents " + numbers(shape.extent, shape.rank) + " with strides " +
                      numbers(shape.stride, shape.rank) + " span more bytes than there are");
}

void check_elements(const DLPackElementType& theirs, const DLPackElements& elements, std::uint64_t flags,
                    const std::string& asked) {
  const DLPackElementType ours = element_type(elements);
  if (theirs.code != ours.code || theirs.bits != ours.bits || theirs.lanes != ours.lanes)
    throw DLPackError(asked + "its elements are " + element_name(theirs) + ", those of the view " +
                      element_name(ours) + "; use a view of such elements, or convert the tensor first");
  if ((flags & dlpack_read_only) != 0 && !elements.constant)
    throw DLPackError(asked + "it is read-only; use a view of const elements, or copy the tensor first");
}

// Memory that lies at one address for several indices is for reading.
void check_apart(const DLPackShape& shape, const DLPackElements& elements, const std::string& asked) {
  for (int r = 0; r < shape.rank; ++r)
    if (!elements.constant && shape.extent[r] > 1 && shape.stride[r] == 0)
      throw DLPackError(asked + "dimension " + std::to_string(r) + " has " + std::to_string(shape.extent[r]) +
                        " indices with stride 0, the same elements for all; use a view of const elements, or "
                        "copy the tensor first");
}

}  // namespace

DLManagedTensorVersioned* make_dlpack(const void* data, const Allocation* record, SpaceId space,
                                      const DLPackElements& elements, const DLPackShape& shape) {
  const std::string asked = "to_dlpack " + quoted(record ? record->label : "") + ": ";
  const MemoryKind* const kind = memory_kind(space.kind);
  if (kind == nullptr)
    throw WrongDevice(asked + "it lies on " + describe_space(space) +
                      ", in memory that DLPack does not know; copy it to the host with create_mirror and "
                      "deep_copy");
  if (data == nullptr) throw DLPackError(asked + "the view is null; create an array first");
  const LayoutDescriptor layout = descriptor_of(shape);
  const bool empty = element_count(layout) == 0;
  if (record != nullptr && !lies_within(record->data, record->bytes, data, layout, elements.bytes))
    throw OutOfBounds(asked + "the " + std::to_string(record->bytes) + " bytes on " + describe_space(space) +
                      " do not hold all of its shape " + numbers(shape.extent, shape.rank) +
                      ": it is a slice, whose rows a subview shows");

  auto* const exported = new Exported;
  if (record != nullptr) exported->owner = AllocationRef::of(*record);
  DLPackShape shown = shape;
  if (empty) set_right_strides(shown);
  for (int r = 0; r < shape.rank; ++r) {
    exported->extents[r] = shown.extent[r];
    exported->strides[r] = shown.stride[r];
  }
  const auto first =
      reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(shape.shift) * elements.bytes;
  const auto base = record != nullptr ? reinterpret_cast<std::uintptr_t>(record->data) : first;
  const DLPackManaged managed{{dlpack_major_version, dlpack_minor_version, nullptr, delete_exported,
                               elements.constant ? dlpack_read_only : 0},
                              {empty ? nullptr : reinterpret_cast<void*>(base),
                               {kind->type, kind->type == DLPackDeviceType::Cuda ? space.instance : 0},
                               shape.rank,
                               element_type(elements),
                               exported->extents,
                               exported->strides,
                               empty ? 0 : first - base}};
  std::memcpy(exported->managed, &managed, sizeof(managed));
  return reinterpret_cast<DLManagedTensorVersioned*>(exported);
}

DLPackSource read_dlpack(DLManagedTensorVersioned* raw, const char* label, const DLPackElements& elements,
                         int rank, const char* kind) {
  require_running("from_dlpack");
  const std::string asked = "from_dlpack " + quoted(label) + ": ";
  if (raw == nullptr) throw DLPackError(asked + "there is no tensor");
  const DLPackHead head = head_of(raw);
  if (head.major != dlpack_major_version)
    throw DLPackError(asked + "it is one of DLPack " + std::to_string(head.major) + "." +
                      std::to_string(head.minor) + ", this library knows version 1");
  DLPackManaged managed;
  std::memcpy(&managed, static_cast<const void*>(raw), sizeof(managed));
  const DLPackContents& tensor = managed.tensor;

  if (!accepts(kind, tensor.device))
    throw WrongDevice(asked + "it lies on " + device_name(tensor.device) +
                      ", the view's device has memory of kind " + kind +
                      (memory_kind(kind) ? "; use a view of the device that it lies on"
                                         : ", which no other library can reach; copy from a host view"));
  check_elements(tensor.element, elements, head.flags, asked);
  DLPackSource source{shape_of(tensor, asked), nullptr,
                      tensor.device.type == DLPackDeviceType::Cuda ? tensor.device.id : 0};
  if (rank >= 0 && source.shape.rank != rank)
    throw ExtentError(asked + "its shape is " + numbers(source.shape.extent, source.shape.rank) +
                      ", the view has " + std::to_string(rank) + " dimensions");
  // An array without elements is none for a null address only.
  alignas(64) static char nothing[64];
  source.data = nothing;
  if (element_count(descriptor_of(source.shape)) == 0) return source;

  check_apart(source.shape, elements, asked);
  check_span(source.shape, elements.bytes, asked);
  if (tensor.data == nullptr) throw DLPackError(asked + "it has elements, but no address");
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  if (address % elements.alignment != 0)
    throw LayoutError(asked + "its first element lies " + std::to_string(address % elements.alignment) +
                      " bytes after a multiple of " + std::to_string(elements.alignment) + ", which " +
                      element_name(tensor.element) + " needs; copy the tensor first");
  source.data = reinterpret_cast<void*>(address);
  return source;
}

Allocation* adopt_dlpack(DLPackTensor& tensor, const char* label, const DLPackSource& source,
                         std::size_t element_bytes, DeviceInstance& instance) {
  const LayoutDescriptor layout = descriptor_of(source.shape);
  void* begin = source.data;
  std::size_t bytes = 0;
  if (element_count(layout) > 0) {
    const OffsetBounds bounds = offset_bounds(layout);
    begin = static_cast<char*>(begin) + bounds.lowest * static_cast<index_t>(element_bytes);
    bytes = static_cast<std::size_t>(bounds.highest - bounds.lowest + 1) * element_bytes;
  }
  AllocationRef owner(make_allocation(begin, bytes, instance.space(), label, release_adopted, &instance));
  AdoptedTensors& all = adopted();
  const std::lock_guard lock(all.mutex);
  all.tensors.emplace(owner.get(), tensor.get());
  static_cast<void>(tensor.release());
  return owner.take();
}

bool same_strides(const DLPackShape& mapping, const DLPackShape& tensor) {
  LayoutDescriptor a = descriptor_of(mapping), b = descriptor_of(tensor);
  a.shift = b.shift = 0;
  return same_offsets(a, b);
}

void fail_dlpack_strides(const char* label, const DLPackShape& mapping, const DLPackShape& tensor) {
  throw LayoutError("from_dlpack " + quoted(label) + ": the tensor of shape " +
                    numbers(tensor.extent, tensor.rank) + " has strides " +
                    numbers(tensor.stride, tensor.rank) + ", the layout of the view has " +
                    numbers(mapping.stride, mapping.rank) +
                    "; use a view of LayoutStrided, or of the layout that the tensor has");
}

}  // namespace detail

void DLPackTensor::drop(DLManagedTensorVersioned* tensor) noexcept {
  if (const auto deleter = detail::head_of(tensor).deleter) deleter(tensor);
}

}  // namespace strata::inline STRATA_ABI
