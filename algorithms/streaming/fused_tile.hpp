// The work of teams that make several steps of a stencil at once (fused_steps.hpp): its shape, and the
// kernel's views of old and new values.
//
// The old values of a cell and of its neighbours are in registers and in the team's scratch memory. The views
// subtract the cell's indices from those in the kernel's expression: of old(i - 1, j) the compiler keeps the
// -1 only, so that no index is computed at run time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <strata/algorithms/streaming/new_values.hpp>
#include <strata/algorithms/team.hpp>
#include <strata/core/assert.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// The rows that a launch computes, and the shape of the fields: the same for all, with dense rows.
template <int Rank>
struct FusedShape {
  index_t extent[Rank];
  index_t stride[Rank];              // in elements
  index_t lower[Rank], upper[Rank];  // work items: the other cells keep their values
  index_t begin, end;                // the rows that are made
  index_t left, right;               // rows that a step reads before its own and after them
  index_t steps;
  index_t segment;      // rows of a team
  index_t tiles[Rank];  // teams along each dimension

  // Rows that are read: those that exist.
  STRATA_FUNCTION index_t first_read(index_t from) const {
    return from - steps * left > 0 ? from - steps * left : 0;
  }
  STRATA_FUNCTION index_t end_read(index_t to) const {
    return to + steps * right < extent[0] ? to + steps * right : extent[0];
  }
  // The work items of a step, 1 to steps, that the rows [from, to) of the last one need.
  STRATA_FUNCTION index_t first_row(index_t step, index_t from) const {
    const index_t row = from - (steps - step) * left;
    return row > lower[0] ? row : lower[0];
  }
  STRATA_FUNCTION index_t end_row(index_t step, index_t to) const {
    const index_t row = to + (steps - step) * right;
    return row < upper[0] ? row : upper[0];
  }
};

/// Calls f(integral_constant<int, 0>), f(1), ... f(N - 1).
template <int N, class F>
STRATA_FUNCTION void fused_unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (f(std::integral_constant<int, I>()), ...); }
  (std::make_integer_sequence<int, N>());
}
/// Few cells: unrolled, so that they stay in registers. Many: a loop.
template <int N, class F>
STRATA_FUNCTION void fused_each(const F& f) {
  constexpr int most_unrolled = 16;
  if constexpr (N <= most_unrolled) {
    fused_unrolled<N>(f);
  } else {
    for (int n = 0; n < N; ++n) f(n);
  }
}

// ---- the accesses of a launch

/// A state: old and new values of an array. New values begin as the old ones, so that elements which a kernel
/// leaves out keep their values; checked builds report elements that it should have written.
template <class T, class Space, bool WritesAll>
struct FusedField {
  using type = T;
  static constexpr bool is_state = true;
  static constexpr bool looks_for_marks = WritesAll && checked_build;
  const T* from_address;  // where element 0 is, or would be
  T* to_address;
  STRATA_FUNCTION const T* from() const { return Space::resolve(from_address); }
  STRATA_FUNCTION T* to() const { return Space::resolve(to_address); }
};
/// Anything else: a view for reading.
template <class V>
struct FusedView {
  using type = V;
  static constexpr bool is_state = false;
  V view;
};

template <class Wanted, std::size_t I>
struct FusedSlot : Wanted {};
template <class, class...>
struct FusedSlots;
/// A pack of `Of<A>` for each access A; std::tuple does not work on every device.
template <std::size_t... I, class... W>
struct FusedSlots<std::index_sequence<I...>, W...> : FusedSlot<W, I>... {
  static constexpr int count = sizeof...(W);
  template <class F>
  STRATA_FUNCTION void each(const F& f) {
    (f(static_cast<FusedSlot<W, I>&>(*this)), ...);
  }
};
template <std::size_t I, class W>
STRATA_FUNCTION W& fused_slot(FusedSlot<W, I>& slot) {
  return slot;
}
template <std::size_t I, class W>
STRATA_FUNCTION const W& fused_slot(const FusedSlot<W, I>& slot) {
  return slot;
}
template <class... W>
using FusedPack = FusedSlots<std::index_sequence_for<W...>, W...>;

template <class S>
inline constexpr bool is_fused_state = std::remove_cvref_t<S>::is_state;
template <class S>
inline constexpr bool looks_for_marks = requires {
  requires std::remove_cvref_t<S>::looks_for_marks;
};

/// Calls a kernel by make(mark), with new values that begin as that mark, and looks for the mark in those of
/// `access`; calls report() if it is still there.
template <class Access, class T, class Make, class Report>
STRATA_FUNCTION void look_for_marks([[maybe_unused]] const Access& access, [[maybe_unused]] const T& value,
                                    [[maybe_unused]] const Make& make,
                                    [[maybe_unused]] const Report& report) {
  if constexpr (looks_for_marks<Access>) {
    if (!UnwrittenMark<T>::is_in(value, 0)) return;
    make(1);
    if (UnwrittenMark<T>::is_in(value, 1)) report();
    make(0);
  }
}

/// Calls kernel(indices..., the arguments of each access...); old and next make those of state I.
template <int I, class Accesses, class Call, class Old, class Next, class... Arguments>
STRATA_FUNCTION void fused_call(const Accesses& accesses, const Call& call, const Old& old, const Next& next,
                                const Arguments&... arguments) {
  if constexpr (I == Accesses::count) {
    call(arguments...);
  } else {
    const auto& access = fused_slot<I>(accesses);
    constexpr std::integral_constant<int, I> number;
    if constexpr (is_fused_state<decltype(access)>)
      fused_call<I + 1>(accesses, call, old, next, arguments..., old(number), next(number));
    else fused_call<I + 1>(accesses, call, old, next, arguments..., access.view);
  }
}

// ---- the views of states

template <class T, int Rank>
struct FusedViewBase {
  using value_type = T;
  const FusedShape<Rank>* shape;
  STRATA_FUNCTION static constexpr int rank() { return Rank; }
  STRATA_FUNCTION index_t extent(int r) const { return shape->extent[r]; }
};

/// The new value of a work item: whatever its indices, it writes its own.
template <class T, int Rank>
struct FusedNext : FusedViewBase<T, Rank> {
  T* cell;
  template <IndexLike... I>
  STRATA_FUNCTION T& operator()(I...) const {
    static_assert(sizeof...(I) == Rank,
                  "strata: an element access needs as many indices as the view has dimensions");
    return *cell;
  }
  template <IndexLike I>
  STRATA_FUNCTION T& operator[](I) const {
    return *cell;
  }
};

/// Old values along a line: cells that lie together.
template <class L, class T>
struct FusedLineOld : FusedViewBase<T, 1> {
  const T* cells;
  index_t at;  // the index of cells[0]
  int cell;    // of the member's
  template <IndexLike I>
  STRATA_FUNCTION T operator()(I i) const {
    const int place = static_cast<int>(static_cast<index_t>(i) - at);
    STRATA_ASSERT(place >= cell && place <= cell + 2 * L::reach,
                  "steps_per_launch: the kernel reads beyond its reach");
    return cells[place];
  }
  template <IndexLike I>
  STRATA_FUNCTION T operator[](I i) const {
    return (*this)(i);
  }
};

/// Old values around a cell of a plane: those of the calling member's own cells in `window`, all of them in
/// `shared`, both by the place of their row in a ring of rows.
template <class P, class T>
struct FusedPlaneOld : FusedViewBase<T, P::rank> {
  const T* shared;  // the cell, of the ring's first row
  const T (*window)[P::stored];
  index_t at[P::rank];  // the cell's indices
  int place;            // of the cell's row in the ring
  int cell;             // of the member's

  template <IndexLike... I>
  STRATA_FUNCTION T operator()(I... i) const {
    static_assert(sizeof...(I) == P::rank,
                  "strata: an element access needs as many indices as the view has dimensions");
    const index_t given[] = {static_cast<index_t>(i)...};
    const int dx = static_cast<int>(given[P::rank - 1] - at[P::rank - 1]);
    const int dy = P::rank == 3 ? static_cast<int>(given[1] - at[1]) : 0;
    const int dr = static_cast<int>(given[0] - at[0]);
    STRATA_ASSERT(within_reach(dr) && within_reach(dy) && within_reach(dx),
                  "steps_per_launch: the kernel reads beyond its reach");
    int row = place + dr;
    if (row < 0) row += P::ring;
    if (row >= P::ring) row -= P::ring;
    if constexpr (P::registers) {
      if (dx == 0 && cell + dy >= 0 && cell + dy < P::stored) return window[row][cell + dy];
    }
    return shared[(row * P::y + dy) * P::x + dx];
  }

 private:
  STRATA_FUNCTION static bool within_reach(int d) { return d >= -P::reach && d <= P::reach; }
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
