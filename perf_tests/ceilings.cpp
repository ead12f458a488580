// What this machine gives: the bandwidth of plain loops, in cache and out of cache, by one thread and by all.
// Every other program measures the ceiling it needs again, next to its cases; this one shows the whole
// ladder. Of a GPU the fastest kernels of stream's sweeps, the link to the host, and an empty launch.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "baselines/deep_copy.hpp"
#include "baselines/launch_latency.hpp"
#include "baselines/stream.hpp"
#include "common/ceiling.hpp"
#include "common/contest.hpp"

namespace {

using namespace perf;
using strata::index_t;

template <class T>
void measure(const Options& options, Report& report, const char* type, double bytes, const char* where,
             int threads) {
  const int passes = bytes < 1e6 ? static_cast<int>(4e6 / bytes) : 1;
  TriadCeiling<T> loops(bytes * threads, threads, passes);
  Race race;
  const int triad = loops.add_to(race), scale = loops.add_scale(race);
  race.run(options.reps_or(bytes < 1e7 ? 200 : 20));
  const std::string team = threads == 1 ? "1 thread" : std::to_string(threads) + " threads";
  const auto items = static_cast<strata::index_t>(loops.triad_bytes() / passes / 3 / sizeof(T));
  const auto add = [&](const char* loop, int k, double moved) {
    report.add({std::string(loop) + ", " + where + ", " + team, "-", items, type, race[k],
                gigabytes_per_second(moved, race[k]), "GB/s", none, none});
  };
  add("triad", triad, loops.triad_bytes());
  add("scale", scale, loops.scale_bytes());
}

// The fastest of a sweep, and its name.
std::pair<std::string, Statistics> fastest(const Options& options, const Sweep& sweep) {
  Race race;
  for (const Competitor& variant : sweep) race.add(variant.run);
  race.run(options.reps_or(20), 1.0);
  int best = 0;
  for (int k = 1; k < static_cast<int>(sweep.size()); ++k)
    if (race[k].median < race[best].median) best = k;
  return {sweep[static_cast<std::size_t>(best)].name, race[best]};
}

template <class T, class D>
void measure_gpu(const Options& options, Report& report, const char* type, index_t n, const char* where) {
  using Array = strata::MDArray<T, D, strata::rank<1>>;
  const auto a = strata::create<Array>("a", n), b = strata::create<Array>("b", n),
             c = strata::create<Array>("c", n);
  const CudaPlace place = Contest<D>(options, report, type, 0).place();
  const auto one = [&](const char* name, StreamOperation operation) {
    const auto [variant, time] = fastest(
        options, stream_by_hand(place, operation, StreamArrays<T>{a.data(), b.data(), c.data(), 3, n}));
    const double bytes = static_cast<double>(stream_arrays(operation)) * sizeof(T) * static_cast<double>(n);
    report.add({std::string(name) + ", " + where + ": " + variant, D::name, n, type, time,
                gigabytes_per_second(bytes, time), "GB/s", none, none});
  };
  one("triad", StreamOperation::Triad);
  one("scale", StreamOperation::Scale);
  one("fill", StreamOperation::Fill);
}

// What does not depend on the type.
template <class D>
void measure_link(const Options& options, Report& report) {
  const CudaPlace place = Contest<D>(options, report, "-", 0).place();
  constexpr std::size_t bytes = std::size_t{1} << 30;
  for (const bool to_gpu : {true, false}) {
    const Ceiling link = link_ceiling(place, to_gpu, bytes);
    const Statistics time = fastest(options, {link.triad}).second;
    report.add({to_gpu ? "link, to the GPU, pinned" : "link, from the GPU, pinned", D::name,
                static_cast<index_t>(bytes), "-", time, gigabytes_per_second(link.bytes, time), "GB/s", none,
                none});
  }
  const auto a = strata::create<strata::MDArray<double, D, strata::rank<1>>>("a", 32);
  const auto launch = [&](const char* name, int calls) {
    Statistics time = fastest(options, launch_by_hand(place, {a.data(), 32, 40, calls})).second;
    for (double* seconds : {&time.median, &time.min, &time.p90}) *seconds /= calls;
    report.add({name, D::name, 32, "-", time, time.median * 1e6, "us", none, none});
  };
  launch("launch and wait", 1);
  launch("1000 launches back to back, each", 1000);
}

template <class T>
void measure_host(const Options& options, Report& report, const char* type) {
  std::vector<int> teams = {1};
  if (processors() > 1) teams.push_back(processors());
  for (const int threads : teams) {
    if (options.n > 0) {
      measure<T>(options, report, type, 3.0 * sizeof(T) * static_cast<double>(options.n), "size given",
                 threads);
      continue;
    }
    measure<T>(options, report, type, 24e3, "24 kB a thread", threads);
    measure<T>(options, report, type, 384e3, "384 kB a thread", threads);
    measure<T>(options, report, type, 384e6 / threads, "384 MB", threads);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "Bandwidth of plain loops: the ceilings of this machine.");
  Report report("ceilings", "");
  for_each_type(options, [&](auto zero, const char* type) {
    using T = decltype(zero);
    bool hosts = false;  // their loops are the same on all
    for_each_device(options, [&](auto device) {
      using D = decltype(device);
      if constexpr (is_gpu<D>) {
        constexpr index_t third = 3 * sizeof(T);
        if (options.n > 0) {
          measure_gpu<T, D>(options, report, type, options.n, "size given");
        } else {
          measure_gpu<T, D>(options, report, type, 24000000 / third, "24 MB");
          measure_gpu<T, D>(options, report, type, 3200000000 / third, "3.2 GB");
        }
      } else {
        hosts = true;
      }
    });
    if (hosts) measure_host<T>(options, report, type);
  });
  for_each_device(options, [&](auto device) {
    if constexpr (is_gpu<decltype(device)>) measure_link<decltype(device)>(options, report);
  });
  report.note(
      "triad: a = b + s * c, 3 values an item; scale: a = s * b, 2 values. A store to a line that is not in");
  report.note(
      "cache reads it first: memory moves 4/3 of triad's bytes and 3/2 of scale's. No non-temporal stores.");
  return report.finish(options);
}
