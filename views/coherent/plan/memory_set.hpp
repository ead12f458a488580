// Sets of memories: the memory of the host and that of each device, by number.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A memory that may hold parts of arrays: 0 is the host's, 1 to 63 are devices'.
using MemoryId = int;
inline constexpr MemoryId host_memory = 0;
inline constexpr int most_memories = 64;

/// A set of memories, one bit each.
class MemorySet {
 public:
  constexpr MemorySet() = default;
  constexpr MemorySet(std::initializer_list<MemoryId> memories) {
    for (const MemoryId m : memories) bits_ |= bit(m);
  }

  constexpr bool contains(MemoryId m) const { return (bits_ & bit(m)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return std::popcount(bits_); }
  constexpr MemorySet with(MemoryId m) const { return MemorySet(bits_ | bit(m)); }
  constexpr MemorySet without(MemoryId m) const { return MemorySet(bits_ & ~bit(m)); }

  friend constexpr MemorySet operator|(MemorySet a, MemorySet b) { return MemorySet(a.bits_ | b.bits_); }
  friend constexpr MemorySet operator&(MemorySet a, MemorySet b) { return MemorySet(a.bits_ & b.bits_); }
  friend constexpr bool operator==(MemorySet, MemorySet) = default;

  /// Calls f(memory), the lowest first.
  template <class F>
  constexpr void visit(const F& f) const {
    for (std::uint64_t left = bits_; left != 0; left &= left - 1) f(std::countr_zero(left));
  }

 private:
  constexpr explicit MemorySet(std::uint64_t bits) : bits_(bits) {}
  static constexpr std::uint64_t bit(MemoryId m) { return std::uint64_t{1} << m; }
  std::uint64_t bits_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
