// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include <strata/core/error.hpp>
#include <strata/views/coherent/access_region.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// The beginning of the region, as it is written: "halo(1, 2" or "halo({1, 2}, {1, 2}".
std::string text_of(std::span<const Neighbours> halo) {
  const auto numbers = [&](index_t Neighbours::*side) {
    std::string text;
    for (const Neighbours& one : halo) text += (text.empty() ? "" : ", ") + std::to_string(one.*side);
    return halo.size() > 1 ? "{" + text + "}" : text;
  };
  return "halo(" + numbers(&Neighbours::left) + ", " + numbers(&Neighbours::right);
}
std::string in_dimension(std::size_t d) { return " in dimension " + std::to_string(d); }
[[noreturn]] void fail_region(const std::string& region, const std::string& where) {
  throw ShapeMismatch(region + "): the numbers of neighbours before and after" + where +
                      " must be from 0 to 2^47; declare `everything` where a work item touches everything, "
                      "rows(f) where it touches rows elsewhere");
}

}  // namespace

void fail_neighbours(const char* name, index_t left, index_t right) {
  fail_region(std::string(name) + "(" + std::to_string(left) + ", " + std::to_string(right), "");
}
void fail_neighbours(const Neighbours* neighbours, int dimensions, int d) {
  const std::span halo(neighbours, static_cast<std::size_t>(dimensions));
  fail_region(text_of(halo), halo.size() > 1 ? in_dimension(static_cast<std::size_t>(d)) : "");
}

static_assert(std::is_nothrow_move_constructible_v<ArrayPart>);  // else vectors that grow copy them

void ArrayPart::add(const Box& box) {
  if (box.empty()) return;
  if (first.empty() || (first.rank() == 0 && box.rank() != 0)) first = box;
  else more.push_back(box);
}

bool overlap(const ArrayPart& a, const ArrayPart& b) {
  bool found = false;
  a.visit([&](const Box& x) { b.visit([&](const Box& y) { found = found || overlap(x, y); }); });
  return found;
}

ResidentRows cover(ResidentRows a, ResidentRows b) {
  if (a.begin >= a.end) return b;
  if (b.begin >= b.end) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

ResidentRows with_neighbours(ResidentRows work, index_t left, index_t right) {
  ResidentRows rows;
  if (__builtin_sub_overflow(work.begin, left, &rows.begin)) rows.begin = std::numeric_limits<index_t>::min();
  if (__builtin_add_overflow(work.end, right, &rows.end)) rows.end = std::numeric_limits<index_t>::max();
  return rows;
}

namespace {

void check_edges_of(std::span<const Neighbours> halo, const Box& domain, bool is_cyclic, const char* label) {
  const auto fail = [&](const std::string& why) {
    throw ShapeMismatch(text_of(halo) + ", edge::" + (is_cyclic ? "cyclic" : "duplicate") +
                        ") was declared of the array \"" + label + "\", which is " + to_string(domain) + why);
  };
  if (domain.empty())
    fail(": it has no element to be seen outside of it; launch over no work items, or declare edge::pad");
  if (!is_cyclic) return;
  for (std::size_t d = 0; d < halo.size(); ++d) {
    const index_t n = domain.rank() == 0 ? 1 : domain.extent(static_cast<int>(d));
    if (halo[d].left > n || halo[d].right > n)
      fail(": its other end is seen once only; declare at most " + std::to_string(n) + " neighbours" +
           (halo.size() > 1 ? in_dimension(d) : ""));
  }
}

// The indices of one dimension of an array that are read for wanted ones.
struct Pieces {
  ResidentRows piece[3];
  int count = 0;

  void add(index_t begin, index_t end) {
    if (begin < end) piece[count++] = {begin, end};
  }
};
Pieces pieces_of(index_t lower, index_t upper, ResidentRows wanted, EdgeKind edges) {
  Pieces pieces;
  const auto add = [&](index_t begin, index_t end) {
    pieces.add(std::max(begin, lower), std::min(end, upper));
  };
  if (lower >= upper) return pieces;
  const index_t n = upper - lower;
  const auto width = static_cast<std::uint64_t>(wanted.end) - static_cast<std::uint64_t>(wanted.begin);
  switch (edges) {
    case EdgeKind::None:
      add(wanted.begin, wanted.end);
      break;
    case EdgeKind::Duplicate:  // work items beyond the array read its last index, too
      add(std::min(wanted.begin, upper - 1), std::max(wanted.end, lower + 1));
      break;
    case EdgeKind::Cyclic:
      if (width >= static_cast<std::uint64_t>(n)) {
        add(lower, upper);
        break;
      }
      add(wanted.begin, wanted.end);
      if (wanted.begin < lower) add(wanted.begin + n, wanted.end + n);
      if (wanted.end > upper) add(wanted.begin - n, wanted.end - n);
  }
  return pieces;
}

// Adds the boxes of all combinations of pieces, in the dimensions from `d` on.
void add_boxes(ArrayPart& part, const Box& box, std::span<const Pieces> pieces, int d) {
  if (d == static_cast<int>(pieces.size())) return part.add(box);
  const Pieces& here = pieces[static_cast<std::size_t>(d)];
  for (int k = 0; k < here.count; ++k)
    add_boxes(part, box.with_bounds(d, here.piece[k].begin, here.piece[k].end), pieces, d + 1);
}

}  // namespace

void check_edges(const Box& domain, index_t left, index_t right, bool is_cyclic, const char* label) {
  const Neighbours rows{left, right};
  check_edges_of({&rows, 1}, domain, is_cyclic, label);
}

void check_rows(ResidentRows rows, ResidentRows work, const char* label) {
  if (rows.begin <= rows.end) return;
  const auto text = [](ResidentRows r) {
    return "[" + std::to_string(r.begin) + ", " + std::to_string(r.end) + ")";
  };
  throw ShapeMismatch("rows(f) of the array \"" + std::string(label) + "\": for the work items " +
                      text(work) + " f returned " + text(rows) +
                      ", which ends before it begins; return the same number twice for no rows");
}

ArrayPart part_of_rows(const Box& domain, int d, index_t begin, index_t end) {
  ArrayPart part{domain, {}};
  if (domain.rank() == 0) {
    if (begin >= end) part.first = Box::none(1);
    return part;
  }
  if (d >= domain.rank())
    throw ShapeMismatch("a region of columns was declared for an array of rank " +
                        std::to_string(domain.rank()) + ": columns are its index 1");
  part.first = domain.with_bounds(d, std::max(begin, domain.lower(d)), std::min(end, domain.upper(d)));
  return part;
}

ArrayPart part_of_halo(const Box& domain, const ResidentRows* items, int cuts, const Neighbours* all,
                       int dimensions, EdgeKind edges, const char* label) {
  const std::span work(items, static_cast<std::size_t>(cuts));
  const std::span neighbours(all, static_cast<std::size_t>(dimensions));
  if (dimensions > 1 && dimensions > domain.rank())
    throw ShapeMismatch("a halo of " + std::to_string(dimensions) +
                        " dimensions was declared of the array \"" + label + "\", which is " +
                        to_string(domain) + "; give a number for each of its dimensions at most");
  check_neighbours(all, dimensions);
  const auto is_empty = [](ResidentRows rows) { return rows.begin >= rows.end; };
  if (std::any_of(work.begin(), work.end(), is_empty)) return {Box::none(std::max(domain.rank(), 1)), {}};
  if (edges != EdgeKind::None) check_edges_of(neighbours, domain, edges == EdgeKind::Cyclic, label);
  if (domain.rank() == 0) return {domain, {}};
  Pieces pieces[max_rank];
  const std::size_t cut = std::min(neighbours.size(), work.size());
  for (std::size_t d = 0; d < cut; ++d) {
    const ResidentRows wanted = with_neighbours(work[d], neighbours[d].left, neighbours[d].right);
    pieces[d] =
        pieces_of(domain.lower(static_cast<int>(d)), domain.upper(static_cast<int>(d)), wanted, edges);
  }
  ArrayPart part{Box::none(domain.rank()), {}};
  add_boxes(part, domain, {pieces, cut}, 0);
  return part;
}

ArrayPart part_of(Own, const Box& domain, ResidentRows work, const char*) {
  return part_of_rows(domain, 0, work.begin, work.end);
}
ArrayPart part_of(OwnElement, const Box& domain, ResidentRows work, const char*) {
  return part_of_rows(domain, 0, work.begin, work.end);
}
ArrayPart part_of(Columns c, const Box& domain, ResidentRows work, const char*) {
  check_neighbours("columns", c.left, c.right);
  const ResidentRows wanted = with_neighbours(work, c.left, c.right);
  return part_of_rows(domain, 1, wanted.begin, wanted.end);
}
ArrayPart part_of(Everything, const Box& domain, ResidentRows, const char*) { return {domain, {}}; }
ArrayPart part_of(const Fixed& f, const Box& domain, ResidentRows, const char* label) {
  return part_of_box(domain, f.box, label);
}

ArrayPart part_of_elements(const Box& domain, const ResidentRows* work, int cuts) {
  ArrayPart part{domain, {}};
  for (int r = 0; r < cuts; ++r) {
    if (work[r].begin >= work[r].end) return part_of_rows(domain, 0, 0, 0);
    if (r < domain.rank())
      part.first = part.first.with_bounds(r, std::max(work[r].begin, domain.lower(r)),
                                          std::min(work[r].end, domain.upper(r)));
  }
  return part;
}

ArrayPart part_of_box(const Box& domain, const Box& box, const char* label, const char* what) {
  if (box.rank() != domain.rank() || !domain.contains(box))
    throw ShapeMismatch(what + (": " + to_string(box)) + " does not lie in the array \"" + label +
                        "\", which is " + to_string(domain));
  return {box, {}};
}

}  // namespace strata::inline STRATA_ABI::detail
