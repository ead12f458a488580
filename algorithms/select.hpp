// copy_if and partition: the elements of a view of rank 1 for which a predicate holds.
//
//   const index_t kept = copy_if(x, y, IsPositive{});     // to y(0), y(1), ... in the order of x
//   copy_if(x, y, IsPositive{}, kept);                    // the count into a host variable
//   copy_if(on(queue), x, y, IsPositive{}, count);        // into a Value<index_t, D>: does not wait
//   const index_t front = partition(x, IsPositive{});     // those first, then the others, both in order
//   partition(on(device).named("sides"), x, IsPositive{}, count);
//
// The predicate is a functor, bool p(const T&) const, called once an element. Results do not depend on the
// number of threads. Views may have any layout; indices of x count from x.begin(0), those of y from
// y.begin(0).
//
// copy_if writes no more than y holds, while the count is that of all: where it is larger, y was too small. x
// and y must not share memory (LayoutError). Where the predicate throws, y is unspecified, and the array of a
// partition is unchanged. Hosts use a bit for each element besides the views, and for partition another
// array; Cuda uses CUB (DeviceSelect, DevicePartition).
//
// Forms that return the count, or put it into a host variable, wait for it. Otherwise launches, ordering and
// errors are those of parallel_for. Not part of <strata/strata.hpp>: CUB is expensive to compile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/elements.hpp>
#include <strata/algorithms/place.hpp>
#if defined(__CUDACC__)
#include <strata/devices/cuda/primitives/select.hpp>
#endif

namespace strata::inline STRATA_ABI {

namespace detail {

/// Items whose count is known before any of them is written; a multiple of 64.
inline constexpr index_t select_block = 4096;
inline constexpr index_t select_words = select_block / 64;

/// Bit i of `words` says whether holds(begin + i); returns how many do.
template <class Holds>
index_t mark_items(std::uint64_t* words, index_t begin, index_t end, const Holds& holds) {
  index_t count = 0;
  for (index_t from = begin; from < end; from += 64, ++words) {
    const index_t here = end - from < 64 ? end - from : 64;
    std::uint64_t word = 0;
    for (index_t k = 0; k < here; ++k) word |= std::uint64_t{holds(from + k)} << k;
    *words = word;
    count += __builtin_popcountll(word);
  }
  return count;
}

/// Calls f(i) for the items of [begin, end) that are marked, in order.
template <class F>
void for_each_marked(const std::uint64_t* words, index_t begin, index_t end, const F& f) {
  for (index_t from = begin; from < end; from += 64, ++words)
    for (std::uint64_t left = *words; left != 0; left &= left - 1) f(from + __builtin_ctzll(left));
}

/// Which of the items [0, count) hold, and how many do before each block.
class MarkedItems {
 public:
  template <class Holds>
  MarkedItems(const Runner& runner, index_t count, const char* what, const Holds& holds)
      : count_(count),
        blocks_((count + select_block - 1) / select_block),
        words_(blocks_ * select_words, what),
        before_(blocks_ + 1, what) {
    run_pieces(runner, {0, blocks_}, [&](index_t first, index_t last) {
      for (index_t b = first; b < last; ++b)
        before_.data()[b] = mark_items(words(b), begin(b), end(b), holds);
    });
    index_t sum = 0;
    for (index_t b = 0; b <= blocks_; ++b) {
      const index_t here = b < blocks_ ? before_.data()[b] : 0;
      before_.data()[b] = sum;
      sum += here;
    }
  }

  index_t blocks() const { return blocks_; }
  index_t marked() const { return before_.data()[blocks_]; }
  index_t marked_before(index_t block) const { return before_.data()[block]; }
  index_t begin(index_t block) const { return block * select_block; }
  index_t end(index_t block) const { return block + 1 < blocks_ ? begin(block + 1) : count_; }
  std::uint64_t* words(index_t block) const { return words_.data() + block * select_words; }

 private:
  index_t count_;
  index_t blocks_;
  WorkBuffer<std::uint64_t> words_;
  WorkBuffer<index_t> before_;
};

/// Item k of a view of rank 1: read, and written where there is room for it.
template <class X>
struct GetItem {
  using value_type = typename X::value_type;
  X x;
  STRATA_FUNCTION value_type operator()(index_t k) const { return x(x.begin(0) + k); }
};
template <class Y>
struct PutItem {
  Y y;
  template <class T>
  STRATA_FUNCTION void operator()(index_t k, const T& value) const {
    if (k < y.extent(0)) y(y.begin(0) + k) = value;
  }
};

template <class X, class Y, class P, class Result>
struct CopyIfWork {
  static constexpr bool waits = Result::waits;
  X x;
  Y y;
  P predicate;
  Result result;

  void operator()(const Runner& runner) const {
    result.store(runner.workers == 1 ? copy_alone() : copy_in_two_passes(runner));
  }
  template <class Execution>
  auto on(Execution execution, const LaunchInfo& info) const
      -> decltype(select_items(execution, info, index_t{}, GetItem<X>{this->x}, PutItem<Y>{this->y},
                               this->predicate, this->result)) {
    select_items(execution, info, x.extent(0), GetItem<X>{x}, PutItem<Y>{y}, predicate, result);
  }

 private:
  bool holds(index_t i) const { return static_cast<bool>(predicate(x(i))); }
  void copy(index_t to, index_t from) const {
    if (to < y.extent(0)) y(y.begin(0) + to) = x(from);
  }

  // One thread: a block is copied by its marks while it is still in cache, so that it is read once.
  index_t copy_alone() const {
    const index_t first = x.begin(0), last = x.end(0);
    index_t count = 0;
    for (index_t begin = first; begin < last; begin += select_block) {
      const index_t end = last - begin < select_block ? last : begin + select_block;
      std::uint64_t words[select_words];
      mark_items(words, begin, end, [this](index_t i) { return holds(i); });
      for_each_marked(words, begin, end, [&](index_t i) { copy(count++, i); });
    }
    return count;
  }
  index_t copy_in_two_passes(const Runner& runner) const {
    const index_t first = x.begin(0);
    const MarkedItems items(runner, x.extent(0), "copy_if", [&](index_t i) { return holds(first + i); });
    run_pieces(runner, {0, items.blocks()}, [&](index_t begin, index_t end) {
      for (index_t b = begin; b < end; ++b) {
        index_t to = items.marked_before(b);
        for_each_marked(items.words(b), items.begin(b), items.end(b),
                        [&](index_t i) { copy(to++, first + i); });
      }
    });
    return items.marked();
  }
};

template <class X, class P, class Result>
struct PartitionWork {
  using value_type = typename X::value_type;
  static constexpr bool waits = Result::waits;
  X x;
  P predicate;
  Result result;

  void operator()(const Runner& runner) const {
    const index_t count = x.extent(0), first = x.begin(0);
    const MarkedItems items(runner, count, "partition",
                            [&](index_t i) { return static_cast<bool>(predicate(x(first + i))); });
    const WorkBuffer<value_type> sorted(count, "partition");
    run_pieces(runner, {0, items.blocks()}, [&](index_t begin, index_t end) {
      for (index_t b = begin; b < end; ++b) split_block(items, b, sorted.data());
    });
    run_pieces(runner, {0, count}, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) x(first + i) = sorted.data()[i];
    });
    result.store(items.marked());
  }
  template <class Execution>
  auto on(Execution execution, const LaunchInfo& info) const
      -> decltype(partition_items(execution, info, index_t{}, GetItem<X>{this->x}, PutItem<X>{this->x},
                                  this->predicate, this->result)) {
    partition_items(execution, info, x.extent(0), GetItem<X>{x}, PutItem<X>{x}, predicate, result);
  }

 private:
  void split_block(const MarkedItems& items, index_t block, value_type* sorted) const {
    const index_t begin = items.begin(block), end = items.end(block), first = x.begin(0);
    value_type* const to[2] = {sorted + items.marked() + begin - items.marked_before(block),
                               sorted + items.marked_before(block)};
    index_t count[2] = {0, 0};
    const std::uint64_t* const words = items.words(block);
    for (index_t i = begin; i < end; ++i) {
      const auto side = words[(i - begin) >> 6] >> ((i - begin) & 63) & 1;
      to[side][count[side]++] = x(first + i);
    }
  }
};

template <class X, class Y>
constexpr bool check_target() {
  constexpr bool constant = std::is_const_v<typename Y::element_type>;
  constexpr bool assignable = std::is_assignable_v<typename Y::reference, typename X::value_type>;
  static_assert(!constant, "strata: copy_if: the target has const elements");
  static_assert(constant || assignable,
                "strata: copy_if: the elements of the source cannot be assigned to those of the target");
  return assignable;
}

template <class Where, class X, class Y, class P, class Result>
void launch_copy_if(const char* label, const Where& where, const X& x, const Y& y, const P& predicate,
                    Result& result) {
  using D = typename DeviceFor<Where, X>::type;
  using U = typename X::unmanaged_type;
  using W = typename Y::unmanaged_type;
  static_assert(SameMemoryFor<D, typename Y::device_type>::value);
  check_result_memory<D, Result>();
  if constexpr (check_target<X, Y>() && check_rank_one<X>() && check_rank_one<Y>() &&
                check_predicate<X, P>()) {
    require_rank_one("copy_if", x);
    require_rank_one("copy_if", y);
    require_apart("copy_if", x, y);
    launch_work<X, P>(label, where, x.extent(0), [&] {
      const X noted_x(x);  // from a copy the launch notes where the view lives
      const Y noted_y(y);
      const auto place = index_result(result);
      return CopyIfWork<U, W, P, std::remove_const_t<decltype(place)>>{noted_x, noted_y, predicate, place};
    });
  }
}

template <class Where, class X, class P, class Result>
void launch_partition(const char* label, const Where& where, const X& x, const P& predicate, Result& result) {
  using D = typename DeviceFor<Where, X>::type;
  using U = typename X::unmanaged_type;
  constexpr bool constant = std::is_const_v<typename X::element_type>;
  static_assert(!constant, "strata: partition: the view has const elements");
  check_result_memory<D, Result>();
  if constexpr (!constant && check_rank_one<X>() && check_predicate<X, P>()) {
    require_rank_one("partition", x);
    launch_work<X, P>(label, where, x.extent(0), [&] {
      const X noted(x);
      const auto place = index_result(result);
      return PartitionWork<U, P, std::remove_const_t<decltype(place)>>{noted, predicate, place};
    });
  }
}

template <class Where, AnyView X, AnyView Y, class P, class... Result>
auto copy_if_into(const char* label, const Where& where, const X& x, const Y& y, const P& predicate,
                  Result&&... result) {
  return into_or_returned([&](auto& place) { launch_copy_if(label, where, x, y, predicate, place); },
                          result...);
}
template <class Where, AnyView X, class P, class... Result>
auto partition_into(const char* label, const Where& where, const X& x, const P& predicate,
                    Result&&... result) {
  return into_or_returned([&](auto& place) { launch_partition(label, where, x, predicate, place); },
                          result...);
}

}  // namespace detail

/// copy_if([on(...),] x, y, predicate[, result]). Returns the number of elements of x for which the predicate
/// holds, unless `result` is given.
template <detail::OnOrView First, AnyView Second, class Third, class... Rest>
auto copy_if(const First& first, const Second& second, const Third& third, Rest&&... rest) {
  if constexpr (detail::is_on_v<First>)
    return detail::copy_if_into(detail::label_of(first, "copy_if"), first, second, third, rest...);
  else return detail::copy_if_into("copy_if", detail::Anywhere{}, first, second, third, rest...);
}

/// partition([on(...),] x, predicate[, result]). Returns the number of elements for which the predicate
/// holds, unless `result` is given.
template <detail::OnOrView First, class Second, class... Rest>
auto partition(const First& first, const Second& second, Rest&&... rest) {
  if constexpr (detail::is_on_v<First>)
    return detail::partition_into(detail::label_of(first, "partition"), first, second, rest...);
  else return detail::partition_into("partition", detail::Anywhere{}, first, second, rest...);
}

}  // namespace strata::inline STRATA_ABI
