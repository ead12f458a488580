// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <strata/core/allocation_report.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/conversion.hpp>
#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/host/control_group.hpp>
#include <strata/devices/host/copy.hpp>
#include <strata/devices/host/device.hpp>
#include <strata/devices/host/space.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr std::size_t least_alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

class CompleteEvent final : public EventState {
 public:
  bool complete() const override { return true; }
  void wait() override {}
};

// Work is done when it is enqueued, so the time of the call is that of the event.
class TimedEvent final : public EventState {
 public:
  bool complete() const override { return true; }
  void wait() override {}
  double seconds_since(const EventState& earlier) const override {
    const auto* const first = dynamic_cast<const TimedEvent*>(&earlier);
    return first == nullptr ? -1 : std::chrono::duration<double>(time_ - first->time_).count();
  }

 private:
  const std::chrono::steady_clock::time_point time_ = std::chrono::steady_clock::now();
};

// The bytes from `begin` on that have no memory yet.
std::size_t bytes_without_memory(const void* begin, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
  const std::size_t length = reinterpret_cast<std::uintptr_t>(begin) + bytes - first;
  std::vector<unsigned char> pages((length + page - 1) / page);
  if (mincore(reinterpret_cast<void*>(first), length, pages.data()) != 0) return 0;
  return page * static_cast<std::size_t>(
                    std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) == 0; }));
}

// Whether memory is that of a file, which the system writes back where others need the room.
bool is_of_file(const void* memory) {
  std::ifstream maps("/proc/self/maps");
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0, last = 0, inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %lu", &first, &last, &inode) == 3 &&
        first <= address && address < last)
      return inode != 0;
  }
  return false;
}

// A process that allocates more than its control group has gets no error, but is killed when it writes: so
// Strata refuses before. Arrays that are never written need no memory. Small ones are not checked, as that
// would take longer than to write them.
void require_memory(const char* device, const CopySide& written, std::size_t element_bytes) {
  static const auto most = static_cast<std::size_t>(most_memory());
  constexpr std::size_t small = std::size_t{16} << 20;
  const std::size_t bytes = static_cast<std::size_t>(written.layout->span) * element_bytes;
  if (most == 0 || bytes < small || written.space.kind != HostSpace::kind) return;
  const auto taken = static_cast<std::size_t>(resident_memory());
  if (taken + bytes_without_memory(written.data, bytes) <= most || is_of_file(written.data)) return;
  const std::string reason = "the control group of this process allows it " +
                             string_from_bytes(static_cast<index_t>(most)) + ", and " +
                             string_from_bytes(static_cast<index_t>(taken)) +
                             " are taken (memory.max, or memory.limit_in_bytes of version 1)";
  fail_out_of_memory({bytes, written.label, element_bytes, written.layout}, written.space, device,
                     reason.c_str());
}

class HostQueue final : public QueueState {
 public:
  HostQueue(HostDevice& instance, Runner (*runner)(), std::uint64_t id)
      : instance_(instance), runner_(runner), id_(id) {}

  DeviceInstance& instance() override { return instance_; }
  std::uint64_t id() const override { return id_; }
  void wait() override {}
  bool idle() const override { return true; }
  Ref<EventState> record() override { return Ref<EventState>(new CompleteEvent); }
  Ref<EventState> record_timed() override { return Ref<EventState>(new TimedEvent); }
  void wait_for(const Ref<EventState>& event) override { event->wait(); }

  void copy(const CopySide& destination, const CopySide& source, std::size_t element_bytes) override {
    for (const CopySide* side : {&destination, &source})
      if (side->space.kind != HostSpace::kind && !side->space.shared)
        throw WrongDevice(std::string("a copy on a queue of ") + instance_.device_name() + " was given \"" +
                          side->label + "\" in " + describe_space(side->space) +
                          "; use a queue of the device that owns it");
    require_memory(instance_.device_name(), destination, element_bytes);
    const Runner runner = runner_();
    copy_on_host(destination.data, *destination.layout, source.data, *source.layout, element_bytes,
                 chunk_runner(runner));
  }

  void fill(const CopySide& destination, const void* value, std::size_t element_bytes) override {
    require_memory(instance_.device_name(), destination, element_bytes);
    const Runner runner = runner_();
    fill_on_host(destination.data, *destination.layout, value, element_bytes, chunk_runner(runner));
  }

  void convert(const CopySide& destination, const CopySide& source, const Conversion& how) override {
    require_memory(instance_.device_name(), destination,
                   static_cast<std::size_t>(how.parts * bytes_of(how.to)));
    const Runner runner = runner_();
    convert_on_host(destination.data, *destination.layout, source.data, *source.layout, how,
                    chunk_runner(runner));
  }

 private:
  HostDevice& instance_;
  Runner (*runner_)();
  std::uint64_t id_;
};

}  // namespace

HostDevice::HostDevice(const char* name, Runner (*runner)())
    : name_(name), runner_(runner), default_queue_(new HostQueue(*this, runner, 0)) {}

HostDevice::~HostDevice() = default;

void release_host(Allocation& allocation) noexcept { std::free(allocation.data); }

SpaceId HostDevice::space() const { return {HostSpace::kind, 0}; }

Allocation* HostDevice::allocate(const AllocationRequest& request) {
  require_running("an allocation");
  // Large arrays begin at a huge page, and ask for such: fewer misses of the TLB.
  const std::size_t alignment = request.bytes >= huge_page ? huge_page : least_alignment;
  const std::size_t wanted = request.bytes > 0 ? request.bytes : 1;
  const std::size_t bytes = (wanted + alignment - 1) / alignment * alignment;
  void* const data = bytes < wanted ? nullptr : std::aligned_alloc(alignment, bytes);
  if (data == nullptr) fail_out_of_memory(request, space(), name_, "the system has no memory of that size");
#if defined(MADV_HUGEPAGE)
  if (alignment == huge_page) madvise(data, bytes, MADV_HUGEPAGE);  // a wish: failure costs speed only
#endif
  try {
    return make_allocation(data, request.bytes, space(), request.label, release_host, this);
  } catch (...) {
    std::free(data);
    throw;
  }
}

Ref<QueueState> HostDevice::create_queue() {
  require_running("a queue");
  return Ref<QueueState>(new HostQueue(*this, runner_, next_queue_id()));
}

std::size_t HostDevice::used() const { return allocation_totals(HostSpace::kind).bytes; }

void require_only_instance(const char* device, int index) {
  if (index != 0)
    throw NoSuchDevice(std::string(device) + "{" + std::to_string(index) + "}: there is one instance, " +
                       device + "{0}");
}

void fail_out_of_memory(const AllocationRequest& request, SpaceId space, const char* device,
                        const char* reason) {
  std::string shape;
  if (request.layout != nullptr)
    for (int r = 0; r < request.layout->rank; ++r)
      shape += (r ? " x " : "") + std::to_string(request.layout->extent[r]);
  throw OutOfMemory(
      "cannot allocate " + std::to_string(request.bytes) + " bytes for \"" +
      (request.label ? request.label : "") + "\"" +
      (shape.empty() ? ""
                     : " (" + shape + " elements of " + std::to_string(request.element_bytes) + " bytes)") +
      " on " + device + ": " + reason + "; " + largest_allocations(space));
}

}  // namespace strata::inline STRATA_ABI::detail
