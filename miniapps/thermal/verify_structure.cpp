// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include <strata/miniapps/thermal/verify.hpp>

namespace strata::inline STRATA_ABI::thermal {

using miniapp::check_true;
using miniapp::check_zero;

namespace {

/// How far a matrix is from what conduction makes.
struct MatrixDefects {
  double asymmetry = 0;  // the greatest |a_ij - a_ji|
  double row_sum = 0;    // the greatest |sum of a row| over its diagonal entry
};

MatrixDefects matrix_defects(const HeatSystem& a) {
  MatrixDefects most;
  const auto worse = [](double own, double& greatest) {
    if (!(own <= greatest)) greatest = own;  // NaN stays
  };
  const auto at = [](index_t k) { return static_cast<std::size_t>(k); };
  for (std::size_t i = 0; i + 1 < a.row_map.size(); ++i) {
    double sum = 0, diagonal = 0;
    for (std::size_t k = at(a.row_map[i]); k < at(a.row_map[i + 1]); ++k) {
      const std::size_t j = at(a.entries[k]);
      sum += a.values[k];
      if (j == i) diagonal = a.values[k];
      double mirrored = std::nan("");  // the entry is missing
      for (std::size_t m = at(a.row_map[j]); m < at(a.row_map[j + 1]); ++m)
        if (at(a.entries[m]) == i) mirrored = a.values[m];
      worse(std::abs(a.values[k] - mirrored), most.asymmetry);
    }
    worse(std::abs(sum) / diagonal, most.row_sum);
  }
  return most;
}

/// Matrix values and right-hand side of a distorted box, assembled in one of the ways.
std::vector<double> assembled(const Verification& v, Assembly assembly, bool on_serial = false) {
  SolveSettings solve = v.solve();
  solve.assembly = assembly;
  const auto heat = v.heat("box:9x7x11:1,2,3:random=0.15", uniform({2.5, 1, 0.7}), solve, on_serial);
  heat->assemble();
  HeatSystem system = heat->system();
  system.values.insert(system.values.end(), system.b.begin(), system.b.end());
  return system.values;
}

double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::nan("");
  double most = 0, scale = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    scale = std::max(scale, std::abs(a[k]));
    most = std::max(most, std::abs(a[k] - b[k]));
  }
  return most / scale;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

void verify_structure(Verification& v) {
  SolveSettings solve = v.solve();
  solve.assembly = Assembly::Gather;
  const auto heat = v.heat("box:6x5x7:1,1,1:random=0.15", uniform({1.3, 1, 1}), solve);
  heat->give("z_min", 1);
  heat->give("x<=min+0.3 & y>=max", 2);
  heat->assemble();
  const MatrixDefects before = matrix_defects(heat->system());
  heat->eliminate();
  v.add(check_zero("matrix: asymmetry", before.asymmetry, 0));
  v.add(check_zero("matrix: row sums over the diagonal", before.row_sum, v.tolerance(1e-14, 1e-5)));
  v.add(check_zero("matrix: asymmetry after elimination", matrix_defects(heat->system()).asymmetry, 0));

  const double rounding = v.tolerance(1e-14, 1e-6);
  const auto gathered = assembled(v, Assembly::Gather), serial = assembled(v, Assembly::Gather, true);
  v.add(check_true("assembly: the same bits twice", same_bits(gathered, assembled(v, Assembly::Gather))));
  // Another layout or compiler joins products and sums in other places.
  if (heat->setup().shares_host_memory)
    v.add(check_true("assembly: the bits of one thread", same_bits(gathered, serial)));
  else v.add(check_zero("assembly: against one thread", relative_difference(gathered, serial), rounding));
  v.add(check_zero("assembly: by atomics", relative_difference(assembled(v, Assembly::Atomic), gathered),
                   rounding));
  v.add(check_zero("assembly: computed again", relative_difference(assembled(v, Assembly::Fused), gathered),
                   rounding));
}

}  // namespace strata::inline STRATA_ABI::thermal
