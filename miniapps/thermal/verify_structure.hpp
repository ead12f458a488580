// The tests of the matrix and of the ways to assemble it (see verify.hpp, which includes this file).
#pragma once

#include <cstring>

#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/thermal/verify.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// How far a matrix is from what conduction makes.
struct MatrixDefects {
  double asymmetry;  ///< the greatest |a_ij - a_ji|
  double row_sum;    ///< the greatest |sum of a row| over its diagonal entry
};

namespace detail {

template <class Matrix>
struct FindDefects {
  using device_type = typename Matrix::device_type;
  using value_type = MatrixDefects;
  typename Matrix::graph_type::row_map_type row_map;
  typename Matrix::graph_type::entries_type entries;
  typename Matrix::values_type values;

  STRATA_FUNCTION void operator()(index_t i, MatrixDefects& most) const {
    double sum = 0, diagonal = 0, asymmetry = 0;
    for (index_t k = row_map(i); k < row_map(i + 1); ++k) {
      const index_t j = entries(k);
      const double value = static_cast<double>(values(k));
      sum += value;
      if (j == i) diagonal = value;
      double mirrored = 2 * value + 1;  // a defect, where the entry is missing
      for (index_t m = row_map(j); m < row_map(j + 1); ++m)
        if (entries(m) == i) mirrored = static_cast<double>(values(m));
      const double difference = value < mirrored ? mirrored - value : value - mirrored;
      if (!(difference <= asymmetry)) asymmetry = difference;
    }
    join(most, {asymmetry, (sum < 0 ? -sum : sum) / diagonal});
  }
  STRATA_FUNCTION static void init(MatrixDefects& most) { most = {0, 0}; }
  STRATA_FUNCTION static void join(MatrixDefects& most, const MatrixDefects& other) {
    if (!(other.asymmetry <= most.asymmetry)) most.asymmetry = other.asymmetry;
    if (!(other.row_sum <= most.row_sum)) most.row_sum = other.row_sum;
  }
};

/// Matrix values and right-hand side on the host, as one list.
template <class Heat>
std::vector<double> system_values(const Heat& heat) {
  std::vector<double> list;
  const auto append = [&](const auto& view) {
    const auto host = create_mirror_and_copy(view);
    for (index_t k = 0; k < host.extent(0); ++k) list.push_back(host(k));
  };
  append(heat.matrix().values());
  append(heat.fields().b);
  return list;
}

inline double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::nan("");
  double most = 0, scale = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    scale = std::max(scale, std::abs(a[k]));
    most = std::max(most, std::abs(a[k] - b[k]));
  }
  return most / scale;
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace detail

template <class Heat>
MatrixDefects matrix_defects(const Heat& heat) {
  using Matrix = std::remove_cvref_t<decltype(heat.matrix())>;
  const Matrix& a = heat.matrix();
  MatrixDefects most{};
  parallel_reduce("matrix defects", on(heat.queue()), a.rows(),
                  detail::FindDefects<Matrix>{a.graph().row_map(), a.graph().entries(), a.values()}, most);
  return most;
}

/// The assembled system of a distorted box, one of the ways.
template <class Device>
std::vector<double> assembled_system(Assembly assembly, const Device& device) {
  SolveSettings settings;
  settings.assembly = assembly;
  BoxHeat<Device> heat(test_box("box:9x7x11:1,2,3:random=0.15", device), {{{2.5, 1, 0.7}}}, settings);
  heat.assemble();
  return detail::system_values(heat);
}

/// Symmetry and row sums, before and after given temperatures are eliminated; the ways to assemble agree; the
/// stored contributions give the bits of one thread.
template <class Device>
Checks verify_structure(const Device& device) {
  Checks checks;
  BoxHeat<Device> heat(test_box("box:6x5x7:1,1,1:random=0.15", device), {{{1.3, 1, 1}}}, exact_settings());
  heat.give(fem::select_nodes(heat.mesh(), "z_min"), 1);
  heat.give(fem::select_nodes(heat.mesh(), "x<=min+0.3 & y>=max"), 2);
  heat.assemble();
  const MatrixDefects before = matrix_defects(heat);
  heat.eliminate();
  checks.push_back(miniapp::check_zero("matrix: asymmetry", before.asymmetry, 0));
  checks.push_back(miniapp::check_zero("matrix: row sums over the diagonal", before.row_sum, 1e-14));
  checks.push_back(
      miniapp::check_zero("matrix: asymmetry after elimination", matrix_defects(heat).asymmetry, 0));

  const auto gathered = assembled_system(Assembly::Gather, device);
  const auto serial = assembled_system(Assembly::Gather, Serial{});
  const auto atomic = assembled_system(Assembly::Atomic, device),
             fused = assembled_system(Assembly::Fused, device);
  checks.push_back(
      miniapp::check_true("assembly: the same bits twice",
                          detail::same_bits(gathered, assembled_system(Assembly::Gather, device))));
  // Another layout or compiler joins products and sums in other places.
  if constexpr (can_access<Serial, typename Device::memory_space>)
    checks.push_back(
        miniapp::check_true("assembly: the bits of one thread", detail::same_bits(gathered, serial)));
  else
    checks.push_back(miniapp::check_zero("assembly: against one thread",
                                         detail::relative_difference(gathered, serial), 1e-14));
  checks.push_back(
      miniapp::check_zero("assembly: by atomics", detail::relative_difference(atomic, gathered), 1e-14));
  checks.push_back(
      miniapp::check_zero("assembly: computed again", detail::relative_difference(fused, gathered), 1e-14));
  return checks;
}

/// All tests.
template <class Device>
Checks verify(const Device& device) {
  Checks all;
  for (const auto& part :
       {verify_patch(device), verify_slab(device), verify_sine(device), verify_distorted_sine(device),
        verify_sink(device), verify_conductivity(device), verify_decay(device), verify_structure(device)})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace strata::inline STRATA_ABI::thermal
