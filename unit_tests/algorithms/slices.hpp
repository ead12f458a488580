// The slice test: a kernel run piecewise, over slices of its arrays through views with global indices, gives
// the same bits as run over the whole arrays. So it can be streamed through a memory that holds few rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <utility>
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

// Runs `kernel` over [0, n) slice by slice. Each slice has storage of its own, which is filled with rows of
// the arrays (all have n rows) and copied back; tiled storage holds whole tiles around them.
template <class Kernel, class... V>
void run_in_slices(const Kernel& kernel, const std::vector<ResidentRows>& slices, const V&... arrays) {
  for (const ResidentRows rows : slices) {
    const std::tuple<V...> parts{create_slice<V>("slice", arrays.extents(), rows)...};
    std::apply(
        [&](const V&... slice) {
          (deep_copy_rows(slice, arrays, rows), ...);
          parallel_for(range(rows.begin, rows.end), with(kernel, slice...));
          (deep_copy_rows(arrays, slice, rows), ...);
        },
        parts);
  }
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
template <class V>
V copy_of(const V& x) {
  const auto copy = create<V>("copy", x.mapping());
  deep_copy(copy, x);
  return copy;
}

template <class Kernel, class... V>
void expect_same_bits_in_slices(const Kernel& kernel, index_t n, std::mt19937& random,
                                const std::string& what, const V&... arrays) {
  for (const int slices : {1, 2, 3, 7, 20}) {
    const auto cuts = random_cuts(n, slices, random);
    const std::tuple<V...> whole{copy_of(arrays)...}, sliced{copy_of(arrays)...};

    std::apply([&](const V&... x) { parallel_for(n, with(kernel, x...)); }, whole);
    std::apply([&](const V&... x) { run_in_slices(kernel, cuts, x...); }, sliced);

    wait(typename std::tuple_element_t<0, std::tuple<V...>>::device_type{});
    std::apply(
        [&](const V&... x) {
          std::apply(
              [&](const V&... y) {
                EXPECT_TRUE((equal_elements(on_host(x), on_host(y)) && ...))
                    << what << ", n = " << n << ", " << slices << " slices, seed " << seed;
              },
              sliced);
          // A kernel that writes nothing would pass.
          EXPECT_FALSE(n > 0 && (equal_elements(on_host(x), on_host(arrays)) && ...)) << what;
        },
        whole);
  }
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
