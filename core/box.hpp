// Boxes: N-dimensional half-open index regions, and the set algebra for planning copies of parts of arrays.
//
// A Box is a value of rank 0 to 8; a region is a vector of boxes that share no point. Which part of an array
// is current in a memory, is missing there, or must be copied, is always a region: `remainder` gives the
// missing part, `intersect` the part that another memory has, `remainder` also the part that a write leaves
// current elsewhere, and `merge` keeps regions short. Pure values: no allocation in a Box, no locks;
// concurrent reads are safe. For planning on the host, not for kernels: the functions are compiled once, in
// box.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <iosfwd>  // declares std::ostream and, in libstdc++ and libc++, std::string
#include <span>
#include <type_traits>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// A half-open region of indices: `lower(r) <= i_r < upper(r)` in every dimension `r`. A box of rank 0 is one
/// point. There is one empty box of each rank, with all bounds 0, so that equal sets are equal boxes. Every
/// extent fits index_t; the number of points may not: then only `size` throws.
class Box {
 public:
  /// The one point of rank 0.
  constexpr Box() noexcept {
    bounds_[0] = {0, 0};
    if (std::is_constant_evaluated())  // which knows no bounds that nobody has set
      for (Bounds& bounds : bounds_) bounds = {0, 0};
  }
  constexpr Box(const Box& other) noexcept : Box() { copy(other); }
  constexpr Box& operator=(const Box& other) noexcept {
    copy(other);
    return *this;
  }

  /// The region [lower, upper); empty where an upper bound is not above the lower one. ShapeMismatch when the
  /// lists differ in length; ExtentError beyond 8 dimensions, or when an extent overflows index_t.
  Box(std::span<const index_t> lower, std::span<const index_t> upper);
  Box(std::initializer_list<index_t> lower, std::initializer_list<index_t> upper);

  /// All indices of an array with these extents: lower bounds 0. ExtentError when an extent is negative.
  static Box from_extents(std::span<const index_t> extents);
  static Box from_extents(std::initializer_list<index_t> extents);

  /// The empty box of a rank from 1 to 8; ExtentError for other ranks.
  static Box none(int rank);

  /// The number of dimensions.
  constexpr int rank() const { return rank_; }
  /// The first index of dimension `r`, 0 <= r < rank(); 0 for dimension 0 of the point of rank 0.
  constexpr index_t lower(int r) const { return bounds_[r].lower; }
  /// One past the last index of dimension `r`, 0 <= r < rank(); 0 for dimension 0 of the point of rank 0.
  constexpr index_t upper(int r) const { return bounds_[r].upper; }
  /// The number of indices of dimension `r`, 0 <= r < rank().
  constexpr index_t extent(int r) const { return bounds_[r].upper - bounds_[r].lower; }
  /// True when no point lies in the box; never for rank 0.
  constexpr bool empty() const { return rank_ > 0 && extent(0) == 0; }
  /// The number of points; ExtentError when it overflows index_t.
  index_t size() const;

  /// True when every point of `part` lies in this box, as it does for an empty one. ShapeMismatch when the
  /// ranks differ.
  bool contains(const Box& part) const;
  /// True when the point lies in this box; ShapeMismatch unless it has one index a dimension.
  bool contains(std::span<const index_t> point) const;
  bool contains(std::initializer_list<index_t> point) const;

  /// This box with dimension `r` (0 <= r < rank()) replaced by [lower, upper): how halos, shifts and slices
  /// are made. An empty box stays empty. ExtentError when the extent overflows index_t.
  Box with_bounds(int r, index_t lower, index_t upper) const;

  friend constexpr bool operator==(const Box& a, const Box& b) {
    if (a.rank_ != b.rank_) return false;
    for (int r = 0; r < a.rank_; ++r)
      if (a.lower(r) != b.lower(r) || a.upper(r) != b.upper(r)) return false;
    return true;
  }

 private:
  struct Bounds {
    index_t lower, upper;
  };
  // The bounds that there are: launches copy boxes of one dimension many times.
  constexpr void copy(const Box& other) noexcept {
    rank_ = other.rank_;
    bounds_[0] = other.bounds_[0];
    for (int r = 1; r < rank_; ++r) bounds_[r] = other.bounds_[r];
  }

  // Set for dimension 0, and for those that there are.
  Bounds bounds_[max_rank];
  int rank_ = 0;
};

/// True when some point lies in both boxes. Like all that follow: ShapeMismatch when ranks differ.
bool overlap(const Box& a, const Box& b);

/// The points that lie in both boxes.
Box intersect(const Box& a, const Box& b);
/// The points of a region that lie in `b`: at most one box for each of the region's, in their order.
std::vector<Box> intersect(std::span<const Box> region, const Box& b);

/// The smallest box that contains both; ExtentError when an extent of it overflows index_t.
Box cover(const Box& a, const Box& b);

/// The points of `a` outside `b`, in at most 2*rank boxes that share no point. The left-most (slowest)
/// dimension is cut first, so that pieces keep the full length of `a` in the right-most dimensions: few,
/// long, contiguous runs.
std::vector<Box> remainder(const Box& a, const Box& b);
/// The points of `a` outside all of `bs`, which may overlap each other.
std::vector<Box> remainder(const Box& a, std::span<const Box> bs);
/// The points of a region outside `b`. Boxes that `b` does not touch stay whole.
std::vector<Box> remainder(std::span<const Box> region, const Box& b);
/// The points of a region outside all of `bs`, which may overlap each other.
std::vector<Box> remainder(std::span<const Box> region, std::span<const Box> bs);

/// Merges boxes that are equal in all dimensions but one and adjacent (or overlapping) in that one,
/// right-most dimension first, until no two can be merged; drops empty boxes and sorts by lower corner,
/// left-most dimension first. The points stay the same. A round costs rank * n log n; grids, in whole or in
/// pieces, need two or three.
void merge(std::vector<Box>& boxes);

/// The number of points of a region (points in several boxes count several times); ExtentError on overflow.
index_t total_size(std::span<const Box> region);

/// For messages: "[0, 4) x [2, 8)", "an empty box of rank 2", "the point of rank 0".
std::string to_string(const Box& box);
std::ostream& operator<<(std::ostream& out, const Box& box);

}  // namespace strata::inline STRATA_ABI
