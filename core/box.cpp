// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>

#include <strata/core/box.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

namespace {

[[noreturn]] void fail_ranks(const char* what, const Box& a, const Box& b) {
  throw ShapeMismatch(std::string(what) + ": " + to_string(a) + " has rank " + std::to_string(a.rank()) +
                      ", " + to_string(b) + " has rank " + std::to_string(b.rank()) +
                      "; use boxes of arrays of one rank");
}

void need_same_rank(const char* what, const Box& a, const Box& b) {
  if (a.rank() != b.rank()) [[unlikely]]
    fail_ranks(what, a, b);
}

void need_rank(std::size_t rank, std::size_t smallest) {
  if (rank < smallest || rank > static_cast<std::size_t>(max_rank))
    throw ExtentError("a box of rank " + std::to_string(static_cast<long long>(rank)) +
                      " was asked for; the rank must be from " + std::to_string(smallest) + " to " +
                      std::to_string(max_rank));
}

void need_extent(int r, index_t lower, index_t upper) {
  index_t extent;
  if (__builtin_sub_overflow(upper, lower, &extent) && lower < upper)
    throw ExtentError("the extent of [" + std::to_string(lower) + ", " + std::to_string(upper) +
                      ") in dimension " + std::to_string(r) +
                      " of a box overflows the 64-bit index type; use closer bounds");
}

// Appends the pieces of `rest`, which is not empty, outside `b` to `pieces`.
void append_remainder(Box rest, const Box& b, std::vector<Box>& pieces) {
  const Box common = intersect(rest, b);
  if (common.empty()) {
    pieces.push_back(rest);
    return;
  }
  for (int d = 0; d < rest.rank(); ++d) {
    if (rest.lower(d) < common.lower(d))
      pieces.push_back(rest.with_bounds(d, rest.lower(d), common.lower(d)));
    if (common.upper(d) < rest.upper(d))
      pieces.push_back(rest.with_bounds(d, common.upper(d), rest.upper(d)));
    rest = rest.with_bounds(d, common.lower(d), common.upper(d));
  }
}

// -1, 0 or 1: the order of the bounds of `a` and `b` in dimension `d`.
int compare_bounds(const Box& a, const Box& b, int d) {
  if (a.lower(d) != b.lower(d)) return a.lower(d) < b.lower(d) ? -1 : 1;
  if (a.upper(d) != b.upper(d)) return a.upper(d) < b.upper(d) ? -1 : 1;
  return 0;
}

int compare_bounds_but(const Box& a, const Box& b, int but) {
  for (int r = 0; r < a.rank(); ++r)
    if (const int order = r == but ? 0 : compare_bounds(a, b, r)) return order;
  return 0;
}

// Sorting brings the boxes that differ in dimension `d` alone side by side, in the order of their lower
// bounds, so that one pass merges whole rows of them. Returns whether any were merged.
bool merge_along(std::vector<Box>& boxes, int d) {
  std::sort(boxes.begin(), boxes.end(), [d](const Box& a, const Box& b) {
    const int order = compare_bounds_but(a, b, d);
    return order != 0 ? order < 0 : compare_bounds(a, b, d) < 0;
  });
  std::size_t last = 0;
  for (std::size_t i = 1; i < boxes.size(); ++i) {
    Box& row = boxes[last];
    const Box& next = boxes[i];
    if (next.lower(d) <= row.upper(d) && compare_bounds_but(row, next, d) == 0)
      row = row.with_bounds(d, row.lower(d), std::max(row.upper(d), next.upper(d)));
    else if (++last != i) boxes[last] = next;
  }
  const bool merged = last + 1 < boxes.size();
  boxes.resize(last + 1);
  return merged;
}

}  // namespace

Box::Box(std::span<const index_t> lower, std::span<const index_t> upper) : Box() {
  if (lower.size() != upper.size())
    throw ShapeMismatch("a box was given " + std::to_string(lower.size()) + " lower and " +
                        std::to_string(upper.size()) + " upper bounds; give one of each for every dimension");
  need_rank(lower.size(), 0);
  rank_ = static_cast<int>(lower.size());
  for (int r = 0; r < rank_; ++r) {
    need_extent(r, lower[r], upper[r]);
    if (upper[r] <= lower[r]) {
      *this = none(rank_);
      return;
    }
    bounds_[r] = {lower[r], upper[r]};
  }
}

Box::Box(std::initializer_list<index_t> lower, std::initializer_list<index_t> upper)
    : Box(std::span(lower.begin(), lower.size()), std::span(upper.begin(), upper.size())) {}

Box Box::from_extents(std::initializer_list<index_t> extents) {
  return from_extents(std::span(extents.begin(), extents.size()));
}
Box Box::from_extents(std::span<const index_t> extents) {
  for (std::size_t r = 0; r < extents.size(); ++r)
    if (extents[r] < 0)
      throw ExtentError("extent " + std::to_string(r) + " of a box is " + std::to_string(extents[r]) +
                        "; an extent must not be negative");
  need_rank(extents.size(), 0);
  const index_t zeros[max_rank] = {};
  return Box(std::span(zeros, extents.size()), extents);
}

Box Box::none(int rank) {
  need_rank(static_cast<std::size_t>(rank), 1);
  Box box;
  box.rank_ = rank;
  for (int r = 0; r < rank; ++r) box.bounds_[r] = {0, 0};
  return box;
}

index_t Box::size() const {
  if (empty()) return 0;
  index_t product = 1;
  for (int r = 0; r < rank_; ++r)
    if (__builtin_mul_overflow(product, extent(r), &product))
      throw ExtentError("the box " + to_string(*this) +
                        " has more points than the 64-bit index type can count; use smaller extents");
  return product;
}

bool Box::contains(const Box& part) const {
  need_same_rank("whether one box contains another", *this, part);
  if (part.empty()) return true;
  for (int r = 0; r < rank_; ++r)
    if (part.lower(r) < lower(r) || part.upper(r) > upper(r)) return false;
  return true;
}

bool Box::contains(std::initializer_list<index_t> point) const {
  return contains(std::span(point.begin(), point.size()));
}
bool Box::contains(std::span<const index_t> point) const {
  if (point.size() != static_cast<std::size_t>(rank_))
    throw ShapeMismatch("whether " + to_string(*this) + " contains a point: the point has " +
                        std::to_string(point.size()) + " indices; give " + std::to_string(rank_) +
                        ", one for every dimension");
  for (int r = 0; r < rank_; ++r)
    if (point[r] < lower(r) || point[r] >= upper(r)) return false;
  return true;
}

Box Box::with_bounds(int r, index_t lower, index_t upper) const {
  need_extent(r, lower, upper);
  if (empty()) return *this;
  if (upper <= lower) return none(rank_);
  Box box = *this;
  box.bounds_[r] = {lower, upper};
  return box;
}

bool overlap(const Box& a, const Box& b) {
  need_same_rank("the overlap of two boxes", a, b);
  for (int r = 0; r < a.rank(); ++r)
    if (std::max(a.lower(r), b.lower(r)) >= std::min(a.upper(r), b.upper(r))) return false;
  return true;
}

Box intersect(const Box& a, const Box& b) {
  need_same_rank("the intersection of two boxes", a, b);
  index_t lower[max_rank];
  index_t upper[max_rank];
  for (int r = 0; r < a.rank(); ++r) {
    lower[r] = std::max(a.lower(r), b.lower(r));
    upper[r] = std::min(a.upper(r), b.upper(r));
  }
  const auto rank = static_cast<std::size_t>(a.rank());
  return Box(std::span<const index_t>(lower, rank), std::span<const index_t>(upper, rank));
}

std::vector<Box> intersect(std::span<const Box> region, const Box& b) {
  std::vector<Box> common;
  for (const Box& a : region)
    if (const Box part = intersect(a, b); !part.empty()) common.push_back(part);
  return common;
}

Box cover(const Box& a, const Box& b) {
  need_same_rank("the cover of two boxes", a, b);
  if (a.empty()) return b;
  if (b.empty()) return a;
  Box both = a;
  for (int r = 0; r < a.rank(); ++r)
    both = both.with_bounds(r, std::min(a.lower(r), b.lower(r)), std::max(a.upper(r), b.upper(r)));
  return both;
}

std::vector<Box> remainder(const Box& a, const Box& b) {
  return remainder(std::span(&a, 1), std::span(&b, 1));
}

std::vector<Box> remainder(const Box& a, std::span<const Box> bs) { return remainder(std::span(&a, 1), bs); }

std::vector<Box> remainder(std::span<const Box> region, const Box& b) {
  return remainder(region, std::span(&b, 1));
}

std::vector<Box> remainder(std::span<const Box> region, std::span<const Box> bs) {
  if (region.empty()) return {};
  for (const Box& a : region) need_same_rank("the remainder of a region", region.front(), a);
  for (const Box& b : bs) need_same_rank("the remainder of boxes", region.front(), b);

  std::vector<Box> left;
  std::vector<Box> pieces;
  std::copy_if(region.begin(), region.end(), std::back_inserter(left),
               [](const Box& a) { return !a.empty(); });
  for (const Box& b : bs) {
    pieces.clear();
    for (const Box& a : left) append_remainder(a, b, pieces);
    left.swap(pieces);
  }
  return left;
}

void merge(std::vector<Box>& boxes) {
  for (const Box& box : boxes) need_same_rank("merging boxes", boxes.front(), box);
  std::erase_if(boxes, [](const Box& box) { return box.empty(); });
  if (boxes.empty()) return;
  const int rank = boxes.front().rank();
  if (rank == 0) boxes.resize(1);

  // A dimension need be tried again only after a merge in another: `rank` idle passes in a row are the end.
  int idle = 0;
  for (int d = rank - 1; boxes.size() > 1 && idle < rank; d = d == 0 ? rank - 1 : d - 1)
    idle = merge_along(boxes, d) ? 1 : idle + 1;

  std::sort(boxes.begin(), boxes.end(), [rank](const Box& a, const Box& b) {
    for (int r = 0; r < rank; ++r)
      if (a.lower(r) != b.lower(r)) return a.lower(r) < b.lower(r);
    return compare_bounds_but(a, b, -1) < 0;
  });
}

index_t total_size(std::span<const Box> region) {
  index_t sum = 0;
  for (const Box& box : region)
    if (__builtin_add_overflow(sum, box.size(), &sum))
      throw ExtentError("a region of " + std::to_string(region.size()) +
                        " boxes has more points than the 64-bit index type can count; use smaller extents");
  return sum;
}

std::string to_string(const Box& box) {
  if (box.rank() == 0) return "the point of rank 0";
  if (box.empty()) return "an empty box of rank " + std::to_string(box.rank());
  std::string text;
  for (int r = 0; r < box.rank(); ++r)
    text += (r > 0 ? " x [" : "[") + std::to_string(box.lower(r)) + ", " + std::to_string(box.upper(r)) + ")";
  return text;
}

std::ostream& operator<<(std::ostream& out, const Box& box) { return out << to_string(box); }

}  // namespace strata::inline STRATA_ABI
