// How a plan is made. Index 0 may be tiled on either side, with different widths and phases, so it is cut
// first: `LeadingCutter` turns it into digits (tile, sub-tile, lane) that are affine on both sides. The other
// indices are affine as they are. Each list of digits is then normalised by itself, which finds the runs.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include <strata/core/copy_plan.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {
namespace {

// One affine loop, with strides in bytes.
struct Digit {
  index_t extent;
  index_t dst;
  index_t src;
};

struct Digits {
  Digit digit[max_piece_rank];
  int count = 0;
  void push(Digit d) { digit[count++] = d; }
  void erase(int at) {
    std::copy(digit + at + 1, digit + count, digit + at);
    --count;
  }
  Digit* begin() { return digit; }
  Digit* end() { return digit + count; }
};

void drop_units(Digits& digits) {
  digits.count = static_cast<int>(
      std::remove_if(digits.begin(), digits.end(), [](const Digit& d) { return d.extent == 1; }) -
      digits.begin());
}

// Walks a loop from its other end where that makes the destination ascend; two descending sides then become a
// run.
void ascend(Digits& digits, CopyPiece& piece) {
  for (Digit& d : digits) {
    if (d.dst >= 0) continue;
    piece.dst_offset += (d.extent - 1) * d.dst;
    piece.src_offset += (d.extent - 1) * d.src;
    d.dst = -d.dst;
    d.src = -d.src;
  }
}

// Joins every loop that continues another one on both sides.
void fuse(Digits& digits) {
  for (int inner = 0; inner < digits.count; ++inner) {
    const Digit d = digits.digit[inner];
    const auto continues = [&](const Digit& o) {
      return o.dst == d.dst * d.extent && o.src == d.src * d.extent;
    };
    const Digit* outer = std::find_if(digits.begin(), digits.end(), continues);
    if (outer == digits.end() || outer == digits.digit + inner) continue;
    digits.digit[inner].extent *= outer->extent;
    digits.erase(static_cast<int>(outer - digits.begin()));
    inner = -1;
  }
}

bool is_pitched(const CopyPiece& p, const index_t* stride) {
  if (stride[p.rank - 1] < p.run_bytes) return false;
  return p.rank == 1 || (stride[0] % stride[1] == 0 && stride[0] / stride[1] >= p.extent[1]);
}

CopyKind kind_of(const CopyPiece& p, index_t element_bytes) {
  if (p.rank == 0) return CopyKind::Contiguous;
  const bool has_runs = p.run_bytes > element_bytes;
  if (has_runs && p.rank <= 2 && is_pitched(p, p.dst_stride) && is_pitched(p, p.src_stride))
    return p.rank == 1 ? CopyKind::Pitched2d : CopyKind::Pitched3d;
  const index_t innermost = std::abs(p.src_stride[p.rank - 1]);
  for (int r = 0; r + 1 < p.rank; ++r)
    if (p.src_stride[r] != 0 && std::abs(p.src_stride[r]) < innermost) return CopyKind::Transpose;
  return CopyKind::Strided;
}

// Completes a piece whose offsets are set from its loops.
void normalise(Digits digits, index_t element_bytes, CopyPiece& piece) {
  drop_units(digits);
  ascend(digits, piece);
  fuse(digits);
  const auto before = [](const Digit& a, const Digit& b) {
    return std::pair(a.dst, std::abs(a.src)) > std::pair(b.dst, std::abs(b.src));
  };
  // At most ten: by insertion, since g++ 12 warns of std::sort on so short an array.
  for (Digit* d = digits.begin(); d != digits.end(); ++d)
    std::rotate(std::upper_bound(digits.begin(), d, *d, before), d, d + 1);

  piece.run_bytes = element_bytes;
  for (const Digit& d : digits) {
    if (d.dst == element_bytes && d.src == element_bytes && piece.run_bytes == element_bytes) {
      piece.run_bytes = d.extent * element_bytes;
      continue;
    }
    piece.extent[piece.rank] = d.extent;
    piece.dst_stride[piece.rank] = d.dst;
    piece.src_stride[piece.rank] = d.src;
    ++piece.rank;
  }
  piece.kind = kind_of(piece, element_bytes);
}

// Index 0 as one side sees it.
struct Leading {
  const LayoutDescriptor& layout;

  index_t width() const { return index_t{1} << layout.tile_log2; }
  // Tiles that follow each other like their lanes, and tiles of one lane, are no tiles.
  bool tiled() const { return layout.tile_log2 > 0 && layout.tile_stride != layout.stride[0] * width(); }
  index_t lane_stride() const { return layout.tile_log2 == 0 ? layout.tile_stride : layout.stride[0]; }
  index_t round_down(index_t i) const {
    return (((i + layout.phase) >> layout.tile_log2) << layout.tile_log2) - layout.phase;
  }
  index_t round_up(index_t i) const { return round_down(i + width() - 1); }
  bool is_cut_between(index_t begin, index_t end) const { return tiled() && round_up(begin + 1) < end; }
};

// Cuts a range of index 0 at the wider tiles of the two sides: what lies before the first whole tile, all
// whole tiles, and what follows. A step of one wide tile is affine on both sides (the narrower width divides
// it, in any phase), so the whole tiles are a digit over one of them, which is cut in turn at the narrower
// tiles.
class LeadingCutter {
 public:
  LeadingCutter(const LayoutDescriptor& dst, const LayoutDescriptor& src, index_t element_bytes,
                CopyPieces& pieces)
      : dst_{dst}, src_{src}, bytes_{element_bytes}, pieces_(pieces) {}

  void cut(index_t begin, index_t end) {
    if (begin == end) return;
    const bool dst_cuts = dst_.is_cut_between(begin, end);
    const bool src_cuts = src_.is_cut_between(begin, end);
    if (!dst_cuts && !src_cuts) return emit(begin, end);

    const Leading& wide = !src_cuts || (dst_cuts && dst_.width() >= src_.width()) ? dst_ : src_;
    const index_t first = wide.round_up(begin);
    const index_t last = wide.round_down(end);
    cut(begin, first);
    if (first < last) {
      const index_t next = first + wide.width();
      tiles_.push({(last - first) / wide.width(), step(dst_, first, next), step(src_, first, next)});
      cut(first, next);
      --tiles_.count;
    }
    cut(last, end);
  }

 private:
  index_t step(const Leading& side, index_t from, index_t to) const {
    return (leading_offset(side.layout, to) - leading_offset(side.layout, from)) * bytes_;
  }

  void emit(index_t begin, index_t end) {
    CopyPiece piece;
    piece.dst_offset = (leading_offset(dst_.layout, begin) + dst_.layout.shift) * bytes_;
    piece.src_offset = (leading_offset(src_.layout, begin) + src_.layout.shift) * bytes_;
    Digits digits = tiles_;
    digits.push({end - begin, dst_.lane_stride() * bytes_, src_.lane_stride() * bytes_});
    for (int r = 1; r < dst_.layout.rank; ++r)
      digits.push({dst_.layout.extent[r], dst_.layout.stride[r] * bytes_, src_.layout.stride[r] * bytes_});
    normalise(digits, bytes_, piece);
    pieces_.push_back(piece);
  }

  Leading dst_;
  Leading src_;
  index_t bytes_;
  CopyPieces& pieces_;
  Digits tiles_;
};

std::string shape_of(const LayoutDescriptor& layout) {
  std::string text = "(";
  for (int r = 0; r < layout.rank; ++r) text += (r == 0 ? "" : ", ") + std::to_string(layout.extent[r]);
  return text + ") of rank " + std::to_string(layout.rank);
}

void require_equal_shapes(const LayoutDescriptor& dst, const LayoutDescriptor& src) {
  if (dst.rank == src.rank && std::equal(dst.extent, dst.extent + dst.rank, src.extent)) return;
  throw ShapeMismatch("copy between arrays of different shapes: the destination is " + shape_of(dst) +
                      ", the source is " + shape_of(src) +
                      "; make both alike, or take subviews of equal extents");
}

// One unknown of the overlap equation: coefficient * x with low <= x <= high.
struct Unknown {
  index_t coefficient;
  index_t low;
  index_t high;
};

// Whether `distance` + the sum of all unknowns can lie in [least, greatest], by depth-first search from the
// largest coefficient. Where the smaller coefficients together cannot reach much further than the larger one,
// as in any array, only a few values a level survive; the budget bounds the rest, which count as reachable.
class Reachable {
 public:
  Reachable(const CopyPiece& dst, const CopyPiece& src)
      : least_(1 - dst.run_bytes), greatest_(src.run_bytes - 1) {
    for (int r = 0; r < dst.rank; ++r) add(dst.dst_stride[r], dst.extent[r] - 1);
    for (int r = 0; r < src.rank; ++r) add(-src.src_stride[r], src.extent[r] - 1);
    std::sort(unknown_, unknown_ + count_,
              [](const Unknown& a, const Unknown& b) { return a.coefficient > b.coefficient; });
    for (int k = count_; k-- > 0;) {
      reach_low_[k] = reach_low_[k + 1] + unknown_[k].coefficient * unknown_[k].low;
      reach_high_[k] = reach_high_[k + 1] + unknown_[k].coefficient * unknown_[k].high;
    }
  }

  bool from(index_t distance, int k = 0) {
    if (distance + reach_high_[k] < least_ || distance + reach_low_[k] > greatest_) return false;
    if (k == count_ || --budget_ < 0) return true;
    const auto [c, low, high] = unknown_[k];
    const index_t first = std::max(low, ceil_divide(least_ - distance - reach_high_[k + 1], c));
    const index_t last = std::min(high, -ceil_divide(distance + reach_low_[k + 1] - greatest_, c));
    for (index_t x = first; x <= last; ++x)
      if (from(distance + c * x, k + 1)) return true;
    return false;
  }

 private:
  static index_t ceil_divide(index_t a, index_t b) { return a / b + (a % b > 0 ? 1 : 0); }

  // Equal strides of the two sides are one unknown: only the difference of the two indices counts.
  void add(index_t stride, index_t most) {
    if (stride == 0) return;
    const Unknown u{std::abs(stride), stride < 0 ? -most : 0, stride < 0 ? 0 : most};
    for (int k = 0; k < count_; ++k) {
      if (unknown_[k].coefficient != u.coefficient) continue;
      unknown_[k].low += u.low;
      unknown_[k].high += u.high;
      return;
    }
    unknown_[count_++] = u;
  }

  Unknown unknown_[2 * max_piece_rank];
  int count_ = 0;
  index_t reach_low_[2 * max_piece_rank + 1] = {};
  index_t reach_high_[2 * max_piece_rank + 1] = {};
  index_t least_;
  index_t greatest_;
  int budget_ = 10000;
};

}  // namespace

CopyPieces plan_copy(const LayoutDescriptor& dst, const LayoutDescriptor& src, std::size_t element_bytes) {
  require_equal_shapes(dst, src);
  CopyPieces pieces;
  if (element_count(dst) == 0) return pieces;
  const auto bytes = static_cast<index_t>(element_bytes);
  const auto is_run = [](const LayoutDescriptor& layout) {
    return layout.rank == 1 && layout.tile_log2 < 0 && layout.stride[0] == 1;
  };
  if (dst.offset != nullptr || src.offset != nullptr) {
    pieces.push_back({.kind = CopyKind::ElementWise, .run_bytes = bytes});
  } else if (dst.rank == 0) {
    pieces.push_back({.dst_offset = dst.shift * bytes, .src_offset = src.shift * bytes, .run_bytes = bytes});
  } else if (is_run(dst) && is_run(src)) {  // as most are: there is nothing to cut and to normalise
    CopyPiece& run = pieces.add();
    run.dst_offset = dst.shift * bytes;
    run.src_offset = src.shift * bytes;
    run.run_bytes = dst.extent[0] * bytes;
  } else {
    LeadingCutter(dst, src, bytes, pieces).cut(0, dst.extent[0]);
  }
  return pieces;
}

CopyPieces plan_fill(const LayoutDescriptor& dst, std::size_t element_bytes) {
  CopyPieces pieces = plan_copy(dst, dst, element_bytes);
  for (CopyPiece& piece : pieces) {
    piece.src_offset = 0;
    std::fill(piece.src_stride, piece.src_stride + piece.rank, 0);
  }
  return pieces;
}

index_t bytes_of(const CopyPiece& piece) {
  index_t bytes = piece.run_bytes;
  for (int r = 0; r < piece.rank; ++r) bytes *= piece.extent[r];
  return bytes;
}

bool copies_onto_itself(std::span<const CopyPiece> pieces, index_t distance) {
  return std::all_of(pieces.begin(), pieces.end(), [&](const CopyPiece& p) {
    return p.dst_offset + distance == p.src_offset &&
           std::equal(p.dst_stride, p.dst_stride + p.rank, p.src_stride);
  });
}

bool sides_overlap(std::span<const CopyPiece> pieces, index_t distance) {
  for (const CopyPiece& dst : pieces)
    for (const CopyPiece& src : pieces)
      if (Reachable(dst, src).from(distance + dst.dst_offset - src.src_offset)) return true;
  return false;
}

}  // namespace strata::inline STRATA_ABI::detail
