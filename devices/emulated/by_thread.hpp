// ByThread: a value of a queue for each thread that uses it. Private to this folder.
//
// Stored by thread id, so that it does not grow with the number of threads that there ever were. A thread may
// have the id of one that has ended: the thread number shows that, and it begins without a value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <thread>
#include <utility>

#include <strata/core/thread_number.hpp>

namespace strata::inline STRATA_ABI::detail {

struct ThreadKey {
  std::thread::id id;
  std::uint64_t number;

  static ThreadKey here() { return {std::this_thread::get_id(), thread_number()}; }
  friend bool operator==(const ThreadKey&, const ThreadKey&) = default;
};

template <class T>
class ByThread {
 public:
  /// The value of the thread; made if need be.
  T& of(const ThreadKey& thread) {
    Entry& entry = entries_[thread.id];
    if (entry.number != thread.number) entry = {thread.number, T()};
    return entry.value;
  }
  /// The value of the thread, removed from here; T() if it has none.
  T take(const ThreadKey& thread) {
    const auto found = entries_.find(thread.id);
    if (found == entries_.end()) return T();
    T value = found->second.number == thread.number ? std::move(found->second.value) : T();
    entries_.erase(found);
    return value;
  }
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    std::uint64_t number = 0;  // of no thread
    T value = T();
  };
  std::map<std::thread::id, Entry> entries_;
};

}  // namespace strata::inline STRATA_ABI::detail
