// What this machine gives: the bandwidth of plain loops, in cache and out of cache, by one thread and by all.
// Every other program measures the ceiling it needs again, next to its cases; this one shows the whole
// ladder.
#include <memory>

#include "common/ceiling.hpp"
#include "common/devices.hpp"
#include "common/report.hpp"

namespace {

using namespace perf;

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

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "Bandwidth of plain loops: the ceilings of this machine.");
  Report report("ceilings", "");
  for_each_type(options, [&](auto zero, const char* type) {
    using T = decltype(zero);
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
  });
  report.note(
      "triad: a = b + s * c, 3 values an item; scale: a = s * b, 2 values. A store to a line that is not in");
  report.note(
      "cache reads it first: memory moves 4/3 of triad's bytes and 3/2 of scale's. No non-temporal stores.");
  return report.finish(options);
}
