// Grids of parts beside strips: a five-point stencil and sums over across(devices), whose parts are rows, and
// over its grid(p, 1), grid(1, p) and grid(p, q), on 1, 2 and 4 parts. What a step takes, what it copies from
// device to device, and what a sum reads in a second: of a square, of few long rows, and of many short ones,
// of which each gives a value of its own to join.
//
// Each part has a device of its own where there are so many; else all are the first one, so that nothing is
// copied and what is measured is the price of the parts. Ratios are over strips of as many parts.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/grid/grid.hpp>
#include <strata/views/coherent/coherent_array.hpp>

#include "common/devices.hpp"
#include "common/report.hpp"

namespace {

using namespace perf;
using namespace strata;

using Plane = CoherentArray<double, rank<2>, LayoutRight>;

struct Fill {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto u) const {
    u(i, j) = static_cast<double>((i * 31 + j * 17) % 101) / 7;
  }
};
struct FivePoints {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto u, auto v) const {
    v(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
  }
};
struct Add {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto u, double& sum) const { sum += u(i, j); }
};

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// ---- places

// Strips, where there are no columns of parts.
struct Shape {
  int rows, columns;
  std::string name() const {
    if (columns == 0) return "strips";
    return "grid(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
  }
};
std::vector<Shape> shapes_of(int parts) {
  std::vector<Shape> shapes{{parts, 0}, {parts, 1}};
  if (parts > 1) shapes.push_back({1, parts});
  if (parts == 4) shapes.push_back({2, 2});
  return shapes;
}
std::string title(const char* what, int parts, const Shape& shape) {
  return std::string(what) + ", " + std::to_string(parts) + (parts == 1 ? " part, " : " parts, ") +
         shape.name();
}

template <class D>
bool has_devices(int parts) {
  return D::count() >= parts;
}
template <class D>
std::vector<D> devices_of(int parts) {
  std::vector<D> devices;
  for (int k = 0; k < parts; ++k) devices.push_back(D(has_devices<D>(parts) ? k : 0));
  return devices;
}
template <class D, class F>
void visit_place(const Shape& shape, const F& f) {
  if (shape.columns == 0) f(across(devices_of<D>(shape.rows)));
  else f(across(devices_of<D>(shape.rows * shape.columns)).grid(shape.rows, shape.columns));
}
template <class D>
void wait_for(int parts) {
  for (const D& device : devices_of<D>(parts)) wait(device);
}

// ---- the stencil

// Steps there and back between two arrays.
template <class D>
class Stencil {
 public:
  Stencil(int parts, const Shape& shape, index_t n, int steps)
      : parts_(parts),
        shape_(shape),
        n_(n),
        steps_(steps),
        u_("u", n, n, uninitialized),
        v_("v", n, n, uninitialized) {
    visit_place<D>(shape_, [&](const auto& where) {
      launch(where, mdrange({n_, n_}), Fill{}, out(u_));
      launch(where, mdrange({n_, n_}), Fill{}, out(v_));
    });
    run();
  }

  void run() const {
    const auto inner = mdrange({1, 1}, {n_ - 1, n_ - 1});
    visit_place<D>(shape_, [&](const auto& where) {
      for (int step = 0; step < steps_; step += 2) {
        launch(where, inner, FivePoints{}, in(u_, halo({1, 1}, {1, 1})), inout(v_));
        launch(where, inner, FivePoints{}, in(v_, halo({1, 1}, {1, 1})), inout(u_));
      }
    });
    wait_for<D>(parts_);
  }
  double sum() const {
    double sum = 0;
    launch_reduce(on(D(0)), mdrange({n_, n_}), Add{}, Sum(sum), in(u_));
    return sum;
  }
  // Bytes from device to device in a step, and those that the halos have.
  std::uint64_t copied() const {
    run();  // brings back what was read elsewhere
    const auto bytes = [&] { return u_.counters().peer.bytes + v_.counters().peer.bytes; };
    const std::uint64_t before = bytes();
    run();
    return (bytes() - before) / static_cast<unsigned>(steps_);
  }
  std::uint64_t planned() const {
    if (!has_devices<D>(parts_)) return 0;
    // At a cut between strips two rows, with the ends that no work item writes; at one of a grid two rows or
    // columns of what the work items write, and four corners where two of them cross.
    const index_t p = shape_.rows - 1, q = shape_.columns - 1;
    const index_t elements = shape_.columns == 0 ? 2 * p * n_ : 2 * (p + q) * (n_ - 2) + 4 * p * q;
    return static_cast<std::uint64_t>(elements) * sizeof(double);
  }

 private:
  int parts_;
  Shape shape_;
  index_t n_;
  int steps_;
  Plane u_, v_;
};

template <class D>
void measure_stencil(Report& report, index_t n, int steps, int reps) {
  double one_sum = 0;
  for (const int parts : {1, 2, 4}) {
    const std::vector<Shape> shapes = shapes_of(parts);
    std::vector<std::shared_ptr<Stencil<D>>> runs;
    Race race;
    for (const Shape& shape : shapes) {
      runs.push_back(std::make_shared<Stencil<D>>(parts, shape, n, steps));
      const double sum = runs.back()->sum();
      if (parts == 1 && shape.columns == 0) one_sum = sum;
      report.check(same_bits(sum, one_sum), title("stencil", parts, shape) + " has the bits of one part");
      race.add([run = runs.back()] { run->run(); });
    }
    race.run(reps);
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      const int number = static_cast<int>(k);
      const std::string name = title("stencil", parts, shapes[k]);
      const Statistics all = race[number];
      const Statistics step{all.median / steps, all.min / steps, all.p90 / steps};
      const double updates = static_cast<double>((n - 2) * (n - 2));
      report.add({name, D::name, n, "double", step, updates / step.median / 1e9, "G/s", none,
                  k == 0 ? none : race.speedup(number, 0)});
      const std::uint64_t copied = runs[k]->copied(), planned = runs[k]->planned();
      report.check(copied == planned, name + ": " + std::to_string(copied) + " bytes copied in a step, " +
                                          std::to_string(planned) + " planned");
      report.add({name + ", copied", D::name, n, "double", step, static_cast<double>(copied) / 1e3, "kB",
                  none, none});
    }
  }
}

// ---- sums

template <class D>
void measure_sum(Report& report, const char* what, index_t rows, index_t columns, int reps) {
  double one_sum = 0;
  for (const int parts : {1, 2, 4}) {
    const std::vector<Shape> shapes = shapes_of(parts);
    std::vector<double> sums(shapes.size());
    Race race;
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      const Plane u("u", rows, columns, uninitialized);
      visit_place<D>(shapes[k], [&](const auto& where) {
        launch(where, mdrange({rows, columns}), Fill{}, out(u));
      });
      race.add([&, u, k, rows, columns] {
        visit_place<D>(shapes[k], [&](const auto& where) {
          launch_reduce(where, mdrange({rows, columns}), Add{}, Sum(sums[k]), in(u, own_element));
        });
      });
    }
    race.run(reps);
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      const int number = static_cast<int>(k);
      const std::string name = title(what, parts, shapes[k]);
      if (parts == 1 && k == 0) one_sum = sums[k];
      report.check(same_bits(sums[k], one_sum), name + " has the bits of one part");
      const double bytes = static_cast<double>(rows * columns) * sizeof(double);
      report.add({name, D::name, columns, "double", race[number], gigabytes_per_second(bytes, race[number]),
                  "GB/s", none, k == 0 ? none : race.speedup(number, 0)});
    }
  }
}

template <class D>
void measure(const Options& options, Report& report) {
  const index_t n = options.n > 0 ? options.n : is_gpu<D> ? 16384 : is_machine<D> ? 2048 : 256;
  const int reps = options.reps_or(is_gpu<D> ? 9 : 3);
  measure_stencil<D>(report, n, is_gpu<D> ? 20 : 4, reps);
  measure_sum<D>(report, "sum of a square", n, n, reps);
  const index_t few = 16, items = n * n;
  measure_sum<D>(report, "sum of long rows", few, items / few + 1, reps);
  measure_sum<D>(report, "sum of short rows", items / few + 1, few, reps);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "Parts of a launch in a grid, beside strips.");
  Report report("grids", "strips of as many parts");
  report.note("each part has a device of its own where there are so many, else all are device 0");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    // Emulated has virtual time: it is measured where it is asked for, to check results and bytes.
    if constexpr (std::is_same_v<D, Emulated>) {
      if (options.device == D::name) measure<D>(options, report);
    } else {
      measure<D>(options, report);
    }
  });
  return report.finish(options);
}
