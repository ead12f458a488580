// How a piece is carried out. Its loops are split into an outer nest, walked by an odometer, and an inner
// kernel:
//
//   long runs     memcpy of the run, whole or in blocks
//   short runs    two loops, with the run's length and unit strides known to the compiler
//   transposes    tiles small enough for the first-level cache, in one of three ways (transpose_kernel)
//
// The inner kernel's work is numbered in units; a thread's share is a range of (outer position, unit). A fill
// is a copy whose source strides are 0: the value is loaded once and stored by the same kernels.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <strata/core/cache_lines.hpp>
#include <strata/core/copy_execute.hpp>
#include <strata/core/copy_kernels.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {
namespace {

using detail::Kernels;
using detail::Loop;
using detail::Plane;

constexpr index_t split_bytes = index_t{1} << 20;  // smaller pieces are not worth waking threads for
constexpr index_t block_bytes = index_t{1} << 18;

constexpr index_t ceil_div(index_t a, index_t b) { return (a + b - 1) / b; }

// A piece made ready to run: the outer nest and one of the three kernels.
class Job {
 public:
  Job(char* dst, const char* src, const CopyPiece& piece)
      : dst_{dst + piece.dst_offset}, src_{src + piece.src_offset}, bytes_{bytes_of(piece)} {
    rank_ = piece.rank;
    for (int r = 0; r < rank_; ++r) loop_[r] = {piece.extent[r], piece.dst_stride[r], piece.src_stride[r]};
    plane_.run_bytes = piece.run_bytes;
    kernels_ = detail::kernels_for(piece.run_bytes);
    if (piece.run_bytes > detail::short_run || rank_ == 0) set_up_runs();
    else if (piece.kind == CopyKind::Transpose) set_up_tiles();
    else set_up_rows();
    for (int r = 0; r < rank_; ++r) positions_ *= loop_[r].extent;
  }

  // Makes this a fill: the source is a pattern of repeated elements, of which a long run takes as many
  // repetitions as it needs.
  void set_pattern(index_t pattern_bytes, index_t element_bytes, bool same_bytes) {
    pattern_bytes_ = pattern_bytes;
    fills_past_cache_ = bytes_ > fills_past_cache;
    constexpr auto line = static_cast<index_t>(line_bytes);
    fills_lines_ = (same_bytes || line % element_bytes == 0) && pattern_bytes >= 2 * line;
    // memset goes past caches in longer runs than these only.
    same_bytes_ = same_bytes && !(fills_past_cache_ && fills_lines_);
  }

  void run_on(const ChunkRunner& runner) const {
    const index_t units = positions_ * units_;
    if (runner.run == nullptr || bytes_ <= split_bytes || units == 1) return run(0, units);
    // Units may be a few bytes each; a runner is given units of a block's worth of them.
    const index_t grain = std::max<index_t>(1, units / ceil_div(bytes_, block_bytes));
    const Split split{this, grain, units};
    runner.run(
        runner.pool, ceil_div(units, grain),
        [](const void* context, index_t begin, index_t end) {
          const auto& s = *static_cast<const Split*>(context);
          s.job->run(begin * s.grain, std::min(end * s.grain, s.units));
        },
        &split);
  }

 private:
  enum class Means { Runs, Rows, Tiles };
  struct Split {
    const Job* job;
    index_t grain;
    index_t units;
  };

  void set_up_runs() {
    means_ = Means::Runs;
    units_ = ceil_div(plane_.run_bytes, block_bytes);
  }

  // Units are rows, or blocks of a row where there are few long ones.
  void set_up_rows() {
    means_ = Means::Rows;
    plane_.inner = loop_[--rank_];
    row_block_ = block_bytes / plane_.run_bytes;
    if (plane_.inner.extent > row_block_) {
      units_ = ceil_div(plane_.inner.extent, row_block_);
    } else {
      row_block_ = 0;
      if (rank_ > 0) plane_.outer = loop_[--rank_];
      units_ = plane_.outer.extent;
    }
  }

  // The loop with the smallest source stride becomes the plane's outer one. Narrow tiles are made longer, and
  // need no stage: a few lines at a time stay in the cache by themselves.
  void set_up_tiles() {
    means_ = Means::Tiles;
    plane_.inner = loop_[--rank_];
    int lines = -1;
    for (int r = 0; r < rank_; ++r)
      if (loop_[r].src != 0 && (lines < 0 || std::abs(loop_[r].src) < std::abs(loop_[lines].src))) lines = r;
    plane_.outer = loop_[lines];
    std::copy(loop_ + lines + 1, loop_ + rank_, loop_ + lines);
    --rank_;

    tile_kernel_ = transpose_kernel();
    const index_t run = plane_.run_bytes, narrow = std::min(plane_.inner.extent, plane_.outer.extent);
    const bool has_squares = run <= 2 && tile_kernel_ == kernels_.squares && narrow >= detail::narrow_side;
    if (narrow <= detail::few_streams && !has_squares) {
      // Lines of a destination, as those of tiles, are written whole, where they are not much shorter than
      // those of a cache.
      const bool writes_lines = tile_kernel_ != kernels_.tile && (run == 4 || run == 8) &&
                                plane_.inner.extent * run >= detail::short_run / 2;
      tile_kernel_ = kernels_.plane;
      if (!writes_lines && plane_.inner.extent < plane_.outer.extent) std::swap(plane_.inner, plane_.outer);
    }

    const index_t side = detail::tile_side(plane_.run_bytes);
    const index_t area = side * side;
    tile_inner_ = std::min(plane_.inner.extent, side);
    tile_outer_ = std::min(plane_.outer.extent, area / tile_inner_);
    tile_inner_ = std::min(plane_.inner.extent, area / tile_outer_);
    tiles_along_inner_ = ceil_div(plane_.inner.extent, tile_inner_);
    tiles_along_outer_ = ceil_div(plane_.outer.extent, tile_outer_);
    units_ = tiles_along_inner_ * tiles_along_outer_;
    along_source_ = tile_kernel_ == kernels_.plane && source_lines_are_apart();
  }

  // Then tiles follow each other along lines of the source, which processors fetch ahead.
  bool source_lines_are_apart() const {
    constexpr index_t page = 4096;
    return std::abs(plane_.inner.src) >= page;
  }

  // Where both sides have contiguous lines no stage is needed. Elements of 8 bytes, and those of 4 in main
  // memory, go one by one to whole lines of the destination: 1.4 to 2.5 times as fast as through a stage on
  // an Intel Xeon. Others go through registers.
  detail::Kernel transpose_kernel() const {
    const index_t run = plane_.run_bytes;
    if (plane_.outer.src != run || plane_.inner.dst != run) return kernels_.tile;
    constexpr index_t in_cache = 512 * 1024;
    if (run == 8 || (run == 4 && bytes_ > in_cache && source_lines_are_apart())) return kernels_.plane;
    return kernels_.squares != nullptr ? kernels_.squares : kernels_.tile;
  }

  // Runs the units [begin, end), counted over all positions of the outer nest.
  void run(index_t begin, index_t end) const {
    if (begin >= end) return;
    index_t at[max_piece_rank];
    char* dst = dst_;
    const char* src = src_;
    index_t position = begin / units_;
    for (int r = rank_; r-- > 0; position /= loop_[r].extent) {
      at[r] = position % loop_[r].extent;
      dst += at[r] * loop_[r].dst;
      src += at[r] * loop_[r].src;
    }

    index_t first = begin % units_;
    index_t left = end - begin;
    while (true) {
      const index_t last = std::min(units_, first + left);
      run_units(dst, src, first, last);
      left -= last - first;
      if (left == 0) return;
      first = 0;
      for (int r = rank_ - 1;; --r) {
        dst += loop_[r].dst;
        src += loop_[r].src;
        if (++at[r] < loop_[r].extent) break;
        dst -= loop_[r].extent * loop_[r].dst;
        src -= loop_[r].extent * loop_[r].src;
        at[r] = 0;
      }
    }
  }

  void run_units(char* dst, const char* src, index_t first, index_t last) const {
    switch (means_) {
      case Means::Runs:
        return move_long(dst, src, first, last);
      case Means::Rows:
        return row_block_ == 0 ? move_rows(dst, src, first, last) : move_row(dst, src, first, last);
      case Means::Tiles:
        return move_tiles(dst, src, first, last);
    }
  }

  void move_long(char* dst, const char* src, index_t first, index_t last) const {
    const index_t begin = first * block_bytes;
    const index_t length = std::min(plane_.run_bytes, last * block_bytes) - begin;
    if (pattern_bytes_ == 0) {
      if (bytes_ > copies_past_cache && length >= least_past_cache && length <= most_past_cache)
        copy_past_cache(dst + begin, src + begin, static_cast<std::size_t>(length));
      else std::memcpy(dst + begin, src + begin, static_cast<std::size_t>(length));
    } else if (same_bytes_) {
      std::memset(dst + begin, static_cast<unsigned char>(*src), static_cast<std::size_t>(length));
    } else {
      repeat(dst + begin, src, begin, length);
    }
  }

  // The bytes [begin, begin + length) of the endless repetition of the pattern.
  void repeat(char* dst, const char* pattern, index_t begin, index_t length) const {
    index_t phase = begin % pattern_bytes_;
    if (constexpr auto line = static_cast<index_t>(line_bytes); fills_lines_ && length >= 2 * line) {
      const auto before = static_cast<index_t>(-reinterpret_cast<std::uintptr_t>(dst) % line_bytes);
      phase %= line;  // a line holds whole elements
      std::memcpy(dst, pattern + phase, static_cast<std::size_t>(before));
      phase = (phase + before) % line;
      const index_t lines = (length - before) / line;
      fill_lines(dst + before, pattern + phase, static_cast<std::size_t>(lines), fills_past_cache_);
      dst += before + lines * line;
      length -= before + lines * line;
    }
    while (length > 0) {
      const index_t n = std::min(length, pattern_bytes_ - phase);
      std::memcpy(dst, pattern + phase, static_cast<std::size_t>(n));
      dst += n;
      length -= n;
      phase = 0;
    }
  }

  void move_rows(char* dst, const char* src, index_t first, index_t last) const {
    Plane rows = plane_;
    rows.outer.extent = last - first;
    kernels_.plane(dst + first * rows.outer.dst, src + first * rows.outer.src, rows);
  }

  void move_row(char* dst, const char* src, index_t first, index_t last) const {
    Plane row = plane_;
    const index_t begin = first * row_block_;
    row.inner.extent = std::min(plane_.inner.extent, last * row_block_) - begin;
    kernels_.plane(dst + begin * row.inner.dst, src + begin * row.inner.src, row);
  }

  void move_tiles(char* dst, const char* src, index_t first, index_t last) const {
    for (index_t unit = first; unit < last; ++unit) {
      const index_t inner =
          (along_source_ ? unit / tiles_along_outer_ : unit % tiles_along_inner_) * tile_inner_;
      const index_t outer =
          (along_source_ ? unit % tiles_along_outer_ : unit / tiles_along_inner_) * tile_outer_;
      Plane tile = plane_;
      tile.inner.extent = std::min(tile_inner_, plane_.inner.extent - inner);
      tile.outer.extent = std::min(tile_outer_, plane_.outer.extent - outer);
      tile_kernel_(dst + inner * tile.inner.dst + outer * tile.outer.dst,
                   src + inner * tile.inner.src + outer * tile.outer.src, tile);
    }
  }

  char* dst_;
  const char* src_;
  index_t bytes_;
  Loop loop_[max_piece_rank];  // the outer nest
  int rank_;
  index_t positions_ = 1;  // of the outer nest
  index_t units_ = 1;      // of the kernel, at each position
  Means means_;
  Plane plane_;
  Kernels kernels_;
  detail::Kernel tile_kernel_ = nullptr;
  index_t row_block_ = 0;
  index_t tile_inner_ = 0;
  index_t tile_outer_ = 0;
  index_t tiles_along_inner_ = 0;
  index_t tiles_along_outer_ = 0;
  bool along_source_ = false;  // tiles follow each other along the source's lines, else the destination's
  index_t pattern_bytes_ = 0;  // 0: the source is an array
  bool same_bytes_ = false;
  bool fills_lines_ = false;
  bool fills_past_cache_ = false;
};

bool is_element_wise(std::span<const CopyPiece> pieces) {
  return !pieces.empty() && pieces.front().kind == CopyKind::ElementWise;
}

void require_strides(std::span<const CopyPiece> pieces, const char* call, const char* instead) {
  if (!is_element_wise(pieces)) return;
  throw CopyError(
      std::string(call) + " of " + std::to_string(pieces.size()) +
      " piece(s) on a host: the plan is element-wise, because a user-supplied layout has no strides; use " +
      instead + ", which asks the layout for every offset");
}

// Calls f(index) for the elements [begin, end) of a layout's index space in lexicographic order, in chunks.
template <class F>
void for_each_index(const LayoutDescriptor& layout, std::size_t element_bytes, const ChunkRunner& runner,
                    const F& f) {
  struct Walk {
    const LayoutDescriptor& layout;
    const F& f;
    void operator()(index_t begin, index_t end) const {
      index_t index[max_rank];
      index_t rest = begin;
      for (int r = layout.rank; r-- > 0; rest /= layout.extent[r]) index[r] = rest % layout.extent[r];
      for (index_t i = begin; i < end; ++i) {
        f(index);
        for (int r = layout.rank; r-- > 0;) {
          if (++index[r] < layout.extent[r]) break;
          index[r] = 0;
        }
      }
    }
  };

  const Walk walk{layout, f};
  const index_t n = element_count(layout);
  if (n == 0) return;
  if (runner.run == nullptr || n * static_cast<index_t>(element_bytes) <= split_bytes) return walk(0, n);
  runner.run(
      runner.pool, n,
      [](const void* context, index_t begin, index_t end) {
        (*static_cast<const Walk*>(context))(begin, end);
      },
      &walk);
}

// The bytes, counted from the base, from the lowest to one past the highest that an array occupies.
struct ByteRange {
  index_t begin = std::numeric_limits<index_t>::max();
  index_t end = std::numeric_limits<index_t>::min();
};

ByteRange range_of(const LayoutDescriptor& layout, std::size_t element_bytes) {
  const auto bytes = static_cast<index_t>(element_bytes);
  ByteRange range;
  for_each_index(layout, element_bytes, {}, [&](const index_t* index) {
    const index_t offset = offset_of(layout, index) * bytes;
    range = {std::min(range.begin, offset), std::max(range.end, offset + bytes)};
  });
  return range;
}

bool ranges_overlap(const LayoutDescriptor& dst, const LayoutDescriptor& src, std::size_t element_bytes,
                    index_t distance) {
  const ByteRange d = range_of(dst, element_bytes);
  const ByteRange s = range_of(src, element_bytes);
  return d.begin + distance < s.end && s.begin < d.end + distance;
}

[[noreturn]] void fail_overlap(const LayoutDescriptor& dst, std::size_t element_bytes, index_t distance) {
  std::string shape;
  for (int r = 0; r < dst.rank; ++r) shape += (r == 0 ? "" : ", ") + std::to_string(dst.extent[r]);
  throw CopyError("copy of shape (" + shape + "), " + std::to_string(element_bytes) +
                  " bytes an element, on a host: source and destination overlap, their bases being " +
                  std::to_string(distance < 0 ? -distance : distance) +
                  " bytes apart; copy through a third array");
}

}  // namespace

void copy_pieces(void* dst_base, const void* src_base, std::span<const CopyPiece> pieces,
                 const ChunkRunner& runner) {
  require_strides(pieces, "copy_pieces", "copy_elementwise");
  for (const CopyPiece& piece : pieces)
    Job(static_cast<char*>(dst_base), static_cast<const char*>(src_base), piece).run_on(runner);
}

void fill_pieces(void* dst_base, const void* value, std::size_t element_bytes,
                 std::span<const CopyPiece> pieces, const ChunkRunner& runner) {
  require_strides(pieces, "fill_pieces", "fill_elementwise");
  const char* pattern = static_cast<const char*>(value);
  const bool same_bytes =
      std::all_of(pattern, pattern + element_bytes, [&](char c) { return c == pattern[0]; });
  // Runs are cut from the value repeated: as often as the longest run or a page holds it.
  constexpr std::size_t page = 4096;
  alignas(32) char repeated[page];
  std::size_t pattern_bytes = element_bytes;
  std::size_t longest = element_bytes;
  for (const CopyPiece& piece : pieces)
    longest = std::max(longest, static_cast<std::size_t>(piece.run_bytes));
  if (longest > element_bytes && 2 * element_bytes <= page) {
    pattern_bytes = std::min(longest, page) / element_bytes * element_bytes;
    std::memcpy(repeated, value, element_bytes);
    for (std::size_t done = element_bytes; done < pattern_bytes; done *= 2)
      std::memcpy(repeated + done, repeated, std::min(done, pattern_bytes - done));
    pattern = repeated;
  }

  for (const CopyPiece& piece : pieces) {
    Job job(static_cast<char*>(dst_base), pattern, piece);
    job.set_pattern(static_cast<index_t>(pattern_bytes), static_cast<index_t>(element_bytes), same_bytes);
    job.run_on(runner);
  }
}

void copy_elementwise(void* dst_base, const LayoutDescriptor& dst, const void* src_base,
                      const LayoutDescriptor& src, std::size_t element_bytes, const ChunkRunner& runner) {
  const auto bytes = static_cast<index_t>(element_bytes);
  for_each_index(dst, element_bytes, runner, [&](const index_t* index) {
    std::memcpy(static_cast<char*>(dst_base) + offset_of(dst, index) * bytes,
                static_cast<const char*>(src_base) + offset_of(src, index) * bytes, element_bytes);
  });
}

void fill_elementwise(void* dst_base, const LayoutDescriptor& dst, const void* value,
                      std::size_t element_bytes, const ChunkRunner& runner) {
  const auto bytes = static_cast<index_t>(element_bytes);
  for_each_index(dst, element_bytes, runner, [&](const index_t* index) {
    std::memcpy(static_cast<char*>(dst_base) + offset_of(dst, index) * bytes, value, element_bytes);
  });
}

void copy_on_host(void* dst_base, const LayoutDescriptor& dst, const void* src_base,
                  const LayoutDescriptor& src, std::size_t element_bytes, const ChunkRunner& runner) {
  const CopyPieces pieces = plan_copy(dst, src, element_bytes);
  const index_t distance = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(dst_base) -
                                                reinterpret_cast<std::uintptr_t>(src_base));
  if (is_element_wise(pieces)) {
    if (distance == 0 && dst.offset == src.offset && dst.mapping == src.mapping) return;
    if (ranges_overlap(dst, src, element_bytes, distance)) fail_overlap(dst, element_bytes, distance);
    return copy_elementwise(dst_base, dst, src_base, src, element_bytes, runner);
  }
  if (copies_onto_itself(pieces, distance)) return;
  if (sides_overlap(pieces, distance)) fail_overlap(dst, element_bytes, distance);
  copy_pieces(dst_base, src_base, pieces, runner);
}

void fill_on_host(void* dst_base, const LayoutDescriptor& dst, const void* value, std::size_t element_bytes,
                  const ChunkRunner& runner) {
  const CopyPieces pieces = plan_fill(dst, element_bytes);
  if (is_element_wise(pieces)) return fill_elementwise(dst_base, dst, value, element_bytes, runner);
  fill_pieces(dst_base, value, element_bytes, pieces, runner);
}

}  // namespace strata::inline STRATA_ABI::detail
