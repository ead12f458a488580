// The kernels of random programs: sums of some rows of an array, and values that say who wrote them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "views/coherent/executor_fixture.hpp"

namespace coherent_testing {

using Number = std::uint64_t;

/// The rows of x that row i of y is made of: as a region, and for a kernel.
struct WantedRows {
  enum Kind { Own, Halo, All, Some, Beyond } kind;
  index_t a, b;  // of Halo and Beyond, which the array has edges for: before and after; of Some: from a to b
  index_t n;     // rows of the array
  STRATA_FUNCTION ResidentRows operator()(ResidentRows work) const {
    ResidentRows rows = work;
    if (kind == Beyond) return {work.begin - a, work.end + b};
    if (kind == Halo) rows = {work.begin - a, work.end + b};
    if (kind == All) rows = {0, n};
    if (kind == Some) rows = {a, b};
    return {rows.begin < 0 ? 0 : rows.begin, rows.end > n ? n : rows.end};
  }
};

/// Calls f(index...) for all indices of a view or of extents that begin with `i`.
template <int Rank, class V, class F, class... I>
void each_after(const V& v, const F& f, I... i) {
  if constexpr (static_cast<int>(sizeof...(I)) == Rank) {
    f(i...);
  } else {
    for (index_t j = 0; j < v.extent(static_cast<int>(sizeof...(I))); ++j) each_after<Rank>(v, f, i..., j);
  }
}

/// y(i, ...) = salt + the sum of x(k, ...) over the wanted rows k.
template <int Rank>
struct SumOfRows {
  WantedRows wanted;
  Number salt;
  void operator()(auto index, auto x, auto y) const {
    const index_t i = static_cast<index_t>(index);
    const ResidentRows rows = wanted({i, i + 1});
    each_after<Rank>(
        y,
        [&](index_t row, auto... others) {
          Number sum = salt;
          for (index_t k = rows.begin; k < rows.end; ++k) sum += x(k, others...);
          y(row, others...) = sum;
        },
        i);
  }
};
/// What happens in the middle of a kernel on a host, once it has written a row.
struct Interruption {
  index_t row;
  std::function<void()> happens;
};
/// y(i, ...) = salt + row, or salt more than before; but for one row, or its element number `element`.
template <int Rank>
struct Rewrite {
  Number salt;
  bool adds;
  index_t left_out = -1, element = -1;
  const Interruption* interruption = nullptr;
  void operator()(auto index, auto y) const {
    const index_t i = static_cast<index_t>(index);
    if (i == left_out && element < 0) return;
    index_t number = 0;
    each_after<Rank>(
        y,
        [&](index_t row, auto... others) {
          if (number++ == element && row == left_out) return;
          y(row, others...) = adds ? y(row, others...) + salt : salt + static_cast<Number>(row);
        },
        i);
    if (interruption != nullptr && interruption->row == i) interruption->happens();
  }
};

/// Rows of two arrays: more than before.
struct AddToBoth {
  Number to_x, to_y;
  void operator()(auto i, auto x, auto y) const {
    x(i) += to_x;
    y(i) += to_y;
  }
};

/// y(i, ...) = salt more than before; their sum.
template <int Rank>
struct AddAndSum {
  Number salt;
  void operator()(auto index, auto y, Number& sum) const {
    const index_t i = static_cast<index_t>(index);
    each_after<Rank>(
        y, [&](index_t row, auto... others) { sum += y(row, others...) += salt; }, i);
  }
};

}  // namespace coherent_testing
