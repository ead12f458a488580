// What a launch costs when the work is nothing: one item a worker, one item inline, and small reductions and
// scans. Seconds a launch; for Emulated and GPUs with the wait for its end.
// On Threads small launches one by one, each timed by itself, beside the same on Serial. The number of
// threads is a setting: `STRATA_THREADS=16 strata_launch_latency --device Threads --json 16.json` measures
// them for 16. On a GPU also launches of functors of 40 to 20000 bytes, and small reductions, one by one and
// back to back, against plain launches.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/launch_latency.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "common/contest.hpp"

namespace {

using namespace perf;
using strata::index_t;

// Writes which thread ran an item; one cache line an item, as threads would otherwise share it.
struct alignas(64) Slot {
  std::thread::id id;
};
struct RecordThread {
  Slot* slots;
  STRATA_FUNCTION void operator()([[maybe_unused]] index_t i) const {
#if !defined(__CUDA_ARCH__)
    slots[i].id = std::this_thread::get_id();
#endif
  }
};
struct Nothing {
  STRATA_FUNCTION void operator()(index_t) const {}
};
struct One {
  STRATA_FUNCTION void operator()(index_t, double& sum) const { sum += 1; }
};
struct Count {
  STRATA_FUNCTION void operator()(index_t, double& sum, bool) const { sum += 1; }
};

template <class D>
class Latencies {
 public:
  Latencies(const Options& options, Report& report) : options_(options), report_(report) {}

  void run() {
    strata::parallel_for(strata::on(D{}), 1, Nothing{});  // starts what there is to start
    one_item();
    if constexpr (is_machine<D>) one_item_a_worker();
    for (const index_t n : {1, 1000}) {
      reduce(n);
      scan(n);
    }
  }

 private:
  void add(const char* name, index_t n, const Statistics& time) {
    report_.add({name, D::name, n, "-", time, time.median * 1e6, "us", none, none});
  }
  Statistics time(const std::function<void()>& call) {
    Race race(20e-6);
    race.add(call);
    race.run(options_.reps_or(is_machine<D> ? 2000 : 50), 3);
    return race[0];
  }

  void one_item() {
    add("parallel_for, one item", 1, time([] {
          strata::parallel_for(strata::on(D{}), 1, Nothing{});
          strata::wait(D{});
        }));
  }

  // Each launch by itself: its time, and whether every worker had its item. Between launches the workers keep
  // spinning, as they do between the kernels of a program.
  void one_item_a_worker() {
    const int workers = D::concurrency();
    std::vector<Slot> slots(static_cast<std::size_t>(workers));
    std::vector<double> seconds, all;
    int complete = 0;
    const int launches = options_.reps_or(20000);
    const double limit = now() + 3;
    for (int l = 0; l < launches && now() < limit; ++l) {
      for (Slot& slot : slots) slot.id = {};
      const double begin = now();
      strata::parallel_for(strata::on(D{}), workers, RecordThread{slots.data()});
      const double end = now();
      std::set<std::thread::id> ids;
      for (const Slot& slot : slots) ids.insert(slot.id);
      report_.check(!ids.contains(std::thread::id{}), std::string("every item runs on ") + D::name);
      all.push_back(end - begin);
      if (static_cast<int>(ids.size()) < workers) continue;
      ++complete;
      seconds.push_back(end - begin);
    }
    // oneTBB promises no thread its item: a worker that comes late finds the work done. Threads runs a launch
    // that is known to be short on its caller.
    const bool all_timed = std::is_same_v<D, strata::Threads> || 2 * complete <= static_cast<int>(all.size());
    const bool whoever = all_timed && !std::is_same_v<D, strata::Threads>;
    add(whoever ? "parallel_for, one item a worker, whoever comes" : "parallel_for, one item a worker",
        workers, statistics(all_timed ? all : seconds));
    report_.note(std::string(D::name) + ": every one of " + std::to_string(workers) +
                 " workers took part in " + std::to_string(complete) + " of " + std::to_string(all.size()) +
                 " launches" + (all_timed ? "; all are timed" : "; only those are timed"));
  }

  void reduce(index_t n) {
    double sum = 0;
    add("parallel_reduce", n,
        time([&] { strata::parallel_reduce(strata::on(D{}), n, One{}, strata::Sum(sum)); }));
    report_.check(sum == static_cast<double>(n), std::string("parallel_reduce on ") + D::name);
  }
  void scan(index_t n) {
    double sum = 0;
    add("parallel_scan", n,
        time([&] { strata::parallel_scan(strata::on(D{}), n, Count{}, strata::Sum(sum)); }));
    report_.check(sum == static_cast<double>(n), std::string("parallel_scan on ") + D::name);
  }

  const Options& options_;
  Report& report_;
};

/// Small launches on Threads against Serial, in turn.
class SmallLaunches {
  using Array = strata::MDArray<double, strata::AnyHost, strata::rank<1>>;

 public:
  SmallLaunches(const Options& options, Report& report)
      : options_(options), report_(report), workers_(strata::Threads::concurrency()) {}

  void run() {
    measure("empty launch", workers_, 1, 5000,
            [&](auto on) { strata::parallel_for(on, workers_, Nothing{}); });
    for (const index_t n : {1000, 10000, 100000}) {
      const Array x = strata::create<Array>("x", n);
      strata::deep_copy(x, 1.0);
      double sum = 0;
      measure("parallel_reduce", n, 1, 5000, [&](auto on) {
        sum = 0;
        strata::parallel_reduce(
            on, n, [x](index_t i, double& value) { value += x(i); }, strata::Sum(sum));
        report_.check(sum == static_cast<double>(n), "a small sum");
      });
    }
    const index_t elements = 64000;
    const Array y = strata::create<Array>("y", elements);
    measure("parallel_for, some 25 ns an item", elements, workers_, 200, [&](auto on) {
      strata::parallel_for(on, elements, [y](index_t i) {
        double v = static_cast<double>(i);
        for (int k = 0; k < 6; ++k) v = std::sqrt(v + k);  // one after the other
        y(i) = v;
      });
    });
    measure("parallel_for, an item of 20 us a worker", workers_, workers_, 500, [&](auto on) {
      strata::parallel_for(on, workers_, [](index_t) {
        const double end = now() + 20e-6;
        while (now() < end) {
        }
      });
    });
  }

 private:
  // `ideal`: how many times as fast all workers would be if nothing but the work took time, as far as there
  // are processors. In turns of some launches each, of which the first few do not count: workers sleep while
  // Serial runs, and what the kernel costs is learned.
  template <class Launch>
  void measure(const char* name, index_t n, int ideal, int launches, const Launch& launch) {
    std::vector<double> threads, serial;
    constexpr int of_turn = 60, uncounted = 10;
    const auto take_turn = [&](auto on, std::vector<double>& seconds) {
      for (int l = 0; l < of_turn; ++l) {
        const double begin = now();
        launch(on);
        const double end = now();
        if (l >= uncounted) seconds.push_back(end - begin);
      }
    };
    const auto wanted = static_cast<std::size_t>(options_.reps_or(launches));
    const double limit = now() + 5;
    while (threads.size() < wanted && (threads.empty() || now() < limit)) {
      take_turn(strata::on(strata::Threads{}), threads);
      take_turn(strata::on(strata::Serial{}), serial);
    }
    add(name, "Serial", n, serial, none);
    const double ratio = statistics(serial).median / statistics(threads).median;
    add(std::string(name) + ", " + std::to_string(workers_) + " workers", "Threads", n, threads, ratio);
    if (ideal > 1)
      report_.note(std::string(name) + ": " + fixed(100 * ratio / std::min(ideal, processors()), 0) +
                   " % of ideal");
  }
  void add(const std::string& name, const char* device, index_t n, std::vector<double> seconds,
           double ratio) {
    const Statistics time = statistics(seconds);
    std::sort(seconds.begin(), seconds.end());
    const double p99 = seconds.empty() ? none : seconds[seconds.size() * 99 / 100];
    report_.add({"one by one: " + name, device, n, "-", time, time.median * 1e6, "us", none, ratio, p99});
    report_.note(std::string(device) + ", " + name + " of " + std::to_string(n) + ": 99th percentile " +
                 duration(p99));
  }

  const Options& options_;
  Report& report_;
  int workers_;
};

// A functor of so many bytes, with the view that it works on.
template <int Bytes>
struct Padded {
  static constexpr int view_bytes = 32;
  double pad[(Bytes - view_bytes) / 8];
  STRATA_FUNCTION void operator()(auto i, auto a) const { a(i) = pad[0]; }
};
struct AddSquare {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i) * x(i); }
};
template <class D>
struct SumOfSquares {
  using device_type = D;
  using value_type = double;
  typename strata::MDArray<double, D, strata::rank<1>>::unmanaged_type x;
  STRATA_FUNCTION void operator()(auto i, double& sum) const { sum += x(i) * x(i); }
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, const double& other) { sum += other; }
};
template <class D>
struct StoreRoot {
  typename strata::Value<double, D>::unmanaged_type norm;
  STRATA_FUNCTION void operator()(const double& sum) const { *norm = std::sqrt(sum); }
};

/// Against plain launches, on a GPU.
template <class D>
class LaunchContest {
  using Array = strata::MDArray<double, D, strata::rank<1>>;
  static constexpr int many = 1000;

 public:
  LaunchContest(const Options& options, Report& report) : contest_(options, report, "double", 0) {}

  template <int Bytes>
  void launches() {
    const index_t n = 32;
    const auto a = strata::create<Array>("a", n);
    Padded<Bytes> kernel{};
    kernel.pad[0] = launched_value;
    for (const int calls : {1, many})
      contest_.measure({.name = std::string(calls == 1 ? "launch and wait, " : "launches back to back, ") +
                                std::to_string(Bytes) + " bytes",
                        .n = n,
                        .calls = calls,
                        .run =
                            [&, calls] {
                              for (int c = 0; c < calls; ++c)
                                strata::parallel_for(n, strata::with(kernel, a));
                              strata::wait(D{});
                            },
                        .baseline = launch_by_hand(separate_cuda_place(), {a.data(), n, Bytes, calls}),
                        .correct =
                            [&] {
                              return rows_hold(a, n, [](const auto& host, index_t at, index_t) {
                                return host(at) == launched_value;
                              });
                            },
                        .clear =
                            [&] {
                              strata::deep_copy(a, 0.0);
                              strata::wait(D{});
                            }});
  }

  // Sums of n ones: to the host, and their root into a Value.
  void reductions(index_t n) {
    const auto x = strata::create<Array>("x", n);
    strata::deep_copy(x, 1.0);
    strata::wait(D{});  // what is done by hand has a stream of its own
    const auto norm = strata::create<strata::Value<double, D>>("norm");
    double sum = 0, root = 0;
    contest_.measure({.name = "reduce to the host",
                      .n = n,
                      .run =
                          [&] {
                            strata::parallel_reduce(n, strata::with(AddSquare{}, x), strata::Sum(sum));
                            root = std::sqrt(sum);
                          },
                      .baseline = small_norm_by_hand(separate_cuda_place(), {x.data(), n, &root, true, 1}),
                      .correct = [&] { return near(root, n); },
                      .clear = [&] { root = 0; }});
    const SumOfSquares<D> kernel{x};
    const StoreRoot<D> store{norm};
    contest_.measure(
        {.name = "reduce into a Value with finalize, back to back",
         .n = n,
         .calls = many,
         .run =
             [&] {
               for (int c = 0; c < many; ++c) strata::parallel_reduce(n, kernel, strata::finalize(store));
               strata::wait(D{});
             },
         .baseline = small_norm_by_hand(separate_cuda_place(), {x.data(), n, norm.data(), false, many}),
         .correct =
             [&] {
               double value = 0;
               strata::deep_copy(value, norm);
               return near(value, n);
             },
         .clear =
             [&] {
               strata::deep_copy(norm, 0.0);
               strata::wait(D{});
             }});
  }

 private:
  static bool near(double root, index_t n) {
    return std::abs(root * root - static_cast<double>(n)) <= 1e-12 * static_cast<double>(n);
  }

  Contest<D> contest_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "The cost of launches that do next to nothing.");
  Report report(
      "launch_latency",
      "on Cuda the same launch, or the reduction by one block, by hand: kernel<<<...>>>; of launches "
      "one by one on Threads the same on Serial");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    Latencies<D>(options, report).run();
    if constexpr (std::is_same_v<D, strata::Threads>) SmallLaunches(options, report).run();
    if constexpr (is_gpu<D>) {
      LaunchContest<D> contest(options, report);
      contest.template launches<40>();
      contest.template launches<3000>();
      contest.template launches<20000>();
      std::vector<index_t> sizes = {32, 10000};
      if (options.n > 0) sizes = {options.n};
      for (const index_t n : sizes) contest.reductions(n);
      report.note("back to back: 1000 launches, then one wait; the time is of one");
    }
  });
  report.note("Workers that run at the same time as other processes miss their turn: see p90 against min.");
  return report.finish(options);
}
