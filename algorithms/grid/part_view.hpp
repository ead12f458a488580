// Views of a part of a grid, in checked builds: an access beyond the columns that the part declared is
// OutOfBounds, as one beyond its rows is (DeclaredView).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/bound_views.hpp>
#include <strata/algorithms/coherent_access.hpp>
#include <strata/algorithms/grid/grid_regions.hpp>
#include <strata/core/check.hpp>

namespace strata::inline STRATA_ABI::detail {

// The indices of the dimensions after the first that a part declared of an array.
template <int Cuts>
struct PartColumns {
  ResidentRows of[Cuts - 1];
};

// A view with those. Subviews have all columns.
template <class V, int Cuts>
struct PartView : V {
  using unmanaged_type = PartView;
  PartColumns<Cuts> columns;
  STRATA_FUNCTION PartView(const V& view, const PartColumns<Cuts>& its_columns)
      : V(view), columns(its_columns) {}

  template <IndexLike... I>
  STRATA_FUNCTION decltype(auto) operator()(I... i) const {
    const index_t index[] = {static_cast<index_t>(i)..., 0};
    bool inside = true;
    for (int d = 1; d < Cuts && d < static_cast<int>(sizeof...(I)); ++d)
      inside = inside && index[d] >= columns.of[d - 1].begin && index[d] < columns.of[d - 1].end;
    if (inside) [[likely]]
      return V::operator()(i...);
    report(index, sizeof...(I));
    return V::operator()((static_cast<void>(i), index_t{-1})...);  // the element that a bad access gets
  }

 private:
  STRATA_FUNCTION void report(const index_t* index, int count) const {
    BadAccess found;
    found.data = this->data();
    found.count = count;
    found.rank = this->rank();
    for (int r = 0; r < count; ++r) found.index[r] = index[r];
    for (int r = 0; r < this->rank(); ++r) {
      const bool is_cut = r > 0 && r < Cuts;
      found.begin[r] = is_cut ? columns.of[r - 1].begin : this->begin(r);
      found.end[r] = is_cut ? columns.of[r - 1].end : this->end(r);
    }
    found.resident_begin = found.begin[0];
    found.resident_end = found.end[0];
#if defined(__CUDA_ARCH__)
    report_bad_access_on_device(found);
#else
    report_bad_access(found);
#endif
  }
};
// The same of a view that shows a work item the rows that it declared.
template <class V, int Cuts>
struct PartOfDeclaredView : V {
  using unmanaged_type = PartView<typename V::unmanaged_type, Cuts>;
  PartColumns<Cuts> columns;
  PartOfDeclaredView(const V& view, const PartColumns<Cuts>& its_columns) : V(view), columns(its_columns) {}

  STRATA_FUNCTION unmanaged_type for_item(index_t i) const { return {V::for_item(i), columns}; }
};

// An access of a part, of which the columns are known.
template <class Resolved, int Cuts>
struct PartAccess : Resolved {
  PartColumns<Cuts> columns;
};
template <class Resolved, int Cuts>
auto view_to_bind(const PartAccess<Resolved, Cuts>& access) {
  const auto view = view_to_bind(static_cast<const Resolved&>(access));
  using V = std::remove_const_t<decltype(view)>;
  if constexpr (declares_items<V>) return PartOfDeclaredView<V, Cuts>(view, access.columns);
  else return PartView<V, Cuts>(view, access.columns);
}

// What bind_kernel takes for an access of a part whose work is `items`: in checked builds with the columns
// that it declares; of several boxes, as rings have them, and with edges, where indices are others, as it is.
template <int Cuts, class Resolved, class Access>
auto part_access(const Resolved& resolved, [[maybe_unused]] const Access& access,
                 [[maybe_unused]] const GridItems& items) {
  if constexpr (checked_build && Access::array_type::rank > 1 && !has_edges<typename Access::region_type>) {
    const Box box = part_of_access(access, items).first;
    PartAccess<Resolved, Cuts> part{resolved, {}};
    for (int d = 1; d < Cuts && d < box.rank(); ++d) part.columns.of[d - 1] = {box.lower(d), box.upper(d)};
    return part;
  } else {
    return resolved;
  }
}

}  // namespace strata::inline STRATA_ABI::detail
