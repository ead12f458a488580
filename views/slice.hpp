// Slices: views of some rows of an array that accept the *global* row index. Streaming and partial copies
// pass them to kernels: the memory holds only rows [begin, end), which makes no difference to the kernel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

/// New storage on a device for rows [rows.begin, rows.end) of an array of the shape `extents`; indices are
/// global, extent(0) is the array's. Options as for create. The layout must be one of the library's, or have
/// a constructor from extents and resident rows. Throws LayoutError where the rows are not rows of the array.
template <AnyView V, class... Options>
[[nodiscard]] V create_slice(const char* label, const typename V::extents_type& extents, ResidentRows rows,
                             const Options&... options) {
  static_assert(SliceableMapping<typename V::mapping_type>,
                "strata: create_slice: the layout has no mapping from extents and resident rows");
  if (rows.begin < 0 || rows.end < rows.begin || rows.end > extents.extent(0))
    detail::fail_layout("create_slice: the rows are not rows of the array (first, last)", rows.begin,
                        rows.end);
  detail::CreateOptions<typename V::device_type> chosen{};
  (chosen.set(options), ...);
  const typename V::mapping_type mapping(extents, rows);
  return detail::create_with<V>(label, mapping, mapping.span_size(rows), chosen);
}

namespace detail {

// OutOfBounds unless the array has these rows, and in checked builds holds them. All builds refuse what
// leaves the allocation (copy_side).
template <class V>
void check_rows(const V& view, ResidentRows rows) {
  bool good = rows.begin >= 0 && rows.begin <= rows.end && rows.end <= view.extent(0);
  if constexpr (requires { view.mapping().resident(); })  // in checked builds
    if constexpr (!HasIndexRanges<typename V::mapping_type>)
      good = good && (rows.begin == rows.end || (rows.begin >= view.mapping().resident().begin &&
                                                 rows.end <= view.mapping().resident().end));
  if (!good) fail_rows(view.label(), rows, view.extent(0));
}

// The description of rows [rows.begin, rows.end) alone.
inline LayoutDescriptor describe_rows(LayoutDescriptor d, ResidentRows rows) {
  if (d.tile_log2 >= 0) d.phase += rows.begin;
  else d.shift += rows.begin * d.stride[0];
  d.extent[0] = rows.end - rows.begin;
  return d;
}

}  // namespace detail

/// Copies rows [rows.begin, rows.end), global indices, between two arrays of the same shape, either of which
/// may be a slice that holds them. Ordering and errors as deep_copy; OutOfBounds where an array does not hold
/// the rows.
template <AnyView D, AnyView S>
void deep_copy_rows(const D& destination, const S& source, ResidentRows rows) {
  detail::check_copy_types<D, S>();
  static_assert(
      requires {
        destination.mapping().describe();
        source.mapping().describe();
      },
      "strata: deep_copy_rows: both layouts must describe their strides");
  detail::check_rows(destination, rows);
  detail::check_rows(source, rows);
  const LayoutDescriptor to = detail::describe_rows(destination.mapping().describe(), rows);
  const LayoutDescriptor from = detail::describe_rows(source.mapping().describe(), rows);
  detail::copy_arrays(detail::copy_side(destination, to), detail::copy_side(source, from),
                      sizeof(typename D::value_type), nullptr);
}

}  // namespace strata::inline STRATA_ABI
