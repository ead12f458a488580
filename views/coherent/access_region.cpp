// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>

#include <strata/core/error.hpp>
#include <strata/views/coherent/access_region.hpp>

namespace strata::inline STRATA_ABI::detail {

void fail_neighbours(const char* name, index_t left, index_t right) {
  throw ShapeMismatch(
      std::string(name) + "(" + std::to_string(left) + ", " + std::to_string(right) +
      "): the numbers of neighbours before and after must be from 0 to 2^47; declare `everything` "
      "where a work item touches everything, rows(f) where it touches rows elsewhere");
}

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

void check_edges(const Box& domain, index_t left, index_t right, bool is_cyclic, const char* label) {
  const auto fail = [&](const std::string& why) {
    throw ShapeMismatch("halo(" + std::to_string(left) + ", " + std::to_string(right) +
                        ", edge::" + (is_cyclic ? "cyclic" : "duplicate") + ") was declared of the array \"" +
                        label + "\", which is " + to_string(domain) + why);
  };
  if (domain.empty())
    fail(": it has no element to be seen outside of it; launch over no work items, or declare edge::pad");
  const index_t n = domain.rank() == 0 ? 1 : domain.extent(0);
  if (is_cyclic && (left > n || right > n))
    fail(": its other end is seen once only; declare at most " + std::to_string(n) + " neighbours");
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

ArrayPart cyclic_part_of_rows(const Box& domain, index_t begin, index_t end) {
  if (domain.rank() == 0 || domain.empty() || begin >= end) return part_of_rows(domain, 0, begin, end);
  const index_t n = domain.extent(0);
  if (end - begin >= n) return {domain, {}};
  ArrayPart part = part_of_rows(domain, 0, begin, end);
  if (begin < 0) part.add(domain.with_bounds(0, begin + n, n));
  if (end > n) part.add(domain.with_bounds(0, 0, end - n));
  return part;
}

ArrayPart part_of_box(const Box& domain, const Box& box, const char* label) {
  if (box.rank() != domain.rank() || !domain.contains(box))
    throw ShapeMismatch("the region " + to_string(box) + " was declared of the array \"" +
                        std::string(label) + "\", which is " + to_string(domain) +
                        "; give a box that lies in it");
  return {box, {}};
}

}  // namespace strata::inline STRATA_ABI::detail
