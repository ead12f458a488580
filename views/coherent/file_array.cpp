// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <type_traits>

#include <strata/core/box.hpp>
#include <strata/core/error.hpp>
#include <strata/core/error_text.hpp>
#include <strata/core/log.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/file_array.hpp>
#include <strata/views/coherent/file_storage.hpp>
#include <strata/views/coherent/host_access.hpp>
#include <strata/views/coherent/last_use.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

void release_file(Allocation& allocation) noexcept { delete static_cast<FileStorage*>(allocation.owner); }

FileStorage* storage_of(const AllocationRef& block) {
  const Allocation* const record = block.get();
  return record != nullptr && record->release == &release_file ? static_cast<FileStorage*>(record->owner)
                                                               : nullptr;
}

AllocationRef allocation_of(FileStorage* storage) {
  try {
    return AllocationRef(make_allocation(storage->data(), static_cast<std::size_t>(storage->data_bytes()),
                                         Serial().backend().space(), storage->path().c_str(), &release_file,
                                         storage));
  } catch (...) {
    delete storage;
    throw;
  }
}

// An array whose last handle brings it to the disk.
class FileState : public CoherentState {
 public:
  using CoherentState::CoherentState;
  ~FileState() override {
    FileStorage& storage = *storage_of(main.storage);
    bool saves = !storage.is_for_reading() && std::uncaught_exceptions() == 0;
    const auto say = [&] {
      log_message(LogLevel::Error, "the array in \"%s\" is incomplete: %s", storage.path().c_str(),
                  text_of(std::current_exception()).c_str());
    };
    // Pages beyond the end of a truncated file are not to be touched: nothing is copied to them.
    if (saves) try {
        storage.check_use(true);
      } catch (...) {
        say();
        saves = false;
      }
    try {
      if (is_busy() || (saves && host_lacks_values(*this)))
        use_on_host_last(*this, saves ? AccessMode::InOut : AccessMode::Out);
      if (saves) storage.complete();
    } catch (...) {
      if (saves) say();
    }
  }

 private:
  // Whether copies from or to the mapping are under way: the file would stay open until they end.
  bool is_busy() {
    Coherence& coherence = Coherence::get();
    const std::lock_guard lock(coherence.mutex);
    WorkList after;
    order(host_memory).before_write(shape.domain, after);
    EventList events;
    for (const Work work : after) coherence.tracker.events_of(work, events);
    return std::any_of(events.begin(), events.end(), [](const auto& event) { return !event->complete(); });
  }
};

void copy_name(char (&to)[256], const std::string& name, const std::string& path) {
  if (name.size() >= sizeof to)
    throw FileError("cannot make a file at \"" + path + "\": the type " + name +
                    " has a name of more than 255 letters; use a type with a shorter one");
  std::memcpy(to, name.data(), name.size());
}

std::string shape_text(const std::int64_t* extents, std::int64_t rank) {
  std::string text = "(";
  for (std::int64_t r = 0; r < rank; ++r) text += (r > 0 ? ", " : "") + std::to_string(extents[r]);
  return text + ")";
}

// Throws where the file is another array than is wanted.
void compare(const std::string& path, const FileHeader& header, const FileArrayShape& wanted) {
  const auto refuse = [&](const std::string& what, const std::string& there, const std::string& asked) {
    throw FileError("cannot open \"" + path + "\": its " + what + " is " + there + ", asked was " + asked +
                    "; open it as what it is");
  };
  const FileElement element{static_cast<FileElement::Kind>(header.element_kind), header.element_bytes,
                            header.element_name};
  if (element.kind != wanted.element.kind || element.bytes != wanted.element.bytes ||
      element.name != wanted.element.name)
    refuse("element type", to_string(element), to_string(wanted.element));
  if (header.rank != wanted.rank) refuse("rank", std::to_string(header.rank), std::to_string(wanted.rank));
  if (wanted.layout != header.layout_name) refuse("layout", header.layout_name, wanted.layout);
  if (wanted.extents_given > 0 && !std::equal(header.extents, header.extents + header.rank, wanted.extents))
    refuse("shape", shape_text(header.extents, header.rank), shape_text(wanted.extents, wanted.rank));
}

}  // namespace

std::string tiled_name(int width) { return "tiled<" + std::to_string(width) + ">"; }

AllocationRef create_file(const std::string& path, const FileArrayShape& shape,
                          const LayoutDescriptor& layout) {
  require_running("an array in a file");
  FileHeader header{};
  std::memcpy(header.magic, FileHeader::right_magic, sizeof header.magic);
  header.byte_order = FileHeader::right_byte_order;
  header.version = FileHeader::newest_version;
  header.element_kind = static_cast<std::uint32_t>(shape.element.kind);
  header.element_bytes = shape.element.bytes;
  copy_name(header.element_name, shape.element.name, path);
  copy_name(header.layout_name, shape.layout, path);
  header.rank = shape.rank;
  std::copy_n(shape.extents, shape.rank, header.extents);
  header.data_offset = FileHeader::size;
  if (layout.span > (index_t{1} << 62) / shape.element.bytes)
    fail_extents_overflow(layout.extent, layout.rank, "a file");
  header.data_bytes = layout.span * shape.element.bytes;
  drop_leftovers();
  return allocation_of(FileStorage::create(path, shape.overwrites, header));
}

AllocationRef open_file(const std::string& path, FileArrayShape& shape) {
  require_running("an array in a file");
  drop_leftovers();
  FileHeader header;
  AllocationRef storage =
      allocation_of(FileStorage::open(path, shape.reads_only, shape.allows_incomplete, header));
  compare(path, header, shape);
  std::copy_n(header.extents, shape.rank, shape.extents);
  return storage;
}

void fail_file_extents(const std::string& path, const ExtentError& error) {
  throw FileError("cannot open \"" + path + "\": its header is wrong: " + error.what() +
                  "; restore it, or make it anew");
}

void check_file(const AllocationRef& block, const LayoutDescriptor& layout) {
  FileStorage& storage = *storage_of(block);
  const auto element = static_cast<index_t>(storage.header().element_bytes);
  if (layout.span > storage.data_bytes() / element || layout.span * element != storage.data_bytes())
    throw FileError("cannot open \"" + storage.path() + "\": an array of shape " +
                    shape_text(layout.extent, layout.rank) + " takes another number of bytes than the " +
                    std::to_string(storage.data_bytes()) + " of the file; its header is wrong, make it anew");
}

Ref<CoherentState> make_file_state(const AllocationRef& block, const FileArrayShape& shape,
                                   const LayoutDescriptor& layout, bool current) {
  const ArrayShape array{
      layout.rank == 0 ? Box()
                       : Box::from_extents(std::span(layout.extent, static_cast<std::size_t>(layout.rank))),
      layout, shape.element.bytes, shape.contiguous_rows};
  FileStorage& storage = *storage_of(block);
  DeviceInstance& host = Serial().backend();
  return Ref<CoherentState>(new FileState(storage.path().c_str(), array,
                                          {storage.data(), block, &host, host.space()},
                                          current ? MemorySet{host_memory} : MemorySet(), MemoryMode::Smart));
}

void save_file(const Ref<CoherentState>& array) {
  FileStorage* const storage = array ? file_storage_of(*array) : nullptr;
  if (storage == nullptr)
    throw FileError("cannot save " + (array ? "\"" + array->label + "\"" : "an array that is none") +
                    ": it is in memory; file_array makes arrays in files");
  storage->check_use(true);
  // As long as it lives, nobody writes to the mapping.
  const HostUseScope reading(array, array->shape.domain, AccessMode::In);
  storage->complete();
}

FileStorage* file_storage_of(const CoherentState& array) { return storage_of(array.main.storage); }

void check_file_use(const CoherentState& array, bool writes) {
  if (const FileStorage* const storage = file_storage_of(array)) storage->check_use(writes);
}

void mark_file_incomplete(const CoherentState& array) {
  if (FileStorage* const storage = file_storage_of(array)) storage->mark_incomplete();
}

}  // namespace strata::inline STRATA_ABI::detail
