#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/devices/emulated/access.hpp>
#include <strata/devices/emulated/allocation_list.hpp>
#include <strata/devices/emulated/fault_handler.hpp>
#include <strata/devices/emulated/heap.hpp>
#include <strata/devices/emulated/memory.hpp>

namespace strata::inline STRATA_ABI::detail {
namespace {

constexpr std::size_t guard_bytes = std::size_t{1} << 20;
constexpr std::size_t max_capacity = std::size_t{1} << 40;
constexpr int max_count = 64;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

[[noreturn]] void throw_system(const char* what, const EmulatedRegion& region, int error) {
  throw OutOfMemory("Emulated: cannot " + std::string(what) + " for " + std::to_string(region.count) +
                    " instances of " + std::to_string(region.span) + " bytes each (" + std::strerror(error) +
                    "); lower their number or capacity, or raise the limit of address space (ulimit -v)");
}

}  // namespace

int EmulatedRegion::viewed_by(std::uintptr_t address) const {
  if (span == 0) return -1;
  const std::uintptr_t slot = (address - base) / span;
  return slot < std::uintptr_t(count) ? static_cast<int>(slot) : -1;
}

int EmulatedRegion::worked_by(std::uintptr_t address) const {
  if (span == 0 || !contains(address)) return -1;
  const std::uintptr_t slot = (address - base) / span, n = std::uintptr_t(count);
  return slot >= n && slot % n == 0 ? static_cast<int>(slot / n - 1) : -1;
}

EmulatedMemory::EmulatedMemory(std::size_t capacity, int count) {
  if (capacity == 0 || capacity > max_capacity || count < 1 || count > max_count)
    throw SettingError("Emulated: asked for " + std::to_string(count) + " instances of " +
                       std::to_string(capacity) + " bytes; choose 1 to " + std::to_string(max_count) +
                       " instances of 1 to " + std::to_string(max_capacity) + " bytes");
  region_ = {0, round_up(capacity, page_bytes()) + guard_bytes, count};
  // One reservation, so that every hole is ours; the system chooses where, which the sanitizers need.
  void* base = mmap(nullptr, region_.size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw_system("reserve addresses", region_, errno);
  region_.base = reinterpret_cast<std::uintptr_t>(base);
  const std::size_t bytes = region_.span - guard_bytes;
  file_ = memfd_create("strata-emulated", MFD_CLOEXEC);
  bool mapped = file_ >= 0 && ftruncate(file_, off_t(bytes * std::size_t(count))) == 0;
  for (int i = 0; mapped && i < count; ++i) {
    const auto map = [&](std::uintptr_t address, int protection) {
      return mmap(reinterpret_cast<void*>(address), bytes, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                  file_, off_t(bytes * std::size_t(i))) != MAP_FAILED;
    };
    mapped = map(region_.view_base(i), PROT_NONE) && map(region_.work_base(i), PROT_READ | PROT_WRITE);
  }
  try {
    if (!mapped) throw_system("map a memory file", region_, errno);
    heaps_ = std::make_unique<EmulatedHeap[]>(std::size_t(count));
    for (int i = 0; i < count; ++i)
      heap(i).open(reinterpret_cast<char*>(region_.work_base(i)), file_, bytes * std::size_t(i), capacity);
    watch_region(region_);
  } catch (...) {
    munmap(base, region_.size());
    if (file_ >= 0) close(file_);
    throw;
  }
}

EmulatedMemory::~EmulatedMemory() {
  unwatch_region(region_.base);
  for (int i = 0; i < count(); ++i) heap(i).close();
  munmap(reinterpret_cast<void*>(region_.base), region_.size());
  close(file_);
}

EmulatedHeap& EmulatedMemory::heap(int instance) const {
  if (instance < 0 || instance >= count())
    throw NoSuchDevice("Emulated{" + std::to_string(instance) + "} does not exist; there are " +
                       std::to_string(count()) + " instances, counted from 0");
  return heaps_[std::size_t(instance)];
}

void* EmulatedMemory::allocate(int instance, std::size_t bytes) {
  const std::ptrdiff_t offset = heap(instance).allocate(bytes);
  return offset < 0 ? nullptr : reinterpret_cast<char*>(region_.view_base(instance)) + offset;
}

void EmulatedMemory::deallocate(int instance, void* address) {
  if (address == nullptr) return;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - region_.view_base(instance);
  EmulatedHeap& owner = heap(instance);
  // Struck off before the block can be allocated, and named, again.
  if (owner.holds(offset)) unregister_allocation(address);
  if (!owner.deallocate(offset))
    throw Error(
        "Emulated{" + std::to_string(instance) + "}: asked to free the address " +
        std::to_string(reinterpret_cast<std::uintptr_t>(address)) +
        ", at which nothing is allocated there; free a block once, on the instance that allocated it");
}

void EmulatedMemory::set_capacity(int instance, std::size_t bytes) {
  const std::size_t most = region_.span - guard_bytes;
  if (bytes > most)
    throw SettingError("Emulated{" + std::to_string(instance) + "}: asked for a capacity of " +
                       std::to_string(bytes) + " bytes, but addresses are reserved for " +
                       std::to_string(most) + "; set the capacity before the first allocation");
  heap(instance).set_capacity(bytes);
}

std::size_t EmulatedMemory::capacity(int instance) const { return heap(instance).capacity(); }
std::size_t EmulatedMemory::used(int instance) const { return heap(instance).used(); }
std::size_t EmulatedMemory::peak(int instance) const { return heap(instance).peak(); }
std::size_t EmulatedMemory::allocations(int instance) const { return heap(instance).allocations(); }
std::size_t EmulatedMemory::largest_free(int instance) const { return heap(instance).largest_free(); }

std::size_t EmulatedMemory::resident() const {
  struct stat status = {};
  return fstat(file_, &status) == 0 ? std::size_t(status.st_blocks) * 512 : 0;
}

int EmulatedMemory::instance_of(const void* address) const {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  const int viewed = region_.viewed_by(value);
  return viewed >= 0 ? viewed : region_.worked_by(value);
}

void EmulatedMemory::poison(void* address, std::size_t bytes, unsigned char pattern) {
  const int instance = region_.viewed_by(reinterpret_cast<std::uintptr_t>(address));
  if (instance < 0)
    throw WrongDevice("Emulated: asked to poison " + std::to_string(bytes) +
                      " bytes outside its memory; pass an address that allocate() returned");
  std::memset(static_cast<char*>(address) + offset(instance), pattern, bytes);
}

// The fault handler reads the offset behind the compiler's back: without the fences it may drop or move the
// stores.
EmulatedWorkerScope::EmulatedWorkerScope(const EmulatedMemory& memory, int instance)
    : before_(emulated_offset) {
  emulated_offset = memory.offset(instance);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

EmulatedWorkerScope::~EmulatedWorkerScope() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  emulated_offset = before_;
}

}  // namespace strata::inline STRATA_ABI::detail
