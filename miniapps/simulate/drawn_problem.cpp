// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/miniapps/simulate/drawn_problem.hpp>

namespace strata::inline STRATA_ABI::simulate {

using namespace tasks;

double DrawnProblem::bound() const {
  return static_cast<double>(tiled.graph.array(0).bytes) * loads_bound(tiled.kind, tiled.tiles, memory_tiles);
}

bool DrawnProblem::is_bounded() const {
  return machine.num_devices() == 1 &&
         bound() >= 1.3 * static_cast<double>(bounds_of(tiled.graph, machine).bytes_in);
}

DrawnProblem draw_problem(const Draw& draw, const DrawnLimits& limits) {
  constexpr index_t tile = 1920, bytes = tile * tile * 4;
  const auto kind = static_cast<TiledKind>(draw(0, 3));
  const int tiles =
      static_cast<int>(draw(8, kind == TiledKind::Gemm ? limits.most_tiles * 2 / 3 : limits.most_tiles));
  const index_t memory_tiles = draw(20, std::max<index_t>(20, static_cast<index_t>(tiles) * tiles / 3));
  const auto rate = [&](double middle) { return middle * static_cast<double>(draw(50, 200)) / 100; };
  const MachineDevice fastest{
      "device",
      memory_tiles * bytes,
      {{"gemm", rate(14e12)}, {"syrk", rate(13e12)}, {"trsm", rate(12e12)}, {"*", rate(1.5e12)}}};
  const index_t devices = draw(1, limits.most_devices);
  const bool is_shared = draw(0, 1) == 1, is_duplex = draw(0, 1) == 1;
  const double bytes_per_second = static_cast<double>(draw(4, 40)) * 1e9;
  std::vector<Link> links;
  std::vector<Joint> joints;
  for (DeviceId k = 0; k < devices; ++k) {
    if (k == 0 || !is_shared) links.push_back({"host", bytes_per_second, 1e-5, is_duplex});
    joints.push_back({host, k, static_cast<int>(links.size()) - 1});
  }
  if (draw(0, 1) == 1)
    for (DeviceId k = 1; k < devices; ++k) {
      links.push_back({"peer", 3 * bytes_per_second, 1e-5, true});
      joints.push_back({k - 1, k, static_cast<int>(links.size()) - 1});
    }
  const bool has_speeds = limits.has_speeds && draw(0, 2) == 0;
  std::vector<double> speeds;
  std::vector<MachineDevice> all;
  for (DeviceId k = 0; k < devices; ++k) {
    speeds.push_back(has_speeds && k > 0 ? static_cast<double>(draw(10, 100)) / 100 : 1);
    all.push_back(fastest);
    for (auto& [kernel, one] : all.back().rates) one *= speeds.back();
  }
  return {tiled_graph(kind, tiles, tile), Machine("drawn", all, links, joints),
          static_cast<double>(memory_tiles), speeds};
}

std::vector<DrawnRun> run_all(const DrawnProblem& problem, const std::string& only) {
  std::vector<DrawnRun> runs;
  for (const std::string& name : scheduler_names()) {
    if (!only.empty() && name != only) continue;
    const Simulation run = tasks::simulate(problem.tiled.graph, problem.machine, *make_scheduler(name));
    runs.push_back({name, run.seconds, run.traffic.to_devices});
  }
  return runs;
}

double ratio_to_best(const std::vector<DrawnRun>& runs) {
  double ours = 0, best = std::numeric_limits<double>::max();
  for (const DrawnRun& run : runs) {
    if (run.scheduler == "data-aware") ours = run.seconds;
    else best = std::min(best, run.seconds);
  }
  return ours / best;
}

}  // namespace strata::inline STRATA_ABI::simulate
