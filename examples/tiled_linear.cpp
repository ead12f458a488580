// The snippets of docs/linear_tiled.md.
#include <cmath>
#include <cstdio>

#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/strata.hpp>

using namespace strata;

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

  double most = 0;  // from the solution, ones
  b.read([&](index_t, index_t, double x) { most = std::abs(x - 1) > most ? std::abs(x - 1) : most; });
  std::printf("largest error: %.1e\n", most);
  return most < 1e-9 ? 0 : 1;
}
