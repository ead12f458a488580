// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <strata/core/files/file_size_limit.hpp>
#include <strata/devices/emulated/managed_pages.hpp>
#include <strata/devices/emulated/page_costs.hpp>
#include <strata/devices/emulated/pages.hpp>
#include <strata/devices/emulated/platform.hpp>
#include <strata/devices/host/pause.hpp>

namespace strata::inline STRATA_ABI::detail::managed_pages {
namespace {

constexpr int most_blocks = 8192;   // each takes several mappings, of which the system has 65530
constexpr int most_instances = 16;  // as emulated::Config says

// The places that hold a page: bit 0 is the host, bit 1 + i instance i. 20 bits higher are those that read it
// where it is, 40 bits higher those that write it there, too.
using Holders = std::uint64_t;
constexpr Holders on_host = 1;
constexpr int reader_shift = 20, writer_shift = 40;
static_assert(1 + most_instances <= reader_shift);
constexpr Holders bit_of(int place) { return Holders{1} << place; }
constexpr Holders reader_bit_of(int place) { return bit_of(place) << reader_shift; }
constexpr Holders writer_bit_of(int place) { return bit_of(place) << writer_shift; }
constexpr Holders guests_of(Holders holders) { return holders >> reader_shift << reader_shift; }
constexpr Holders holders_of(Holders holders) { return holders & ~guests_of(holders); }
bool alone(Holders holders) { return std::has_single_bit(holders_of(holders)); }

int protection(Holders holders, int place) {
  const bool is_writer = (holders & (bit_of(place) | writer_bit_of(place))) != 0;
  if (is_writer) return alone(holders) ? PROT_READ | PROT_WRITE : PROT_READ;
  return (holders & reader_bit_of(place)) != 0 ? PROT_READ : PROT_NONE;
}

struct Page {
  Holders holders = on_host;
  bool read_mostly = false;
  std::uint64_t moved = 0;  // when, counted in moves
};

// Base and reach are read without the lock; they are zero while there is no block. All else is the lock's.
struct Block {
  std::atomic<std::uintptr_t> base{0};
  std::atomic<std::size_t> reach{0};  // bytes of all mappings and guards
  std::size_t bytes = 0;              // of one mapping
  std::size_t stride = 0;             // from one to the next
  std::size_t page = 0;
  int places = 0;
  std::size_t count = 0;  // of pages
  Page* pages = nullptr;
  PageMoves moves;

  bool contains(std::uintptr_t address) const {
    return address - base.load(std::memory_order_acquire) < reach.load(std::memory_order_acquire);
  }
  char* at(int place, std::size_t index) const {
    return reinterpret_cast<char*>(base.load(std::memory_order_relaxed)) + std::size_t(place) * stride +
           index * page;
  }
};

// In the way that the handler of a signal may: it neither sleeps nor allocates.
class SpinLock {
 public:
  void lock() {
    for (int looks = 1; taken_.test_and_set(std::memory_order_acquire); ++looks) {
      if (looks % 64 == 0) sched_yield();
      else pause_processor();
    }
  }
  void unlock() { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

constinit SpinLock pages_lock;
constinit Block table[most_blocks];
constinit std::atomic<int> table_used = 0;        // slots that ever were
constinit std::atomic<std::size_t> live = 0;      // blocks
constinit std::atomic<std::uint64_t> splits = 0;  // of mappings, by rights that differ
constinit std::uint64_t move_number = 0;
constinit std::atomic<std::size_t> resident_bytes[most_instances] = {};
constinit std::atomic<pid_t> process = 0;  // that the blocks are of
constinit PageCosts host_costs;

Block* find(std::uintptr_t address) {
  for (int i = 0, n = table_used.load(std::memory_order_acquire); i < n; ++i)
    if (table[i].contains(address)) return &table[i];
  return nullptr;
}
Block* find(const void* data) {
  Block* const block = find(reinterpret_cast<std::uintptr_t>(data));
  const auto offset = [&] { return reinterpret_cast<std::uintptr_t>(data) - block->base.load(); };
  return block != nullptr && offset() < block->bytes ? block : nullptr;
}

// --- The state of pages; the lock is held ---

// How many mappings are cut in two between neighbours with these holders.
std::uint64_t cuts(const Block& block, Holders left, Holders right) {
  if (left == right) return 0;
  std::uint64_t sum = 0;
  for (int place = 0; place < block.places; ++place)
    if (protection(left, place) != protection(right, place)) ++sum;
  return sum;
}
std::uint64_t cuts_before(const Block& block, std::size_t index) {
  if (index == 0 || index >= block.count) return 0;
  return cuts(block, block.pages[index - 1].holders, block.pages[index].holders);
}
std::uint64_t all_cuts(const Block& block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 1; i < block.count; ++i) sum += cuts_before(block, i);
  return sum;
}

// Rights are taken before any are given: no byte can be written at two places at a time, but by those that
// write it where it is.
bool protect(const Block& block, std::size_t first, std::size_t count, Holders from, Holders to) {
  for (const bool giving : {false, true})
    for (int place = 0; place < block.places; ++place) {
      const int before = protection(from, place), after = protection(to, place);
      if (before == after || (after > before) != giving) continue;
      if (mprotect(block.at(place, first), count * block.page, after) != 0) return false;
    }
  return true;
}

void count_resident(const Block& block, std::size_t count, Holders from, Holders to) {
  for (int place = 1; place < block.places; ++place) {
    auto& bytes = resident_bytes[place - 1];
    if ((to & ~from & bit_of(place)) != 0) bytes.fetch_add(count * block.page, std::memory_order_relaxed);
    if ((from & ~to & bit_of(place)) != 0) bytes.fetch_sub(count * block.page, std::memory_order_relaxed);
  }
}

void set_holders(Block& block, std::size_t first, std::size_t count, Holders to) {
  for (std::size_t i = first; i < first + count; ++i) {
    count_resident(block, 1, block.pages[i].holders, to);
    block.pages[i].holders = to;
    block.pages[i].moved = ++move_number;
  }
}

// Bytes that arrive at a place, in the counts of a block (if faults have moved them) and in the costs.
void count_bytes(Block& block, int place, Holders from, std::size_t bytes, bool by_fault, PageCost& cost) {
  if (place == 0) cost.to_host += bytes;
  else if ((from & on_host) != 0) cost.from_host += bytes;
  else cost.from_peers += bytes;
  if (by_fault) (place == 0 ? block.moves.to_host : block.moves.to_devices) += bytes;
}

// The whole block to one place, in a mapping each; pages [first, last) are counted already. False if the
// system refuses even that.
bool move_whole(Block& block, std::size_t first, std::size_t last, int place, bool by_fault, PageCost& cost) {
  const Holders to = bit_of(place);
  for (int each = 0; each < block.places; ++each)
    if (each != place && mprotect(block.at(each, 0), block.bytes, PROT_NONE) != 0) return false;
  if (mprotect(block.at(place, 0), block.bytes, PROT_READ | PROT_WRITE) != 0) return false;
  splits.fetch_sub(all_cuts(block));
  for (std::size_t i = 0; i < block.count; ++i) {
    const Holders from = block.pages[i].holders;
    const bool counted = i >= first && i < last;
    if ((from & to) == 0 && !counted) count_bytes(block, place, from, block.page, by_fault, cost);
    block.pages[i].read_mostly = false;
  }
  set_holders(block, 0, block.count, to);
  for (std::size_t i = first; i < last; ++i) block.pages[i].moved = ++move_number;
  return true;
}

// Gives `count` pages, which all have the holders `from`, the holders `to`. Where the system has no mappings
// left, the whole block goes to `place`, and the other pages are counted here. False if even that cannot be.
// Without `whole` nothing is done then.
bool change(Block& block, std::size_t first, std::size_t count, Holders to, int place, bool by_fault,
            PageCost& cost, bool whole = true) {
  const Holders from = block.pages[first].holders;
  if (from == to) return true;
  const auto cuts_after = [&] {
    std::uint64_t sum = 0;
    if (first > 0) sum += cuts(block, block.pages[first - 1].holders, to);
    if (first + count < block.count) sum += cuts(block, to, block.pages[first + count].holders);
    return sum;
  };
  const std::uint64_t before = cuts_before(block, first) + cuts_before(block, first + count);
  const std::uint64_t after = cuts_after();
  const bool scattered = splits.load() - before + after > most_splits;
  if (scattered && !whole) return false;
  if (scattered || !protect(block, first, count, from, to))
    return move_whole(block, first, first + count, place, by_fault, cost);
  splits.fetch_add(after - before);
  set_holders(block, first, count, to);
  return true;
}

// --- Capacity; the lock is held ---

struct Oldest {
  Block* block = nullptr;
  std::size_t index = 0;
};

// The page at `place` that has not moved for the longest time, of those moved before `number`.
Oldest oldest_at(int place, std::uint64_t number) {
  Oldest found;
  for (int i = 0, n = table_used.load(); i < n; ++i) {
    Block& block = table[i];
    if (block.base.load() == 0 || place >= block.places) continue;
    for (std::size_t k = 0; k < block.count; ++k) {
      const Page& page = block.pages[k];
      if ((page.holders & bit_of(place)) == 0 || page.moved >= number) continue;
      number = page.moved;
      found = {&block, k};
    }
  }
  return found;
}

// Until the pages of the place fit beside what is allocated there, but for the one moved last, in `keep`.
// That block is never moved whole: the page would be gone again before it was touched.
void evict(int place, const Block* keep, PageCost& cost) {
  if (place == 0) return;
  const std::size_t room = Platform::get().memory->room(place - 1);
  while (resident_bytes[place - 1].load(std::memory_order_relaxed) > room) {
    const Oldest victim = oldest_at(place, move_number);
    if (victim.block == nullptr) return;
    Block& block = *victim.block;
    const Holders from = block.pages[victim.index].holders;
    const Holders others = holders_of(from) & ~bit_of(place);
    const std::uint64_t last = move_number;  // the victim's move protects nothing
    const bool done = change(block, victim.index, 1, guests_of(from) | (others != 0 ? others : on_host), 0,
                             true, cost, &block != keep);
    move_number = last;
    if (!done) return;
    if (others == 0) count_bytes(block, 0, from, block.page, true, cost);
  }
}

void charge(const PageCost& cost) {
  PageCosts* const costs = page_costs_of_thread;
  (costs != nullptr ? *costs : host_costs).add(cost);
}

}  // namespace

// --- Blocks ---

namespace {

std::mutex blocks_mutex;  // of allocate() and free()

const char* reason_of(int error) {
  switch (error) {
    case EFBIG:
      return "the limit of file sizes (ulimit -f), which memory files count to, is too low";
    case EMFILE:
    case ENFILE:
      return "no file can be opened any more (ulimit -n), and managed memory is a memory file";
    default:
      return "the system has no addresses for it (ulimit -v, vm.max_map_count)";
  }
}

// The addresses of all mappings of `block`, at a multiple of its page. 0, with errno, where there are none.
std::uintptr_t map_block(const Block& block, int file) {
  const std::size_t size = std::size_t(block.places + 1) * block.stride;
  void* const all =
      mmap(nullptr, size + block.page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return 0;
  const auto begin = reinterpret_cast<std::uintptr_t>(all);
  const std::uintptr_t base = round_up(begin, block.page);
  if (base > begin) munmap(all, base - begin);
  if (const std::size_t rest = begin + block.page - base; rest > 0)
    munmap(reinterpret_cast<void*>(base + size), rest);
  bool good = true;
  for (int place = 0; good && place <= block.places; ++place) {
    void* const at = reinterpret_cast<void*>(base + std::size_t(place) * block.stride);
    const bool open = place == 0 || place == block.places;  // the host's, and that of copies
    good = mmap(at, block.bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE,
                MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) != MAP_FAILED;
  }
  if (good) good = madvise(reinterpret_cast<void*>(base), size, MADV_DONTFORK) == 0;
  if (good) return base;
  const int error = errno;
  munmap(reinterpret_cast<void*>(base), size);
  errno = error;
  return 0;
}

Block* free_slot() {
  for (Block& block : table)
    if (block.base.load() == 0) return &block;
  return nullptr;
}

}  // namespace

char* allocate(std::size_t asked, std::size_t page, int instances, const char*& reason) {
  const std::lock_guard lock(blocks_mutex);
  Block* const slot = free_slot();
  reason = "there are 8192 arrays in managed memory, which are all that Emulated can have";
  if (slot == nullptr) return nullptr;
  reason = reason_of(ENOMEM);
  if (asked > std::numeric_limits<std::size_t>::max() / std::size_t(4 * (instances + 2)) - page)
    return nullptr;
  Block& block = *slot;
  block.page = page;
  block.bytes = round_up(std::max<std::size_t>(asked, 1), page);
  block.stride = block.bytes + page;  // with a guard
  block.places = 1 + instances;
  block.count = block.bytes / page;
  block.moves = {};
  block.moves.is_known = true;
  block.pages = new (std::nothrow) Page[block.count];
  std::uintptr_t base = 0;
  if (block.pages != nullptr) {
    const files::FileSizeErrors errors;
    const int file = memfd_create("strata-emulated-managed", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, off_t(block.bytes)) == 0) base = map_block(block, file);
    if (base == 0) reason = reason_of(errno);
    if (file >= 0) close(file);  // the mappings keep it
  }
  if (base == 0) {
    delete[] block.pages;
    return nullptr;
  }
  const std::lock_guard pages(pages_lock);
  process.store(getpid());
  block.reach.store(std::size_t(block.places + 1) * block.stride);
  block.base.store(base, std::memory_order_release);
  const int number = int(slot - table) + 1;
  if (number > table_used.load()) table_used.store(number, std::memory_order_release);
  live.fetch_add(1);
  return reinterpret_cast<char*>(base);
}

void free(void* data) noexcept {
  const std::lock_guard lock(blocks_mutex);
  Page* pages = nullptr;
  std::size_t reach = 0;
  {
    const std::lock_guard guard(pages_lock);
    Block* const block = find(data);
    if (block == nullptr) return;
    splits.fetch_sub(all_cuts(*block));
    for (std::size_t i = 0; i < block->count; ++i) count_resident(*block, 1, block->pages[i].holders, 0);
    pages = std::exchange(block->pages, nullptr);
    reach = block->reach.load();
    block->reach.store(0);
    block->base.store(0);
    live.fetch_sub(1);
  }
  munmap(data, reach);
  delete[] pages;
}

std::size_t blocks() { return live.load(); }

PageMoves moves(const void* data) {
  const std::lock_guard lock(pages_lock);
  const Block* const block = find(data);
  return block != nullptr ? block->moves : PageMoves{};
}

char* address_for(int instance, const void* data) {
  const std::lock_guard lock(pages_lock);
  const Block* const block = find(data);
  if (block == nullptr || instance + 1 >= block->places) return nullptr;
  return static_cast<char*>(const_cast<void*>(data)) + std::size_t(instance + 1) * block->stride;
}

char* address_for_copies(const void* data) {
  const std::lock_guard lock(pages_lock);
  const Block* const block = find(data);
  if (block == nullptr) return nullptr;
  return static_cast<char*>(const_cast<void*>(data)) + std::size_t(block->places) * block->stride;
}

std::size_t page_bytes_of(const void* data, std::size_t bytes) {
  const std::lock_guard lock(pages_lock);
  const Block* const block = find(data);
  if (block == nullptr || bytes == 0) return 0;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(data) - block->base.load();
  if (bytes > block->bytes - offset) return 0;
  return round_up(offset + bytes, block->page) - round_down(offset, block->page);
}

PageCosts& costs_of_host() { return host_costs; }

// --- Moves ---

std::size_t prefetch(const ManagedRange& range, Place to) {
  const int place = static_cast<int>(to);
  const bool shares = !range.writes && range.has_other_users;
  const bool discards = range.writes && !range.reads;
  PageCost cost;
  {
    const std::lock_guard lock(pages_lock);
    Block* const block = find(range.begin);
    if (block == nullptr || range.bytes == 0 || place >= block->places) return 0;
    const std::size_t begin = reinterpret_cast<std::uintptr_t>(range.begin) - block->base.load();
    const std::size_t end = std::min(begin + range.bytes, block->bytes);
    const std::size_t size = block->page, last = (end - 1) / size;
    const auto discarded = [&](std::size_t i) {
      return discards && i * size >= begin && (i + 1) * size <= end;
    };
    for (std::size_t i = begin / size, next = i; i <= last; i = next) {
      const Holders from = block->pages[i].holders;
      const bool moves = (from & bit_of(place)) == 0 && !discarded(i) && !range.stays;
      for (next = i; next <= last && block->pages[next].holders == from && discarded(next) == discarded(i);
           ++next)
        block->pages[next].read_mostly = shares && !range.stays;
      if (moves) count_bytes(*block, place, from, (next - i) * size, false, cost);
      const Holders guest = range.writes ? writer_bit_of(place) : reader_bit_of(place);
      const Holders after = range.stays ? from | guest
                            : shares    ? from | bit_of(place)
                                        : guests_of(from) | bit_of(place);
      if (!change(*block, i, next - i, after, place, false, cost)) break;
      evict(place, block, cost);
    }
  }
  const std::size_t moved = cost.from_host + cost.from_peers + (place == 0 ? cost.to_host : 0);
  if (moved > 0) cost.copies = 1;
  charge(cost);
  return moved;
}

bool holds(std::uintptr_t address) { return find(address) != nullptr; }

Fault handle(std::uintptr_t address, Access access) {
  if (find(address) == nullptr) return Fault::NotManaged;
  if (process.load() != getpid()) return Fault::Forked;
  PageCost cost;
  {
    const std::lock_guard lock(pages_lock);
    Block* const block = find(address);
    if (block == nullptr) return Fault::NotManaged;  // freed just now
    const std::size_t offset = address - block->base.load();
    const int place = int(offset / block->stride);
    const std::size_t index = offset % block->stride / block->page;
    if (place >= block->places || index >= block->count) return Fault::Outside;
    Page& page = block->pages[index];
    const Holders from = page.holders, here = bit_of(place);
    const int rights = protection(from, place);
    const bool writes = access == Access::Unknown ? rights != PROT_NONE : access == Access::Write;
    // Another thread was first.
    if ((rights & (writes ? PROT_WRITE : PROT_READ)) != 0) return Fault::Moved;
    const bool shares = page.read_mostly && !writes;
    block->moves.faults += 1;
    cost.faults = 1;
    const bool arrives = (from & here) == 0;
    if (arrives) count_bytes(*block, place, from, block->page, true, cost);
    if (!change(*block, index, 1, shares ? from | here : guests_of(from) | here, place, true, cost))
      return Fault::Stuck;
    evict(place, block, cost);
  }
  charge(cost);
  return Fault::Moved;
}

}  // namespace strata::inline STRATA_ABI::detail::managed_pages
