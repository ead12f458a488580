// strata-simulate: how long a graph of tasks takes under a scheduler on a machine that is only described, and
// what moves; README.md has figures.
//
//   strata-simulate cholesky --tiles 60 --memory 2000MiB --machine miniapps/simulate/machines/v100.json
//   strata-simulate lu --tiles 55 --memory-tiles 142 --devices 4 --machine ... --scheduler darts --json
//   lu.json strata-simulate graph.json --machine ... --timeline timeline.json
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/plan/tiled.hpp>
#include <strata/algorithms/tasks/simulator/simulator.hpp>
#include <strata/core/bytes.hpp>
#include <strata/miniapps/common/run_devices.hpp>
#include <strata/miniapps/common/standard_output.hpp>
#include <strata/miniapps/simulate/graph_file.hpp>
#include <strata/miniapps/simulate/machine_file.hpp>
#include <strata/miniapps/simulate/settings.hpp>

namespace strata::inline STRATA_ABI::simulate {

namespace {

using nlohmann::json;
using tasks::TaskCommand;

// A graph over tiles; of a file, without tiles and positions.
tasks::TiledGraph graph_of(const SimulateSettings& settings, MeasuredKernels& measured) {
  for (const auto kind :
       {tasks::TiledKind::Cholesky, tasks::TiledKind::Lu, tasks::TiledKind::Gemm, tasks::TiledKind::Syrk})
    if (settings.workload == tasks::name_of(kind))
      return tasks::tiled_graph(kind, static_cast<int>(settings.tiles), settings.tile);
  return {tasks::TiledKind::Cholesky, 0, read_graph(settings.workload, &measured), {}};
}

index_t memory_of(const SimulateSettings& settings) {
  if (settings.memory_tiles > 0)
    return static_cast<index_t>(settings.memory_tiles * 4 *
                                static_cast<double>(settings.tile * settings.tile));
  return settings.memory.empty() ? 0 : memory_from_string(settings.memory);
}

// Bytes to devices that no order goes below, where they share what was loaded: one memory as large as all.
index_t least_bytes_in(const tasks::TiledGraph& tiled, const tasks::Machine& machine) {
  if (tiled.tiles == 0) return 0;
  double memory = 0;
  for (int device = 0; device < machine.num_devices(); ++device)
    memory += static_cast<double>(machine.device(device).memory);
  const double tile = static_cast<double>(tiled.graph.array(0).bytes);
  return static_cast<index_t>(tile * tasks::loads_bound(tiled.kind, tiled.tiles, memory / tile));
}

void write(const std::string& path, const json& content, int indent) {
  if (path == "-") return miniapp::write_kept_output(content.dump(indent) + "\n");
  std::ofstream file(path);
  file << content.dump(indent) << "\n";
  if (!file.flush()) throw FileError("\"" + path + "\" cannot be written");
}

json report_of(const SimulateSettings& settings, const tasks::TaskDag& graph, const tasks::Machine& machine,
               const tasks::Simulation& run, const tasks::TaskBounds& bounds) {
  json report{{"program", "strata-simulate"},
              {"simulated", true},
              {"workload", settings.workload},
              {"tasks", graph.num_tasks()},
              {"arrays", graph.num_arrays()},
              {"machine", machine.name()},
              {"devices", machine.num_devices()},
              {"memory_bytes", machine.device(0).memory},
              {"scheduler", settings.scheduler},
              {"priorities", settings.priorities},
              {"jitter_percent", settings.jitter},
              {"seed", settings.seed},
              {"seconds", run.seconds},
              {"bytes_to_devices", run.traffic.to_devices},
              {"bytes_from_devices", run.traffic.from_devices},
              {"bytes_between_devices", run.traffic.between_devices},
              {"bytes_loaded_again", run.traffic.reloads},
              {"bound_seconds", bounds.seconds()},
              {"bound_bytes", bounds.bytes_in},
              {"bounds",
               {{"work_seconds", bounds.work_seconds},
                {"path_seconds", bounds.path_seconds},
                {"link_seconds", bounds.link_seconds},
                {"bytes_from_devices", bounds.bytes_out}}},
              {"decision_seconds", run.decision_seconds},
              {"decision_99th_percentile_seconds", run.longest_decisions},
              {"most_ready_tasks", run.most_ready},
              {"decision_clock", settings.processor_time ? "processor" : "wall"},
              {"busy_seconds", run.busy_seconds},
              {"links", json::array()}};
  if (is_tiled(settings)) {
    report["tiles"] = settings.tiles;
    report["tile"] = settings.tile;
  }
  for (std::size_t k = 0; k < run.links.size(); ++k)
    report["links"].push_back({{"name", machine.links()[k].name},
                               {"bytes", run.links[k].bytes},
                               {"busy_seconds", run.links[k].busy_seconds}});
  return report;
}

// Events of the trace event format: devices are processes, tasks and the two ways of copies their threads.
json timeline_of(const tasks::TiledGraph& tiled, const tasks::Machine& machine,
                 const tasks::Simulation& run) {
  constexpr const char* tracks[] = {"loads", "stores", "tasks"};  // by TaskCommand::Kind
  json events = json::array();
  const auto add_name = [&](const char* what, int process, int thread, const std::string& name) {
    events.push_back(
        {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
  };
  for (int device = 0; device < machine.num_devices(); ++device) {
    add_name("process_name", device, 0, machine.device(device).name);
    for (int track = 0; track < 3; ++track) add_name("thread_name", device, track, tracks[track]);
  }
  for (const tasks::SimulatedStep& step : run.steps) {
    const bool is_task = step.command.kind == TaskCommand::Kind::Run;
    json event{{"name", is_task ? tiled.graph.task(step.command.task).label
                                : tiled.graph.array(step.command.array).label},
               {"ph", "X"},
               {"ts", step.begin * 1e6},
               {"dur", (step.end - step.begin) * 1e6},
               {"pid", step.command.device},
               {"tid", static_cast<int>(step.command.kind)}};
    if (is_task && tiled.tiles > 0) {
      const tasks::TilePosition at = tiled.positions[static_cast<std::size_t>(step.command.task)];
      event["args"] = {{"k", at.k}, {"m", at.m}, {"n", at.n}};
    }
    if (step.command.kind == TaskCommand::Kind::Load)
      event["args"] = {
          {"from", step.command.source == tasks::host ? "host" : machine.device(step.command.source).name},
          {"prefetch", step.command.is_prefetch}};
    events.push_back(std::move(event));
  }
  return {{"traceEvents", std::move(events)}};
}

// Tasks as they began: device, step k, and row and column of the tile.
json order_of(const SimulateSettings& settings, const tasks::TiledGraph& tiled,
              const tasks::Simulation& run) {
  std::vector<const tasks::SimulatedStep*> begun;
  for (const tasks::SimulatedStep& step : run.steps)
    if (step.command.kind == TaskCommand::Kind::Run) begun.push_back(&step);
  std::stable_sort(begun.begin(), begun.end(),
                   [](const auto* a, const auto* b) { return a->begin < b->begin; });
  json order = json::array();
  for (const tasks::SimulatedStep* step : begun) {
    const tasks::TilePosition at = tiled.positions[static_cast<std::size_t>(step->command.task)];
    order.push_back({step->command.device, at.k, at.m, at.n});
  }
  return {{"workload", settings.workload},
          {"tiles", settings.tiles},
          {"scheduler", settings.scheduler},
          {"columns", {"device", "k", "m", "n"}},
          {"order", std::move(order)}};
}

void print(const tasks::Simulation& run, const tasks::TaskBounds& bounds, int num_tasks) {
  std::printf("simulated        %.3f s, %.3f x the bound of %.3f s\n", run.seconds,
              run.seconds / bounds.seconds(), bounds.seconds());
  std::printf("to devices       %s, %.2f x the bound of %s; %s of it loaded again\n",
              string_from_bytes(run.traffic.to_devices).c_str(),
              bounds.bytes_in > 0
                  ? static_cast<double>(run.traffic.to_devices) / static_cast<double>(bounds.bytes_in)
                  : 1.0,
              string_from_bytes(bounds.bytes_in).c_str(), string_from_bytes(run.traffic.reloads).c_str());
  std::printf("from devices     %s\n", string_from_bytes(run.traffic.from_devices).c_str());
  std::printf("between devices  %s\n", string_from_bytes(run.traffic.between_devices).c_str());
  std::printf("decisions        %.2f us a task; 99 %% of them take at most %.2f us\n",
              num_tasks > 0 ? run.decision_seconds / num_tasks * 1e6 : 0.0, run.longest_decisions * 1e6);
}

int run(int argc, char** argv) {
  SimulateSettings settings;
  miniapp::Options options("strata-simulate",
                           "Schedules of task graphs on machines that are only described.");
  declare(options, settings);
  if (!options.parse(argc, argv)) return 0;
  require_valid(settings);

  MeasuredKernels measured;
  const tasks::TiledGraph tiled = graph_of(settings, measured);
  const tasks::Machine machine =
      read_machine(settings.machine, settings.devices, memory_of(settings), measured);
  tasks::SchedulerOptions scheduler_options;
  scheduler_options.tasks_ahead = static_cast<int>(settings.tasks_ahead);
  scheduler_options.tasks_queued = static_cast<int>(settings.tasks_queued);
  if (settings.priorities == "parsec") scheduler_options.priorities = tasks::parsec_priorities(tiled);
  const auto scheduler = tasks::make_scheduler(settings.scheduler, scheduler_options);
  const tasks::Simulation result =
      tasks::simulate(tiled.graph, machine, *scheduler, !settings.timeline.empty() || !settings.order.empty(),
                      settings.processor_time ? tasks::DecisionClock::Processor : tasks::DecisionClock::Wall,
                      {settings.jitter / 100, static_cast<std::uint64_t>(settings.seed)});
  const tasks::TaskBounds bounds = tasks::bounds_of(tiled.graph, machine, least_bytes_in(tiled, machine));

  if (!settings.json.empty())
    write(settings.json, report_of(settings, tiled.graph, machine, result, bounds), 2);
  if (!settings.timeline.empty()) write(settings.timeline, timeline_of(tiled, machine, result), -1);
  if (!settings.order.empty()) write(settings.order, order_of(settings, tiled, result), -1);
  if (!settings.quiet) print(result, bounds, tiled.graph.num_tasks());
  return 0;
}

}  // namespace

}  // namespace strata::inline STRATA_ABI::simulate

int main(int argc, char** argv) {
  return strata::miniapp::exit_status_of("strata-simulate", argc, argv, strata::simulate::run);
}
