// Sorting on host threads: std::sort (std::stable_sort) on runs, then rounds of merges of neighbouring runs,
// each round cut into equal pieces of its *output* by merge paths (Odeh, Green, Mwassi, Shmueli, Birk, "Merge
// Path", 2012), so that every round uses all threads, also the last, which merges two runs only.
//
//   runs       | 0 | 1 | 2 | 3 | 4 |     sorted, each by one thread
//   round 1    |   0   |   2   | 4 |     from one buffer into another
//   round 2    |       0       | 4 |
//   round 3    |         0         |
//
// The result does not depend on the number of threads where the order is stable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/algorithms/elements.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The cut of n items into runs of nearly equal length.
struct SortRuns {
  index_t items;
  index_t count;
  int rounds;  // until one run is left

  /// The first item of run k in round `round`.
  index_t begin(index_t k, int round = 0) const {
    k <<= round;
    if (k > count) k = count;
    return items / count * k + (k < items % count ? k : items % count);
  }
};

/// Runs of at least this many items: shorter ones cost more to distribute than to sort.
inline constexpr index_t shortest_sort_run = 4096;
inline constexpr index_t sort_runs_per_worker = 4;

inline SortRuns make_sort_runs(index_t items, int workers) {
  // Several runs for each thread balance the load. More runs mean more rounds of merges, but save as much in
  // the sorts.
  const index_t wanted = workers > 1 ? sort_runs_per_worker * workers : 1;
  const index_t most = items / shortest_sort_run;
  SortRuns runs{items, wanted < most ? wanted : most, 0};
  if (runs.count < 1) runs.count = 1;
  while ((index_t{1} << runs.rounds) < runs.count) ++runs.rounds;
  return runs;
}

/// How many of the first `taken` items of the stable merge of a and b come from a.
template <class T, class Less>
index_t merge_path(const T* a, index_t a_count, const T* b, index_t b_count, index_t taken,
                   const Less& less) {
  index_t low = taken > b_count ? taken - b_count : 0;
  index_t high = taken < a_count ? taken : a_count;
  while (low < high) {
    const index_t i = low + (high - low) / 2;
    if (less(b[taken - 1 - i], a[i])) high = i;
    else low = i + 1;
  }
  return low;
}

/// Writes items [begin, end) of a round's output: `from` holds runs of `round`, `to` gets pairs of them.
template <class T, class Less>
void merge_piece(const SortRuns& runs, int round, const T* from, T* to, index_t begin, index_t end,
                 const Less& less) {
  for (index_t pair = 0; begin < end; ++pair) {
    const index_t first = runs.begin(2 * pair, round), last = runs.begin(2 * pair + 2, round);
    if (last <= begin) continue;
    const index_t stop = end < last ? end : last, middle = runs.begin(2 * pair + 1, round);
    const T* const a = from + first;
    const T* const b = from + middle;
    const index_t a_count = middle - first, b_count = last - middle;
    const index_t a_begin = merge_path(a, a_count, b, b_count, begin - first, less);
    const index_t a_end = merge_path(a, a_count, b, b_count, stop - first, less);
    std::merge(a + a_begin, a + a_end, b + (begin - first - a_begin), b + (stop - first - a_end), to + begin,
               [&less](const T& x, const T& y) { return less(x, y); });
    begin = stop;
  }
}

/// Sorts the items that `make_run(begin, end)` puts, each run sorted, into `a`; returns where they are in the
/// end: in `a` where the number of rounds is even, else in `b`.
template <class T, class MakeRun, class Less>
T* sort_runs(const Runner& runner, const SortRuns& runs, T* a, T* b, const MakeRun& make_run,
             const Less& less) {
  run_pieces(runner, {0, runs.count, 1, 1, Schedule::Dynamic}, [&](index_t first, index_t last) {
    for (index_t k = first; k < last; ++k) make_run(runs.begin(k), runs.begin(k + 1));
  });
  for (int round = 0; round < runs.rounds; ++round) {
    const index_t piece = runs.items / (4 * runner.workers) + 1;
    run_pieces(runner, {0, runs.items, piece, 1, Schedule::Dynamic},
               [&](index_t begin, index_t end) { merge_piece(runs, round, a, b, begin, end, less); });
    std::swap(a, b);
  }
  return a;
}

/// Sorts `count` keys at `keys`, an address that a view holds, in memory of `Space`. Where `less` throws, the
/// keys are as before: only a comparison that cannot throw works on them in place.
template <class Space, class T, class Less>
void sort_on_host(const Runner& runner, T* keys, index_t count, const Less& less) {
  constexpr bool in_place = Space::host_accessible&& noexcept(less(*keys, *keys));
  const SortRuns runs = make_sort_runs(count, runner.workers);
  const auto sort_run = [&](T* first, T* last) {
    std::sort(first, last, [&less](const T& x, const T& y) { return less(x, y); });
  };
  if (in_place && runs.rounds == 0) return sort_run(keys, keys + count);
  const WorkBuffer<T> buffer(in_place || runs.rounds == 0 ? count : 2 * count, "sort");
  T* a = buffer.data();
  T* b = in_place ? keys : a + count;
  if (in_place && runs.rounds % 2 == 0) std::swap(a, b);  // so that the last round writes to the keys
  T* const sorted = sort_runs(
      runner, runs, a, b,
      [&](index_t begin, index_t end) {
        if (!in_place || a != keys)
          std::copy(Space::resolve(keys) + begin, Space::resolve(keys) + end, a + begin);
        sort_run(a + begin, a + end);
      },
      less);
  if constexpr (!in_place)
    run_pieces(runner, {0, count}, [&](index_t begin, index_t end) {
      std::copy(sorted + begin, sorted + end, Space::resolve(keys) + begin);
    });
}

/// A key and what moves with it: the value, or where that is large, its number.
template <class K, class V>
struct SortItem {
  K key;
  V value;
};

/// The same for pairs, stably. Keys and values are as before where `less` throws.
template <class KeySpace, class ValueSpace, class K, class V, class Less>
void sort_pairs_on_host(const Runner& runner, K* keys, V* values, index_t count, const Less& less) {
  constexpr bool carries_value = sizeof(V) <= 16;
  using Item = SortItem<K, std::conditional_t<carries_value, V, index_t>>;
  const SortRuns runs = make_sort_runs(count, runner.workers);
  const WorkBuffer<Item> buffer(runs.rounds == 0 ? count : 2 * count, "sort_by_key");
  Item* const a = buffer.data();
  const auto by_key = [&less](const Item& x, const Item& y) { return less(x.key, y.key); };
  const Item* const sorted = sort_runs(
      runner, runs, a, a + count,
      [&](index_t begin, index_t end) {
        const K* const k = KeySpace::resolve(keys);
        [[maybe_unused]] const V* const v = ValueSpace::resolve(values);
        for (index_t i = begin; i < end; ++i) {
          if constexpr (carries_value) a[i] = {k[i], v[i]};
          else a[i] = {k[i], i};
        }
        std::stable_sort(a + begin, a + end, by_key);
      },
      by_key);
  const WorkBuffer<V> moved(carries_value ? 0 : count, "sort_by_key");
  run_pieces(runner, {0, count}, [&](index_t begin, index_t end) {
    K* const k = KeySpace::resolve(keys);
    V* const v = ValueSpace::resolve(values);
    for (index_t i = begin; i < end; ++i) {
      k[i] = sorted[i].key;
      if constexpr (carries_value) v[i] = sorted[i].value;
      else moved.data()[i] = v[sorted[i].value];
    }
  });
  if constexpr (!carries_value)
    run_pieces(runner, {0, count}, [&](index_t begin, index_t end) {
      std::copy(moved.data() + begin, moved.data() + end, ValueSpace::resolve(values) + begin);
    });
}

}  // namespace strata::inline STRATA_ABI::detail
