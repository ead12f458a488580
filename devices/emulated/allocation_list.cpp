// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <deque>
#include <mutex>
#include <unordered_map>

#include <strata/devices/emulated/allocation_list.hpp>

namespace strata::inline STRATA_ABI::detail {
namespace {

using Entry = ListedAllocation;
using State = Entry::State;

constexpr std::size_t chunk_entries = 256, max_chunks = 1024;
constexpr std::size_t remembered = 256;

struct Chunk {
  Entry entries[chunk_entries];
};

constinit std::atomic<Chunk*> chunks[max_chunks] = {};

// The side of the writers: which entry is whose, under the lock.
struct Writer {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, Entry*> live;
  std::deque<Entry*> freed;  // oldest first
  std::size_t taken = 0;     // entries ever taken from the chunks
  std::uint64_t serial = 0;

  // An entry to fill; null if the list is full.
  Entry* take() {
    const bool full = taken == chunk_entries * max_chunks;
    if (freed.size() > remembered || (full && !freed.empty())) {
      Entry* entry = freed.front();
      freed.pop_front();
      return entry;
    }
    if (full) return nullptr;
    auto& chunk = chunks[taken / chunk_entries];
    if (taken % chunk_entries == 0) chunk.store(new Chunk, std::memory_order_release);
    return &chunk.load(std::memory_order_relaxed)->entries[taken++ % chunk_entries];
  }

  void retire(std::uintptr_t address, State state) {
    const auto found = live.find(address);
    if (found == live.end()) return;
    found->second->state.store(state, std::memory_order_release);
    freed.push_back(found->second);
    live.erase(found);
  }
};

// Never destroyed: views in static storage are freed after everything else.
Writer& writer() {
  static Writer& instance = *new Writer;
  return instance;
}

}  // namespace

void register_allocation(const void* address, std::size_t bytes, const char* label,
                         const AllocationShape& shape) {
  Writer& list = writer();
  const std::lock_guard lock(list.mutex);
  const auto key = reinterpret_cast<std::uintptr_t>(address);
  list.retire(key, State::Freed);
  Entry* entry = list.take();
  if (entry == nullptr) return;
  // Withdrawn before anything changes, published after everything has.
  entry->state.store(State::Unused, std::memory_order_seq_cst);
  entry->address = key;
  entry->bytes = bytes;
  entry->serial = ++list.serial;
  std::strncpy(entry->label, label == nullptr ? "" : label, sizeof entry->label - 1);
  entry->shape = shape;
  list.live.emplace(key, entry);
  entry->state.store(State::Live, std::memory_order_release);
}

void unregister_allocation(const void* address) {
  Writer& list = writer();
  const std::lock_guard lock(list.mutex);
  list.retire(reinterpret_cast<std::uintptr_t>(address), State::Freed);
}

void forget_allocations(std::uintptr_t base, std::size_t bytes) {
  Writer& list = writer();
  const std::lock_guard lock(list.mutex);
  for (auto it = list.live.begin(); it != list.live.end();) {
    const std::uintptr_t address = (it++)->first;
    if (address - base < bytes) list.retire(address, State::Unused);
  }
  for (Entry* entry : list.freed) {
    if (entry->address - base < bytes) entry->state.store(State::Unused, std::memory_order_release);
  }
}

const ListedAllocation* find_allocation(std::uintptr_t address, bool& live) {
  const Entry* found = nullptr;
  live = false;
  for (auto& slot : chunks) {
    const Chunk* chunk = slot.load(std::memory_order_acquire);
    if (chunk == nullptr) break;
    for (const Entry& entry : chunk->entries) {
      const State state = entry.state.load(std::memory_order_acquire);
      if (state == State::Unused || address - entry.address >= entry.bytes) continue;
      const bool is_live = state == State::Live;
      if (found != nullptr && (is_live != live ? live : entry.serial < found->serial)) continue;
      found = &entry;
      live = is_live;
    }
  }
  return found;
}

}  // namespace strata::inline STRATA_ABI::detail
