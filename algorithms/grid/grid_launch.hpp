// launch over a grid of parts: grid.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/grid/column_view.hpp>
#include <strata/algorithms/grid/grid_place.hpp>
#include <strata/algorithms/grid/grid_regions.hpp>

namespace strata::inline STRATA_ABI::detail {

// ---- what a part does: the work of a device

// The box of a range with these items.
template <class R>
struct BoxOfWork;
template <int Rank>
struct BoxOfWork<MDRange<Rank>> {
  static MDRange<Rank> of(MDRange<Rank> r, const GridItems& items) {
    for (int d = 0; d < items.cuts; ++d) {
      r.lower[d] = items.of[static_cast<std::size_t>(d)].begin;
      r.upper[d] = items.of[static_cast<std::size_t>(d)].end;
    }
    return r;
  }
};
template <class R, class Static>
struct BoxOfWork<Hinted<R, Static>> {
  static auto of(const Hinted<R, Static>& w, const GridItems& items) {
    const auto mine = BoxOfWork<R>::of(w.work, items);
    return Hinted<std::remove_const_t<decltype(mine)>, Static>{mine, w.hints};
  }
};
template <class Tag, class R>
struct BoxOfWork<Tagged<Tag, R>> {
  static auto of(const Tagged<Tag, R>& t, const GridItems& items) {
    return tagged<Tag>(BoxOfWork<R>::of(t.work, items));
  }
};

template <int Cuts, class R>
GridItems items_of_work(const R& work) {
  const WorkBounds bounds = bounds_of_work(WorkOf<R>::get(work));
  GridItems items{{}, Cuts};
  for (int d = 0; d < Cuts; ++d) items.of[static_cast<std::size_t>(d)] = {bounds.lower[d], bounds.upper[d]};
  return items;
}

// The last part of the call uses an array as its work items do.
template <class Access>
void declare_items(CoherentCall& call, const GridParts& grid, const Access& access, const GridItems& items) {
  using A = typename Access::array_type;
  if (!access.array) fail_no_array();
  if constexpr (writes(Access::mode)) {
    const int region = writes_elements(access) ? max_rank : dimensions_named<typename Access::region_type>;
    const int named = region < A::rank ? region : A::rank;
    for (int d = named > 1 ? named : 1; d < items.cuts; ++d)
      if (const std::size_t sides = grid.sides[static_cast<std::size_t>(d)]; sides > 1)
        fail_written_by_several(call.name(), access.array.label(), A::rank, d, sides);
  }
  ArrayPart touched;
  try {
    touched = region_of_items(access, items);
  } catch (const ShapeMismatch& error) {
    call.fail_region(error);
  }
  call.add_use(*access.array.state(), Access::mode, static_cast<ArrayPart&&>(touched));
}

// Neighbours that a work item reads in dimension `d`.
template <class Access>
Neighbours neighbours_of(const Access& access, int d) {
  using Region = typename Access::region_type;
  if constexpr (requires { access.region.edge; })
    if (d == 0) return {access.region.left, access.region.right};
  constexpr int named = dimensions_named<Region>;
  if constexpr (named > 1 && !is_own<Region>)
    if (d < named) return {access.region.before[d - 1], access.region.after[d - 1]};
  return {0, 0};
}
// The work items that need no neighbours of other parts, where these are few compared to the items; else
// none.
template <class... Accesses>
GridItems inner_items(const GridItems& all, const Accesses&... accesses) {
  constexpr index_t worth = 8;  // times as many as neighbours
  GridItems inner = all;
  bool any = false;
  for (int d = 0; d < all.cuts; ++d) {
    ResidentRows& run = inner.of[static_cast<std::size_t>(d)];
    Neighbours most{0, 0};
    const auto look = [&](const Neighbours& n) {
      most = {most.left > n.left ? most.left : n.left, most.right > n.right ? most.right : n.right};
    };
    (look(neighbours_of(accesses, d)), ...);
    if (run.end - run.begin <= worth * (most.left + most.right)) return {{}, all.cuts};
    any = any || most.left + most.right > 0;
    run = {run.begin + most.left, run.end - most.right};
  }
  return any ? inner : GridItems{{}, all.cuts};
}
// Enqueues the kernel of part `number` over its items: f(items, resolved...) launches. While halos are being
// copied, the work items that need none of them run first.
template <int Cuts, class D, class F, class... Accesses>
void run_items(CoherentCall& call, int number, const On<D>& where, const GridItems& all, const F& f,
               const Accesses&... accesses) {
  const auto run = [&](const GridItems& items) {
    with_resolved<D>(
        call, number, [&](const auto&... resolved) { f(items, resolved...); }, accesses...);
  };
  const GridItems inner = inner_items(all, accesses...);
  const auto begins_early = [&] {
    const ArrayPart regions[] = {region_of_items(accesses, inner)...};
    return call.begin_early(number, regions, static_cast<int>(sizeof...(Accesses)), false);
  };
  if (inner.of[0].begin < inner.of[0].end && begins_early()) {
    run(inner);
    call.begin(number);
    for (const GridItems& items : outer_items(all, inner)) run(items);
    call.end(number);
  } else {
    run_part(
        call, number, where, false,
        [&](const auto&... resolved) { f(all, with_columns<Cuts>(resolved, accesses, all)...); },
        accesses...);
  }
}

template <class Where, class R, class K, class... Accesses>
void launch_grid(const char* label, const Where& where, const R& work, const K& kernel,
                 const Accesses&... accesses) {
  check_all_fit<K>(label, work, accesses...);
  const GridParts grid = grid_parts(shape_of(where), items_of_work<PlaceTraits<Where>::cuts>(work),
                                    {alignment_of_all<Accesses...>(), 1, 1});
  CoherentCall call = make_call<R, K>(label);
  for (const GridPart& part : grid.parts) {
    add_part_of(call, where, part.place);
    (declare_items(call, grid, accesses, part.items), ...);
  }
  call.prepare();
  for (std::size_t p = 0; p < grid.parts.size(); ++p)
    visit_part(where, grid.parts[p].place, [&]<class D>(const On<D>& on) {
      run_items<PlaceTraits<Where>::cuts>(
          call, static_cast<int>(p), on, grid.parts[p].items,
          [&](const GridItems& items, const auto&... resolved) {
            const auto mine = BoxOfWork<R>::of(work, items);
            launch_for(label, on, mine,
                       bind_kernel<D, std::remove_const_t<decltype(mine)>>(kernel, resolved...));
          },
          accesses...);
    });
}

// Whether work can be cut in so many dimensions.
template <class Where, class R>
constexpr bool check_cuts() {
  constexpr bool over_indices = WorkOf<R>::rank != teams_rank;
  constexpr bool cut = !over_indices || WorkOf<R>::rank >= PlaceTraits<Where>::cuts;
  static_assert(over_indices,
                "strata: launch: teams do not say which rows they touch; launch over a range, or give "
                "parallel_for plain views");
  static_assert(cut,
                "strata: launch(across(...).grid(...)): the grid cuts more indices than the work has: you "
                "wrote a range of fewer; write mdrange({n0, n1}), or across(...) without grid");
  return over_indices && cut;
}

template <>
struct LaunchBy<LaunchWay::Grid> {
  template <class Where, class R, class K, class... Accesses>
  static void launch(const char* label, const Where& where, const R& work, const K& kernel,
                     const Accesses&... accesses) {
    if constexpr (check_cuts<Where, R>())
      if constexpr (check_launch<Where, R, K, Accesses...>())
        launch_grid(label, where, work, kernel, accesses...);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
