// Random numbers by counter: every number is a function of a seed, an index and a draw, and of nothing else.
//
//   random(seed, i, k).uniform<double>()                  // draw k of the stream of index i: in [0, 1)
//   random(seed, i, k).uniform(1, 7)                      // 1, 2, ..., 6
//   random(seed, i, k).normal<double>()                   // mean 0, deviation 1
//   RandomStream stream(seed, i);  stream.next().uniform<float>(); ...                 // draws 0, 1, 2, ...
//   fill_random(x, seed, Normal<double>{0, 0.1});
//
// Without state there is nothing to set up, store or share: a kernel draws by its own work index, and gets
// the same numbers on every device, for any number of threads and any split or slice of its range. Streams of
// different seeds or indices, and different draws, are statistically independent.
//
// Generator: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011), with the seed as key and (draw, index) as counter: 2^64 seeds of 2^64 indices of 2^56 draws of
// 128 bits. It passes BigCrush; it is not for cryptography.
//
// The same bits everywhere: bits(), integers, and real numbers in [0, 1). Between other limits a real number
// may differ in its last bit where one compiler contracts the multiply-add and another does not. Normal
// numbers agree to an absolute 1e-14 (double) or 5e-6 (float), the errors of the devices' logarithms and
// cosines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/philox.hpp>
#include <strata/views/subview.hpp>

namespace strata::inline STRATA_ABI {

/// One draw: a place in the sequence of one index. Each of its functions makes a number from the same 128
/// bits: use one number of a draw.
class RandomDraw {
 public:
  /// Draw number `draw` of `index` under `seed`; `random` makes them.
  STRATA_FUNCTION constexpr RandomDraw(std::uint64_t seed, std::uint64_t index, std::uint64_t draw)
      : seed_(seed), index_(index), draw_(draw) {}

  /// The bits themselves; `block`, below 256, chooses among independent ones.
  STRATA_FUNCTION constexpr RandomBits bits(std::uint32_t block = 0) const {
    return philox4x32_10(
        {static_cast<std::uint32_t>(draw_), static_cast<std::uint32_t>(draw_ >> 32) ^ (block << 24),
         static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(index_ >> 32)},
        {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
  }

  /// A multiple of 2^-53 (double) or 2^-24 (float) in [0, 1), all equally likely.
  template <class T>
  STRATA_FUNCTION constexpr T uniform() const {
    return detail::unit_number<T>(bits());
  }

  /// Integers: low, low + 1, ..., high - 1, all exactly equally likely. Real numbers: low <= x < high. Gives
  /// `low` where the range is empty.
  template <class T>
  STRATA_FUNCTION constexpr T uniform(T low, std::type_identity_t<T> high) const {
    if constexpr (std::is_integral_v<T>) {
      if (!(low < high)) return low;
      const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
      return static_cast<T>(static_cast<std::uint64_t>(low) + below(count));
    } else {
      const T x = low + (high - low) * uniform<T>();
      // Rounding may reach the upper limit.
      return x < high ? x : detail::last_below(low, high);
    }
  }

  /// Normally distributed with mean 0 and standard deviation 1, by Box and Muller; at most 9.5 (double) or
  /// 6.8 (float) from 0.
  template <class T>
  STRATA_FUNCTION T normal() const {
    return detail::normal_number<T>(bits());
  }

 private:
  // 0 <= x < count: the high half of count * (64 bits), where the low half is not one of the few that would
  // make some results likelier (Lemire, "Fast random integer generation in an interval", 2019).
  STRATA_FUNCTION constexpr std::uint64_t below(std::uint64_t count) const {
    for (std::uint32_t block = 0;; ++block) {
      const RandomBits random = bits(block);
      for (int half = 0; half < 2; ++half) {
        const detail::Product product = detail::multiply(random.word64(half), count);
        if (product.low >= count || product.low >= (0 - count) % count || block == 255) return product.high;
      }
    }
  }

  std::uint64_t seed_, index_, draw_;
};

/// Draw number `draw` < 2^56 of the stream of `index` under `seed`. Indices may be negative.
STRATA_FUNCTION constexpr RandomDraw random(std::uint64_t seed, index_t index, std::uint64_t draw = 0) {
  return {seed, static_cast<std::uint64_t>(index), draw};
}

/// The draws of one index, one after the other. A value of three words: kernels make their own.
class RandomStream {
 public:
  /// The stream of `index` under `seed`, from draw number `first_draw` on.
  STRATA_FUNCTION constexpr RandomStream(std::uint64_t seed, index_t index, std::uint64_t first_draw = 0)
      : seed_(seed), index_(index), draw_(first_draw) {}
  /// The next draw.
  STRATA_FUNCTION constexpr RandomDraw next() { return random(seed_, index_, draw_++); }

 private:
  std::uint64_t seed_;
  index_t index_;
  std::uint64_t draw_;
};

// Distributions, for fill_random: anything that makes a value of a RandomDraw is one.

/// RandomDraw::uniform(low, high).
template <class T>
struct Uniform {
  /// The bounds, and a number between them.
  T low = 0;
  T high = 1;
  STRATA_FUNCTION constexpr T operator()(const RandomDraw& draw) const { return draw.uniform(low, high); }
};
/// Of the given mean and standard deviation; T is float or double.
template <class T>
struct Normal {
  /// Mean and standard deviation, and a number drawn.
  T mean = 0;
  T deviation = 1;
  STRATA_FUNCTION T operator()(const RandomDraw& draw) const {
    return mean + deviation * draw.template normal<T>();
  }
};

namespace detail {

// Row i of a view of rank 1, or the whole of one of rank 0.
template <class V, class Distribution>
struct FillRandomRow {
  V view;
  std::uint64_t seed;
  Distribution distribution;

  STRATA_FUNCTION void operator()(auto i) const {
    using T = typename V::value_type;
    if constexpr (V::extents_type::max_rank_value == 0)
      view() = static_cast<T>(distribution(random(seed, 0)));
    else view(i) = static_cast<T>(distribution(random(seed, i)));
  }
};

// The elements (i, j, ...) of a view of rank 2 and more.
template <class V, class Distribution>
struct FillRandomPart {
  V view;
  std::uint64_t seed;
  Distribution distribution;

  STRATA_FUNCTION void operator()(index_t i, index_t j) const { fill(j - view.begin(1), i, j); }

 private:
  // `number` elements of row i lie before the first of (i, rest...).
  template <class... I>
  STRATA_FUNCTION void fill(index_t number, index_t i, I... rest) const {
    constexpr int next = static_cast<int>(sizeof...(I)) + 1;
    if constexpr (next == V::extents_type::max_rank_value) {
      view(i, rest...) = static_cast<typename V::value_type>(
          distribution(random(seed, i, static_cast<std::uint64_t>(number))));
    } else {
      const index_t begin = view.begin(next), extent = view.extent(next);
      for (index_t k = 0; k < extent; ++k) fill(number * extent + k, i, rest..., begin + k);
    }
  }
};

template <class D, class V, class Distribution>
void fill_random_on(const On<D>& where, const V& view, std::uint64_t seed, const Distribution& distribution) {
  using E = typename V::extents_type;
  static_assert(!std::is_const_v<typename V::element_type>,
                "strata: fill_random: the view has const elements");
  if constexpr (E::has_dynamic_rank) {
    // As a view of the rank that it has at run time.
    const auto with_rank = [&]<std::size_t... R>(std::index_sequence<R...>) {
      if (view.rank() == static_cast<int>(sizeof...(R)))
        fill_random_on(where, subview(view, (static_cast<void>(R), everything)...), seed, distribution);
    };
    [&]<std::size_t... N>(std::index_sequence<N...>) { (with_rank(std::make_index_sequence<N>()), ...); }
    (std::make_index_sequence<E::max_rank_value + 1>());
  } else if constexpr (E::max_rank_value < 2) {
    const Range rows = E::max_rank_value == 0 ? range(1) : range(view.begin(0), view.end(0));
    parallel_for("fill_random", where, rows, FillRandomRow<V, Distribution>{view, seed, distribution});
  } else {
    parallel_for("fill_random", where, mdrange({view.begin(0), view.begin(1)}, {view.end(0), view.end(1)}),
                 FillRandomPart<V, Distribution>{view, seed, distribution});
  }
}

}  // namespace detail

/// Gives every element of `view` a random number: element (i, j, ...) the draw of number j... of the stream
/// of i, where j... counts the elements of row i with the last index running fastest. So the numbers depend
/// on seed, shape and indices, not on layout, device or threads. A launch like any other: on asynchronous
/// devices it returns after enqueueing.
template <AnyView V, class Distribution>
void fill_random(const V& view, std::uint64_t seed, const Distribution& distribution) {
  using D = typename V::device_type;
  const detail::Allocation* const record = view.allocation().get();
  detail::fill_random_on(on(record ? D(record->space.instance) : D()), view, seed, distribution);
}
/// The same on a device or in a queue.
template <class D, AnyView V, class Distribution>
void fill_random(const On<D>& where, const V& view, std::uint64_t seed, const Distribution& distribution) {
  static_cast<void>(detail::SameMemoryFor<D, typename V::device_type>::value);
  detail::fill_random_on(where, view, seed, distribution);
}

}  // namespace strata::inline STRATA_ABI
