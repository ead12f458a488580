// in, out and inout of coherent arrays: how a launch uses one, and which part of it a work item touches
// (views/coherent/access_region.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/declared_range.hpp>
#include <strata/algorithms/launch.hpp>
#include <strata/views/coherent/coherent_array.hpp>

namespace strata::inline STRATA_ABI {

/// A declared use of a coherent array.
template <AccessMode Mode, class Array, AccessRegion Region>
struct CoherentAccess {
  /// How it is used.
  static constexpr AccessMode mode = Mode;
  using array_type = Array;
  using region_type = Region;
  Array array;    ///< which
  Region region;  ///< which part
  /// Whether no region was given: then the launch refuses a range that does not fit the array.
  bool by_default = false;
};

/// The launch reads what a work item touches: without a region the row of its left-most index, which must be
/// in the array (ShapeMismatch).
template <class T, int Rank, class L>
CoherentAccess<AccessMode::In, BasicCoherentArray<T, Rank, L>, Own> in(
    const BasicCoherentArray<T, Rank, L>& array) {
  return {array, {}, true};
}
template <class T, int Rank, class L, AccessRegion Region>
CoherentAccess<AccessMode::In, BasicCoherentArray<T, Rank, L>, Region> in(
    const BasicCoherentArray<T, Rank, L>& array, const Region& region) {
  return {array, region};
}
/// The launch writes all that a work item touches, and reads none of it. Elements that it does not write are
/// undefined afterwards: declare the array inout where some elements stay as they are. Without a region the
/// launch throws ShapeMismatch where its range, of several dimensions, leaves out indices of the array; with
/// one, such as out(x, own), it does not check that. Checked builds throw NeverWritten for elements of 4
/// bytes and more that no work item wrote, at the next wait.
template <class T, int Rank, class L>
CoherentAccess<AccessMode::Out, BasicCoherentArray<T, Rank, L>, Own> out(
    const BasicCoherentArray<T, Rank, L>& array) {
  return {array, {}, true};
}
template <class T, int Rank, class L, AccessRegion Region>
CoherentAccess<AccessMode::Out, BasicCoherentArray<T, Rank, L>, Region> out(
    const BasicCoherentArray<T, Rank, L>& array, const Region& region) {
  return {array, region};
}
/// The launch reads and writes what a work item touches.
template <class T, int Rank, class L>
CoherentAccess<AccessMode::InOut, BasicCoherentArray<T, Rank, L>, Own> inout(
    const BasicCoherentArray<T, Rank, L>& array) {
  return {array, {}, true};
}
template <class T, int Rank, class L, AccessRegion Region>
CoherentAccess<AccessMode::InOut, BasicCoherentArray<T, Rank, L>, Region> inout(
    const BasicCoherentArray<T, Rank, L>& array, const Region& region) {
  return {array, region};
}

namespace detail {

template <AccessMode Mode, class A, class R>
inline constexpr bool is_coherent_access_v<CoherentAccess<Mode, A, R>> = true;

/// An access of which more is known: of what kind `Mark` is.
template <class Mark, class Access>
struct MarkedAccess : Access {};
template <class Mark, class Access>
inline constexpr bool is_marked_v = false;
template <class Mark, class Access>
inline constexpr bool is_marked_v<Mark, MarkedAccess<Mark, Access>> = true;
template <class Mark, class Access>
inline constexpr bool is_coherent_access_v<MarkedAccess<Mark, Access>> = true;

/// See resident().
struct ResidentMark {};
template <class Access>
using ResidentAccess = MarkedAccess<ResidentMark, Access>;
template <class Access>
inline constexpr bool is_resident_v = is_marked_v<ResidentMark, Access>;

}  // namespace detail

/// The same access, for an array that stays on the device as a whole, outside the budget, while a streamed
/// Sequence passes slices of the others through it. Sequences and launches over on(...) and across(...) treat
/// it as the access itself; other streamed launches and skeletons do not compile with it.
template <AccessMode Mode, class Array, class Region>
detail::ResidentAccess<CoherentAccess<Mode, Array, Region>> resident(
    const CoherentAccess<Mode, Array, Region>& access) {
  return {access};
}

namespace detail {

// A view that also accepts indices outside of the array, as `edge` says. It returns values: there may be no
// element to refer to.
template <class V, class Edge>
struct EdgeView : V {
  using unmanaged_type = EdgeView;
  using reference = typename V::value_type;
  Edge edge;

  EdgeView(const V& view, const Edge& at_edges) : V(view), edge(at_edges) {}

  template <IndexLike... I>
  STRATA_FUNCTION reference operator()(I... i) const {
    return at(std::index_sequence_for<I...>(), static_cast<index_t>(i)...);
  }
  template <IndexLike I>
  STRATA_FUNCTION reference operator[](I i) const {
    return (*this)(i);
  }

 private:
  template <std::size_t... R, class... I>
  STRATA_FUNCTION reference at(std::index_sequence<R...>, I... i) const {
    if constexpr (std::is_same_v<Edge, edge::Cyclic>)
      return V::operator()(wrapped(i, this->extent(static_cast<int>(R)))...);
    else if constexpr (std::is_same_v<Edge, edge::Duplicate>)
      return V::operator()(clamped(i, this->extent(static_cast<int>(R)))...);
    else if ((... && (i >= 0 && i < this->extent(static_cast<int>(R))))) return V::operator()(i...);
    else return static_cast<reference>(edge.value);
  }
  // Neighbours are less than an array away.
  STRATA_FUNCTION static index_t wrapped(index_t i, index_t n) { return i < 0 ? i + n : i >= n ? i - n : i; }
  STRATA_FUNCTION static index_t clamped(index_t i, index_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
};

// A view that gives a work item only the rows that it declared: from `left` before its own to `right` after
// it.
template <class V>
struct DeclaredView : V {
  using unmanaged_type = V;
  index_t left, right;
  DeclaredView(const V& view, index_t before, index_t after) : V(view), left(before), right(after) {}

  STRATA_FUNCTION V for_item(index_t i) const {
    using M = typename V::mapping_type;
    const ResidentRows resident = this->mapping().resident();
    const ResidentRows rows{i - left > resident.begin ? i - left : resident.begin,
                            i + right + 1 < resident.end ? i + right + 1 : resident.end};
    const M part(this->extents(),
                 rows.begin < rows.end ? rows : ResidentRows{resident.begin, resident.begin});
    return V::at_origin({}, this->origin(), part);
  }
};
template <class V>
inline constexpr bool has_declared_rows =
    V::extents_type::max_rank_value > 0 && V::layout_type::contiguous_rows;

template <class Region>
inline constexpr bool is_own = std::is_same_v<Region, Own> || std::is_same_v<Region, OwnElement>;
template <class>
inline constexpr bool has_edges = false;
template <class Edge>
inline constexpr bool has_edges<Halo<Edge>> = !std::is_same_v<Edge, edge::None>;
template <int Rank, class Edge>
inline constexpr bool has_edges<BoxHalo<Rank, Edge>> = !std::is_same_v<Edge, edge::None>;

// Throws ShapeMismatch where the range of a launch does not fit the array of an access without a region.
template <bool Rows, AccessMode Mode, class A, class Region>
void check_fits(const LaunchName& launch, const WorkBounds& work,
                const CoherentAccess<Mode, A, Region>& access) {
  if (!access.by_default) return;
  if (!access.array) fail_no_array();
  DeclaredArray array{access.array.label(), A::rank, {}, {}};
  for (int r = 0; r < A::rank; ++r) array.end[r] = access.array.extent(r);
  if constexpr (Rows) check_rows(launch, work, array);
  if constexpr (Mode == AccessMode::Out) check_covered(launch, work, array);
}
// Elements of a plain view that the range leaves out keep their values.
template <bool Rows, AccessMode Mode, class V>
void check_fits(const LaunchName&, const WorkBounds&, const DeclaredAccess<Mode, V>&) {}
// The same for all accesses of a launch; with `Rows` also where it goes beyond a coherent array.
template <class K, bool Rows = true, class R, class... Accesses>
void check_all_fit(const char* label, const R& work, const Accesses&... accesses) {
  if constexpr (WorkOf<R>::rank != teams_rank) {
    const WorkBounds bounds = bounds_of_work(WorkOf<R>::get(work));
    const LaunchName name{label, typeid(FunctorOf<K>).name(), tag_type<typename WorkOf<R>::tag>()};
    (check_fits<Rows>(name, bounds, accesses), ...);
  }
}

// In the place of a region of which it does not matter which rows it has.
struct AnyRows {};

// A use whose view is known, as bind_kernel takes it.
template <AccessMode Mode, class V, class Region>
struct ResolvedAccess {
  static constexpr AccessMode mode = Mode;
  using view_type = V;
  V view;
  Region region;
};
template <AccessMode Mode, class Resolved, class Region>
auto view_to_bind(const ResolvedAccess<Mode, Resolved, Region>& access) {
  using V = KernelView<Resolved>;
  const V& view = access.view;
  if constexpr (checked_build && has_declared_rows<V> &&
                (is_own<Region> || std::is_base_of_v<Halo<>, Region>)) {
    index_t left = 0, right = 0;
    if constexpr (!is_own<Region>) {
      left = access.region.left;
      right = access.region.right;
    }
    if constexpr (Mode == AccessMode::In) {
      const auto read = view_for_reading(view);
      return DeclaredView<std::remove_const_t<decltype(read)>>(read, left, right);
    } else {
      return DeclaredView<V>(view, left, right);
    }
  } else if constexpr (is_own<Region>) {
    return view_to_bind(DeclaredAccess<Mode, V>{view});
  } else if constexpr (has_edges<Region>) {
    static_assert(Mode == AccessMode::In,
                  "strata: halo with edges: such an array is for reading, declare it in");
    const auto read = view_for_reading(view);
    return EdgeView<std::remove_const_t<decltype(read)>, decltype(access.region.edge)>(read,
                                                                                       access.region.edge);
  } else if constexpr (Mode == AccessMode::In) {
    return view_for_reading(view);
  } else if constexpr (std::is_same_v<Region, AnyRows>) {
    return SomeRows<V>(view);
  } else {
    return view;
  }
}

// For an array of small elements that is declared out, a launch notes which elements its kernel reaches.
template <AccessMode Mode, class V, class Region>
struct NotedAccess : ResolvedAccess<Mode, V, Region> {
  const CoherentState* array;
};
template <AccessMode Mode, class V, class Region>
auto view_to_bind(const NotedAccess<Mode, V, Region>& access) {
  const auto view = view_to_bind(static_cast<const ResolvedAccess<Mode, V, Region>&>(access));
  return NotedView<std::remove_const_t<decltype(view)>>(view, note_in_force(*access.array));
}
// The region of an access whose view is known: what view_to_bind asks for. Functors of rows are not copied.
template <class Region>
struct ResolvedRegion {
  using type = std::conditional_t<std::is_same_v<Region, Everything>, Everything, AnyRows>;
  static constexpr type of(const Region&) { return {}; }
};
template <class Region>
requires(is_own<Region> || requires(const Region& region) { region.edge; }) struct ResolvedRegion<Region> {
  using type = Region;
  static constexpr const Region& of(const Region& region) { return region; }
};
// An access whose view is known.
template <AccessMode Mode, class V, class A, class Declared>
auto resolved_access(const V& view, const CoherentAccess<Mode, A, Declared>& of) {
  using Region = typename ResolvedRegion<Declared>::type;
  const ResolvedAccess<Mode, V, Region> access{view, ResolvedRegion<Declared>::of(of.region)};
  if constexpr (checked_build && Mode == AccessMode::Out &&
                sizeof(typename V::value_type) < least_marked_bytes)
    return NotedAccess<Mode, V, Region>{access, &*of.array.state()};
  else return access;
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
