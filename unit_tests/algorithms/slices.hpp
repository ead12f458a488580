// The slice test: a kernel run piecewise, over slices of its arrays through views with global indices, gives
// the same bits as run over the whole arrays. So it can be streamed through a memory that holds few rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "arrays.hpp"

namespace strata_tests {

using namespace strata;

inline constexpr unsigned seed = 20130718;

// Splits [0, n) at up to `slices` - 1 places, anywhere: in tiles, too, and into slices without rows.
inline std::vector<ResidentRows> random_cuts(index_t n, int slices, std::mt19937& random) {
  std::vector<index_t> cuts{0, n};
  std::uniform_int_distribution<index_t> anywhere(0, n);
  for (int s = 1; s < slices; ++s) cuts.push_back(anywhere(random));
  std::sort(cuts.begin(), cuts.end());
  std::vector<ResidentRows> rows;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) rows.push_back({cuts[c], cuts[c + 1]});
  return rows;
}

// A number for every element; integers for integers.
template <class T>
T element(index_t position) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(mix(static_cast<std::uint64_t>(position)));
  else return static_cast<T>(mixed_number(position));
}

// Sets every element of a host array by its position in the order of its indices.
template <class V, class... I>
void number_elements(const V& x, index_t& position, I... i) {
  constexpr int r = sizeof...(I);
  if constexpr (r == V::extents_type::rank()) x(i...) = element<typename V::value_type>(position++);
  else
    for (index_t k = 0; k < x.extent(r); ++k) number_elements(x, position, i..., k);
}
template <class V, class... I>
bool equal_elements(const V& x, const V& y, I... i) {
  constexpr int r = sizeof...(I);
  if constexpr (r == V::extents_type::rank()) return same_bits(x(i...), y(i...));
  else {
    for (index_t k = 0; k < x.extent(r); ++k)
      if (!equal_elements(x, y, i..., k)) return false;
    return true;
  }
}

template <class V, class... I>
V make_numbered(index_t salt, I... extents) {
  const auto x = create<V>("x", extents...);
  const auto host = create_mirror_view(x);
  index_t position = salt;
  number_elements(host, position);
  deep_copy(x, host);
  return x;
}
// An array, a copy for a launch over all of it, and one for launches over slices. (Members in place of tuples
// of arrays, which take as many functions as all the rest.)
template <class V>
struct Compared {
  V array;
  V whole = copy_of(array), sliced = copy_of(array);

  static V copy_of(const V& x) {
    const auto copy = create<V>("copy", x.mapping());
    deep_copy(copy, x);
    return copy;
  }
  bool is_equal() const { return equal_elements(on_host(whole), on_host(sliced)); }
  bool is_as_before() const { return equal_elements(on_host(whole), on_host(array)); }
};
// A slice with storage of its own, filled with rows of the array; tiled storage holds whole tiles around
// them.
template <class V>
struct SliceOf {
  const V& array;
  ResidentRows rows;
  V slice = create_slice<V>("slice", array.extents(), rows);

  SliceOf(const V& all, ResidentRows its_rows) : array(all), rows(its_rows) {
    deep_copy_rows(slice, array, rows);
  }
  void copy_back() const { deep_copy_rows(array, slice, rows); }
};

// All arrays have n rows.
template <class Kernel, class... V>
void run_slice(const Kernel& kernel, ResidentRows rows, const SliceOf<V>&... x) {
  parallel_for(range(rows.begin, rows.end), with(kernel, x.slice...));
  (x.copy_back(), ...);
}
template <class Kernel, class... V>
void compare_in_slices(const Kernel& kernel, index_t n, const std::vector<ResidentRows>& slices,
                       const std::string& what, const Compared<V>&... x) {
  parallel_for(n, with(kernel, x.whole...));
  for (const ResidentRows rows : slices) run_slice(kernel, rows, SliceOf<V>(x.sliced, rows)...);
  wait(typename detail::First<V...>::type::device_type{});
  EXPECT_TRUE((x.is_equal() && ...)) << what;
  // A kernel that writes nothing would pass.
  EXPECT_FALSE(n > 0 && (x.is_as_before() && ...)) << what;
}
template <class Kernel, class... V>
void expect_same_bits_in_slices(const Kernel& kernel, index_t n, std::mt19937& random,
                                const std::string& what, const V&... arrays) {
  for (const int slices : {1, 2, 3, 7, 20})
    compare_in_slices(kernel, n, random_cuts(n, slices, random),
                      what + ", n = " + std::to_string(n) + ", " + std::to_string(slices) + " slices, seed " +
                          std::to_string(seed),
                      Compared<V>{arrays}...);
}

// ---- kernels, as users write them: the same for every layout

struct Axpy {
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};

struct IntegerMix {
  STRATA_FUNCTION void operator()(int i, auto x, auto y) const {
    y(i) = y(i) * 31 + (x(i) ^ static_cast<typename decltype(y)::value_type>(i));
  }
};

// Figure 6 of the Kokkos Array paper: the average of the elements of a row.
struct RowAverage {
  STRATA_FUNCTION void operator()(auto i, auto x, auto average) const {
    double sum = 0;
    for (index_t j = 0; j < x.extent(1); ++j) sum += x(i, j);
    average(i) = sum / static_cast<double>(x.extent(1));
  }
};

// The arithmetic of a hexahedral gradient: 8 nodes x 3 coordinates in, as many out, each of differences and
// products of the others.
struct Gradient {
  STRATA_FUNCTION void operator()(auto i, auto x, auto g) const {
    for (int c = 0; c < 3; ++c) {
      const int d = (c + 1) % 3, e = (c + 2) % 3;
      for (int v = 0; v < 8; ++v) {
        const int next = (v + 1) % 8, across = (v + 5) % 8;
        g(i, v, c) = (x(i, next, d) - x(i, across, d)) * (x(i, v, e) + x(i, next, e)) -
                     (x(i, next, e) - x(i, across, e)) * (x(i, v, d) + x(i, next, d));
      }
    }
  }
};

// Reads and writes one array, and knows where it is.
struct ScaleByIndex {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    for (index_t j = 0; j < x.extent(1); ++j)
      for (index_t k = 0; k < x.extent(2); ++k)
        x(i, j, k) = x(i, j, k) * 0.5 + static_cast<double>(i * 100 + j - k);
  }
};

inline constexpr index_t slice_sizes[] = {0, 1, 8, 33, 257, 1021};

template <class D, class Layout>
void expect_kernels_in_slices(const std::string& layout) {
  std::mt19937 random(seed);
  using Doubles = MDArrayIn<Layout, double, D, rank<1>>;
  using Integers = MDArrayIn<Layout, std::uint32_t, D, rank<1>>;
  using Rows = MDArrayIn<Layout, double, D, rank<2>>;
  using Elements = MDArrayIn<Layout, double, D, 8, 3>;
  using Cubes = MDArrayIn<Layout, double, D, rank<3>>;
  for (const index_t n : slice_sizes) {
    expect_same_bits_in_slices(Axpy{0.3}, n, random, layout + " axpy", make_numbered<Doubles>(1, n),
                               make_numbered<Doubles>(99999, n));
    // On hosts a layout does not know what elements are; copies of GPUs do.
    if constexpr (std::is_same_v<Layout, LayoutRight> || !runs_on_host_threads<D>)
      expect_same_bits_in_slices(IntegerMix{}, n, random, layout + " integers", make_numbered<Integers>(1, n),
                                 make_numbered<Integers>(99999, n));
    expect_same_bits_in_slices(RowAverage{}, n, random, layout + " row average", make_numbered<Rows>(1, n, 7),
                               make_numbered<Doubles>(99999, n));
    expect_same_bits_in_slices(Gradient{}, n, random, layout + " gradient", make_numbered<Elements>(1, n),
                               make_numbered<Elements>(99999, n));
    expect_same_bits_in_slices(ScaleByIndex{}, n, random, layout + " scale",
                               make_numbered<Cubes>(1, n, 3, 5));
  }
}

}  // namespace strata_tests
