// expect: write_STRATA_FUNCTION_before_operator<.*IsNegative
// expect: write_STRATA_FUNCTION_before_operator<.*Square
// expect: write_STRATA_FUNCTION_before_operator<.*Product
// expect: write_STRATA_FUNCTION_before_operator<.*Twice
// expect: write_STRATA_FUNCTION_before_operator<.*Distance
// expect: write_STRATA_FUNCTION_before_operator<.*Larger
// expect: write_STRATA_FUNCTION_before_operator<.*Later
// expect: write_STRATA_FUNCTION_before_operator<.*Longer
// expect: write_STRATA_FUNCTION_before_operator<.*Mean
// errors: 18
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/find.hpp>
#include <strata/algorithms/skeletons/skeletons.hpp>
#include <strata/algorithms/transform_reduce.hpp>
#include <strata/strata.hpp>

// One that lacks STRATA_FUNCTION for each way in which an algorithm or a skeleton calls what it is given.
struct IsNegative {
  bool operator()(double x) const { return x < 0; }
};
struct Square {
  double operator()(double x) const { return x * x; }
};
struct Product {
  double operator()(double x, double y) const { return x * y; }
};
using Vector = strata::MDArray<double, strata::Cuda, strata::rank<1>>;

void algorithms(const Vector& x, const Vector& y) {
  find_if(x, IsNegative{});
  transform_reduce(x, Square{});
  transform_reduce(x, y, Product{});
}

struct Twice {
  double operator()(double x) const { return 2 * x; }
};
struct Distance {
  double operator()(double x, double y) const { return x < y ? y - x : x - y; }
};
struct Larger {
  double operator()(double x, double y) const { return x < y ? y : x; }
};
struct Later : Larger {
  double operator()(double x, double y) const { return Larger::operator()(x, y); }
};
struct Longer : Larger {
  double operator()(double x, double y) const { return Larger::operator()(x, y); }
};
struct Mean {
  double operator()(const auto& r) const { return (r(-1) + r(1)) / 2; }
};

void skeletons(const strata::CoherentArray<double, strata::rank<1>>& x,
               const strata::CoherentArray<double, strata::rank<1>>& y,
               const strata::CoherentArray<double, strata::rank<2>>& a) {
  using namespace strata;
  using namespace strata::skeletons;
  const auto gpu = on(Cuda{});
  map(gpu, Twice{}, y, x);
  map_reduce(gpu, Distance{}, Sum, x, y);
  reduce(gpu, Larger{}, 0.0, x);
  inclusive_scan(gpu, x, y, Later{}, 0.0);
  reduce_rows(gpu, Longer{}, 0.0, y, a);
  map_overlap(gpu, Mean{}, y, x, overlap(1, edge::duplicate));
}
