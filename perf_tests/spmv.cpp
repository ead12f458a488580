// A sparse matrix times a vector, and conjugate gradients: do they run at the speed of memory? Is the work
// shared out by entries where the rows are unequal?
//
// Two matrices: the Laplacian on a cube by 7 points, and a skewed one, whose first rows hold most entries.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>
#include <vector>

#include <strata/algorithms/linear/linear.hpp>

#include "common/ceiling.hpp"
#include "common/devices.hpp"
#include "common/report.hpp"

namespace {

using namespace perf;
using strata::index_t;

template <class T>
struct HostMatrix {
  index_t rows = 0;
  std::vector<index_t> row_map{0};
  std::vector<std::int32_t> entries{};
  std::vector<T> values{};

  void add(index_t column, T value) {
    entries.push_back(static_cast<std::int32_t>(column));
    values.push_back(value);
  }
  void end_row() {
    ++rows;
    row_map.push_back(static_cast<index_t>(entries.size()));
  }
  /// What a product asks for: each coefficient and column once, each offset and element of x and y once.
  double bytes() const {
    return static_cast<double>(entries.size()) * (sizeof(T) + 4) +
           static_cast<double>(rows) * (8 + 2 * sizeof(T));
  }
};

/// 6 in the middle, -1 for each neighbour, on a grid of edge^3 points; 0 outside.
template <class T>
HostMatrix<T> laplacian(index_t edge) {
  HostMatrix<T> a;
  const index_t plane = edge * edge;
  for (index_t z = 0; z < edge; ++z)
    for (index_t y = 0; y < edge; ++y)
      for (index_t x = 0; x < edge; ++x) {
        const index_t i = z * plane + y * edge + x;
        if (z > 0) a.add(i - plane, -1);
        if (y > 0) a.add(i - edge, -1);
        if (x > 0) a.add(i - 1, -1);
        a.add(i, 6);
        if (x + 1 < edge) a.add(i + 1, -1);
        if (y + 1 < edge) a.add(i + edge, -1);
        if (z + 1 < edge) a.add(i + plane, -1);
        a.end_row();
      }
  return a;
}

/// A sixteenth of the rows has 61 entries, the others 3, in a band: the first rows hold 58 % of all.
template <class T>
HostMatrix<T> skewed(index_t rows) {
  HostMatrix<T> a;
  for (index_t i = 0; i < rows; ++i) {
    const index_t half = i < rows / 16 ? 30 : 1;
    for (index_t c = std::max<index_t>(0, i - half); c <= std::min(rows - 1, i + half); ++c)
      a.add(c, static_cast<T>(1.0 / static_cast<double>(1 + (c + i) % 7)));
    a.end_row();
  }
  return a;
}

/// The loop by hand, for rows [begin, end).
template <class T>
[[gnu::noinline]] void plain_spmv(const index_t* row_map, const std::int32_t* entries, const T* values,
                                  const T* x, T* y, std::ptrdiff_t begin, std::ptrdiff_t end) {
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    T sum = 0;
    for (index_t k = row_map[i]; k < row_map[i + 1]; ++k) sum += values[k] * x[entries[k]];
    y[i] = sum;
  }
}

template <class T, class D>
struct Problem {
  using Matrix = strata::linear::CrsMatrix<T, D>;
  using V = strata::MDArray<T, D, strata::rank<1>>;
  Matrix matrix;
  V x, y;

  explicit Problem(const HostMatrix<T>& a)
      : matrix(strata::linear::create_crs<Matrix>("A", a.rows, a.rows, a.row_map, a.entries, a.values)),
        x(strata::create<V>("x", a.rows)),
        y(strata::create<V>("y", a.rows)) {
    const auto host = strata::create_mirror_view(x);
    for (index_t i = 0; i < a.rows; ++i) host(i) = element(i);
    strata::deep_copy(x, host);
  }

  static T element(index_t i) { return static_cast<T>(1 + i % 10) / 10; }

  bool correct(const HostMatrix<T>& a) const {
    strata::wait(D{});
    const auto host = strata::create_mirror_and_copy(y);
    for (index_t i = 0; i < a.rows; i += std::max<index_t>(1, a.rows / 100000)) {
      double sum = 0, magnitude = 0;
      const auto row = static_cast<std::size_t>(i);
      for (auto k = static_cast<std::size_t>(a.row_map[row]);
           k < static_cast<std::size_t>(a.row_map[row + 1]); ++k) {
        const double term = static_cast<double>(a.values[k]) * static_cast<double>(element(a.entries[k]));
        sum += term;
        magnitude += std::abs(term);
      }
      if (!(std::abs(static_cast<double>(host(i)) - sum) <= 1e-5 * magnitude)) return false;
    }
    return true;
  }
};

template <class T, class D>
void products(const Options& options, Report& report, const char* type, const char* name,
              const HostMatrix<T>& a) {
  const Problem<T, D> problem(a);
  strata::linear::spmv(problem.matrix, problem.x, problem.y);
  report.check(problem.correct(a), std::string(name) + " on " + D::name + ", " + type);

  Race race;
  std::unique_ptr<TriadCeiling<T>> ceiling;
  std::unique_ptr<PlainTeam> team;
  int triad = -1, plain = -1;
  if constexpr (is_machine<D>) {
    ceiling = std::make_unique<TriadCeiling<T>>(a.bytes(), team_size<D>());
    triad = ceiling->add_to(race);
    team = std::make_unique<PlainTeam>(team_size<D>());
    plain = race.add([&] {
      team->split(a.rows, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
        const auto& graph = problem.matrix.graph();
        plain_spmv(graph.row_map().data(), graph.entries().data(), problem.matrix.values().data(),
                   problem.x.data(), problem.y.data(), begin, end);
      });
    });
  }
  const int own = race.add([&] {
    strata::linear::spmv(problem.matrix, problem.x, problem.y);
    strata::wait(D{});
  });
  int vendor = -1;
  if constexpr (strata::linear::has_vendor<D>())
    vendor = race.add([&] {
      strata::linear::spmv(problem.matrix, problem.x, problem.y, strata::linear::Backend::Vendor);
      strata::wait(D{});
    });
  race.run(options.reps_or(15), 10);

  const double bound = ceiling ? gigabytes_per_second(ceiling->triad_bytes(), race[triad]) : none;
  const auto add = [&](const std::string& what, const char* device, int k) {
    report.add({what + ", " + name, device, a.rows, type, race[k], gigabytes_per_second(a.bytes(), race[k]),
                "GB/s", bound, plain >= 0 ? race.speedup(k, plain) : none});
  };
  if (plain >= 0) add("plain loop, equal numbers of rows", "-", plain);
  add("spmv", D::name, own);
  if (vendor >= 0) add("spmv by the vendor", D::name, vendor);
}

template <class T, class D>
void solve(const Options& options, Report& report, const char* type, const HostMatrix<T>& a) {
  const Problem<T, D> problem(a);
  strata::linear::CgOptions cg;
  cg.relative_tolerance = sizeof(T) == 4 ? 1e-4 : 1e-8;
  const strata::linear::ConjugateGradients solver(problem.matrix, cg);
  report.check(static_cast<bool>(solver.solve(problem.x, problem.y)),
               std::string("CG on ") + D::name + ", " + type);

  // Of an iteration, by iterations that do not end the solve.
  constexpr int steps = 10;
  cg.relative_tolerance = 0;
  strata::linear::ConjugateGradients endless = solver;
  endless.set_options(cg);
  const auto where = strata::on(strata::default_queue(D{}));
  strata::deep_copy(problem.y, T(0));
  endless.begin(where, problem.x, problem.y);
  Race race;
  std::unique_ptr<TriadCeiling<T>> ceiling;
  if constexpr (is_machine<D>) ceiling = std::make_unique<TriadCeiling<T>>(a.bytes(), team_size<D>());
  const int triad = ceiling ? ceiling->add_to(race) : -1;
  const int iterations = race.add([&] {
    for (int k = 0; k < steps; ++k) endless.iterate(where, problem.y);
    strata::wait(D{});
  });
  race.run(options.reps_or(9), 10);
  // p and q by the dot; x, p, q, r and d read and x and r written by the update; p, r and d read and p
  // written.
  const double bytes = a.bytes() + (2 + 7 + 4) * static_cast<double>(a.rows) * sizeof(T);
  report.add({"10 iterations of CG, 7 points", D::name, a.rows, type, race[iterations],
              gigabytes_per_second(steps * bytes, race[iterations]), "GB/s",
              ceiling ? gigabytes_per_second(ceiling->triad_bytes(), race[triad]) : none, none});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "Sparse matrix times vector, and conjugate gradients.");
  Report report("spmv",
                "the hand-written loop over compressed rows by as many plain threads, in the same race");
  for_each_type(options, [&](auto zero, const char* type) {
    using T = decltype(zero);
    const auto edge =
        static_cast<index_t>(options.n > 0 ? std::cbrt(static_cast<double>(options.n)) + 0.5 : 100);
    const HostMatrix<T> cube = laplacian<T>(edge), uneven = skewed<T>(edge * edge * edge);
    for_each_device(options, [&](auto device) {
      using D = decltype(device);
      products<T, D>(options, report, type, "7 points", cube);
      products<T, D>(options, report, type, "skewed", uneven);
      solve<T, D>(options, report, type, cube);
    });
  });
  report.note(
      "Bytes: 12 an entry and 24 a row in double (coefficient and column; offset, x and y once each). "
      "Products mostly");
  report.note(
      "read, so they may exceed the triad, whose stores read lines first. CG adds 13 vectors an iteration.");
  return report.finish(options);
}
