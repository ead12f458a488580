// Host loops: how one thread runs a kernel over a piece of its range. Shared by all devices whose kernels run
// on host threads.
//
// A kernel that takes any index type is handed lane indices, in a loop over the lanes of a block that is
// vectorised across work items: the contract of a kernel (it writes only what belongs to its own index)
// is what `omp simd` asserts. Everything a kernel calls is inlined into that loop (`flatten`), because a
// call would stop the vectoriser. A kernel that takes an integer runs in a plain loop, which the compiler may
// vectorise where that pays; it is inlined into it likewise, as a compiler else stops once two loops call it.
//
// No exception may leave an `omp simd` loop: compilers end the program there. So each item of such a loop
// catches its own, and the loop throws the first one when it is done (ThrownByItems). Compilers vectorise
// only loops in which nothing can throw once all is inlined, and remove the handlers from those.
//
// In checked builds every access may call what reports it, so that no loop is vectorised: there a kernel is
// compiled into one loop over its items, not into three.
//
// A `Body` is a kernel made ready for a device: `body(i)`, `body(i, update)` for reductions, `body(i, update,
// final)` for scans, with `Body::takes_lanes`, and then `Body::index_type`, a LaneIndex.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <strata/core/lane_index.hpp>
#include <strata/core/reduction_tree.hpp>
#include <strata/devices/host/lane_values.hpp>
#include <strata/devices/launch_info.hpp>

#if defined(__GNUC__)
#define STRATA_FLATTEN [[gnu::flatten]]
#else
#define STRATA_FLATTEN
#endif

// The contract of kernels again, but the compiler decides whether to vectorise.
#if defined(__GNUC__) && !defined(__clang__)
#define STRATA_INDEPENDENT_ITEMS _Pragma("GCC ivdep")
#else
#define STRATA_INDEPENDENT_ITEMS
#endif

// For loops of at most 8 rounds. nvcc warns of the pragma.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define STRATA_UNROLL_8 _Pragma("GCC unroll 8")
#else
#define STRATA_UNROLL_8
#endif

namespace strata::inline STRATA_ABI::detail {

/// Lanes of a block on hosts: one cache line of doubles.
inline constexpr int host_lanes = 8;
using HostIndex = LaneIndex<host_lanes>;

template <class Body>
using LaneIndexOf = typename Body::index_type;
template <class Body>
inline constexpr int lanes_of = LaneIndexOf<Body>::lanes;

template <class Body>
constexpr LaneIndexOf<Body> lane_index(index_t i) {
  constexpr int lanes = lanes_of<Body>;
  return {i >> std::countr_zero(unsigned{lanes}), static_cast<int>(i & (lanes - 1))};
}

/// The first exception of the items of an `omp simd` loop, which is thrown after the loop.
class ThrownByItems {
 public:
  /// Calls body(arguments...), unless an item has thrown before.
  template <class Body, class... Arguments>
  void run(const Body& body, Arguments&&... arguments) noexcept {
    if (first_) return;
    try {
      body(static_cast<Arguments&&>(arguments)...);
    } catch (...) {
      first_ = std::current_exception();
    }
  }
  /// Throws what an item threw.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

// One lane. A function of its own: g++ turns every object that is made inside an `omp simd` loop, such as the
// index, into an array over the lanes before it inlines, and then fails to vectorise.
template <class Body, class... Value>
void run_lane(ThrownByItems& thrown, const Body& body, index_t block, int lane, Value&... value) {
  thrown.run(body, LaneIndexOf<Body>{block, lane}, value...);
}

// The same, of a value of a lane.
template <class Body, class Values>
void run_lane_on(ThrownByItems& thrown, const Body& body, index_t block, int lane, Values& values, int at) {
  values.use(at, [&](auto& value) { thrown.run(body, LaneIndexOf<Body>{block, lane}, value); });
}

/// Work item `i` as `Body` takes it.
template <class Body>
constexpr auto item_index(index_t i) {
  if constexpr (Body::takes_lanes) return lane_index<Body>(i);
  else return i;
}

// A body that knows which rows of its views an index reads (see ReadRows of algorithms/kernel.hpp).
template <class Body>
concept FetchesAhead = Body::fetches_ahead;
// One block hides most of the latency of memory, two all of it; more gain nothing.
inline constexpr index_t blocks_ahead = 2;

template <class Body>
STRATA_FLATTEN void run_lane_blocks(const Body& body, index_t first_block, index_t last_block) {
  ThrownByItems thrown;
  for (index_t block = first_block; block < last_block; ++block) {
    if constexpr (FetchesAhead<Body>) body.fetch_ahead(LaneIndexOf<Body>{block + blocks_ahead, 0});
#pragma omp simd
    for (int lane = 0; lane < lanes_of<Body>; ++lane) run_lane(thrown, body, block, lane);
    thrown.rethrow();
  }
}

// Whether the kernel's index is an `int`. Its loop then counts in int: a narrowed 64-bit count does not step
// evenly for the compiler, as it may wrap.
template <class Body>
constexpr bool takes_int() {
  if constexpr (requires { Body::takes_int; }) return Body::takes_int;
  else return false;
}
constexpr bool fit_int(index_t begin, index_t end) { return begin >= INT32_MIN && end <= INT32_MAX; }

template <class Body, class Index, class... Value>
void run_integer(const Body& body, Index i, Value&... value) {
  body(i, value...);
}

template <class Body, class Index>
STRATA_FLATTEN void run_integers(const Body& body, Index begin, Index end) {
  STRATA_INDEPENDENT_ITEMS
  for (Index i = begin; i < end; ++i) run_integer(body, i);
}

/// Work items [begin, end) of a parallel_for.
template <class Body>
void run_items(const Body& body, index_t begin, index_t end) {
  if constexpr (Body::takes_lanes && checked_build) {
    for (index_t i = begin; i < end; ++i) body(lane_index<Body>(i));
  } else if constexpr (Body::takes_lanes) {
    constexpr int lanes = lanes_of<Body>;
    const index_t first_block = lane_index<Body>(begin).block + ((begin & (lanes - 1)) != 0 ? 1 : 0);
    const index_t last_block = lane_index<Body>(end).block;
    const bool has_blocks = first_block < last_block;
    // Items before the blocks, and in a second round those after them: so they are compiled once.
    index_t i = begin, stop = has_blocks ? first_block * lanes : end;
    while (true) {
      for (; i < stop; ++i) body(lane_index<Body>(i));
      if (!has_blocks || stop == end) return;
      run_lane_blocks(body, first_block, last_block);
      i = last_block * lanes;
      stop = end;
    }
  } else {
    if constexpr (takes_int<Body>())
      if (fit_int(begin, end)) return run_integers(body, static_cast<int>(begin), static_cast<int>(end));
    run_integers(body, begin, end);
  }
}

/// Calls body(i, value...) for the items one after the other. Lane indices go block by block: from one that
/// is computed for each item compilers do not see that neighbours are neighbours in memory.
template <class Body, class... Value>
STRATA_FLATTEN void run_in_order(const Body& body, index_t begin, index_t end, Value&&... value) {
  if constexpr (Body::takes_lanes && !checked_build) {
    constexpr int lanes = lanes_of<Body>;
    index_t i = begin;
    for (; i < end && (i & (lanes - 1)) != 0; ++i) body(lane_index<Body>(i), value...);
    if (end - i >= lanes) {
      const index_t last_block = lane_index<Body>(end).block;
      for (index_t block = lane_index<Body>(i).block; block < last_block; ++block)
        for (int lane = 0; lane < lanes; ++lane) body(LaneIndexOf<Body>{block, lane}, value...);
      i = last_block * lanes;
    }
    for (; i < end; ++i) body(lane_index<Body>(i), value...);
  } else {
    for (index_t i = begin; i < end; ++i) body(item_index<Body>(i), value...);
  }
}

/// Joins the first `Lanes` values into lane 0, as join_lanes does (reduction_tree.hpp).
template <int Lanes, class Values, class Reducer>
void join_all_lanes(Values& values, const Reducer& reducer) {
  if constexpr (Lanes > 1) {
    constexpr int half = Lanes / 2;
    STRATA_INDEPENDENT_ITEMS
    for (int l = 0; l < half; ++l)
      values.use(l, [&](auto& value) { reducer.join(value, values.get(l + half)); });
    join_all_lanes<half>(values, reducer);
  }
}

// Numbers, and structs of numbers, are added in the order of items, by which caches and memory fetch ahead,
// also where not all lanes fit in registers. Compilers do not vectorise that for other types: of their lanes
// 256 bytes stay in registers while all items of the block that add to them are visited.
template <int Lanes, int Width, class T>
inline constexpr int lanes_together = [] {
  if (std::is_arithmetic_v<T> || count_numbers<T>() > 0) return Lanes;
  int lanes = Lanes;
  while (lanes > Width && static_cast<std::size_t>(lanes) * sizeof(T) > 256) lanes /= 2;
  return lanes;
}();

// The partial of items [begin, end), as many as there are lanes or more, beginning at a block of lanes: item
// i adds to lane (i - begin) % Lanes.
template <int Lanes, class Body, class Reducer, class T>
STRATA_FLATTEN void reduce_lanes(const Body& body, const Reducer& reducer, index_t begin, index_t end,
                                 T& result) {
  constexpr int width = lanes_of<Body>, together = lanes_together<Lanes, width, T>, groups = together / width;
  const index_t first_block = lane_index<Body>(begin).block, last_block = lane_index<Body>(end).block;
  const index_t rounds = (last_block - first_block) / (Lanes / width);
  LaneValues<T, Lanes> sum;
  ThrownByItems thrown;
  for (int part = 0; part < Lanes; part += together) {
    // Not `sum`: where no index is a variable they may stay in registers.
    LaneValues<T, together> lanes;
    for (int l = 0; l < together; ++l) lanes.init(l, reducer);
    index_t block = first_block + part / width;
    for (index_t round = 0; round < rounds; ++round, block += Lanes / width) {
      const auto add = [&](int g) {
#pragma omp simd
        for (int lane = 0; lane < width; ++lane)
          run_lane_on(thrown, body, block + g, lane, lanes, g * width + lane);
      };
      if constexpr (together == Lanes) {
        for (int g = 0; g < groups; ++g) add(g);
      } else {
        STRATA_UNROLL_8
        for (int g = 0; g < groups; ++g) add(g);
      }
    }
    for (int l = 0; l < together; ++l) sum.set(part + l, lanes.get(l));
  }
  index_t block = first_block + rounds * (Lanes / width);
  for (int g = 0; block < last_block; ++block, ++g) {
#pragma omp simd
    for (int lane = 0; lane < width; ++lane) run_lane_on(thrown, body, block, lane, sum, g * width + lane);
  }
  thrown.rethrow();
  for (index_t i = last_block * width; i < end; ++i)
    sum.use(static_cast<int>((i - begin) & (Lanes - 1)), [&](T& value) { body(lane_index<Body>(i), value); });
  join_all_lanes<Lanes>(sum, reducer);
  result = sum.get(0);
}

template <class Body, class Index, class Values>
void run_integer_on(const Body& body, Index i, Values& values, int at) {
  values.use(at, [&](auto& value) { body(i, value); });
}

// Items [begin, end) of a reduction, the first of which adds to partial 0: groups of an item for each
// partial.
template <int Lanes, class Body, class Index, class T>
STRATA_FLATTEN void reduce_integers(const Body& body, Index begin, Index end, T* partial) {
  Index rest = begin;
  if constexpr (Lanes >= host_lanes) {
    constexpr int together = lanes_together<Lanes, host_lanes, T>;
    rest = static_cast<Index>(end - (end - begin) % Lanes);
    for (int part = 0; rest > begin && part < Lanes; part += together) {
      LaneValues<T, together> lanes;
      for (int l = 0; l < together; ++l) lanes.set(l, partial[part + l]);
      for (Index round = begin; round < rest; round = static_cast<Index>(round + Lanes)) {
        const auto add = [&](int g) {
          STRATA_INDEPENDENT_ITEMS
          for (int l = 0; l < host_lanes; ++l)
            run_integer_on(body, static_cast<Index>(round + (part + g + l)), lanes, g + l);
        };
        if constexpr (together == Lanes) {
          for (int g = 0; g < together; g += host_lanes) add(g);
        } else {
          STRATA_UNROLL_8
          for (int g = 0; g < together; g += host_lanes) add(g);
        }
      }
      for (int l = 0; l < together; ++l) partial[part + l] = lanes.get(l);
    }
  }
  for (Index i = rest; i < end; ++i) run_integer(body, i, partial[(i - begin) & (Lanes - 1)]);
}

/// The partial of one block of a reduction (see reduction_tree.hpp): items [begin, end), at most one block of
/// them.
template <class Body, class Reducer, class T = typename Reducer::value_type>
void reduce_items(const Body& body, const Reducer& reducer, index_t begin, index_t end, T& result) {
  constexpr int lanes = reduction_lanes<T>;
  const index_t count = end - begin;
  if constexpr (Body::takes_lanes && !checked_build) {
    if constexpr (lanes >= lanes_of<Body>)
      if ((begin & (lanes_of<Body> - 1)) == 0 && count >= lanes)
        return reduce_lanes<lanes>(body, reducer, begin, end, result);
  }
  T partial[lanes];
  for (int l = 0; l < lanes && l < count; ++l) reducer.init(partial[l]);
  if constexpr (Body::takes_lanes) {
    for (index_t i = begin; i < end; ++i) body(lane_index<Body>(i), partial[(i - begin) & (lanes - 1)]);
  } else if (takes_int<Body>() && fit_int(begin, end)) {
    reduce_integers<lanes>(body, static_cast<int>(begin), static_cast<int>(end), partial);
  } else {
    reduce_integers<lanes>(body, begin, end, partial);
  }
  join_lanes<lanes>(partial, count, [&](T& a, const T& b) { reducer.join(a, b); });
  result = partial[0];
}

/// Calls `body(i0, ..., i{Rank-1}, extra...)` for every index of a box, the right-most fastest.
template <int Rank, int D = 0, class Body, class... Extra>
void run_box(const Body& body, const index_t* lower, const index_t* upper, index_t (&at)[Rank],
             Extra&... extra) {
  if constexpr (D + 1 < Rank) {
    for (index_t i = lower[D]; i < upper[D]; ++i) {
      at[D] = i;
      run_box<Rank, D + 1>(body, lower, upper, at, extra...);
    }
  } else {
    const auto call = [&]<std::size_t... Q>(index_t last, std::index_sequence<Q...>) {
      body(at[Q]..., last, extra...);
    };
    for (index_t i = lower[D]; i < upper[D]; ++i) call(i, std::make_index_sequence<Rank - 1>());
  }
}

// One item of a box; indices are passed by value for the reason given at run_lane.
template <class Body, class... I>
void run_box_item(ThrownByItems& thrown, const Body& body, I... i) {
  thrown.run(body, i...);
}

/// A box whose rows along the last dimension are vectorised: kernels of a parallel_for that take any index
/// type.
template <int Rank, class Body, class... I>
STRATA_FLATTEN void run_box_lanes(const Body& body, const index_t* lower, const index_t* upper, I... outer) {
  constexpr int d = sizeof...(I);
  const index_t begin = lower[d], end = upper[d];
  if constexpr (d + 1 < Rank) {
    for (index_t i = begin; i < end; ++i) run_box_lanes<Rank>(body, lower, upper, outer..., i);
  } else {
    ThrownByItems thrown;
#pragma omp simd
    for (index_t i = begin; i < end; ++i) run_box_item(thrown, body, outer..., i);
    thrown.rethrow();
  }
}

}  // namespace strata::inline STRATA_ABI::detail
