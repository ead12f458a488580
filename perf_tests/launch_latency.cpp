// What a launch costs when the work is nothing: one item a worker with every worker taking part, one item
// inline, and small reductions and scans. Seconds a launch; for Emulated with the wait for its end.
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "common/devices.hpp"
#include "common/report.hpp"

namespace {

using namespace perf;
using strata::index_t;

// Writes which thread ran an item; one cache line an item, as threads would otherwise share it.
struct alignas(64) Slot {
  std::thread::id id;
};
struct RecordThread {
  Slot* slots;
  void operator()(index_t i) const { slots[i].id = std::this_thread::get_id(); }
};
struct Nothing {
  void operator()(index_t) const {}
};
struct One {
  void operator()(index_t, double& sum) const { sum += 1; }
};
struct Count {
  void operator()(index_t, double& sum, bool) const { sum += 1; }
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
    // oneTBB promises no thread its item: a worker that comes late finds the work done.
    const bool mostly = 2 * complete > static_cast<int>(all.size());
    add(mostly ? "parallel_for, one item a worker" : "parallel_for, one item a worker, whoever comes",
        workers, statistics(mostly ? seconds : all));
    report_.note(std::string(D::name) + ": every one of " + std::to_string(workers) +
                 " workers took part in " + std::to_string(complete) + " of " + std::to_string(all.size()) +
                 " launches" + (mostly ? "; only those are timed" : "; all are timed"));
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

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "The cost of launches that do next to nothing.");
  Report report("launch_latency", "");
  for_each_device(options, [&](auto device) { Latencies<decltype(device)>(options, report).run(); });
  report.note("Workers that run at the same time as other processes miss their turn: see p90 against min.");
  return report.finish(options);
}
