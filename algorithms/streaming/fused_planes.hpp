// Several steps of a stencil over arrays of two or three dimensions in one launch: a team marches along the
// rows of a column of the array. Of each step except the last one the latest rows are kept:
//
//      row      ...  x+1  x+2  x+3  x+4  x+5  x+6        reach 1, 2 steps
//     old            [ring of rows:  .....  ]  <- read        step 0, of row p
//     step 1      [ring of rows: ...]  <- made                of row p - lag
//     step 2   <- written                                     of row p - 2 lag
//
// In each phase a row is read, and each step computes one from rows of the previous step that were there when
// the phase began. So a phase has one barrier, and its steps are independent work. The lag is the reach + 1,
// a ring has twice as many rows. A row here is a line of cells, or in three dimensions a plane of them; the
// column's sides are computed by two teams, `steps` times the reach.
//
// A member's own cells are in registers, too: their neighbours along the rows are read there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/streaming/fused_tile.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// The cells of a row in a column, x times y of them (y of them 1 in two dimensions): of each member CellsX
/// times CellsY, side by side.
template <int Rank, int Reach, int Steps, int MembersX, int CellsX, int MembersY, int CellsY>
struct FusedPlane {
  static constexpr int rank = Rank, reach = Reach, steps = Steps;
  static constexpr int members_x = MembersX, members = MembersX * MembersY;
  static constexpr int cells_x = CellsX, cells_y = CellsY, cells = CellsX * CellsY;
  static constexpr int x = MembersX * CellsX, y = MembersY * CellsY;
  static constexpr int lag = Reach + 1, ring = 2 * lag;
  static constexpr bool registers = MembersX * MembersY > 1;  // else the caches do
  static constexpr int stored = registers ? cells : 1;
  static constexpr int ahead = registers ? (cells == 1 ? ring : 2) : 1;  // rows that are on their way
  static constexpr index_t scratch = index_t{Steps} * ring * x * y;      // elements, of a field
  // Teams that a multiprocessor shall hold, by the registers that they take: windows, and as many again.
  static constexpr int teams = members * cells * Steps <= 512    ? 4
                               : members * cells * Steps <= 1024 ? 3
                               : members <= 256                  ? 2
                                                                 : 1;
  static_assert(!registers || CellsX == 1);

  // Cells of the result along dimension r.
  static constexpr index_t made(int r) {
    return r == Rank - 1 ? x - 2 * Steps * Reach : y - 2 * Steps * Reach;
  }
  static constexpr index_t first_of(int r, index_t tile) { return tile * made(r) - Steps * Reach; }
};

template <class P, class Access, bool State = Access::is_state>
struct FusedPlaneCells {
  static constexpr bool is_state = false;
};
template <class P, class Access>
struct FusedPlaneCells<P, Access, true> {
  static constexpr bool is_state = true;
  using T = typename Access::type;
  T window[P::steps][P::registers ? P::ring : 1][P::stored];
  T coming[P::ahead][P::cells];
  T next[P::cells];
  T* shared;      // the member's first cell, of the first row of the ring of step 0
  const T* from;  // the member's first cell in the next row that is read
  T* to;          // and in the row that is written
};

template <class P, class K, class... A>
struct FusedPlaneKernel {
  K kernel;
  FusedShape<P::rank> shape;
  FusedPack<A...> accesses;

  template <class M>
  STRATA_FUNCTION void operator()(const M& member) const {
    Team team(*this, member);
    team.run(member);
  }

 private:
  using Shape = FusedShape<P::rank>;
  static constexpr int last = P::rank - 1;

  // The state of a member.
  struct Team {
    const FusedPlaneKernel& work;
    FusedPack<FusedPlaneCells<P, A>...> all;
    index_t from, to;  // the team's rows
    index_t read_end;
    index_t row;               // that comes next
    int phase = 0;             // its place in its ring, where the compiler does not know that
    index_t at_x, at_y;        // indices of the member's first cell
    int limit[P::cells];       // steps that a cell takes part in: 0 where it keeps its value
    int all_cells, some_cell;  // steps in which all of the cells do, and one of them does
    bool exists[P::cells];
    bool made[P::cells];

    template <class M>
    STRATA_FUNCTION Team(const FusedPlaneKernel& kernel, const M& member) : work(kernel) {
      const Shape& shape = work.shape;
      index_t tile = member.league_rank();
      const index_t tile_x = tile % shape.tiles[last];
      tile /= shape.tiles[last];
      index_t tile_y = 0;
      if constexpr (P::rank == 3) {
        tile_y = tile % shape.tiles[1];
        tile /= shape.tiles[1];
      }
      from = shape.begin + tile * shape.segment;
      to = from + shape.segment < shape.end ? from + shape.segment : shape.end;
      row = shape.first_read(from);
      read_end = shape.end_read(to);
      const int x = member.team_rank() % P::members_x * P::cells_x;
      const int y = member.team_rank() / P::members_x * P::cells_y;
      at_x = P::first_of(last, tile_x) + x;
      at_y = P::rank == 3 ? P::first_of(1, tile_y) + y : 0;
      all_cells = P::steps;
      some_cell = 0;
      each_cell([&](int c, int cx, int cy) {
        Reach reach{shape};
        reach.look(last, at_x + cx, x + cx, P::x);
        if constexpr (P::rank == 3) reach.look(1, at_y + cy, y + cy, P::y);
        limit[c] = reach.works ? reach.depth : 0;
        all_cells = all_cells < limit[c] ? all_cells : limit[c];
        some_cell = some_cell > limit[c] ? some_cell : limit[c];
        exists[c] = reach.exists;
        made[c] = reach.exists && reach.depth >= P::steps;
      });
      const index_t offset = row * shape.stride[0] + (P::rank == 3 ? at_y * shape.stride[1] : 0) + at_x;
      const index_t back = (from - row) * shape.stride[0];
      states([&](auto number) {
        auto& field = fused_slot<number>(all);
        using T = typename std::remove_cvref_t<decltype(field)>::T;
        field.shared = member.template scratch<T>(0, P::scratch) + y * P::x + x;
        field.from = fused_slot<number>(work.accesses).from() + offset;
        field.to = fused_slot<number>(work.accesses).to() + offset + back;
        fused_unrolled<P::ahead>([&](int a) { read(number, a, row + a); });
      });
    }

    // Phases until the last step has made the last row.
    template <class M>
    STRATA_FUNCTION void run(const M& member) {
      const index_t end = to + P::steps * P::lag;
      while (row < end) {
        // All steps of all phases of a turn make rows whose values all cells need.
        const bool inner = is_inner();
        if constexpr (P::registers) {
          if (inner)
            fused_unrolled<P::ring>([&](auto place) { this->template phase_of<place, true>(member); });
          else fused_unrolled<P::ring>([&](auto place) { this->template phase_of<place, false>(member); });
        } else {
          for (phase = 0; phase < P::ring; ++phase) {
            if (inner) phase_of<at_run_time, true>(member);
            else phase_of<at_run_time, false>(member);
          }
        }
      }
    }

   private:
    // Registers need places in rings that the compiler knows; elsewhere the code of one does for all.
    static constexpr int at_run_time = -1;

    // The place in its ring of the row that a step reads and makes, a step 0 of the row that is read.
    template <int Step, int Phase>
    STRATA_FUNCTION constexpr int place() const {
      if constexpr (Phase == at_run_time) return (phase + Step % 2 * P::lag) % P::ring;
      else return (Phase + Step % 2 * P::lag) % P::ring;
    }
    struct Reach {
      const Shape& shape;
      bool exists = true, works = true;
      int depth = P::steps;  // how many steps the cell takes part in, by its distance from the sides
      STRATA_FUNCTION void look(int r, index_t index, int place, int places) {
        exists = exists && index >= 0 && index < shape.extent[r];
        works = works && index >= shape.lower[r] && index < shape.upper[r];
        if constexpr (P::reach > 0) {
          const int side = place < places - 1 - place ? place : places - 1 - place;
          depth = depth < side / P::reach ? depth : side / P::reach;
        }
      }
    };

    template <class F>
    STRATA_FUNCTION static void states(const F& f) {
      fused_unrolled<sizeof...(A)>([&](auto number) {
        if constexpr (is_fused_state<decltype(fused_slot<number>(std::declval<const FusedPack<A...>&>()))>)
          f(number);
      });
    }
    template <class F>
    STRATA_FUNCTION static void each_cell(const F& f) {
      if constexpr (P::registers) fused_unrolled<P::cells_y>([&](auto cy) { f(cy, 0, cy); });
      else
        for (int cy = 0; cy < P::cells_y; ++cy)
          for (int cx = 0; cx < P::cells_x; ++cx) f(cy * P::cells_x + cx, cx, cy);
    }
    STRATA_FUNCTION static int place_of(int cx, int cy) { return cy * P::x + cx; }

    STRATA_FUNCTION bool is_inner() const {
      const Shape& shape = work.shape;
      bool inner = true;
      fused_unrolled<P::steps>([&](auto before) {
        constexpr int step = before + 1;
        const index_t first = row - step * P::lag;
        inner = inner && first >= shape.first_row(step, from) && first + P::ring <= shape.end_row(step, to);
      });
      return inner && row + P::ahead + P::ring <= read_end && row - P::steps * P::lag >= from &&
             row - P::steps * P::lag + P::ring <= to;
    }

    // Row `wanted` of a state: the next one.
    template <class Number>
    STRATA_FUNCTION void read(Number, int slot, index_t wanted, bool surely = false) {
      auto& field = fused_slot<Number::value>(all);
      const Shape& shape = work.shape;
      const bool there = surely || wanted < read_end;
      each_cell([&](int c, int cx, int cy) {
        typename std::remove_cvref_t<decltype(field)>::T value{};
        if (there && exists[c])
          value = ReadOnlyAccess::at(field.from + (P::rank == 3 ? cy * shape.stride[1] : 0) + cx);
        field.coming[slot][c] = value;
      });
      field.from += shape.stride[0];
    }

    template <class Field, class T>
    STRATA_FUNCTION static void keep(Field& field, int step, int place, int c, int cx, int cy,
                                     const T& value) {
      if constexpr (P::registers) field.window[step][place][c] = value;
      field.shared[(step * P::ring + place) * (P::x * P::y) + place_of(cx, cy)] = value;
    }

    // A row is read, and each step makes one; `Phase` is the place of the row in its ring.
    template <int Phase, bool Inner, class M>
    STRATA_FUNCTION void phase_of(const M& member) {
      states([&](auto number) {
        auto& field = fused_slot<number>(all);
        each_cell([&](int c, int cx, int cy) {
          keep(field, 0, this->template place<0, Phase>(), c, cx, cy,
               field.coming[this->template place<0, Phase>() % P::ahead][c]);
        });
        read(number, this->template place<0, Phase>() % P::ahead, row + P::ahead, Inner);
      });
      fused_unrolled<P::steps>([&](auto before) { this->template step_of<before + 1, Phase, Inner>(); });
      ++row;
      member.barrier();
    }

    template <int Step, int Phase, bool Inner>
    STRATA_FUNCTION void step_of() {
      const Shape& shape = work.shape;
      const index_t here = row - Step * P::lag;
      const bool works = Inner || (here >= shape.first_row(Step, from) && here < shape.end_row(Step, to));
      each_cell([&](int c, int cx, int cy) {
        states([&](auto number) {
          auto& field = fused_slot<number>(all);
          if constexpr (P::registers)
            field.next[c] = field.window[Step - 1][this->template place<Step, Phase>()][c];
          else
            field.next[c] =
                field.shared[((Step - 1) * P::ring + this->template place<Step, Phase>()) * (P::x * P::y) +
                             place_of(cx, cy)];
        });
      });
      const auto make = [&](int c, int cx, int cy) {
        this->template call<Step, Phase>(c, place_of(cx, cy), here, at_y + cy, at_x + cx);
      };
      if (works && Step <= all_cells) {
        each_cell(make);
      } else if (P::cells > 1 && works && Step <= some_cell) {
        each_cell([&](int c, int cx, int cy) {
          if (Step <= limit[c]) make(c, cx, cy);
        });
      }
      states([&](auto number) {
        auto& field = fused_slot<number>(all);
        if constexpr (Step < P::steps) {
          each_cell([&](int c, int cx, int cy) {
            keep(field, Step, this->template place<Step, Phase>(), c, cx, cy, field.next[c]);
          });
        } else {
          if (!Inner && (here < from || here >= to)) return;
          each_cell([&](int c, int cx, int cy) {
            if (made[c]) field.to[(P::rank == 3 ? cy * shape.stride[1] : 0) + cx] = field.next[c];
          });
          field.to += shape.stride[0];
        }
      });
    }

    // Of the member's cell c, with indices i, j in three dimensions, and k.
    template <int Step, int Phase>
    STRATA_FUNCTION void call(int c, int offset, index_t i, index_t j, index_t k) {
      const auto make = [&]([[maybe_unused]] int mark) {
        fused_call<0>(
            work.accesses,
            [&](const auto&... arguments) {
              if constexpr (P::rank == 3) work.kernel(i, j, k, arguments...);
              else work.kernel(i, k, arguments...);
            },
            [&](auto number) {
              auto& field = fused_slot<number>(all);
              using T = typename std::remove_cvref_t<decltype(field)>::T;
              const T* const shared = field.shared + (Step - 1) * P::ring * P::x * P::y + offset;
              if constexpr (P::rank == 3)
                return FusedPlaneOld<P, T>{{&work.shape},
                                           shared,
                                           field.window[Step - 1],
                                           {i, j, k},
                                           this->template place<Step, Phase>(),
                                           c};
              else
                return FusedPlaneOld<P, T>{{&work.shape},
                                           shared,
                                           field.window[Step - 1],
                                           {i, k},
                                           this->template place<Step, Phase>(),
                                           c};
            },
            [&](auto number) {
              auto& field = fused_slot<number>(all);
              using T = typename std::remove_cvref_t<decltype(field)>::T;
              if constexpr (looks_for_marks<decltype(fused_slot<number>(work.accesses))>)
                UnwrittenMark<T>::set(field.next[c], mark);
              else if constexpr ((looks_for_marks<A> || ...)) {  // the kernel may be called again
                if constexpr (P::registers)
                  field.next[c] = field.window[Step - 1][this->template place<Step, Phase>()][c];
                else
                  field.next[c] = field.shared[((Step - 1) * P::ring + this->template place<Step, Phase>()) *
                                                   (P::x * P::y) +
                                               offset];
              }
              return FusedNext<T, P::rank>{{&work.shape}, &field.next[c]};
            });
      };
      make(0);
      if constexpr ((looks_for_marks<A> || ...))
        fused_unrolled<sizeof...(A)>([&](auto number) {
          const auto& access = fused_slot<number>(work.accesses);
          const index_t* const stride = work.shape.stride;
          if constexpr (looks_for_marks<decltype(access)>)
            look_for_marks(access, fused_slot<number>(all).next[c], make, [&] {
              if constexpr (P::rank == 3)
                report_left_out(access.to_address + i * stride[0] + j * stride[1] + k, i, j, k);
              else report_left_out(access.to_address + i * stride[0] + k, i, k);
            });
        });
    }
  };
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
