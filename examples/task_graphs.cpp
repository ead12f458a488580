// A = L L^T by tiles, as a graph of tasks. Each tile is an array of its own; the tasks run on two emulated
// devices and the host's threads. A device has room for a sixth of the tiles: where a task runs, and which
// tiles are loaded and leave, is up to the scheduler. docs/tasks.md explains what is used here.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <strata/strata.hpp>
#include <strata/tasks.hpp>

using namespace strata;

namespace {

//! [kernels]
using Tile = CoherentArray<double, rank<2>>;

struct Gemm {  // C -= A B^T, an element each
  STRATA_FUNCTION void operator()(auto i, auto j, auto a, auto b, auto c) const {
    double sum = 0;
    for (index_t k = 0; k < a.extent(1); ++k) sum += a(i, k) * b(j, k);
    c(i, j) -= sum;
  }
};
struct Trsm {  // A = A L^-T, a row each
  STRATA_FUNCTION void operator()(auto i, auto l, auto a) const {
    for (index_t j = 0; j < l.extent(0); ++j) {
      double sum = a(i, j);
      for (index_t k = 0; k < j; ++k) sum -= a(i, k) * l(j, k);
      a(i, j) = sum / l(j, j);
    }
  }
};
//! [kernels]

struct Subtract {  // what columns before k add to column k
  index_t k;
  STRATA_FUNCTION void operator()(auto i, auto a) const {
    for (index_t j = 0; j < k; ++j) a(i, k) -= a(i, j) * a(k, j);
  }
};
struct Divide {  // column k, below the diagonal
  index_t k;
  STRATA_FUNCTION void operator()(auto i, auto a) const { a(i, k) /= std::sqrt(a(k, k)); }
};
struct Roots {
  STRATA_FUNCTION void operator()(auto i, auto a) const { a(i, i) = std::sqrt(a(i, i)); }
};
//! [potrf]
struct Potrf {  // A = L: a function of a queue and views, which enqueues kernels
  void operator()(const auto& queue, const auto& a) const {
    const index_t n = a.extent(0);
    for (index_t k = 0; k < n; ++k) {
      parallel_for(on(queue), range(k, n), with(Subtract{k}, a));
      parallel_for(on(queue), range(k + 1, n), with(Divide{k}, a));
    }
    parallel_for(on(queue), n, with(Roots{}, a));
  }
};
//! [potrf]

constexpr int tiles = 16;     // of the matrix, each way
constexpr index_t size = 32;  // of a tile

double element(index_t i, index_t j) {  // of A, which is symmetric and positive definite
  return 1 / (1 + std::abs(double(i - j))) + (i == j ? 10 : 0);
}

using Matrix = std::vector<std::vector<Tile>>;  // the tiles (i, j), j <= i

Matrix create_matrix() {
  Matrix a(tiles);
  for (int i = 0; i < tiles; ++i)
    for (int j = 0; j <= i; ++j) {
      a[i].emplace_back("tile", size, size, uninitialized);
      const auto view = a[i][j].write();
      for (index_t m = 0; m < size; ++m)
        for (index_t n = 0; n < size; ++n) view(m, n) = element(i * size + m, j * size + n);
    }
  return a;
}

//! [cholesky]
TaskReport factorise(Matrix& a) {
  TaskGraph graph("cholesky");
  for (int k = 0; k < tiles; ++k) {                                     // the loops of a sequential program
    graph.call<DeviceList<AnyHost>>("potrf", Potrf{}, inout(a[k][k]));  // short steps in a row: on the host
    for (int i = k + 1; i < tiles; ++i)
      graph.launch("trsm", size, Trsm{}, in(a[k][k], everything), inout(a[i][k]));
    for (int i = k + 1; i < tiles; ++i)
      for (int j = k + 1; j <= i; ++j)
        graph.launch(i == j ? "syrk" : "gemm", mdrange({size, size}), Gemm{}, in(a[i][k], everything),
                     in(a[j][k], everything), inout(a[i][j]));
  }
  const index_t tile_bytes = size * size * index_t(sizeof(double));
  for (const Emulated device : {Emulated{0}, Emulated{1}}) coherent::set_budget(device, 24 * tile_bytes);
  return graph.run(across(Emulated{0}, Emulated{1}, Threads{}));
}
//! [cholesky]

double largest_error(const Matrix& l) {  // of L L^T - A, beside the largest element of A
  constexpr std::size_t n = tiles * size;
  std::vector<double> rows(n * n);
  for (int i = 0; i < tiles; ++i)
    for (int j = 0; j <= i; ++j) {
      const auto view = l[i][j].read();
      for (index_t r = 0; r < size; ++r)
        for (index_t c = 0; c < (i == j ? r + 1 : size); ++c)
          rows[std::size_t(i * size + r) * n + std::size_t(j * size + c)] = view(r, c);
    }
  double error = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = -element(index_t(i), index_t(j));
      for (std::size_t k = 0; k <= j; ++k) sum += rows[i * n + k] * rows[j * n + k];
      error = std::max(error, std::abs(sum));
    }
  return error / element(0, 0);
}

int run() {
  Matrix a = create_matrix();
  const TaskReport report = factorise(a);
  std::fputs(report.text().c_str(), stdout);
  const double error = largest_error(a);
  std::printf("L L^T differs from A by %.1e\n", error);
  return error < 1e-13 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, run); }
