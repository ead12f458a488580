// The cost of a copy between two memories.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/views/coherent/plan/memory_set.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A way from one memory to another.
struct MemoryLink {
  double seconds = 0;           // of a copy, whatever its size
  double bytes_per_second = 0;  // 0: there is no direct way
};

/// The ways between the memories of a program, measured or given. Every memory has one to the host and back;
/// between devices there may be one (peer access), or copies go through the host. Copies within a memory need
/// none.
class MemoryLinks {
 public:
  /// `memories` of them, the host being one; those of two devices are joined by `peer` or not at all.
  MemoryLinks(int memories, MemoryLink host_link, MemoryLink peer = {});

  int memories() const { return count_; }
  /// One direction.
  void set(MemoryId from, MemoryId to, MemoryLink link) { links_[place(from, to)] = link; }
  bool joins(MemoryId from, MemoryId to) const { return links_[place(from, to)].bytes_per_second > 0; }
  /// Of `bytes` on the direct way, which there is.
  double seconds(MemoryId from, MemoryId to, double bytes) const {
    const MemoryLink& link = links_[place(from, to)];
    return link.seconds + bytes / link.bytes_per_second;
  }
  /// Whether `bytes` take no longer on their way than it takes to begin.
  bool is_short(MemoryId from, MemoryId to, double bytes) const {
    const MemoryLink& link = links_[place(from, to)];
    return bytes <= link.seconds * link.bytes_per_second;
  }

 private:
  std::size_t place(MemoryId from, MemoryId to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(count_) + static_cast<std::size_t>(to);
  }
  int count_;
  std::vector<MemoryLink> links_;  // [from][to]
};

}  // namespace strata::inline STRATA_ABI::detail
