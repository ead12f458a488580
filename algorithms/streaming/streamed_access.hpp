// Declared accesses of a streamed launch: for its plan, and for the kernels of a slice.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/min_max.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The rows of a halo before and after a work item's own; for states at most as many as the array has. Throws
/// ShapeMismatch where they are negative or above 2^47, or, for a cyclic state, more than the rows.
ResidentRows halo_rows(const char* array, index_t left, index_t right, index_t rows, bool cyclic,
                       bool is_state);
template <class Access>
ResidentRows halo_rows_of(const Access& access, bool is_state) {
  if (!access.array) fail_no_array();
  return halo_rows(access.array.label(), access.region.left, access.region.right, access.array.extent(0),
                   std::is_same_v<decltype(access.region.edge), edge::Cyclic>, is_state);
}

// Which rows work items use, as plans ask: a type for each kind of region, so that it is compiled once.
struct OwnRows {
  ResidentRows operator()(ResidentRows work) const { return work; }
};
template <EdgeKind Edges>
struct RowsOfHalo {
  ResidentRows halo;
  Ref<CoherentState> array;
  ResidentRows operator()(ResidentRows work) const {
    if constexpr (Edges == EdgeKind::Cyclic) {  // of the work items, if there are any
      if (work.begin >= work.end) return {0, 0};
      check_edges(domain_of(*array), halo.begin, halo.end, true, label_of(*array));
    }
    const ResidentRows rows{work.begin - halo.begin, work.end + halo.end};
    if constexpr (Edges == EdgeKind::Duplicate)  // beyond the array its nearest row
      if (const Box domain = domain_of(*array); !domain.empty())
        return {smaller_of(rows.begin, domain.upper(0) - 1), larger_of(rows.end, domain.lower(0) + 1)};
    return rows;
  }
};
// Throws ShapeMismatch where a halo names dimensions that the array lacks, or more neighbours there than it
// has.
template <class Access>
void check_other_dimensions(const Access& access) {
  if constexpr (requires { access.region.before; })
    if (const Box& domain = access.array.domain(); domain.rank() < 2 || !domain.empty())
      static_cast<void>(part_of(access.region, domain, {0, 1}, access.array.label()));
}
template <class F>
struct RowsByFunction {
  F f;
  Ref<CoherentState> array;
  ResidentRows operator()(ResidentRows work) const {
    if (work.begin >= work.end) return {0, 0};
    const ResidentRows rows = f(work);
    check_rows(rows, work, label_of(*array));
    return rows;
  }
};

// The array of a plan for an access.
template <class Access>
streaming::StreamArray stream_array(const Access& access) {
  static_assert(is_coherent_access_v<Access>,
                "strata: streamed launches take coherent arrays: in(x), out(y), inout(z) of CoherentArray");
  static_assert(
      !is_resident_v<Access>,
      "strata: resident(...): a streamed Sequence has arrays that stay on the device, other streamed "
      "launches have none; leave it out");
  using Region = typename Access::region_type;
  streaming::StreamArray array;
  array.mode = Access::mode;
  if constexpr (is_own<Region>) {
    array.rows_of = OwnRows();
  } else if constexpr (requires { access.region.edge; }) {
    constexpr EdgeKind edges = edge_kind<std::remove_cvref_t<decltype(access.region.edge)>>;
    array.cyclic = edges == EdgeKind::Cyclic;
    array.rows_of = RowsOfHalo<edges>{halo_rows_of(access, false), access.array.state()};
    check_other_dimensions(access);
  } else if constexpr (requires { access.region.f; }) {
    array.rows_of = RowsByFunction<decltype(access.region.f)>{access.region.f, access.array.state()};
    array.regular = false;
  } else {
    array.use = streaming::StreamArray::Use::Whole;
  }
  return array;
}

// A view for reading: rows beyond the ends, which are in memory, are those of the other end; other indices
// wrap.
template <class V>
struct RingView : V {
  using unmanaged_type = RingView;
  using reference = typename V::value_type;
  explicit RingView(const V& view) : V(view) {}

  template <IndexLike I0, IndexLike... I>
  STRATA_FUNCTION reference operator()(I0 i0, I... i) const {
    return at(std::index_sequence_for<I...>(), static_cast<index_t>(i0), static_cast<index_t>(i)...);
  }
  template <IndexLike I>
  STRATA_FUNCTION reference operator[](I i) const {
    return (*this)(i);
  }

 private:
  template <std::size_t... R, class... I>
  STRATA_FUNCTION reference at(std::index_sequence<R...>, index_t i0, I... i) const {
    // Past the checks of a view: rows beyond the ends are there.
    return V::access_type::at(V::address_of(i0, wrapped(i, this->extent(static_cast<int>(R) + 1))...));
  }
  STRATA_FUNCTION static index_t wrapped(index_t i, index_t n) { return i < 0 ? i + n : i >= n ? i - n : i; }
};

template <class V>
struct RingAccess {
  using view_type = V;
  V view;
};
template <class V>
auto view_to_bind(const RingAccess<V>& access) {
  return RingView<KernelView<V>>(access.view);
}

template <class Region>
inline constexpr bool is_ring = false;
template <>
inline constexpr bool is_ring<Halo<edge::Cyclic>> = true;
template <int Rank>
inline constexpr bool is_ring<BoxHalo<Rank, edge::Cyclic>> = true;

// The rows of an array of `n` rows that are there, for checked builds.
inline ResidentRows inside(ResidentRows rows, index_t n) {
  return {rows.begin < 0 ? 0 : rows.begin, rows.end > n ? n : rows.end};
}

template <class D, class Access>
auto resolve_streamed(const streaming::StreamSite::Place& place, const Access& access) {
  using A = typename Access::array_type;
  constexpr AccessMode mode = Access::mode;
  using T = std::conditional_t<mode == AccessMode::In, const typename A::value_type, typename A::value_type>;
  using V = typename A::template view_type<T, D>;
  using Region = typename Access::region_type;
  const auto& mapping = access.array.mapping();
  if constexpr (is_ring<Region>) {
    static_assert(mode == AccessMode::In,
                  "strata: halo with edges: such an array is for reading, declare it in");
    return RingAccess<V>{V(reinterpret_cast<T*>(place.base[0]), mapping)};
  } else if constexpr (A::rank == 0) {
    return resolved_access(view_of_rows<V>(mapping, place.base[0], {0, 1}), access);
  } else {
    return resolved_access(
        view_of_rows<V>(mapping, place.base[0], inside(place.rows, access.array.extent(0))), access);
  }
}

template <class R, class... Accesses>
streaming::StreamProblem stream_problem(const char* label, const R& work, const Accesses&... accesses) {
  streaming::StreamProblem problem;
  problem.label = label;
  problem.work = LeftMost<R>::of(work);
  problem.align = alignment_of_all<Accesses...>();
  problem.arrays = {stream_array(accesses)...};
  return problem;
}
template <class... Accesses>
std::vector<Ref<CoherentState>> stream_states(const Accesses&... accesses) {
  const auto state_of = [](const auto& access) {
    if (!access.array) fail_no_array();
    return access.array.state();
  };
  return {state_of(accesses)...};
}

template <class D, class F, class... Accesses>
void with_streamed(const streaming::StreamSite& site, const F& f, const Accesses&... accesses) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { f(resolve_streamed<D>(site.places[I], accesses)...); }
  (std::index_sequence_for<Accesses...>());
}

// Adds the boxes of an array in a slice that are declared out: of its rows, or of an array that is there as a
// whole.
template <class Access>
void add_unwritten([[maybe_unused]] const Access& access,
                   [[maybe_unused]] const streaming::StreamSite::Place& place,
                   [[maybe_unused]] ResidentRows work, [[maybe_unused]] bool of_rows,
                   [[maybe_unused]] std::vector<UnwrittenBox>& boxes) {
  if constexpr (Access::mode == AccessMode::Out && !is_resident_v<Access>) {
    constexpr bool is_by_rows = Access::array_type::rank > 0 &&
                                (
                                    is_own<typename Access::region_type> ||
                                    requires { access.region.edge; } || requires { access.region.f; });
    if (is_by_rows != of_rows) return;
    const ArrayPart part = part_of(access.region, access.array.domain(), work, access.array.label());
    part.visit(
        [&](const Box& box) { boxes.push_back(unwritten_box(*access.array.state(), box, place.base[0])); });
  }
}
// Marks the boxes of the arrays at `place(k)`, to be searched later.
template <class D, class Place, class... Accesses>
UnwrittenSearch<D> mark_slice(const On<D>& where, ResidentRows work, bool of_rows, const Place& place,
                              const Accesses&... accesses) {
  std::vector<UnwrittenBox> boxes;
  std::size_t k = 0;
  (add_unwritten(accesses, place(k++), work, of_rows, boxes), ...);
  DeviceInstance& device = where.device.backend();
  for (const UnwrittenBox& box : boxes) mark_unwritten(box, device, device.space(), queue_of(where));
  return UnwrittenSearch<D>(where, boxes);
}
// Calls launch(), which enqueues kernels on `where` for work items of a slice. Checked builds then search for
// elements that were not written; `place(k)` is where array k is.
template <class K, class D, class Place, class F, class... Accesses>
void launch_written([[maybe_unused]] const char* label, [[maybe_unused]] const On<D>& where,
                    [[maybe_unused]] const streaming::StreamSite& site, [[maybe_unused]] const Place& place,
                    const F& launch, [[maybe_unused]] const Accesses&... accesses) {
  if constexpr (checked_build) {
    const char* const name = kernel_name(label, typeid(FunctorOf<K>).name(), nullptr);
    if (!*site.kept)
      *site.kept =
          Ref<RefCounted>(new UnwrittenSearch<D>(mark_slice(where, site.all, false, place, accesses...)));
    const Ref<RefCounted> kept = *site.kept;  // also when others forget it
    const auto& whole = static_cast<const UnwrittenSearch<D>&>(*kept);
    const UnwrittenSearch<D> rows = mark_slice(where, site.work, true, place, accesses...);
    {
      const NotesInForce notes_of_whole(whole.notes()), notes_of_rows(rows.notes());
      launch();
    }
    rows.find(name);
    if (site.work.end == site.all.end) {
      *site.kept = {};
      whole.find(name);
    }
  } else {
    launch();
  }
}

// Calls f with the accesses as bind_kernel takes them; it launches a kernel `K` on `where`.
template <class K, class D, class F, class... Accesses>
void launch_slice(const char* label, const On<D>& where, const streaming::StreamSite& site, const F& f,
                  const Accesses&... accesses) {
  launch_written<K>(
      label, where, site, [&](std::size_t k) -> const auto& { return site.places[k]; },
      [&] { with_streamed<D>(site, f, accesses...); }, accesses...);
}

}  // namespace strata::inline STRATA_ABI::detail
