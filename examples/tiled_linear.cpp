// The snippets of docs/linear_tiled.md.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include <strata/strata.hpp>
#include <strata/tiled.hpp>

using namespace strata;

// The largest difference from ones.
static double error_of(const TiledMatrix<double>& x) {
  double most = 0;
  x.read([&](index_t, index_t, double value) {
    most = std::abs(value - 1) > most ? std::abs(value - 1) : most;
  });
  return most;
}

static double solve_by_lu() {
  coherent::set_budget(Emulated{}, index_t{1} << 30);
  //! [lu]
  const index_t n = 500, tile = 64;
  const TiledMatrix<double> a("a", n, n, tile), b("b", n, 1, tile);
  a.fill([](index_t i, index_t j) { return j == (i + 1) % n ? 3.0 : j == (i + 2) % n ? 1.0 : 0.0; });
  b.fill([](index_t, index_t) { return 4.0; });

  linear::LuOptions options;  // of which pivoting is Pivoting::Partial
  options.run.scheduler = "darts";
  const auto factors = linear::lu(a, on(Emulated{}), options);  // P A = L U
  linear::solve(factors, b, on(Emulated{}));                    // B = A^-1 B
  std::printf("row 0 was swapped with row %td\n", factors.pivots[0]);
  //! [lu]
  return error_of(b);
}

static double solve_from_files() {
  const std::string folder =
      (std::filesystem::temp_directory_path() / "strata-tiled-linear-example").string();
  //! [files]
  const index_t n = 300, tile = 64;
  {
    const auto a =
        symmetric_tiled_files<double>(folder, n, tile, overwrite);  // a file for each tile, of zeros
    a.fill([](index_t i, index_t j) { return i == j ? 2.0 : i == j + 1 ? -1.0 : 0.0; });
    linear::TiledOptions options;
    options.run.host_memory = 8 * tile * tile * 8;  // eight tiles are in memory
    linear::cholesky(a, on(Threads{}), options);
    save(a);  // on the disk, and complete
  }
  const auto l = open_tiled_files<double>(folder, for_reading);  // its shape is in the folder
  //! [files]
  const TiledMatrix<double> b("b", n, 1, tile);
  b.fill([](index_t i, index_t) { return i == 0 || i == n - 1 ? 1.0 : 0.0; });
  linear::solve(l, b, on(Threads{}));
  std::filesystem::remove_all(folder);
  return error_of(b);
}

int main() {
  //! [factor]
  const index_t n = 500, tile = 64;
  const auto a = TiledMatrix<double>::symmetric("a", n, tile);  // the tiles on and below the diagonal
  const TiledMatrix<double> b("b", n, 1, tile);                 // a right-hand side
  a.fill([](index_t i, index_t j) { return i == j ? 2.0 : i == j + 1 ? -1.0 : 0.0; });
  b.fill([](index_t i, index_t) { return i == 0 || i == n - 1 ? 1.0 : 0.0; });

  coherent::set_budget(Emulated{}, 10 * tile * tile * 8);  // ten tiles of 36
  linear::TiledOptions options;
  options.run.scheduler = "data-aware";
  const TaskReport report = linear::cholesky(a, on(Emulated{}), options);  // A = L L^T
  linear::solve(a, b, on(Emulated{}), options);                            // B = A^-1 B
  std::printf("%s", report.text().c_str());
  //! [factor]

  const double most = std::max({error_of(b), solve_by_lu(), solve_from_files()});
  std::printf("largest error: %.1e\n", most);
  return most < 1e-9 ? 0 : 1;
}
