// The program of docs/which_spelling.md. Each region between //! [name] marks is shown there; main runs and
// checks them all.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include <strata/skeletons.hpp>
#include <strata/strata.hpp>
#include <strata/streaming.hpp>

using namespace strata;
using namespace strata::literals;

namespace {

void check(bool good) {
  if (good) return;
  std::puts("which_spelling: a result is wrong");
  std::exit(1);
}

// clang-format off
template <class Device>
void creating(const std::string& path) {
//! [creating]
  auto x = create<MDArray<double, Device, rank<1>>>("x", 1000);            // a view: in the memory of one device
  auto norm = create<Value<double, Device>>("norm");                       // one element
  CoherentArray<double, rank<2>> u("u", 1000, 40);                         // in several memories, as needed
  auto t = file_array<double, rank<2>>(path, 1000, 40, overwrite);         // a coherent array in a file
//! [creating]
  check(x.extent(0) == 1000 && norm.rank() == 0 && u.size() == t.size());
}

struct Axpy {
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};

template <class Device>
void launching() {
  const auto x = create<MDArray<double, Device, rank<1>>>("x", 1000), y = create<MDArray<double, Device, rank<1>>>("y", 1000);
  deep_copy(x, 1.0);
//! [launching]
  launch(on(Device{}).named("axpy"), 1000, Axpy{2}, in(x), inout(y));      // the default
  parallel_for(on(Device{}), 1000, [=](auto i) { y(i) += 2 * x(i); });     // a lambda that captures its views
  parallel_for(1000, with(Axpy{2}, x, y));                                 // kernel(i, x, y), where x and y live
  parallel_for(teams(50), with([](const auto& member, auto v) {            // teams: parallel_for only
    parallel_for(team_range(member, 20), [&](index_t k) { v(20 * member.league_rank() + k) += 1; });
  }, y));
//! [launching]
  double last = 0;
  wait(Device{});
  deep_copy(last, subview(y, 999));
  check(last == 7);
}

template <class Device>
void places() {
  const index_t n = 1000;
  CoherentArray<double, rank<1>> x("x", n), y("y", n);
  for (index_t i = 0; i < n; ++i) x(i) = 1;
  const Device device{};
  const Queue<Device> queue(device);
//! [places]
  launch(on(device), n, Axpy{1}, in(x), inout(y));                         // one device
  launch(on(queue), n, Axpy{1}, in(x), inout(y));                          // beside what other queues do
  launch(across(device, Threads{}), n, Axpy{1}, in(x), inout(y));          // coherent arrays over several devices
  launch(streamed(device, 64_KiB), n, Axpy{1}, in(x), inout(y));           // more than the device holds, in slices
  launch(streamed(across(device, Threads{}), 64_KiB).named("both"), n, Axpy{1}, in(x), inout(y));
//! [places]
  check(y(n - 1) == 5.0);
}

template <class Device>
void ranges() {
  const auto x = create<MDArray<double, Device, rank<1>>>("x", 100);
  const auto m = create<MDArray<int, Device, rank<2>>>("m", 30, 40);
  const auto add = [](auto i, auto v) { v(i) += 1; };
  const auto set = [](auto i, auto j, auto v) { v(i, j) = 1; };
  const auto where = on(Device{});
//! [ranges]
  launch(where, 100, add, inout(x));                                       // [0, 100)
  launch(where, range(10, 90), add, inout(x));                             // [10, 90)
  launch(where, mdrange({30, 40}), set, out(m));                           // i in [0, 30), j in [0, 40)
  launch(where, mdrange({1, 1}, {29, 39}), set, inout(m));                 // lower and upper corner
//! [ranges]
  double middle = 0;
  wait(Device{});
  deep_copy(middle, subview(x, 50));
  check(middle == 2);
}

struct SumOfSquares {
  using value_type = double;
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i) * x(i); }
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, const double& other) { sum += other; }
};
struct StoreNorm {
  STRATA_FUNCTION void operator()(const double& sum, auto norm) const { *norm = std::sqrt(sum); }
};

template <class Device>
void reducing() {
  const index_t n = 400;
  const auto x = create<MDArray<double, Device, rank<1>>>("x", n);
  deep_copy(x, 0.5);
  const auto squares = create<Value<double, Device>>("squares"), norm = create<Value<double, Device>>("norm");
  const auto where = on(Device{});
  double sum = 0, largest = 0;
//! [reducing]
  launch_reduce(where, n, [](auto i, auto v, double& s) { s += v(i); }, Sum(sum), in(x));     // waits: sum is on the host
  launch_reduce(where, n, [](auto i, auto v, double& m) { if (v(i) > m) m = v(i); }, Max(largest), in(x));
  launch_reduce(where, n, SumOfSquares{}, squares, in(x));                 // into a Value: does not wait
  launch_reduce(where, n, SumOfSquares{}, finalize(StoreNorm{}, out(norm)), in(x));   // computed on, on the device
//! [reducing]
  double on_host = 0;
  wait(Device{});
  deep_copy(on_host, norm);
  check(sum == 200 && largest == 0.5 && on_host == 10);
}
// clang-format on

template <class Device>
void all_of_it(const std::string& path) {
  creating<Device>(path);
  launching<Device>();
  places<Device>();
  ranges<Device>();
  reducing<Device>();
}

void run() {
  const std::string name = "strata-which-spelling-" + std::to_string(getpid());
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  all_of_it<Serial>(path);
  all_of_it<Emulated>(path);
  std::filesystem::remove(path);
  std::puts("which_spelling: all results are right");
}

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, run); }
