// What it costs to copy and destroy a view: managed (one count up, one down), without ownership, and a
// functor with 20 views, as a copy and as a launch captures it. Next to it the bare atomic operations on a
// counter. On a GPU only the launch differs: views are copied on the host.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <new>

#include "baselines/launch_latency.hpp"
#include "common/contest.hpp"

namespace {

using namespace perf;
using strata::index_t;

template <class T>
void use(const T& object) {
  asm volatile("" : : "g"(&object) : "memory");  // it must exist in memory
}

template <class D>
using Matrix = strata::MDArray<double, D, strata::rank<2>>;
using Managed = Matrix<strata::Serial>;
using Unmanaged = Managed::unmanaged_type;

struct TwentyViews {
  using device_type = strata::Serial;
  Managed views[20];
  STRATA_FUNCTION void operator()(index_t) const {}
};
struct Nothing {
  STRATA_FUNCTION void operator()(index_t) const {}
};
struct StoreOne {
  STRATA_FUNCTION void operator()(index_t i, auto a) const { a(i, 0) = launched_value; }
};
// The same with 19 views more.
template <class D>
struct StoreOneOfTwenty {
  using device_type = D;
  Matrix<D> views[20];
  STRATA_FUNCTION void operator()(index_t i) const { views[7](i, 0) = launched_value; }
};

constexpr int copies = 1000;

void on_host(const Options& options, Report& report) {
  const auto managed = strata::create<Managed>("view", 8, 8);
  const Unmanaged unmanaged(managed);
  TwentyViews functor;
  for (auto& view : functor.views) view = managed;
  std::atomic<long> counter{1};

  Race race;
  const auto add = [&race](auto step) {
    return race.add([step] {
      for (int c = 0; c < copies; ++c) step();
    });
  };
  const int empty = add([&] { use(managed); });
  const int up = add([&] { counter.fetch_add(1, std::memory_order_relaxed); });
  const int up_down = add([&] {
    counter.fetch_add(1, std::memory_order_relaxed);
    counter.fetch_sub(1, std::memory_order_acq_rel);
  });
  // Copies alone: built in place and never destroyed, so that `managed` never gets back to one owner.
  alignas(Managed) static unsigned char storage[sizeof(Managed)];
  const int copy = race.add([&] {
    for (int c = 0; c < copies; ++c) use(*new (storage) Managed(managed));
  });
  const int copy_destroy = add([&] {
    const Managed view(managed);
    use(view);
  });
  const int plain = add([&] {
    const Unmanaged view(unmanaged);
    use(view);
  });
  const int twenty = add([&] {
    const TwentyViews all(functor);
    use(all);
  });
  const int launch_nothing = add([] { strata::parallel_for(strata::on(strata::Serial{}), 1, Nothing{}); });
  const int launch_twenty = add([&] { strata::parallel_for(1, functor); });
  race.run(options.reps_or(500));
  report.check(managed.use_count() > 21 + copies, "every copy of a managed view counts");

  const auto seconds = [&](int k) {
    Statistics s = race[k];
    s.median /= copies;
    s.min /= copies;
    s.p90 /= copies;
    return s;
  };
  const auto row = [&](const char* name, int k) {
    const Statistics s = seconds(k);
    report.add({name, "Serial", 1, "double", s, s.median * 1e9, "ns", none, none});
  };
  row("empty loop", empty);
  row("bare atomic increment", up);
  row("bare atomic increment and decrement", up_down);
  row("copy of a managed view", copy);
  row("copy and end of a managed view", copy_destroy);
  row("copy of an unmanaged view", plain);
  row("copy and end of a functor with 20 views", twenty);
  row("launch of nothing", launch_nothing);
  row("launch of a functor with 20 views", launch_twenty);
  const auto ns = [&](int k) { return seconds(k).median * 1e9; };
  report.note("a copy costs an atomic increment and " + fixed(ns(copy) - ns(up), 2) +
              " ns; with its end two operations and " + fixed(ns(copy_destroy) - ns(up_down), 2) +
              " ns; an unmanaged one " + fixed(ns(plain), 2) + " ns");
  report.note("a launch with 20 views costs " + fixed((ns(launch_twenty) - ns(launch_nothing)) / 20, 2) +
              " ns a view more than one with none");
}

// Launches back to back, with one view and with twenty, against plain launches with as many addresses and
// extents.
template <class D>
void on_gpu(const Options& options, Report& report) {
  const index_t n = 8;
  const auto a = strata::create<Matrix<D>>("a", n, 1);
  StoreOneOfTwenty<D> twenty;
  for (auto& view : twenty.views) view = a;
  Contest<D> contest(options, report, "double", 0);
  const auto one = [&](const char* name, int bytes, const auto& kernel) {
    contest.measure({.name = name,
                     .n = n,
                     .calls = copies,
                     .run =
                         [&] {
                           for (int c = 0; c < copies; ++c) strata::parallel_for(n, kernel);
                           strata::wait(D{});
                         },
                     .baseline = launch_by_hand(contest.place(), {a.data(), n, bytes, copies}),
                     .correct =
                         [&] {
                           return rows_hold(a, n, [](const auto& host, index_t at, index_t) {
                             return host(at, 0) == launched_value;
                           });
                         },
                     .clear = [&] { strata::deep_copy(a, 0.0); }});
  };
  one("launch with one view", 40, strata::with(StoreOne{}, a));
  one("launch of a functor with 20 views", 480, twenty);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "The cost of copying views.");
  Report report("view_copy", "on Cuda plain launches with as many addresses and extents as arguments");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    if constexpr (is_gpu<D>) on_gpu<D>(options, report);
    else if constexpr (std::is_same_v<D, strata::Serial>) on_host(options, report);
    else if (options.device == D::name)
      std::printf("left out: %s, whose views are copied as those of Serial\n", D::name);
  });
  return report.finish(options);
}
