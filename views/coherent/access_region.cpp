#include <algorithm>
#include <string>

#include <strata/core/error.hpp>
#include <strata/views/coherent/access_region.hpp>

namespace strata::inline STRATA_ABI::detail {

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
