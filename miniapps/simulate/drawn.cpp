// strata-simulate-drawn: all schedulers on problems and machines that are drawn at random, as JSON: what the
// table of draws in docs/scheduling.md is made of.
//
//   strata-simulate-drawn --count 200 --seed 1 --devices 4 --tiles 30 --json draws.json
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>

#include <nlohmann/json.hpp>

#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/common/run_devices.hpp>
#include <strata/miniapps/simulate/drawn_problem.hpp>
#include <strata/miniapps/simulate/json_file.hpp>

namespace strata::inline STRATA_ABI::simulate {

namespace {

struct DrawnSettings {
  index_t count = 100;
  index_t seed = 1;
  index_t tiles = 30;
  index_t devices = 4;
  bool bounded = false;
  std::string json;
};

void declare(miniapp::Options& options, DrawnSettings& s) {
  options.add("--count", &s.count, "N", "draws");
  options.add("--seed", &s.seed, "N", "of the first draw; the next ones have the next seeds");
  options.add("-n,--tiles", &s.tiles, "N", "tiles of a side at most");
  options.add("-g,--devices", &s.devices, "G", "devices at most");
  options.add_flag(
      "--bounded", s.bounded,
      "only draws of one device where the bound of loads exceeds 1.3 times each array once; others than "
      "data-aware only where the bound of seconds lets them be faster by more than 2 %");
  options.add("-j,--json", &s.json, "FILE", "writes every draw as JSON, one a line");
}

void require_valid(const DrawnSettings& s) {
  if (s.count < 1 || s.count > 1'000'000) throw miniapp::UsageError("--count is 1 to 1000000 draws");
  if (s.seed < 0) throw miniapp::UsageError("--seed is 0 at least");
  if (s.tiles < 12 || s.tiles > 200) throw miniapp::UsageError("--tiles is 12 to 200");
  if (s.devices < 1 || s.devices > 64) throw miniapp::UsageError("--devices is 1 to 64");
  if (s.json.empty()) throw miniapp::UsageError("say where the draws go: --json FILE");
}

// The same on every platform.
Draw draw_of(std::uint64_t seed) {
  return [engine = std::mt19937_64(seed)](index_t first, index_t last) mutable {
    return first + static_cast<index_t>(engine() % static_cast<std::uint64_t>(last - first + 1));
  };
}

nlohmann::json record_of(std::uint64_t seed, const DrawnProblem& problem) {
  double total = 0;
  for (tasks::ArrayId array = 0; array < problem.tiled.graph.num_arrays(); ++array)
    total += static_cast<double>(problem.tiled.graph.array(array).bytes);
  const tasks::TaskBounds bounds = tasks::bounds_of(problem.tiled.graph, problem.machine);
  return {{"seed", seed},
          {"workload", tasks::name_of(problem.tiled.kind)},
          {"tiles", problem.tiled.tiles},
          {"memory_tiles", problem.memory_tiles},
          {"devices", problem.machine.num_devices()},
          {"speeds", problem.speeds},
          {"array_bytes", total},
          {"bound_seconds", bounds.seconds()},
          {"bound_bytes", problem.bound()}};
}

// No scheduler is faster than the bound: where data-aware is near it, the others need not be run.
std::vector<DrawnRun> runs_of(const DrawnProblem& problem, bool is_bounded) {
  constexpr double near = 1.02;
  if (!is_bounded) return run_all(problem);
  const double bound = tasks::bounds_of(problem.tiled.graph, problem.machine).seconds();
  std::vector<DrawnRun> own = run_all(problem, "data-aware");
  return own.front().seconds > near * bound ? run_all(problem) : own;
}

int run(int argc, char** argv) {
  DrawnSettings settings;
  miniapp::Options options("strata-simulate-drawn",
                           "All schedulers on problems and machines that are drawn at random.");
  declare(options, settings);
  if (!options.parse(argc, argv)) return 0;
  require_valid(settings);

  std::ofstream file(settings.json);
  const DrawnLimits limits{static_cast<int>(settings.tiles), settings.bounded ? 1 : settings.devices, true};
  std::uint64_t seed = static_cast<std::uint64_t>(settings.seed);
  for (index_t count = 0; count < settings.count; ++seed) {
    const DrawnProblem problem = draw_problem(draw_of(seed), limits);
    if (settings.bounded && !problem.is_bounded()) continue;
    nlohmann::json record = record_of(seed, problem);
    for (const DrawnRun& one : runs_of(problem, settings.bounded)) {
      record["seconds"][one.scheduler] = one.seconds;
      if (one.scheduler == "data-aware") record["bytes_to_devices"] = one.bytes;
    }
    file << (count++ == 0 ? "[\n" : ",\n") << record.dump();
  }
  file << "\n]\n";
  if (!file.flush()) throw FileError("\"" + settings.json + "\" cannot be written");
  return 0;
}

}  // namespace

}  // namespace strata::inline STRATA_ABI::simulate

int main(int argc, char** argv) {
  return strata::miniapp::exit_status_of("strata-simulate-drawn", argc, argv, strata::simulate::run);
}
