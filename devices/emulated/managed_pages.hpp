// Managed memory of `Emulated`: blocks whose pages lie where they were touched last, found out by page
// protection. Private to this folder.
//
// A block is one memory file, mapped N + 2 times: for the host, for each of the N instances, and for copies.
//
//     | host | guard | instance 0 | guard | ... | instance N - 1 | guard | copies |
//
// All mappings show the same bytes, so nothing is ever copied; what moves is the right to touch a page. Each
// page has holders: the host or one instance, which may read and write it, or several that may read it. In
// all other mappings it is inaccessible. An access there is a fault: the handler (fault_handler.hpp) gives
// the page to who touched it, takes it from the others, counts the fault and the bytes, and returns, so that
// the access is made again. Declarations play no part: what is counted is what was touched.
//
// Costs: the latency of a fault, and the bytes of the page over the link, which are charged to the kernel
// that touched it (PageCosts of its queue) or to the host's clock. A page that is touched first by an
// instance moves from the host, where all pages of a new block lie.
// Prefetches move pages without faults. Pages that were prefetched for reading only where others use them
// too are read-mostly: readers share them, a write takes them from the others. A prefetch that writes, or
// for one user only, ends that. A prefetch of pages that stay (ManagedRange::stays) moves nothing: its
// instance reads them where they are, or writes them, now and after they have moved, and without costs.
// Copies and fills of emulated queues go through the last mapping, which all may touch: no page moves.
// Where the pages of an instance exceed the bytes that its own allocations leave free, those that have not
// moved for the longest time go back to the host.
//
// The system counts runs of pages of equal rights, and has few of them (vm.max_map_count): where pages are
// so scattered that they take too many, a fault moves the whole block.
// System calls do not fault, but fail with EFAULT: prefetch to the host what they are to read or write.
// In a child of fork() there is no managed memory: an access ends it with a message.
//
// Locks: one spin lock for all pages, taken by the handler; no function here is called with it held, and none
// allocates under it. Functions may be called from any thread. Lifetime: a block must not be freed while it
// is used (EmulatedSharedMemory sees to that).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <strata/devices/backend.hpp>

namespace strata::inline STRATA_ABI::detail {
class PageCosts;
}

namespace strata::inline STRATA_ABI::detail::managed_pages {

/// A place of pages: the host, or 1 + the number of an instance.
enum class Place : int { Host = 0 };
constexpr Place place_of(int instance) { return static_cast<Place>(1 + instance); }

/// The address, for the host, of a new block of at least `bytes` bytes for the host and `instances`
/// instances, in pages of `page` bytes. All are zero, and on the host. Null where the system refuses;
/// `reason` is then why, as the rest of a sentence.
char* allocate(std::size_t bytes, std::size_t page, int instances, const char*& reason);
/// Frees the block at `data`.
void free(void* data) noexcept;
/// Blocks that live now.
std::size_t blocks();

/// What faults have moved of the block that holds `data`; not known where none does.
PageMoves moves(const void* data);
/// Where `instance` reaches the byte that the host has at `data`; null where no block holds it.
char* address_for(int instance, const void* data);
/// Where copies reach it.
char* address_for_copies(const void* data);
/// The bytes of the pages that hold `bytes` bytes from `data` on; 0 if no block holds them all.
std::size_t page_bytes_of(const void* data, std::size_t bytes);

/// Moves the pages of `range`, which page_bytes_of() knows, and charges the costs to the calling thread.
/// Returns the bytes that moved.
std::size_t prefetch(const ManagedRange& range, Place place);

/// The costs that were charged to no queue: those of the host.
PageCosts& costs_of_host();

/// How an access ended that was not allowed.
enum class Fault {
  NotManaged,  ///< the address is not that of a block
  Moved,       ///< it may be made again
  Outside,     ///< at the end of a block
  Forked,      ///< in a child of fork()
  Stuck,       ///< the system does not change the rights of pages
  Exhausted    ///< the machine has no page
};
/// Whether the access was to write; where the processor does not report it, writes to pages that readers
/// share are known by their second fault.
enum class Access { Read, Write, Unknown };
/// For the signal handler, as holds(), which says whether the address is that of a block.
Fault handle(std::uintptr_t address, Access access);
bool holds(std::uintptr_t address);

/// The system's limit of runs of pages, of which we take half at most, so that the rest of the program has
/// some. In units of mappings.
inline constexpr std::uint64_t most_splits = 32768;

}  // namespace strata::inline STRATA_ABI::detail::managed_pages
