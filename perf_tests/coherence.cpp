// What keeping copies of arrays coherent takes. First in bytes: Table 1 of Dastgeer and Kessler (IJPP 44,
// 2016), by the calls of their three applications on two emulated devices. Then in time: the bookkeeping of a
// launch whose data is in place, on devices that do nothing; what a launch that comes again costs the host
// against parallel_for over plain views; and long launches of axpy against the same.
//
// Volumes are sums over sizes and runs; the paper counts an allocation and its end. Sizes that it does not
// give follow from its own figures: 563,635 bodies of 88 bytes, 3502 particles of 100 bytes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/views/coherent/coherent_array.hpp>

#include "common/contest.hpp"
#include "common/null_device.hpp"

namespace {

using namespace perf;
using namespace strata;

// ---- bytes

template <std::size_t Bytes>
struct Element {
  float values[Bytes / sizeof(float)];
};

struct Generate {
  STRATA_FUNCTION void operator()(index_t i, auto out) const { out(i) = {}; }
};
// MapArray of the paper: all of one array, an element of another, an element of the result.
struct MapArray {
  STRATA_FUNCTION void operator()(index_t i, auto full, auto part, auto out) const {
    out(i) = full(0);
    static_cast<void>(part(i));
  }
};
struct MapArrayInPlace {
  STRATA_FUNCTION void operator()(index_t i, auto full, auto out) const { out(i) = full(0); }
};
struct MapInPlace {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = x(i); }
};
struct Map {
  STRATA_FUNCTION void operator()(index_t i, auto x, auto y) const { y(i) = x(i); }
};

using Where = Across<Emulated>;

// Generate v0, v1; C calls in turn; the host reads v0.
void nbody(const Where& where) {
  using Body = Element<88>;
  const index_t n = 563635;
  CoherentArray<Body, rank<1>> v0("v0", n, uninitialized), v1("v1", n, uninitialized);
  launch(where, n, Generate{}, out(v0));
  launch(where, n, Generate{}, out(v1));
  for (int call = 0; call < 11; ++call) {
    launch(where, n, MapArrayInPlace{}, in(v0, everything), inout(v1));
    launch(where, n, MapArrayInPlace{}, in(v1, everything), inout(v0));
  }
  v0.flush();
}

// The host fills A; 2N calls; the host reads A. Two runs of five sizes.
void lu(const Where& where) {
  for (int run = 0; run < 2; ++run)
    for (index_t size = 70; size <= 110; size += 10) {
      const index_t n = size * size + 1;
      using Word = Element<4>;
      CoherentArray<Word, rank<1>> a("A", n), b("LU", n, uninitialized);
      CoherentArray<Word, rank<1>> indices("indices", n, uninitialized);
      launch(where, n, Generate{}, out(indices));
      for (index_t step = 0; step < size; ++step) {
        launch(where, n, MapArray{}, in(a, everything), in(indices), out(b));
        launch(where, n, MapArray{}, in(b, everything), in(indices), out(a));
      }
      a.flush();
    }
}

// Generate f1; Map to f2; MapArray; 50 steps of two MapArrays and a Map in place; the host reads f1.
void sph(const Where& where) {
  using Particle = Element<100>;
  const index_t n = 3502;
  CoherentArray<Particle, rank<1>> f1("f1", n, uninitialized), f2("f2", n, uninitialized);
  launch(where, n, Generate{}, out(f1));
  launch(where, n, Map{}, in(f1), out(f2));
  launch(where, n, MapArrayInPlace{}, in(f2, everything), inout(f1));
  for (int step = 0; step < 50; ++step) {
    launch(where, n, MapArrayInPlace{}, in(f1, everything), inout(f2));
    launch(where, n, MapArrayInPlace{}, in(f2, everything), inout(f1));
    launch(where, n, MapInPlace{}, inout(f1));
  }
  f1.flush();
}

struct Volumes {
  double to_device, same_device, peer, to_host, allocated;  // MiB
};
Volumes volumes_of(const std::function<void(const Where&)>& program, bool peer) {
  emulated::Config config = emulated::default_config();
  config.count = 2;
  if (!peer) config.peer_bandwidth = 0;
  emulated::configure(config);
  coherent::reset_counters();
  program(across(Emulated{0}, Emulated{1}));
  for (int k = 0; k < 2; ++k) wait(Emulated(k));
  const TransferCounters c = coherent::counters();
  const auto mib = [](const TransferCount& count) { return static_cast<double>(count.bytes) / (1 << 20); };
  return {mib(c.host_to_device), mib(c.same_device), mib(c.peer), mib(c.device_to_host),
          2 * mib(c.allocated)};
}

void table_1(Report& report) {
  struct Row {
    const char* name;
    std::function<void(const Where&)> program;
    Volumes without_peer, with_peer;  // as printed there
  };
  const std::array<Row, 3> rows{{
      {"NBody", nbody, {1040.6, 1040.6, 0, 1087.9, 567.6}, {0, 1040.6, 1040.6, 47.3, 567.6}},
      {"LU", lu, {60.1, 59.4, 0, 59.7, 4.4}, {.6, 59.4, 59.4, .3, 4.4}},
      {"SPH", sph, {33.7, 33.7, 0, 34.1, 4.0}, {0, 33.7, 33.7, .3, 4.0}},
  }};
  for (const Row& row : rows)
    for (const bool peer : {false, true}) {
      const Volumes& paper = peer ? row.with_peer : row.without_peer;
      const Volumes moved = volumes_of(row.program, peer);
      const std::string name = std::string(row.name) + (peer ? ", peer" : "");
      const auto add = [&](const char* what, double Volumes::*kind) {
        report.add({name + ", " + what, "Emulated", 2, "", {}, moved.*kind, "MiB", paper.*kind, none});
      };
      add("to devices", &Volumes::to_device);
      add("within devices", &Volumes::same_device);
      add("peer", &Volumes::peer);
      add("to host", &Volumes::to_host);
      add("allocated and freed", &Volumes::allocated);
      const auto sum = [](const Volumes& v) { return v.to_device + v.same_device + v.peer + v.to_host; };
      report.check(moved.same_device == 0, name + ": nothing is copied within a device");
      report.check(sum(moved) <= sum(paper) + 0.25, name + ": no more is moved than in Table 1");
    }
  report.note("of volumes the ceiling is the figure printed in Table 1, where copies are of exact ranges");
}

// ---- time

void bookkeeping(const Options& options, Report& report) {
  NullDevice first(0), second(1);
  const index_t n = 100000;
  std::vector<CoherentArray<double, rank<1>>> arrays;
  for (int k = 0; k < 5; ++k) arrays.emplace_back("x", n);
  const auto launch_nothing = [&](std::vector<NullDevice*> devices, int count) {
    detail::CoherentCall call("bookkeeping", nullptr, nullptr);
    const auto parts = detail::split_range(0, n, devices.size(), {}, 1);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      call.add_part(*devices[d], devices[d]->default_queue());
      for (int k = 0; k < count; ++k) {
        const auto& x = arrays[static_cast<std::size_t>(k)];
        call.add_use(*x.state(), k + 1 == count ? AccessMode::InOut : AccessMode::In,
                     detail::part_of(own, x.domain(), parts[d], ""));
      }
    }
    call.prepare();
    for (std::size_t d = 0; d < devices.size(); ++d) {
      call.begin(static_cast<int>(d));
      call.end(static_cast<int>(d));
    }
  };
  const auto measure = [&](const char* name, std::vector<NullDevice*> devices, int count, double target) {
    Race race;
    race.add([&] { launch_nothing(devices, count); });
    race.run(options.reps_or(200));
    const double us = race[0].median * 1e6;
    report.add({name, "none", n, "double", race[0], us, "us", none, none});
    report.note(std::string(name) + ": " + fixed(us, 3) + " us of " + fixed(target, 0));
  };
  measure("bookkeeping, 1 array, 1 device", {&first}, 1, 1);
  measure("bookkeeping, 5 arrays, 2 devices", {&first, &second}, 5, 5);
}

struct Axpy {
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};

// Seconds of the calling thread, whatever else the machine does.
double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Launches of 1024 items, one after the other: what they take from the calling thread.
template <class D>
void repeated(const Options& options, Report& report) {
  const index_t n = size_for<D>(options, 1024, 1024);
  CoherentArray<double, rank<1>> x("x", n), y("y", n);
  const auto plain_x = create<MDArray<double, D, strata::rank<1>>>("plain x", n);
  const auto plain_y = create<MDArray<double, D, strata::rank<1>>>("plain y", n);
  constexpr int calls = 50;
  const auto seconds = [&](const auto& call) {
    std::vector<double> samples;
    for (int rep = 0; rep < options.reps_or(200); ++rep) {
      const double begin = thread_seconds();
      for (int c = 0; c < calls; ++c) call();
      samples.push_back((thread_seconds() - begin) / calls);
      wait(D{});
    }
    return statistics(samples);
  };
  const Statistics coherent = seconds([&] { launch(on(D{}), n, Axpy{1.5}, in(x), inout(y)); });
  const Statistics plain = seconds([&] { parallel_for(n, with(Axpy{1.5}, plain_x, plain_y)); });
  const auto row = [&](const char* name, const Statistics& time, double ratio) {
    report.add({name, D::name, n, "double", time, time.median * 1e6, "us", none, ratio});
  };
  row("parallel_for, repeated", plain, none);
  row("coherent launch, repeated", coherent, plain.median / coherent.median);
}

template <class D>
void against_plain(const Options& options, Report& report) {
  const index_t n = size_for<D>(options, 10'000'000, 10'000'000);
  CoherentArray<double, rank<1>> x("x", n), y("y", n);
  const auto plain_x = create<MDArray<double, D, strata::rank<1>>>("plain x", n);
  const auto plain_y = create<MDArray<double, D, strata::rank<1>>>("plain y", n);
  constexpr int calls = 20;
  Race race;
  const int coherent = race.add([&] {
    for (int c = 0; c < calls; ++c) launch(on(D{}), n, Axpy{1.5}, in(x), inout(y));
    wait(D{});
  });
  const int plain = race.add([&] {
    for (int c = 0; c < calls; ++c) parallel_for(n, with(Axpy{1.5}, plain_x, plain_y));
    wait(D{});
  });
  race.run(options.reps_or(is_gpu<D> ? 100 : 11));
  const auto row = [&](const char* name, int k, double ratio) {
    Statistics time = race[k];
    time.median /= calls;
    time.min /= calls;
    time.p90 /= calls;
    report.add({name, D::name, n, "double", time, 24.0 * static_cast<double>(n) / time.median / 1e9, "GB/s",
                none, ratio});
  };
  row("axpy, parallel_for over views", plain, none);
  row("axpy, launch over coherent arrays", coherent, race.speedup(coherent, plain));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "What keeping copies of arrays coherent takes.");
  Report report("coherence", "parallel_for over plain views");
  if (options.wants_device("Emulated")) {
    table_1(report);
    bookkeeping(options, report);
  }
  for_each_device(options, [&](auto device) { repeated<decltype(device)>(options, report); });
  for_each_real_device(options, [&](auto device) { against_plain<decltype(device)>(options, report); });
  return report.finish(options);
}
