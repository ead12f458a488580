// The code of docs/out_of_core.md. Everything here is compiled and run as a test; the regions between the
// marks are shown there. Arrays are small, and budgets smaller still.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <strata/strata.hpp>
#include <strata/streaming.hpp>

using namespace strata;

namespace {

void check(bool good) {
  if (good) return;
  std::puts("streaming_guide: a result is wrong");
  std::exit(1);
}

// clang-format off
struct Axpy {                                               // a kernel of any other launch
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};

struct Add {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
struct Prefix {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, double& sum, bool final) const {
    sum += x(i);
    if (final) y(i) = sum;
  }
};

template <class Device>
void launching(const Device& device) {
  const index_t n = 1'000'000;                              // 8 MB each
  const CoherentArray<double, rank<1>> x("x", n), y("y", n), z("z", n);
  double sum = 0, total = 0;
  x(0) = 1, x(n - 1) = 2;
//! [launching]
  const auto where = streamed(device, 1_MiB);               // so many bytes of its memory, and no more
  const StreamReport report = launch(where.named("axpy"), n, Axpy{2}, in(x), inout(y));
  launch_reduce(where, n, Add{}, Sum(sum), in(y));
  launch_scan(where, n, Prefix{}, Sum(total), in(x), out(z));
//! [launching]
  check(y(n - 1) == 4.0 && y(1) == 0.0 && report.device_bytes <= 1_MiB);
  check(sum == 6 && total == 3 && z(0) == 1.0 && z(n - 1) == 3.0);
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
struct LookUp {
  STRATA_FUNCTION void operator()(auto i, auto index, auto table, auto y) const { y(i) = table(index(i)); }
};

template <class Device>
void regions(const Device& device) {
  const index_t n = 100'000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n), half("half", n / 2), table("table", 100);
  const CoherentArray<int, rank<1>> index("index", n);
  const auto where = streamed(device, 256_KiB);
  x(n - 1) = 6, table(7) = 5, index(n / 2) = 7;
//! [regions]
  launch(where, range(1, n - 1), Mean{}, in(x, halo(1, 1)), out(y));       // rows i - 1 to i + 1
  launch(where, n / 2, SumOfPair{}, in(x, rows(Pairs{})), out(half));      // rows that a function says
  launch(where, n, LookUp{}, in(index), in(table, everything), inout(y));  // `table` is there all the time
//! [regions]
  check(half(n / 2 - 1) == 6.0 && y(n / 2) == 5.0 && y(n - 2) == 0.0);
}

struct Spring {                                             // between masses i and i + 1
  STRATA_FUNCTION void operator()(auto i, auto x, auto force) const { force(i) = x(i + 1) - x(i); }
};
struct Move {
  double dt;
  STRATA_FUNCTION void operator()(auto i, auto force, auto v, auto x) const {
    v(i) += dt * (force(i) - force(i - 1));
    x(i) += dt * v(i);
  }
};
struct Kinetic {
  STRATA_FUNCTION void operator()(auto i, auto v, double& sum) const { sum += 0.5 * v(i) * v(i); }
};

struct Double {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) *= 2; }
};

template <class Device>
void sequence(const Device& device) {
  const index_t n = 1'000'000;
  const CoherentArray<double, rank<1>> x("x", n), v("v", n), force("force", n - 1, uninitialized);
  const auto where = streamed(device, 1_MiB);
  const double dt = 0.5;
  x(n / 2) = 1;
//! [sequence]
  Sequence chain("chain", where);
  std::vector<double> kinetic;                                              // one value for each step
  chain.temporary(force);                                                   // made and used on the device only
  chain.loop("springs", n - 1, Spring{}, in(x, halo(0, 1)), out(force));
  chain.loop("masses", range(1, n - 1), Move{dt}, in(force, halo(1, 0)), inout(v), inout(x));
  chain.loop_reduce("energy", n, Kinetic{}, each_step(Sum, kinetic), in(v));
  const StreamReport report = chain.run(100);                               // the three loops, 100 times
//! [sequence]
  check(kinetic.size() == 100 && kinetic[0] == 0.75 && report.bytes_to_host >= 16 * (n - 2));
  check(x(n / 2 + 120) == 0.0 && x(n / 2 + 40) != 0.0);
  const CoherentArray<double, rank<1>> second("second copy of x", n, uninitialized);
  double at_most = 8;
  for (index_t i = 0; i < n; ++i) x(i) = 1;
//! [attempt]
  Sequence growth("growth", where);
  std::vector<double> total;
  growth.second_copy(x, second);                                            // which no loop is declared with
  growth.loop("double", n, Double{}, inout(x));
  growth.loop_reduce("sum", n, Add{}, each_step(Sum, total), in(x));
  const auto allowed = [&](double sum) { return sum <= at_most * static_cast<double>(n); };
  growth.attempt(10);                                                       // `second` has the results, x what it had
  const auto good = std::find_if_not(total.begin(), total.end(), allowed) - total.begin();
  if (good < 10) growth.attempt(static_cast<int>(good));                    // again, from the same begin
  growth.accept();                                                          // the next run begins with `second`
//! [attempt]
  check(good == 3 && second(n - 1) == 8.0 && x(n - 1) == 1.0);
  growth.attempt(1);
  check(x(n - 1) == 16.0 && second(n - 1) == 8.0);
}

//! [heat]
struct Heat {                                               // of a state: its old values, then its new ones
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, const auto& k) const {
    next(i) = old(i) + k(i) * (old(i - 1) - 2 * old(i) + old(i + 1));
  }
};
//! [heat]
//! [change]
struct HeatAndChange {                                      // the same, and what is added up of each step
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, const auto& k, double& change) const {
    Heat{}(i, old, next, k);
    change += (next(i) - old(i)) * (next(i) - old(i));
  }
};
//! [change]
struct Plate {
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
    next(i, j) = old(i, j) / 2 + (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1)) / 8;
  }
};

template <class Device>
void most(const Device& device, const CoherentArray<double, rank<1>>& k) {
  const index_t n = k.extent(0);
  const CoherentArray<double, rank<1>> t("t", n), x("x", n);
  t(n - 1) = 1;
//! [most]
  const auto where = streamed(device, 256_KiB);                            // of the device's memory; 2_GiB of a GPU's
  launch(where, n, Axpy{2}, in(t), inout(x));                              // once over all rows
  streamed_iterate(where, 100, Heat{}, state(t, halo(1, 1)), in(k));       // 100 steps that read rows i - 1 to i + 1
//! [most]
  check(x(n - 1) == 2 && x(0) == 0 && t(n - 2) > 0.85);
}

template <class Device>
void iterating(const Device& device) {
  const index_t n = 100'000, height = 500, width = 200;
  const CoherentArray<double, rank<1>> t("t", n), k("k", n);
  const CoherentArray<double, rank<2>, LayoutRight> plate("plate", height, width);
  launch(on(Serial{}), n, [](auto i, auto x) { x(i) = 0.25; }, out(k));
  t(n - 1) = 1, plate(height - 1, 100) = 8;
  const auto where = streamed(device, 256_KiB);
//! [iterating]
  streamed_iterate(where, 100, Heat{}, state(t, halo(1, 1)), in(k));       // the first and the last row are fixed
  streamed_iterate(where, mdrange({1, 1}, {height - 1, width - 1}), 100, Plate{}, state(plate, halo(1, 1)));
//! [iterating]
  check(t(n - 2) > 0.85 && t(n - 102) == 0.0 && plate(height - 2, 100) > 1.0);
  most(device, k);
  const CoherentArray<double, rank<1>> w("w", n);
  w(n - 1) = 1;
//! [changes]
  std::vector<double> changes;                                             // one value for each step
  streamed_iterate_reduce(where, 100, HeatAndChange{}, each_step(Sum, changes), state(w, halo(1, 1)), in(k));
//! [changes]
  check(changes.size() == 100 && changes[0] == 0.0625 && changes[99] < changes[0]);
  check(std::abs(w(n - 2) - t(n - 2)) < 1e-12);
  const CoherentArray<double, rank<1>> u("u", n);
  const int steps = 100;
  u(n - 1) = 1;
//! [choosing]
  const auto by_hand = where.scheduler(StreamScheduler::Carry).steps_per_pass(25).chunk(2000).slots(3);
  streamed_iterate(by_hand, steps, Heat{}, state(u, halo(1, 1)), in(k));
  const StreamReport plan = streamed_iterate(where.dry_run().named("heat"), range(1, n - 1), steps, Heat{},
                                             state(t, halo(1, 1)), in(k));   // nothing is copied or computed
  std::printf("%s: %s", Device::name, plan.explain().c_str());
//! [choosing]
  check(u(n - 2) == t(n - 2) && plan.steps_per_pass >= 1 && plan.seconds == 0);
}

template <class Device>
void errors(const Device& device) {
  const CoherentArray<double, rank<2>, LayoutRight> wide("wide", 10, 100'000);  // a row is 800 kB
  try {
    launch(streamed(device, 1_MiB).named("too wide"), mdrange({10, 100'000}),
           [] STRATA_FUNCTION(index_t i, index_t j, auto a) { a(i, j) = 1; }, out(wide));
    check(false);
  } catch (const OutOfMemory& error) {
    std::puts(error.what());
  }
}
// clang-format on

void all_of_them() {
  AllDevices::for_each([]<class Device>(Device device) {
    launching(device);
    regions(device);
    iterating(device);
    sequence(device);
    errors(device);
  });
  std::puts("streaming_guide: all results are right");
}

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, all_of_them); }
