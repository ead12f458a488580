// What it costs to copy and destroy a view: managed (one count up, one down), without ownership, and a
// functor with 20 views, as a copy and as a launch captures it. Next to it the bare atomic operations on a
// counter.
#include <atomic>
#include <new>

#include "common/devices.hpp"
#include "common/report.hpp"

namespace {

using namespace perf;
using strata::index_t;

template <class T>
void use(const T& object) {
  asm volatile("" : : "g"(&object) : "memory");  // it must exist in memory
}

using Managed = strata::MDArray<double, strata::Serial, strata::rank<2>>;
using Unmanaged = Managed::unmanaged_type;

struct TwentyViews {
  using device_type = strata::Serial;
  Managed views[20];
  void operator()(index_t) const {}
};

constexpr int copies = 1000;

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "The cost of copying views.");
  Report report("view_copy", "");
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
  const int launch_nothing =
      add([] { strata::parallel_for(strata::on(strata::Serial{}), 1, [](index_t) {}); });
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
  return report.finish(options);
}
