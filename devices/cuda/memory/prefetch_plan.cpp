// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/devices/cuda/memory/managed_heap.hpp>
#include <strata/devices/cuda/memory/prefetch_plan.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using Address = std::uintptr_t;

constexpr Address page = 64 << 10;  // in which GPUs map what is less than a run
constexpr Address run = managed_run;

Address down(Address at, Address unit) { return at / unit * unit; }
Address up(Address at, Address unit) { return (at + unit - 1) / unit * unit; }

// The runs that are overwritten as a whole; empty where begin >= end. Past the block's last byte nobody else
// has anything.
PrefetchPiece overwritten(const PrefetchRange& range) {
  const bool is_small = range.block_end - range.block_begin < run;
  const Address end = range.owns_runs && range.end >= range.block_end ? up(range.end, is_small ? page : run)
                                                                      : down(range.end, run);
  return {up(range.begin, run), end, range.block_begin, true};
}

PrefetchPiece moved(const PrefetchRange& range) {
  PrefetchPiece piece{range.begin, range.end, range.block_begin, false};
  if (range.has_other_users) return piece;
  const Address first = down(range.begin, run), last = up(range.end, run);
  piece.begin = range.begin - first <= run / 2 ? first : down(range.begin, page);
  piece.end = last - range.end <= run / 2 ? last : up(range.end, page);
  piece.begin = std::max(piece.begin, range.block_begin);
  piece.end = std::min(piece.end, range.block_end);
  return piece;
}

void sort_and_merge(std::vector<PrefetchPiece>& pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const PrefetchPiece& piece : pieces) {
    if (piece.begin >= piece.end) continue;
    if (kept > 0 && pieces[kept - 1].block_begin == piece.block_begin && piece.begin <= pieces[kept - 1].end)
      pieces[kept - 1].end = std::max(pieces[kept - 1].end, piece.end);
    else pieces[kept++] = piece;
  }
  pieces.resize(kept);
}

// Those without the bytes of `holes`; both sorted and merged.
std::vector<PrefetchPiece> without(const std::vector<PrefetchPiece>& pieces,
                                   const std::vector<PrefetchPiece>& holes) {
  std::vector<PrefetchPiece> left;
  std::size_t first = 0;
  for (PrefetchPiece piece : pieces) {
    while (first < holes.size() && holes[first].end <= piece.begin) ++first;
    for (std::size_t k = first; k < holes.size() && holes[k].begin < piece.end; ++k) {
      if (holes[k].begin > piece.begin)
        left.push_back({piece.begin, holes[k].begin, piece.block_begin, piece.discards});
      piece.begin = std::max(piece.begin, holes[k].end);
    }
    if (piece.begin < piece.end) left.push_back(piece);
  }
  return left;
}

}  // namespace

std::vector<PrefetchPiece> plan_prefetch(const std::vector<PrefetchRange>& ranges) {
  std::vector<PrefetchPiece> discarded, read, all;
  for (const PrefetchRange& range : ranges) {
    if (range.begin >= range.end) continue;
    all.push_back(moved(range));
    if (range.reads) read.push_back({down(range.begin, run), up(range.end, run), range.block_begin, false});
    else discarded.push_back(overwritten(range));
  }
  sort_and_merge(discarded);
  sort_and_merge(read);
  sort_and_merge(all);
  std::vector<PrefetchPiece> pieces = without(discarded, read);
  const std::vector<PrefetchPiece> rest = without(all, pieces);
  pieces.insert(pieces.end(), rest.begin(), rest.end());
  return pieces;
}

}  // namespace strata::inline STRATA_ABI::detail
