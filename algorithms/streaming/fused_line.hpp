// Several steps of a stencil over arrays of one dimension in one launch: each member of a team holds a few
// adjacent cells in registers, and passes those at its ends to its neighbours through scratch memory, with
// one barrier for each step. The tile's ends are computed by two teams: `steps` times the reach on either
// side.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/streaming/fused_tile.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// Members of a team, and the cells that each has.
template <int Reach, int Members, int Cells>
struct FusedLine {
  static constexpr int rank = 1;
  static constexpr int reach = Reach, members = Members, cells = Cells;
  static constexpr int tile = Members * Cells;
  static_assert(Cells >= Reach);
  static constexpr int teams = 4;  // that a multiprocessor shall hold
  static constexpr index_t rows(index_t steps) { return tile - 2 * steps * Reach; }

  // Elements of scratch memory of a field: the tile, with a gap after each member's cells so that members
  // that work on theirs at once use different banks; and the ends of all members, twice.
  static constexpr index_t staged = Members > 1 ? Members*(Cells + 1) : 0;
  static constexpr index_t ends = Members > 1 ? 4 * Reach* Members : 0;
  static constexpr index_t scratch = staged + ends;
};

template <class L, class Access, bool State = Access::is_state>
struct FusedLineCells {
  static constexpr bool is_state = false;
};
template <class L, class Access>
struct FusedLineCells<L, Access, true> {
  static constexpr bool is_state = true;
  using T = typename Access::type;
  T old[L::cells + 2 * L::reach];
  T next[L::cells];
  T* staged;
  T* ends;
};

template <class L, class K, class... A>
struct FusedLineKernel {
  K kernel;
  FusedShape<1> shape;
  FusedPack<A...> accesses;

  template <class M>
  STRATA_FUNCTION void operator()(const M& member) const {
    const int me = member.team_rank(), mine = me * L::cells;
    const index_t steps = shape.steps;
    const index_t made = shape.begin + member.league_rank() * L::rows(steps);  // the first row of the result
    const index_t first = made - steps * L::reach;
    FusedPack<FusedLineCells<L, A>...> all;
    constexpr auto states = [](const auto& f) {
      fused_unrolled<sizeof...(A)>([&](auto number) {
        if constexpr (is_fused_state<decltype(fused_slot<number>(std::declval<const FusedPack<A...>&>()))>)
          f(number);
      });
    };
    states([&](auto number) {
      auto& field = fused_slot<number>(all);
      using T = typename std::remove_cvref_t<decltype(field)>::T;
      field.staged = member.template scratch<T>(0, L::scratch);
      field.ends = field.staged + L::staged;
      load(member, field, fused_slot<number>(accesses), first);
    });
    if (L::members > 1) {
      member.barrier();
      states([&](auto number) {
        auto& field = fused_slot<number>(all);
        fused_each<L::cells>([&](int c) { field.old[L::reach + c] = field.staged[me * (L::cells + 1) + c]; });
      });
    }

    for (index_t step = 1; step <= steps; ++step) {
      if constexpr (L::members > 1 && L::reach > 0) {
        const int side = static_cast<int>(step & 1) * 2 * L::reach * L::members;
        states([&](auto number) {
          auto& field = fused_slot<number>(all);
          fused_unrolled<L::reach>([&](int r) {
            field.ends[side + r * L::members + me] = field.old[L::reach + r];
            field.ends[side + (L::reach + r) * L::members + me] = field.old[L::cells + r];
          });
        });
        member.barrier();
        // At the tile's ends any values will do: the results are not used.
        const int before = me > 0 ? me - 1 : me, after = me + 1 < L::members ? me + 1 : me;
        states([&](auto number) {
          auto& field = fused_slot<number>(all);
          fused_unrolled<L::reach>([&](int r) {
            field.old[r] = field.ends[side + (L::reach + r) * L::members + before];
            field.old[L::reach + L::cells + r] = field.ends[side + r * L::members + after];
          });
        });
      }
      // Work items in this tile, as members count its cells.
      const index_t from = shape.first_row(step, shape.begin) - first,
                    to = shape.end_row(step, shape.end) - first;
      const index_t reached = step * L::reach;
      const int low = static_cast<int>(from > reached ? from : reached);
      const int high = static_cast<int>(to < L::tile - reached ? to : L::tile - reached);
      const index_t at = first + mine;
      if (mine >= low && mine + L::cells <= high) {
        fused_each<L::cells>([&](int c) { call(all, c, at); });
      } else {
        fused_each<L::cells>([&](int c) {
          if (mine + c >= low && mine + c < high) {
            call(all, c, at);
          } else {
            states([&](auto number) {
              auto& field = fused_slot<number>(all);
              field.next[c] = field.old[L::reach + c];
            });
          }
        });
      }
      states([&](auto number) {
        auto& field = fused_slot<number>(all);
        fused_each<L::cells>([&](int c) { field.old[L::reach + c] = field.next[c]; });
      });
    }

    if (L::members > 1) {
      states([&](auto number) {
        auto& field = fused_slot<number>(all);
        fused_each<L::cells>([&](int c) { field.staged[me * (L::cells + 1) + c] = field.old[L::reach + c]; });
      });
      member.barrier();
    }
    states(
        [&](auto number) { store(fused_slot<number>(all), fused_slot<number>(accesses), me, first, made); });
  }

 private:
  // Of all members together: cell n of the tile.
  template <class F>
  STRATA_FUNCTION static void cells_of(int me, const F& f) {
    if constexpr (L::members > 1)
      fused_each<L::cells>([&](int c) {
        const int n = c * L::members + me;
        f(n, n + n / L::cells);
      });
    else
      for (int n = 0; n < L::tile; ++n) f(n, n);
  }
  template <class M, class Field, class Access>
  STRATA_FUNCTION void load(const M& member, Field& field, const Access& access, index_t first) const {
    const index_t low = shape.first_read(shape.begin) - first, high = shape.end_read(shape.end) - first;
    const auto* const from = access.from() + first;
    cells_of(member.team_rank(), [&](int n, int place) {
      typename Field::T value{};
      if (n >= low && n < high) value = ReadOnlyAccess::at(from + n);
      if constexpr (L::members > 1) field.staged[place] = value;
      else field.old[L::reach + n] = value;
    });
  }
  template <class Field, class Access>
  STRATA_FUNCTION void store(const Field& field, const Access& access, int me, index_t first,
                             index_t made) const {
    const int low = static_cast<int>(made - first);
    const index_t made_end = made + L::rows(shape.steps);
    const int high = static_cast<int>((made_end < shape.end ? made_end : shape.end) - first);
    auto* const to = access.to() + first;
    cells_of(me, [&](int n, int place) {
      if (n < low || n >= high) return;
      if constexpr (L::members > 1) to[n] = field.staged[place];
      else to[n] = field.old[L::reach + n];
    });
  }
  template <class All>
  STRATA_FUNCTION void call(All& all, int c, index_t at) const {
    const auto make = [&]([[maybe_unused]] int mark) {
      fused_call<0>(
          accesses, [&](const auto&... arguments) { kernel(at + c, arguments...); },
          [&](auto number) {
            auto& field = fused_slot<number>(all);
            using T = typename std::remove_cvref_t<decltype(field)>::T;
            return FusedLineOld<L, T>{{&shape}, field.old, at - L::reach, c};
          },
          [&](auto number) {
            auto& field = fused_slot<number>(all);
            using T = typename std::remove_cvref_t<decltype(field)>::T;
            if constexpr (looks_for_marks<decltype(fused_slot<number>(accesses))>)
              UnwrittenMark<T>::set(field.next[c], mark);
            else field.next[c] = field.old[L::reach + c];
            return FusedNext<T, 1>{{&shape}, &field.next[c]};
          });
    };
    make(0);
    if constexpr ((looks_for_marks<A> || ...))
      fused_unrolled<sizeof...(A)>([&](auto number) {
        const auto& access = fused_slot<number>(accesses);
        if constexpr (looks_for_marks<decltype(access)>)
          look_for_marks(access, fused_slot<number>(all).next[c], make,
                         [&] { report_left_out(access.to_address + at + c, at + c); });
      });
  }
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
