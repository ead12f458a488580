// Kernels and arrays of the tests of streamed launches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

namespace stream_test {

using namespace strata;
using strata_tests::message_of;

struct Axpy {
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};
struct Copy {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i); }
};
struct Triad {  // of a row of two dimensions
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, auto z) const {
    for (index_t j = 0; j < z.extent(1); ++j) z(i, j) = x(i, j) + 0.5 * y(i, j);
  }
};
struct Neighbours {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(i - 2) + 2 * x(i) + 3 * x(i + 1); }
};
struct PairsOfRows {  // item i has rows 2i and 2i + 1
  STRATA_FUNCTION ResidentRows operator()(ResidentRows work) const { return {2 * work.begin, 2 * work.end}; }
};
struct SumOfPair {
  STRATA_FUNCTION void operator()(auto i, auto x, auto table, auto y) const {
    y(i) = x(2 * i) + x(2 * i + 1) + table(index_t(i) % 5);
  }
};
// A gather over a band: item i reads rows i/2 to i/2 + 3 of a shorter array.
struct BandRows {
  STRATA_FUNCTION ResidentRows operator()(ResidentRows work) const {
    return {work.begin / 2, (work.end - 1) / 2 + 4};
  }
};
struct BandSum {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    const index_t first = index_t(i) / 2;
    y(i) = x(first) + 2 * x(first + 1) + 4 * x(first + 2) + 8 * x(first + 3);
  }
};
struct Add {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
struct AddRow {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x, double& sum) const { sum += x(i, j); }
};
struct SumFunctor {
  using value_type = double;
  STRATA_FUNCTION static void init(double& v) { v = 0; }
  STRATA_FUNCTION static void join(double& v, const double& o) { v += o; }
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
struct Halve {
  STRATA_FUNCTION void operator()(double& value, auto into) const { into() = value / 2; }
};
struct Prefix {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, double& sum, bool final) const {
    sum += x(i);
    if (final) y(i) = sum;
  }
};

// Steps: weights depend on the place, so that a wrong index shows.
struct Step1 {
  int left, right;
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
    double sum = 1e-3 * static_cast<double>(index_t(i) % 7);
    for (index_t k = -left; k <= right; ++k) sum += old(i + k) / static_cast<double>(3 + k + left);
    next(i) = sum;
  }
};
struct Step1With {  // and a coefficient that is read with a halo of its own
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, const auto& k) const {
    next(i) = old(i) + k(i) * (old(i - 1) - old(i)) - k(i + 1) * (old(i) - old(i + 1));
  }
};
struct Step2 {
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
    next(i, j) = 0.2 * (old(i, j) + old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1));
  }
};
struct Step3 {
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, const auto& old, const auto& next) const {
    next(i, j, k) = 0.125 * (2 * old(i, j, k) + old(i - 1, j, k) + old(i + 1, j, k) + old(i, j - 1, k) +
                             old(i, j + 1, k) + old(i, j, k - 1) + old(i, j, k + 1));
  }
};
struct Step4 {
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, index_t l, const auto& old,
                                  const auto& next) const {
    next(i, j, k, l) = 0.25 * (old(i, j, k, l) + old(i - 1, j, k, l) + old(i + 1, j, k, l) + old(i, j, k, l));
  }
};
struct RowStep {  // over rows of two dimensions, of which it leaves the ends out
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
    for (index_t j = 1; j < old.extent(1) - 1; ++j)
      next(i, j) = 0.25 * (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1));
  }
};
struct TwoFields {
  STRATA_FUNCTION void operator()(auto i, const auto& u, const auto& new_u, const auto& v,
                                  const auto& new_v) const {
    new_u(i) = u(i) + 0.1 * (v(i + 1) - v(i));
    new_v(i) = v(i) + 0.1 * (u(i) - u(i - 1));
  }
};

// Kernels that leave elements out, by their place (1), by their value (2) or both (3), which then keep what
// they are; all reach the next element.
struct Leaves {
  int how;
  STRATA_FUNCTION bool operator()(index_t place, double value) const {
    return ((how & 1) != 0 && place % 3 == 1) ||
           ((how & 2) != 0 && static_cast<index_t>(value * 4096) % 3 == 0);
  }
};
struct Leave1 {
  static constexpr int reach = 1;
  Leaves leaves;
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
    if (!leaves(i, old(i)))
      next(i) =
          0.3 * old(i - 1) + 0.5 * old(i) + 0.2 * old(i + 1) + 1e-3 * static_cast<double>(index_t(i) % 7);
  }
};
struct Leave2 {
  static constexpr int reach = 1;
  Leaves leaves;
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
    if (!leaves(i + 2 * j, old(i, j)))
      next(i, j) = 0.3 * old(i, j) + 0.25 * old(i - 1, j) + 0.2 * old(i + 1, j) + 0.15 * old(i, j - 1) +
                   0.1 * old(i, j + 1) + 1e-3 * static_cast<double>((i + j) % 7);
  }
};
struct LeaveRow {  // an item a row
  Leaves leaves;
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
    for (index_t j = 1; j < old.extent(1); ++j)
      if (!leaves(i + j, old(i, j)))
        next(i, j) = 0.4 * old(i - 1, j) + 0.35 * old(i, j - 1) + 0.25 * old(i + 1, j);
  }
};
struct LeaveLine {  // of three dimensions, an item a line of the last one
  Leaves leaves;
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
    for (index_t k = 0; k < old.extent(2); ++k)
      if (!leaves(i + j + k, old(i, j, k))) next(i, j, k) = 0.6 * old(i - 1, j, k) + 0.4 * old(i + 1, j, k);
  }
};
struct LeaveShared {  // of one dimension, several items a row, one of which writes it
  Leaves leaves;
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
    if (j == i % 3 && !leaves(i, old(i))) next(i) = 0.6 * old(i - 1) + 0.4 * old(i + 1);
  }
};

inline double start_value(index_t i) { return static_cast<double>((i * 7919) % 1009) / 1009.0; }

template <class T, int Rank, class L>
void fill(const BasicCoherentArray<T, Rank, L>& array) {
  const auto view = array.write();
  index_t n = 0;
  if constexpr (Rank == 1)
    for (index_t i = 0; i < array.extent(0); ++i) view(i) = static_cast<T>(start_value(n++));
  if constexpr (Rank == 2)
    for (index_t i = 0; i < array.extent(0); ++i)
      for (index_t j = 0; j < array.extent(1); ++j) view(i, j) = static_cast<T>(start_value(n++));
  if constexpr (Rank == 3)
    for (index_t i = 0; i < array.extent(0); ++i)
      for (index_t j = 0; j < array.extent(1); ++j)
        for (index_t k = 0; k < array.extent(2); ++k) view(i, j, k) = static_cast<T>(start_value(n++));
  if constexpr (Rank == 4)
    for (index_t i = 0; i < array.extent(0); ++i)
      for (index_t j = 0; j < array.extent(1); ++j)
        for (index_t k = 0; k < array.extent(2); ++k)
          for (index_t l = 0; l < array.extent(3); ++l) view(i, j, k, l) = static_cast<T>(start_value(n++));
}

/// The elements, in the order of indices.
template <class T, int Rank, class L>
std::vector<T> values(const BasicCoherentArray<T, Rank, L>& array) {
  const auto view = array.read();
  std::vector<T> all;
  if constexpr (Rank == 1)
    for (index_t i = 0; i < array.extent(0); ++i) all.push_back(view(i));
  if constexpr (Rank == 2)
    for (index_t i = 0; i < array.extent(0); ++i)
      for (index_t j = 0; j < array.extent(1); ++j) all.push_back(view(i, j));
  if constexpr (Rank == 3)
    for (index_t i = 0; i < array.extent(0); ++i)
      for (index_t j = 0; j < array.extent(1); ++j)
        for (index_t k = 0; k < array.extent(2); ++k) all.push_back(view(i, j, k));
  if constexpr (Rank == 4)
    for (index_t i = 0; i < array.extent(0); ++i)
      for (index_t j = 0; j < array.extent(1); ++j)
        for (index_t k = 0; k < array.extent(2); ++k)
          for (index_t l = 0; l < array.extent(3); ++l) all.push_back(view(i, j, k, l));
  return all;
}

/// The same elements.
template <class T, int Rank, class L>
void assign(const BasicCoherentArray<T, Rank, L>& to, const BasicCoherentArray<T, Rank, L>& from) {
  const auto old = from.read();
  const auto all = to.write();
  const auto rows = [&](const auto&... i) { all(i...) = old(i...); };
  const auto extent = [&](int r) { return r < Rank ? to.extent(r) : 1; };
  for (index_t i = 0; i < extent(0); ++i)
    for (index_t j = 0; j < extent(1); ++j)
      for (index_t k = 0; k < extent(2); ++k)
        for (index_t l = 0; l < extent(3); ++l) {
          if constexpr (Rank == 1) rows(i);
          if constexpr (Rank == 2) rows(i, j);
          if constexpr (Rank == 3) rows(i, j, k);
          if constexpr (Rank == 4) rows(i, j, k, l);
        }
}

/// The steps in core: `a` has the result. What a step leaves out stays.
template <class D, class R, class K, class Array, class Region>
void in_core(const D& device, const R& work, int steps, const K& kernel, Array& a, Array& b,
             const Region& region) {
  for (int step = 0; step < steps; ++step) {
    assign(b, a);
    launch(on(device), work, kernel, in(a, region), inout(b));
    std::swap(a, b);
  }
}

constexpr StreamScheduler all_schedulers[] = {StreamScheduler::Naive, StreamScheduler::Overlap,
                                              StreamScheduler::EvenOdd, StreamScheduler::Carry,
                                              StreamScheduler::Automatic};

}  // namespace stream_test
