// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <string>

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/devices/emulated/access.hpp>
#include <strata/devices/emulated/allocation_list.hpp>
#include <strata/devices/emulated/fault_handler.hpp>
#include <strata/devices/emulated/managed_pages.hpp>
#include <strata/devices/emulated/memory.hpp>

namespace strata::inline STRATA_ABI::detail {
namespace {

// --- The message ---

// Text in static storage, since a signal stack may be small; only the first faulting thread writes it.
class Message {
 public:
  Message& operator<<(const char* text) {
    while (*text != '\0' && length_ < sizeof text_) text_[length_++] = *text++;
    return *this;
  }
  Message& operator<<(std::uint64_t value) {
    char digits[21];
    char* digit = digits + sizeof digits;
    *--digit = '\0';
    do *--digit = char('0' + value % 10);
    while ((value /= 10) != 0);
    return *this << digit;
  }
  Message& instance(int number) { return *this << "Emulated{" << std::uint64_t(number) << "}"; }

  void send() const {
    for (std::size_t sent = 0; sent < length_;) {
      const ssize_t written = write(STDERR_FILENO, text_ + sent, length_ - sent);
      if (written <= 0) return;
      sent += std::size_t(written);
    }
  }

 private:
  char text_[1024] = {};
  std::size_t length_ = 0;
};

constinit Message message{};

// The multi-index of the element at `offset`. Greedy from the largest stride down is exact for every layout
// whose strides nest; elsewhere, and in padding, it fails, and the caller counts from the start.
bool multi_index(const AllocationShape& shape, index_t offset, index_t (&index)[max_rank]) {
  bool done[max_rank] = {};
  for (int step = 0; step < shape.rank; ++step) {
    int largest = -1;
    for (int d = 0; d < shape.rank; ++d) {
      if (!done[d] && (largest < 0 || shape.strides[d] > shape.strides[largest])) largest = d;
    }
    done[largest] = true;
    if (shape.strides[largest] <= 0) return false;
    // An extent of 1 has no say, whatever its stride.
    index[largest] = shape.extents[largest] == 1 ? 0 : offset / shape.strides[largest];
    if (index[largest] >= shape.extents[largest]) return false;
    offset -= index[largest] * shape.strides[largest];
  }
  return offset == 0;
}

void describe(const ListedAllocation& entry, std::uintptr_t address) {
  const AllocationShape& shape = entry.shape;
  const std::uint64_t offset = address - entry.address;
  if (shape.element_bytes == 0) {
    message << "byte " << offset << " of \"" << entry.label << "\"";
    return;
  }
  const std::uint64_t element = offset / shape.element_bytes;
  index_t index[max_rank] = {};
  if (shape.rank > 1 && multi_index(shape, index_t(element), index)) {
    for (int d = 0; d < shape.rank; ++d) message << (d == 0 ? "element (" : ", ") << std::uint64_t(index[d]);
    message << ")";
  } else {
    message << "element " << element;
  }
  message << " (byte offset " << offset << ") of \"" << entry.label << "\"";
}

// Who touched what: worked out from the faulting address and the offset of the thread.
struct Fault {
  int kernel_of;           // instance whose worker faulted; -1: a host thread
  int owner;               // instance whose memory it is
  std::uintptr_t address;  // as a view would hold it
  bool exhausted;          // the memory is there, but the machine has no page for it
  bool resolved;           // by the way of the instance's own workers, or of its copies
};

void explain(const Fault& fault, std::uint64_t byte) {
  bool live = false;
  const ListedAllocation* entry = find_allocation(fault.address, live);
  const bool reserved = live && fault.resolved;  // and never given memory
  message << "strata: "
          << (fault.exhausted    ? "out of host memory: "
              : entry == nullptr ? "access outside every array: "
              : reserved         ? "access to a part without memory: "
              : live             ? "wrong memory space: "
                                 : "use after free: ");
  if (fault.kernel_of < 0) message << (reserved ? "a copy" : "a host thread");
  else (message << "a kernel on ").instance(fault.kernel_of);
  message << " accessed ";
  if (entry != nullptr) describe(*entry, fault.address);
  else message << "byte " << byte << " of the memory";
  (message << (live || entry == nullptr ? " on " : ", freed from ")).instance(fault.owner);
  if (fault.exhausted) {
    message
        << ", and the machine has no page left for it; lower the capacity of Emulated or free host memory\n";
  } else if (entry == nullptr) {
    message << ", where no array lies; check the index, and that a view keeps the array alive\n";
  } else if (reserved) {
    message << ", where this part of the array is not held; declare all that the kernel or copy touches\n";
  } else if (!live) {
    message << "; keep a view of it until the access is done\n";
  } else if (fault.kernel_of < 0) {
    message << "; copy it to a host mirror with deep_copy, or run the access in a kernel on ";
    message.instance(fault.owner) << "\n";
  } else if (fault.kernel_of != fault.owner) {
    (message << "; deep_copy it to ").instance(fault.kernel_of) << ", or run the kernel on ";
    message.instance(fault.owner) << "\n";
  } else {
    message << " through a raw address; access it through its view\n";
  }
}

// --- The handler ---

struct Watched {
  std::atomic<bool> active{false};
  EmulatedRegion region;
};

std::mutex regions_mutex;
constexpr int max_regions = 16;
constinit Watched watched[max_regions];
constinit std::atomic_flag explaining = ATOMIC_FLAG_INIT;
struct sigaction previous_segv, previous_bus;

// The instance whose workers run with `offset`; -1 for a host thread.
int instance_with_offset(const EmulatedRegion& region, std::ptrdiff_t offset) {
  for (int i = 0; i < region.count; ++i)
    if (region.offset(i) == offset) return i;
  return -1;
}

bool decode(const EmulatedRegion& region, int signal, std::uintptr_t address, Fault& fault) {
  if (!region.contains(address)) return false;
  fault.kernel_of = instance_with_offset(region, emulated_offset);
  fault.exhausted = signal == SIGBUS;
  fault.address = address;
  fault.resolved = false;
  fault.owner = region.viewed_by(address);
  if (fault.owner >= 0) return true;
  if (fault.kernel_of >= 0) {
    fault.address = address - std::uintptr_t(emulated_offset);
    fault.owner = region.viewed_by(fault.address);
    fault.resolved = fault.owner == fault.kernel_of;
    return fault.owner >= 0;
  }
  // A copy engine, which adds offsets itself, or a stray pointer of the host.
  fault.owner = region.worked_by(address);
  fault.resolved = true;
  if (fault.owner >= 0) fault.address = address - std::uintptr_t(region.offset(fault.owner));
  return fault.owner >= 0;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& previous = signal == SIGBUS ? previous_bus : previous_segv;
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  const bool sent = info->si_code <= 0;  // by kill() or raise(), not by an access
  if (previous.sa_handler == SIG_IGN && sent) return;
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  // The default ends the process when the access is made again; a sent signal must be sent again.
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  if (sent) raise(signal);
}

[[noreturn]] void speak_and_abort() {
  message.send();
  abort();
}

managed_pages::Access access_of([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  constexpr greg_t write = 2;  // a bit of the error code of a page fault
  const greg_t code = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  return (code & write) != 0 ? managed_pages::Access::Write : managed_pages::Access::Read;
#else
  return managed_pages::Access::Unknown;
#endif
}

// Whether the address is that of managed memory and the access may be made again.
bool handle_managed(int signal, std::uintptr_t address, void* context) {
  using managed_pages::Fault;
  if (signal == SIGBUS && !managed_pages::holds(address)) return false;
  const Fault fault =
      signal == SIGBUS ? Fault::Exhausted : managed_pages::handle(address, access_of(context));
  if (fault == Fault::Moved) return true;
  if (fault == Fault::NotManaged) return false;
  while (explaining.test_and_set(std::memory_order_acquire)) pause();
  message << "strata: managed memory of Emulated: ";
  switch (fault) {
    case Fault::Outside:
      message << "access outside every array: past the last page of one; check the index\n";
      break;
    case Fault::Forked:
      message << "access in a child of fork(), which has none: the pages belong to the process that "
                 "allocated them; have the child exec a program of its own\n";
      break;
    case Fault::Exhausted:
      message << "out of host memory: the machine has no page left for it; free host memory\n";
      break;
    default:
      message << "the system refuses to change the rights of pages; raise vm.max_map_count\n";
  }
  speak_and_abort();
}

void handle(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (info->si_code > 0) {
    const int error = errno;  // of the code that was interrupted
    const bool again = handle_managed(signal, address, context);
    errno = error;
    if (again) return;
  }
  for (const Watched& candidate : watched) {
    Fault fault;
    if (info->si_code <= 0 || !candidate.active.load(std::memory_order_acquire) ||
        !decode(candidate.region, signal, address, fault))
      continue;
    // The first thread to fault speaks for all; the others wait for its abort.
    while (explaining.test_and_set(std::memory_order_acquire)) pause();
    explain(fault, fault.address - candidate.region.view_base(fault.owner));
    speak_and_abort();
  }
  pass_on(signal, info, context);
}

void install_handler() {
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGSEGV);
  sigaddset(&action.sa_mask, SIGBUS);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}

}  // namespace

void watch_region(const EmulatedRegion& region) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  const std::lock_guard lock(regions_mutex);
  for (Watched& slot : watched) {
    if (slot.active.load(std::memory_order_relaxed)) continue;
    slot.region = region;
    slot.active.store(true, std::memory_order_release);
    return;
  }
  throw SettingError("Emulated: asked for more than " + std::to_string(max_regions) +
                     " memories at a time; end one of them first");
}

void unwatch_region(std::uintptr_t base) {
  const std::lock_guard lock(regions_mutex);
  for (Watched& slot : watched) {
    if (!slot.active.load(std::memory_order_relaxed) || slot.region.base != base) continue;
    slot.active.store(false, std::memory_order_release);
    forget_allocations(base, slot.region.size());
  }
}

}  // namespace strata::inline STRATA_ABI::detail
