// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/miniapps/simulate/settings.hpp>

namespace strata::inline STRATA_ABI::simulate {

using miniapp::UsageError;

namespace {
constexpr std::array tiled_workloads{"cholesky", "lu", "gemm", "syrk"};
}

void declare(miniapp::Options& options, SimulateSettings& s) {
  options.add("--workload", &s.workload, "cholesky|lu|gemm|syrk|FILE",
              "what runs: a factorization or product over tiles, or the graph of a JSON file; may stand "
              "first, without "
              "--workload");
  options.set_first("--workload");
  options.add("-n,--tiles", &s.tiles, "N", "tiles of a side");
  options.add("--tile", &s.tile, "N", "elements of a side of a tile, of 4 bytes each");
  options.add("--memory", &s.memory, "BYTES",
              "memory of each device, \"2000 MiB\"; MB and GB are powers of 1000");
  options.add("--memory-tiles", &s.memory_tiles, "S", "the same, in tiles");
  options.add("-g,--devices", &s.devices, "G", "devices, from the first of the machine on");
  options.add("-m,--machine", &s.machine, "FILE", "JSON file of the machine (machines/ has some)");
  options.add("-s,--scheduler", &s.scheduler, "NAME", "who decides", tasks::scheduler_names());
  options.add("--priorities", &s.priorities, "NAME", "of tasks; those of parsec are for cholesky",
              {"bottom-level", "parsec"});
  options.add("--tasks-ahead", &s.tasks_ahead, "N",
              "tasks that a device is given ahead; 0: as many as the scheduler's paper has");
  options.add(
      "--tasks-queued", &s.tasks_queued, "N",
      "of eager-prefetch: tasks that a device takes out of the common queue, and prefetches; 0: 1000");
  options.add("--jitter", &s.jitter, "PERCENT",
              "each task and copy takes up to so much more or less than the machine says, drawn at random");
  options.add("--seed", &s.seed, "N", "of the jitter: the same seed draws the same");
  options.add("-j,--json", &s.json, "FILE",
              "writes the report as JSON; -: to standard output, and all else to standard error");
  options.add("--timeline", &s.timeline, "FILE",
              "writes every task and copy as JSON that chrome://tracing and Perfetto show");
  options.add("--order", &s.order, "FILE",
              "writes as JSON in which order tasks began, on which device, and for which tile");
  options.add_flag("--processor-time", s.processor_time,
                   "measures decisions by the time of the processor, not by the wall clock");
  options.add_flag("-q,--quiet", s.quiet, "prints nothing");
}

bool is_tiled(const SimulateSettings& settings) {
  return std::find(tiled_workloads.begin(), tiled_workloads.end(), settings.workload) !=
         tiled_workloads.end();
}

void require_valid(const SimulateSettings& s) {
  if (s.workload.empty())
    throw UsageError("say what to run: cholesky, lu, gemm, syrk, or a JSON file of a graph");
  if (s.machine.empty()) throw UsageError("say on which machine: --machine FILE.json");
  if (is_tiled(s) && (s.tiles < 1 || s.tiles > 1000))
    throw UsageError(s.workload + " needs --tiles N, the tiles of a side: 1 to 1000");
  if (!is_tiled(s) && s.tiles != 0)
    throw UsageError("--tiles is for cholesky, lu, gemm and syrk, not for a file");
  if (s.workload != "cholesky" && s.priorities == "parsec")
    throw UsageError("--priorities parsec is for cholesky");
  if (!is_tiled(s) && !s.order.empty())
    throw UsageError("--order is for cholesky, lu, gemm and syrk, not for a file: give --timeline");
  if (s.memory_tiles != 0 && !(s.memory_tiles >= 1)) throw UsageError("--memory-tiles is at least 1");
  if (!s.memory.empty() && s.memory_tiles > 0) throw UsageError("give --memory or --memory-tiles, not both");
  if (!is_tiled(s) && s.memory_tiles > 0)
    throw UsageError("--memory-tiles is for cholesky, lu, gemm and syrk: give --memory");
  miniapp::require_between("--tasks-ahead", s.tasks_ahead, 0, 1'000'000, "tasks");
  miniapp::require_between("--tasks-queued", s.tasks_queued, 0, 1'000'000, "tasks");
  if (!(s.jitter >= 0 && s.jitter < 100)) throw UsageError("--jitter is 0 to less than 100 percent");
  if (s.seed < 0 || s.seed > 1'000'000) throw UsageError("--seed is 0 to 1000000");
  if (s.tasks_queued > 0 && s.scheduler != "eager-prefetch")
    throw UsageError("--tasks-queued is for --scheduler eager-prefetch, not for " + s.scheduler);
}

}  // namespace strata::inline STRATA_ABI::simulate
