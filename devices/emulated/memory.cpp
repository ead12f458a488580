// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/core/files/file_size_limit.hpp>
#include <strata/devices/emulated/access.hpp>
#include <strata/devices/emulated/allocation_list.hpp>
#include <strata/devices/emulated/fault_handler.hpp>
#include <strata/devices/emulated/heap.hpp>
#include <strata/devices/emulated/memory.hpp>
#include <strata/devices/emulated/pages.hpp>
#include <strata/devices/emulated/reserve_heap.hpp>

namespace strata::inline STRATA_ABI::detail {
namespace {

constexpr std::size_t guard_bytes = std::size_t{1} << 20;
// Addresses for reserve(), of each instance, where the system has them.
constexpr std::size_t least_reserve = std::size_t{1} << 30;
constexpr std::size_t max_capacity = std::size_t{1} << 40;
constexpr int max_count = 64;

// Which limit it is: a memory file counts as a file (ulimit -f), and takes a descriptor.
std::string advice(int error) {
  switch (error) {
    case EFBIG:
      return "raise the limit of file sizes (ulimit -f), which memory files count to; it is " +
             string_from_bytes(files::file_size_limit());
    case EMFILE:
    case ENFILE:
      return "close files, or raise the limit of open files (ulimit -n)";
    default:
      return "raise the limit of address space (ulimit -v)";
  }
}

[[noreturn]] void throw_system(const char* what, const EmulatedRegion& region, int error) {
  throw OutOfMemory(
      "Emulated: cannot " + std::string(what) + " for " + std::to_string(region.count) + " instances of " +
      std::to_string(region.span) + " bytes each (" + std::strerror(error) +
      "); lower their number or capacity (STRATA_EMULATED_COUNT, STRATA_EMULATED_CAPACITY), or " +
      advice(error));
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
  reserve_addresses(round_up(capacity, page_bytes()), count);
  const files::FileSizeErrors errors;
  file_ = memfd_create("strata-emulated", MFD_CLOEXEC);
  bool mapped = file_ >= 0 && ftruncate(file_, off_t(file_begin(count))) == 0;
  for (int i = 0; mapped && i < count; ++i) mapped = map(i);
  try {
    if (!mapped) throw_system("map a memory file", region_, errno);
    heaps_ = std::make_unique<EmulatedHeap[]>(std::size_t(count));
    reserve_heaps_ = std::make_unique<EmulatedReserveHeap[]>(std::size_t(count));
    for (int i = 0; i < count; ++i) {
      char* const memory = reinterpret_cast<char*>(region_.work_base(i));
      heap(i).open(memory, file_, file_begin(i), capacity);
      reserve_heap(i).open(memory + reserve_begin(), file_, file_begin(i) + heap_bytes_, reserve_bytes_,
                           heap(i));
    }
    watch_region(region_);
  } catch (...) {
    munmap(reinterpret_cast<void*>(region_.base), region_.size());
    if (file_ >= 0) close(file_);
    throw;
  }
}

// One reservation, so that every hole is ours; the system chooses where, which the sanitizers need. Where it
// has few addresses (limits, ThreadSanitizer), or small files, the share of reserve() is given up.
void EmulatedMemory::reserve_addresses(std::size_t heap_bytes, int count) {
  heap_bytes_ = heap_bytes;
  reserve_bytes_ = std::max(2 * heap_bytes, round_up(least_reserve, page_bytes()));
  void* base = nullptr;
  do {
    region_ = {0, heap_bytes_ + guard_bytes + (reserve_bytes_ > 0 ? reserve_bytes_ + guard_bytes : 0), count};
    const bool fits = file_begin(count) <= static_cast<std::size_t>(files::file_size_limit());
    if (!fits && reserve_bytes_ == 0) throw_system("make a memory file", region_, EFBIG);
    base = fits ? mmap(nullptr, region_.size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                : MAP_FAILED;
    if (base != MAP_FAILED) break;
    if (reserve_bytes_ == 0) throw_system("reserve addresses", region_, errno);
    reserve_bytes_ = reserve_bytes_ < least_reserve ? 0 : round_up(reserve_bytes_ / 4, page_bytes());
  } while (true);
  region_.base = reinterpret_cast<std::uintptr_t>(base);
}

bool EmulatedMemory::map(int instance) const {
  const auto map = [&](std::uintptr_t address, std::size_t bytes, std::size_t file_offset, int protection) {
    return mmap(reinterpret_cast<void*>(address), bytes, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                file_, off_t(file_offset)) != MAP_FAILED;
  };
  const std::size_t begin = file_begin(instance);
  const std::uintptr_t work = region_.work_base(instance);
  return map(region_.view_base(instance), heap_bytes_, begin, PROT_NONE) &&
         map(work, heap_bytes_, begin, PROT_READ | PROT_WRITE) &&
         (reserve_bytes_ == 0 || map(work + reserve_begin(), reserve_bytes_, begin + heap_bytes_, PROT_NONE));
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

EmulatedReserveHeap& EmulatedMemory::reserve_heap(int instance) const {
  static_cast<void>(heap(instance));  // throws
  return reserve_heaps_[std::size_t(instance)];
}

std::size_t EmulatedMemory::reserve_begin() const { return heap_bytes_ + guard_bytes; }

std::size_t EmulatedMemory::reserve_offset(int instance, const void* address) const {
  return reinterpret_cast<std::uintptr_t>(address) - region_.view_base(instance) - reserve_begin();
}

void* EmulatedMemory::allocate(int instance, std::size_t bytes) {
  const std::ptrdiff_t offset = heap(instance).allocate(bytes);
  return offset < 0 ? nullptr : reinterpret_cast<char*>(region_.view_base(instance)) + offset;
}

void* EmulatedMemory::reserve(int instance, std::size_t bytes) {
  const std::ptrdiff_t offset = reserve_heap(instance).reserve(bytes);
  if (offset < 0) return nullptr;
  return reinterpret_cast<char*>(region_.view_base(instance)) + reserve_begin() + offset;
}

bool EmulatedMemory::commit(int instance, void* address, std::size_t begin, std::size_t end) {
  return reserve_heap(instance).commit(reserve_offset(instance, address), begin, end);
}

bool EmulatedMemory::commit_repeating(int instance, void* address, std::size_t period) {
  return reserve_heap(instance).commit_repeating(reserve_offset(instance, address), period);
}

std::size_t EmulatedMemory::repeat_granule() const {
  return reserve_bytes_ > 0 ? EmulatedReserveHeap::granule() : 0;
}

std::size_t EmulatedMemory::missing(int instance, const void* address, std::size_t begin,
                                    std::size_t end) const {
  return reserve_heap(instance).missing(reserve_offset(instance, address), begin, end);
}

std::size_t EmulatedMemory::committed(int instance, const void* address) const {
  return reserve_heap(instance).committed(reserve_offset(instance, address));
}

void EmulatedMemory::deallocate(int instance, void* address) {
  if (address == nullptr) return;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - region_.view_base(instance);
  EmulatedHeap& owner = heap(instance);
  EmulatedReserveHeap& reserved = reserve_heap(instance);
  const std::size_t reserved_offset = reserve_offset(instance, address);
  // Struck off before the block can be allocated, and named, again.
  if (owner.holds(offset) || reserved.holds(reserved_offset)) unregister_allocation(address);
  if (!owner.deallocate(offset) && !reserved.release(reserved_offset))
    throw Error(
        "Emulated{" + std::to_string(instance) + "}: asked to free the address " +
        std::to_string(reinterpret_cast<std::uintptr_t>(address)) +
        ", at which nothing is allocated there; free a block once, on the instance that allocated it");
}

void EmulatedMemory::set_capacity(int instance, std::size_t bytes) {
  if (bytes > heap_bytes_)
    throw SettingError("Emulated{" + std::to_string(instance) + "}: asked for a capacity of " +
                       std::to_string(bytes) + " bytes, but addresses are reserved for " +
                       std::to_string(heap_bytes_) + "; set the capacity before the first allocation");
  heap(instance).set_capacity(bytes);
}

std::size_t EmulatedMemory::capacity(int instance) const { return heap(instance).capacity(); }
std::size_t EmulatedMemory::used(int instance) const { return heap(instance).used(); }
std::size_t EmulatedMemory::room(int instance) const { return heap(instance).room(); }
std::size_t EmulatedMemory::peak(int instance) const { return heap(instance).peak(); }
std::size_t EmulatedMemory::allocations(int instance) const {
  return heap(instance).allocations() + reserve_heap(instance).reservations();
}
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

// The fault handler reads the offset without the compiler's knowledge: without the fences it may drop or move
// the stores.
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

// For debuggers that cannot read thread-local variables (core/strata_lldb.py): that of the calling thread.
extern "C" [[gnu::used]] std::ptrdiff_t strata_offset_of_emulated();
std::ptrdiff_t strata_offset_of_emulated() { return strata::detail::emulated_offset; }
