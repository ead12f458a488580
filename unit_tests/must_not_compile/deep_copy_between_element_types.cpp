// expect: deep_copy: the element types differ; convert in a parallel_for
// first lines: 10
#include <strata/strata.hpp>

void copy(const strata::MDArray<float, strata::Serial>& y, const strata::MDArray<double, strata::Serial>& x) {
  strata::deep_copy(y, x);
}
