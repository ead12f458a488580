// The programs of docs/coherent_arrays.md. Each region between //! [name] marks is shown there; main runs and
// checks them all.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/grid/grid.hpp>
#include <strata/sequence.hpp>
#include <strata/skeletons.hpp>
#include <strata/strata.hpp>

using namespace strata;

namespace {

void check(bool good) {
  if (good) return;
  std::puts("coherent_guide: a result is wrong");
  std::exit(1);
}

// clang-format off
void creating() {
//! [creating]
  CoherentArray<double, rank<1>> x("x", 1000);              // zeros, which the host has
  CoherentArray<float, rank<2>> a("a", 300, 40, uninitialized);  // no memory has values yet
  CoherentArray<double, rank<0>> energy("energy");          // one value
  CoherentArray<double, rank<2>, LayoutRight> b("b", 300, 40);  // the layout is the same in every memory
  CoherentArray<int, rank<1>> big("big", 100000, main_in(Threads{}));  // its threads touch the host's memory first

  auto mine = create<MDArrayIn<LayoutRight, double, Serial, rank<1>>>("mine", 50);
  auto adopted = CoherentArray<double, rank<1>>::adopt("mine", mine);  // memory that you have

  CoherentArray<double, rank<1>> same = x;                  // a handle: the same array
//! [creating]
  check(same == x && x.extent(0) == 1000 && a.size() == 12000 && adopted.extent(0) == 50);
}

void host_views(const CoherentArray<double, rank<2>>& a) {
//! [host]
  {
    auto all_of_it = a.write();                             // you will write all of it: nothing is copied here
    for (index_t i = 0; i < a.extent(0); ++i)
      for (index_t j = 0; j < a.extent(1); ++j) all_of_it(i, j) = double(i);
  }                                                         // from here on others may have it
  auto row = a.read_write(Box({7, 0}, {8, a.extent(1)}));   // waits for what touches this row, and for nothing else
  row(7, 1) += 0.5;                                         // indices are those of the array
  row.end();                                                // before its scope does
  a(3, 4) = -1;                                             // one element: for setting up and looking
//! [host]
  check(a(7, 1) == 7.5 && a(3, 4) == -1.0 && a(9, 2) == 9.0);
}

//! [axpy]
struct Axpy {                                               // an index, then one view for each access
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};
//! [axpy]
struct Transpose {                                          // an index for each dimension of the range
  STRATA_FUNCTION void operator()(auto i, auto j, auto a, auto b) const { b(i, j) = a(j, i); }
};

template <class Device>
void launching() {
  CoherentArray<double, rank<1>> x("x", 1000), y("y", 1000);
  CoherentArray<double, rank<2>> a("a", 20, 30), b("b", 30, 20);
  x(10) = 3;
  a(2, 7) = 5;
  const Device device{};
//! [launching]
  launch(on(device), 1000, Axpy{2}, in(x), inout(y));       // returns after enqueueing where the device can
  launch(on(device).named("last tenth"), range(900, 1000), Axpy{2}, in(x), inout(y));
  launch(on(device), mdrange({30, 20}), Transpose{}, in(a, columns), out(b));
//! [launching]
  Queue<Device> queue(device);
  launch(on(queue), 1000, Axpy{1}, in(x), inout(y));        // after the others, as y is the same
  check(y(10) == 9.0 && b(7, 2) == 5.0);
}

struct Mean {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = (x(i - 1) + x(i) + x(i + 1)) / 3; }
};
struct Pairs {                                              // work item i touches rows 2 i and 2 i + 1
  ResidentRows operator()(ResidentRows work) const { return {2 * work.begin, 2 * work.end}; }
};
struct SumOfPair {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = x(2 * i) + x(2 * i + 1); }
};
struct MatrixVector {
  STRATA_FUNCTION void operator()(auto i, auto a, auto v, auto y) const {
    double sum = 0;
    for (index_t j = 0; j < v.extent(0); ++j) sum += a(i, j) * v(j);
    y(i) = sum;
  }
};

//! [plate]
struct FivePoints {                                         // a work item writes one element
  STRATA_FUNCTION void operator()(auto i, auto j, auto u, auto v) const {
    v(i, j) = (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1)) / 4;
  }
};
struct InPairs {                                            // a work item writes two
  STRATA_FUNCTION void operator()(auto i, auto j, auto v) const { v(i, 2 * j) = v(i, 2 * j + 1) = 1; }
};
//! [plate]

template <class Where>
void stencil(const Where& where) {
  const index_t n = 40, m = 60;
  CoherentArray<double, rank<2>, LayoutRight> u("u", n, m), v("v", n, m), pairs("pairs", n, m);
  u(1, 1) = 4;
  v(0, 7) = 100;
//! [stencil]
  const auto inner = mdrange({1, 1}, {n - 1, m - 1});
  launch(where, inner, FivePoints{}, in(u, halo(1, 1)), inout(v));      // inout: v keeps its edges
  launch(where, mdrange({n, m / 2}), InPairs{}, out(pairs, own));       // whole rows, by fewer work items
//! [stencil]
  check(v(1, 2) == 1.0 && v(0, 7) == 100.0 && pairs(n - 1, m - 1) == 1.0);
}

template <class Where>
void regions(const Where& where) {
  const index_t n = 64;
  CoherentArray<double, rank<1>> x("x", n), y("y", n), z("z", n), half("half", n / 2), v("v", 5), product("product", n);
  CoherentArray<double, rank<2>> a("a", n, 5);
  x(n - 1) = 6;
  v(2) = 2;
  a(9, 2) = 4;
//! [regions]
  launch(where, range(1, n - 1), Mean{}, in(x, halo(1, 1)), out(y));    // the range keeps away from the ends
  launch(where, n, Mean{}, in(x, halo(1, 1, edge::cyclic)), out(z));    // or edge::duplicate, edge::pad(0.0)
  launch(where, n / 2, SumOfPair{}, in(x, rows(Pairs{})), out(half));
  launch(where, n, MatrixVector{}, in(a), in(v, everything), out(product));
//! [regions]
  check(y(n - 2) == 2.0 && z(0) == 2.0 && half(n / 2 - 1) == 6.0 && product(9) == 8.0);
}

template <class Device>
void several(const std::vector<Device>& devices, Balance& balance) {
  CoherentArray<double, rank<1>> x("x", 100000), y("y", 100000);
  x(70000) = 1;
//! [several]
  launch(across(devices), 100000, Axpy{1}, in(x), inout(y));               // in equal parts
  launch(across(devices[0], Threads{}).weighted({0.9, 0.1}), 100000, Axpy{1}, in(x), inout(y));
  launch(across(devices).adaptive(balance), 100000, Axpy{1}, in(x), inout(y));   // by measured speed; keep `balance`
//! [several]
  check(y(70000) == 3.0);
}

struct Square {
  STRATA_FUNCTION void operator()(auto i, auto j, auto u, double& sum) const { sum += u(i, j) * u(i, j); }
};
void grids() {
  const index_t n = 40;
  const std::vector<Emulated> devices(4, Emulated{0});
  CoherentArray<double, rank<2>, LayoutRight> u("u", n, n), v("v", n, n);
  u(n / 2, n / 2) = 4;
  double sum = 0;
//! [grids]
  const auto grid = across(devices).grid(2, 2);                            // four devices: upper left, upper right, ...
  launch(grid, mdrange({1, 1}, {n - 1, n - 1}), FivePoints{}, in(u, halo({1, 1}, {1, 1})), inout(v));
  launch_reduce(grid, mdrange({n, n}), Square{}, Sum(sum), in(v, own_element));
//! [grids]
  check(v(n / 2, n / 2 - 1) == 1.0 && sum == 4.0);
}

struct Dot {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, double& sum) const { sum += x(i) * y(i); }
};
struct SumOfSquares {                                       // value_type, init and join: a reduction of your own
  using value_type = double;
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i) * x(i); }
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, double other) { sum += other; }
};
struct SetScale {                                           // runs once, on the device, with the result
  STRATA_FUNCTION void operator()(double sum, auto scale) const { *scale = 1 / sqrt(sum); }
};
struct ScaleBy {
  STRATA_FUNCTION void operator()(auto i, auto scale, auto x) const { x(i) *= *scale; }
};
struct Offsets {
  STRATA_FUNCTION void operator()(auto i, auto count, auto first, int& sum, bool final) const {
    if (final) first(i) = sum;
    sum += count(i);
  }
};

template <class Where>
void reducing(const Where& where) {
  const index_t n = 1000;
  CoherentArray<double, rank<1>> x("x", n), y("y", n);
  CoherentArray<double, rank<0>> scale("scale"), squares("squares");
  CoherentArray<int, rank<1>> count("count", n), first("first", n);
  x(1) = 3, x(2) = 4, y(2) = 2, count(5) = 7;

  double dot = 0;
  int total = 0;
//! [reducing]
  launch_reduce(where, n, Dot{}, Sum(dot), in(x), in(y));                  // waits: the result is on the host
  launch_reduce(where, n, SumOfSquares{}, squares, in(x));                 // does not wait
  launch_reduce(where, n, SumOfSquares{}, finalize(SetScale{}, out(scale)), in(x));
  launch(where, n, ScaleBy{}, in(scale, everything), inout(x));            // x now has length 1; the host saw nothing of it
  launch_scan(where, n, Offsets{}, Sum(total), in(count), out(first));
//! [reducing]
  check(dot == 8 && squares() == 25.0 && std::abs(x(1) - 0.6) < 1e-15 && total == 7 && first(6) == 7 && first(5) == 0);
}

template <class Where>
void sequence(const Where& where) {
  const index_t n = 1000;
  CoherentArray<double, rank<1>> x("x", n), y("y", n);
  CoherentArray<double, rank<0>> scale("scale");
  x(1) = 3, x(2) = 4;
  std::vector<double> dots;                                 // a value for each step
//! [sequence]
  Sequence steps("normalise", where);                       // on(device) or across(devices)
  steps.loop_reduce("length", n, SumOfSquares{}, finalize(SetScale{}, out(scale)), in(x));
  steps.loop("scale", n, ScaleBy{}, in(scale, everything), inout(x));
  steps.loop("add", n, Axpy{0.5}, in(x), inout(y));
  steps.loop_reduce("dot", n, Dot{}, each_step(Sum, dots), in(x), in(y));
  steps.run(100);                                           // the four loops, 100 times; again: goes on
//! [sequence]
  check(dots.size() == 100 && std::abs(dots[0] - 0.5) < 1e-12 && std::abs(y(2) - 40) < 1e-9);
}

template <class Device>
void budget(const Device& device) {
  const index_t n = 10000;                                  // 80 000 bytes each
  CoherentArray<double, rank<1>> x("x", n), y("y", n), z("z", n);
//! [budget]
  coherent::set_budget(device, 200000);                     // room for two
  launch(on(device), n, Axpy{1}, in(x), inout(y));
  y.prefetch(Box({0}, {n}), device);                        // is there already
  launch(on(device), n, Axpy{1}, in(y), inout(z));          // x makes room: the host has it, nothing is copied
  launch(on(device), n, Axpy{1}, in(z), inout(x));          // y makes room, and is copied to the host before
//! [budget]
  check(coherent::resident_bytes(device) <= 200000 && y.counters().device_to_host.count == 1);
}

template <class Device>
void counters(const Device& device) {
  CoherentArray<double, rank<1>> x("x", 1000), y("y", 1000);
//! [counters]
  for (int step = 0; step < 10; ++step) launch(on(device), 1000, Axpy{1}, in(x), inout(y));
  y.flush();                                                // the host has all of it when this returns
  const TransferCounters of_y = y.counters();               // coherent::counters(): of all arrays
//! [counters]
  check(of_y.host_to_device.count == 1 && of_y.device_to_host.bytes == 8000);
  std::puts(to_json(of_y).c_str());
  for (const Residence& part : y.where(Box({0}, {10})))     // which memories have which parts
    for (const std::string& memory : part.memories) std::printf("%s has %s\n", memory.c_str(), to_string(part.box).c_str());
  std::fputs(y.explain().c_str(), stdout);
}

void errors() {
  CoherentArray<double, rank<1>> x("x", 100), y("y", 100);
  try {
    launch(on(Emulated{}), range(1, 99), Mean{}, in(x, halo(1, 1)), out(x));
  } catch (const AccessConflict& error) {
    std::puts(error.what());                                // the array, the two uses, and what to do
  }
  const auto view = x.read();
  try {
    launch(on(Emulated{}).named("update"), 100, Axpy{1}, in(y), inout(x));   // this thread still looks at x
  } catch (const AccessConflict& error) {
    std::puts(error.what());
  }
}

void threads() {
  CoherentArray<double, rank<1>> x("x", 1000), y("y", 1000);
  std::thread other([&] { launch(on(Emulated{0}), range(0, 500), Axpy{1}, in(x), inout(y)); });
  launch(on(Emulated{1}), range(500, 1000), Axpy{1}, in(x), inout(y));     // other rows: both at the same time
  other.join();
  check(y(0) == 0.0);
}

//! [functions]
struct Scaled {
  double a;
  STRATA_FUNCTION double operator()(double x, double y) const { return a * x + y; }   // elements in, an element out
};
struct Neighbours {
  STRATA_FUNCTION double operator()(auto r) const { return (r(-1, 0) + r(1, 0) + r(0, -1) + r(0, 1)) / 4; }
};
//! [functions]
struct RowTimes {
  STRATA_FUNCTION double operator()(index_t i, auto a, auto v) const {     // the index first, where it is wanted
    double sum = 0;
    for (index_t j = 0; j < v.extent(0); ++j) sum += a(i, j) * v(j);
    return sum;
  }
};
struct Times {
  STRATA_FUNCTION double operator()(double x, double y) const { return x * y; }
};

template <class Where>
void skeleton_calls(const Where& where) {
  using namespace skeletons;
  CoherentArray<double, rank<1>> x("x", 64), y("y", 64), v("v", 20);
  CoherentArray<double, rank<2>> a("a", 64, 20), b("b", 64, 20);
  x(3) = 2, v(7) = 1, a(3, 7) = 8;

//! [skeletons]
  map(where, Scaled{0.5}, inout(y), x);                                    // y = 0.5 y + x
  map_overlap(where, Neighbours{}, b, a, overlap({1, 1}, edge::duplicate));
  map_overlap(where, Neighbours{}, b, overlap({1, 1}), Update::RedBlack);  // in place, inner points only
  map_array(where, RowTimes{}, y, in(a), in(v, everything));               // y = A v
  const double dot = map_reduce(where, Times{}, Sum, x, y);
  const double most = reduce(where, Max, 0.0, y);                          // from a start value
  reduce_columns(where, Sum, v, a);                                        // v(j) = a(0, j) + a(1, j) + ...
  inclusive_scan(where, x, y, Sum);
//! [skeletons]
  check(dot == 16 && most == 8 && v(7) == 8.0 && y(2) == 0.0 && y(63) == 2.0);
}
// clang-format on

template <class Where>
void everywhere(const Where& where) {
  stencil(where);
  regions(where);
  reducing(where);
  sequence(where);
  skeleton_calls(where);
}

void all_of_them() {
  creating();
  host_views(CoherentArray<double, rank<2>>("a", 30, 20));
  AllDevices::for_each([]<class Device>(Device device) {
    launching<Device>();
    everywhere(on(device));
  });
  const std::vector<Emulated> devices = {Emulated{0}, Emulated{1}};
  everywhere(across(devices));
  everywhere(across(Emulated{0}, Threads{}));
  Balance balance;
  for (int step = 0; step < 3; ++step) several(devices, balance);
  grids();
  counters(Emulated{0});
  errors();
  threads();
  budget(Emulated{0});
  std::puts("coherent_guide: all results are right");
}

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, all_of_them); }
