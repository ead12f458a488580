// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/miniapps/common/memory.hpp>
#include <strata/miniapps/factorize/settings.hpp>

namespace strata::inline STRATA_ABI::factorize {

using miniapp::require_between;
using miniapp::UsageError;

namespace {

constexpr std::array operations{Operation::Cholesky, Operation::Lu,   Operation::LuNoPivot,
                                Operation::Gemm,     Operation::Syrk, Operation::Trsm};
constexpr index_t most_order = 1 << 29;  // three matrices have fewer than 2^63 bytes

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const Operation operation : operations) names.emplace_back(name_of(operation));
  return names;
}

Operation operation_of(const std::string& name) {
  std::string names;
  for (const Operation operation : operations) {
    if (name == name_of(operation)) return operation;
    names += (names.empty() ? "" : ", ") + std::string(name_of(operation));
  }
  throw UsageError("say what to compute: one of " + names + ", as in strata-factorize cholesky");
}

void set_home(const std::string& text, FactorizeRequest& request) {
  const std::string file = "file:";
  if (text.starts_with(file)) {
    request.home = "file";
    request.folder = text.substr(file.size());
    if (request.folder.empty())
      throw UsageError("--home file: needs the name of a folder, as in --home file:tiles");
  } else if (text.empty() || text == "memory" || text == "pinned") {
    request.home = text;
  } else {
    throw UsageError("--home is memory, pinned or file:FOLDER, not \"" + text + "\"");
  }
}

// --memory, where --home does not say where tiles are.
void set_memory(const std::string& name, FactorizeRequest& request) {
  const miniapp::MemoryChoice choice = miniapp::memory_choice(name);
  if (!choice) return;
  if (*choice != MemoryMode::Smart && *choice != MemoryMode::Pinned)
    throw UsageError(std::string("the memory mode ") + to_string(*choice) +
                     ": tasks decide themselves what is copied when: take --memory smart or pinned");
  const bool is_setting = name == "default";  // for programs on all devices
  if (!request.home.empty()) {
    if (!is_setting) throw UsageError("--memory is what --home says, too: give one of them");
  } else if (*choice == MemoryMode::Smart) {
    request.home = "memory";
  } else if (!is_setting) {
    request.home = "pinned";  // as it is by default where there is such memory
  }
}

bool is_generated(const std::string& input) { return input == "spd" || input == "random"; }

// Options that would have no effect are refused, so that nobody believes that they had one.
void require_fit(const FactorizeSettings& s, const FactorizeRequest& request) {
  if (s.order != FactorizeSettings::default_order && !is_generated(request.input))
    throw UsageError("--order is for matrices that are generated; that of --input " + request.input +
                     " has its own");
  if (s.seed != FactorizeSettings::default_seed && !is_generated(request.input) &&
      request.operation != Operation::Gemm && request.operation != Operation::Trsm)
    throw UsageError("--seed is for matrices that are generated, not for --input " + request.input);
  if (request.operation != Operation::Trsm) {
    const std::pair<const char*, bool> of_trsm[] = {{"--side", !s.side.empty()},
                                                    {"--triangle", !s.triangle.empty()},
                                                    {"--transpose", s.transpose},
                                                    {"--unit-diagonal", s.unit_diagonal},
                                                    {"--rhs", s.rhs != 0}};
    for (const auto& [option, is_given] : of_trsm)
      if (is_given)
        throw UsageError(std::string(option) + " is for trsm: leave it out of " + name_of(request.operation) +
                         ", or take the operation trsm");
  }
  if (s.common.mesh != FactorizeSettings().common.mesh && request.input != "thermal")
    throw UsageError("--mesh is for --input thermal");
  if (s.tf32 && request.is_double)
    throw UsageError("--tf32 is for --type float: numbers of type double are not rounded to TF32");
  if (request.operation == Operation::Cholesky && request.input == "random")
    throw UsageError(
        "cholesky needs a symmetric positive definite matrix, which --input random is not: "
        "take --input spd, or lu");
  if (request.operation == Operation::Trsm && request.input == "random")
    throw UsageError(
        "trsm with a triangle of --input random has solutions that grow exponentially with the order: take "
        "--input spd");
  if (request.overwrites && request.home != "file") throw UsageError("--overwrite is for --home file:FOLDER");
  if (request.host_memory > 0 && request.home != "file")
    throw UsageError(
        "--host-memory bounds what the host holds of tiles in files: give --home file:FOLDER, "
        "too");
}

}  // namespace

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::Cholesky:
      return "cholesky";
    case Operation::Lu:
      return "lu";
    case Operation::LuNoPivot:
      return "lu-nopivot";
    case Operation::Gemm:
      return "gemm";
    case Operation::Syrk:
      return "syrk";
    case Operation::Trsm:
      break;
  }
  return "trsm";
}

void declare(miniapp::Options& options, FactorizeSettings& s) {
  options.add("--operation", &s.operation, "NAME", "what is computed; may stand first, without --operation",
              operation_names());
  options.set_first("--operation");
  options.add("-i,--input", &s.input, "NAME|FILE",
              "the matrix: spd or random (generated; lu: random, others: spd), thermal (of strata-thermal, "
              "dense), a file of MatrixMarket, or any other file as raw numbers of --type, row by row");
  options.add("-n,--order", &s.order, "N", "order of a matrix that is generated");
  options.add("--seed", &s.seed, "N", "of matrices that are generated");
  options.add("--side", &s.side, "SIDE", "of trsm: left (the default) solves op(A) X = B, right X op(A) = B",
              {"left", "right"});
  options.add("--triangle", &s.triangle, "NAME",
              "of trsm: A is the lower (the default) or the upper triangle of the input", {"lower", "upper"});
  options.add_flag("--transpose", s.transpose, "of trsm: op(A) is the transpose of A, else A");
  options.add_flag("--unit-diagonal", s.unit_diagonal,
                   "of trsm: the diagonal of A counts as ones and is not read");
  options.add("--rhs", &s.rhs, "N",
              "of trsm: columns of B, with --side right rows, random of the next seed; 0: as many as A has");
  options.add("-m,--mesh", &s.common.mesh, "FILE|BOX", "of --input thermal, as strata-thermal takes it");
  options.add("-t,--type", &s.common.type, "TYPE", "of the elements", {"double", "float"});
  options.add_flag("--tf32", s.tf32,
                   "GPUs may round factors of products to TF32 (11 bits); with --type float");
  options.add("-b,--tile", &s.tile, "N", "order of tiles; 0: 1920 on cuda, 256 elsewhere");
  options.add("-d,--device", &s.common.device, "NAMES",
              "serial, threads, tbb, cuda[:N], emulated, several with commas, or all: one run on each");
  options.add("-g,--devices", &s.devices, "N", "devices of a kind that share the work");
  options.add_flag("--with-host", s.with_host, "the host's threads share the work of devices");
  options.add("-L,--memory-limit", &s.common.memory_limit, "BYTES",
              "memory of each device for tiles, such as 2000MiB");
  options.add("--home", &s.home, "memory|pinned|file:FOLDER",
              "where tiles that are on no device are: in memory, in pinned memory (GPUs copy from it fast; "
              "their default), or in files of a folder");
  miniapp::declare_memory(options, s.memory);
  options.add_flag("--overwrite", s.overwrite, "replaces matrices that are in the folder of --home already");
  options.add("--host-memory", &s.host_memory, "BYTES", "memory of the host for tiles in files");
  options.add("-s,--scheduler", &s.scheduler, "NAME", "who decides the order of tasks and what moves",
              tasks::scheduler_names());
  options.add("--queues", &s.queues, "N", "tasks at a time on a device");
  options.add("--window", &s.window, "N", "tasks that the scheduler sees at a time");
  options.add("--kernels", &s.kernels, "NAME",
              "vendor: cuBLAS and cuSOLVER, the host's BLAS and LAPACK; strata: plain ones; auto: vendor "
              "where there are such libraries",
              {"auto", "vendor", "strata"});
  options.add("--trials", &s.trials, "N", "runs, the fastest of which is reported");
  options.add_flag("--verify", s.common.verify,
                   "compares products of the result with random vectors; factors also solve a system");
  options.add("-j,--json", &s.common.json, "FILE", "writes the report as JSON");
  options.add("--graph", &s.graph, "FILE", "writes the graph of tasks as JSON, for strata-simulate");
  options.add("--task-order", &s.task_order, "FILE",
              "writes as JSON in which order tasks ended, on which device, and for which tile");
  options.add("--picture", &s.picture, "FILE.svg", "draws this order over the tiles");
  options.add_flag("-q,--quiet", s.common.quiet, "no progress, only the report");
}

FactorizeRequest request_of(const FactorizeSettings& s) {
  FactorizeRequest request;
  request.operation = operation_of(s.operation);
  request.is_double = s.common.type == "double";
  request.tf32 = s.tf32;
  request.system = {s.side == "right", s.triangle == "upper", s.transpose, s.unit_diagonal};
  if (s.rhs != 0) require_between("--rhs", s.rhs, 1, most_order, "right-hand sides");
  request.rhs = s.rhs;
  const bool pivots = request.operation == Operation::Lu;
  request.input = !s.input.empty() ? s.input : pivots ? "random" : "spd";
  request.mesh = s.common.mesh;
  request.seed = s.seed;
  if (is_generated(request.input)) {
    request.order = s.order;
    require_between("--order", s.order, 1, most_order, "rows of a matrix");
  }
  if (s.tile != 0) require_between("--tile", s.tile, 1, most_order, "rows of a tile");
  request.tile = s.tile;
  set_home(s.home, request);
  set_memory(s.memory, request);
  request.overwrites = s.overwrite;
  request.memory_limit = miniapp::memory_limit_of(s.common);
  request.host_memory = miniapp::to_bytes(s.host_memory, "--host-memory");
  require_between("--devices", s.devices, 1, 64, "devices that share the work");
  require_between("--queues", s.queues, 1, 64, "tasks at a time");
  require_between("--window", s.window, 1, 100'000'000, "tasks that a scheduler sees");
  require_between("--trials", s.trials, 1, 1000, "runs");
  request.devices = s.devices;
  request.with_host = s.with_host;
  request.scheduler = s.scheduler;
  request.queues = s.queues;
  request.window = s.window;
  request.kernels = s.kernels == "auto" ? "" : s.kernels;
  request.trials = s.trials;
  request.verify = s.common.verify;
  request.quiet = s.common.quiet;
  request.graph = s.graph;
  request.task_order = s.task_order;
  request.picture = s.picture;
  require_fit(s, request);
  return request;
}

}  // namespace strata::inline STRATA_ABI::factorize
