// The work of a host executor: a type-erased function of a piece of an index range, the range, and the rule
// by which it is cut into pieces.
//
// This header is reached from user code and therefore holds integers and pointers only. Cutting is pure
// arithmetic, apart from the threads that run the pieces, so that every executor cuts alike and the rule
// is tested without a thread. Nothing here owns anything: a ChunkFunction borrows its context, which must
// outlive the run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A type-erased callable of a half-open piece [begin, end) of a range and the worker that runs it. An
/// executor may learn what runs cost; the last two members, which need not be given, say what to learn it of.
struct ChunkFunction {
  void (*call)(const void* context, index_t begin, index_t end, int worker) = nullptr;
  const void* context = nullptr;
  /// Identifies the kernel where several share `call`; 0: `call` is the kernel's own.
  std::uintptr_t kernel = 0;
  /// The work of the range, where that is not in proportion to its length, in any unit; 0: it is.
  index_t work = 0;

  void operator()(index_t begin, index_t end, int worker) const { call(context, begin, end, worker); }
};

/// How pieces are assigned to workers: before the run starts, or one by one as workers become free. Where a
/// worker is done before others, executors may cut what these have not begun, and give it some.
enum class Schedule : unsigned char { Static, Dynamic };

/// The range [begin, end) of a run and how to cut it. Empty if end <= begin.
struct ChunkRange {
  index_t begin = 0;
  index_t end = 0;
  /// Work items per piece; 0: chosen by the executor.
  index_t chunk = 0;
  /// Inner cut points are multiples of this power of two, in global indices, wherever the range spans at
  /// least one such block per worker; a shorter range is cut anywhere, so that every worker has work.
  index_t align = 1;
  Schedule schedule = Schedule::Static;
  /// Whether each call costs much besides its items: a static piece is then one call, never several.
  bool whole_pieces = false;
};

/// The pieces of a ChunkRange, numbered 0 to count() - 1 in the order of their indices.
///
/// A pure function of the range and the number of workers: equal arguments give equal pieces, which is what
/// first-touch placement relies on. All arithmetic is modulo 2^64 on distances from the begin of the range,
/// so that it is exact for every pair of 64-bit bounds, negative ones included.
class ChunkPlan {
 public:
  using Count = std::uint64_t;

  /// Static without a chunk gives one piece per worker, of sizes that differ by at most one block of
  /// `align`; everything else gives pieces of `chunk` items rounded up to `align` (Dynamic without a chunk:
  /// about eight per worker). Needs workers >= 1 and `align` a power of two.
  constexpr ChunkPlan(const ChunkRange& range, int workers)
      : begin_(range.begin), end_(range.end), origin_(range.begin), unit_(1) {
    if (end_ <= begin_) return;
    const Count team = static_cast<Count>(workers);
    const Count items = distance(begin_, end_);
    const index_t floor = begin_ & -range.align;
    Count units = items;
    if (const Count blocks = ceil_div(distance(floor, end_), static_cast<Count>(range.align));
        blocks >= team) {
      origin_ = floor;
      unit_ = static_cast<Count>(range.align);
      units = blocks;
    }
    if (range.schedule == Schedule::Static && range.chunk <= 0) {
      count_ = units < team ? units : team;
      per_piece_ = units / count_;
      longer_ = units % count_;
    } else {
      const Count wish = range.chunk > 0 ? static_cast<Count>(range.chunk) : items / (8 * team);
      per_piece_ = wish > unit_ ? ceil_div(wish, unit_) : 1;
      count_ = ceil_div(units, per_piece_);
    }
  }

  /// The number of pieces; 0 for an empty range.
  constexpr Count count() const { return count_; }

  /// The first index of piece k < count().
  constexpr index_t begin(Count k) const { return k == 0 ? begin_ : cut(k); }

  /// One past the last index of piece k < count().
  constexpr index_t end(Count k) const { return k + 1 == count_ ? end_ : cut(k + 1); }

 private:
  static constexpr Count distance(index_t from, index_t to) {
    return static_cast<Count>(to) - static_cast<Count>(from);
  }
  static constexpr Count ceil_div(Count a, Count b) { return a / b + (a % b != 0 ? 1 : 0); }

  // The first `longer_` pieces have one unit more than the rest.
  constexpr index_t cut(Count k) const {
    const Count units = per_piece_ * k + (k < longer_ ? k : longer_);
    return static_cast<index_t>(static_cast<Count>(origin_) + units * unit_);
  }

  index_t begin_;
  index_t end_;
  index_t origin_;  // begin rounded down to `unit_`: cuts are counted from here
  Count unit_;
  Count per_piece_ = 0;
  Count longer_ = 0;
  Count count_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
