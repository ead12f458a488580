// Views of launches over a grid, in checked builds: an access beyond the columns that a device's box declared
// of an array is OutOfBounds, as one beyond its rows is (DeclaredView).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/bound_views.hpp>
#include <strata/algorithms/coherent_access.hpp>
#include <strata/algorithms/grid/grid_regions.hpp>
#include <strata/core/check.hpp>

namespace strata::inline STRATA_ABI::detail {

// The indices that a box declared of an array, in the dimensions after the first.
template <int Cuts>
struct DeclaredColumns {
  ResidentRows of[Cuts - 1];
};
static_assert(most_cuts - 1 <= BadAccess::most_columns);

// A view with those. Subviews have all columns.
template <class V, int Cuts>
struct ColumnView : V {
  using unmanaged_type = ColumnView;
  DeclaredColumns<Cuts> columns;
  STRATA_FUNCTION ColumnView(const V& view, const DeclaredColumns<Cuts>& declared)
      : V(view), columns(declared) {}

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
      found.begin[r] = this->begin(r);
      found.end[r] = this->end(r);
    }
    found.resident_begin = found.begin[0];
    found.resident_end = found.end[0];
    found.is_read = std::is_const_v<typename V::element_type>;
    for (int d = 1; d < Cuts && d < this->rank(); ++d) {
      found.columns_begin[d - 1] = columns.of[d - 1].begin;
      found.columns_end[d - 1] = columns.of[d - 1].end;
      found.columns = d;
    }
#if defined(__CUDA_ARCH__)
    report_bad_access_on_device(found);
#else
    report_bad_access(found);
#endif
  }
};
// The same of a view that shows a work item the rows that it declared.
template <class V, int Cuts>
struct DeclaredColumnView : V {
  using unmanaged_type = ColumnView<typename V::unmanaged_type, Cuts>;
  DeclaredColumns<Cuts> columns;
  DeclaredColumnView(const V& view, const DeclaredColumns<Cuts>& declared) : V(view), columns(declared) {}

  STRATA_FUNCTION unmanaged_type for_item(index_t i) const { return {V::for_item(i), columns}; }
};

// An access whose columns are known.
template <class Resolved, int Cuts>
struct ColumnAccess : Resolved {
  DeclaredColumns<Cuts> columns;
};
template <class Resolved, int Cuts>
auto view_to_bind(const ColumnAccess<Resolved, Cuts>& access) {
  const auto view = view_to_bind(static_cast<const Resolved&>(access));
  using V = std::remove_const_t<decltype(view)>;
  if constexpr (declares_items<V>) return DeclaredColumnView<V, Cuts>(view, access.columns);
  else return ColumnView<V, Cuts>(view, access.columns);
}

// What bind_kernel takes for an access of a device whose work is `items`: in checked builds with the columns
// that it declares; of several boxes, as rings have them, and with edges, where indices are others, as it is.
template <int Cuts, class Resolved, class Access>
auto with_columns(const Resolved& resolved, [[maybe_unused]] const Access& access,
                  [[maybe_unused]] const GridItems& items) {
  if constexpr (checked_build && Access::array_type::rank > 1 && !has_edges<typename Access::region_type>) {
    const Box box = region_of_items(access, items).first;
    ColumnAccess<Resolved, Cuts> known{resolved, {}};
    for (int d = 1; d < Cuts && d < box.rank(); ++d) known.columns.of[d - 1] = {box.lower(d), box.upper(d)};
    return known;
  } else {
    return resolved;
  }
}

}  // namespace strata::inline STRATA_ABI::detail
