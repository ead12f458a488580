// How fast are factors and products of matrices for which the device's memory is too small, against the
// vendor's library, against everything resident, and against the simulation of the schedule?
//
//   strata_tiled_linear --device Cuda --n 115200 --tile 1920 --type float --budget 2097152000
//                       --scheduler data-aware,darts,eager [--tf32]
//   strata_tiled_linear --device Cuda --n 49152 --tile 2048 --type double --budget 4294967296
//                       --case lu,lu_pivoted --scheduler data-aware,darts
//   strata_tiled_linear --device Cuda --n 24576 --tile 2048 --type double --budget 4294967296 --case
//   gemm,syrk
//   strata_tiled_linear --device Cuda --n 24576 --type double --case bytes_of_library   of cuBLASXt, by CUPTI
//   strata_tiled_linear --device Cuda --n 16384 --type double --case shared        a GPU, the host, and both
//   strata_tiled_linear --device Threads --n 16384 --tile 1024 --type double --case files --folder /scratch
//
// --n is the order of the matrix, --budget bytes of the device for tiles (default: a quarter of the matrix).
// Operations: n^3 / 3 of cholesky, 2 n^3 / 3 of lu, 2 n^3 of gemm, n^3 of syrk. The library has the factors
// in core (cuSOLVER), the products in pinned memory of the host (cuBLASXt, with its best size of blocks).
// The simulation has the graph that was run, and rates of tiles that were measured before, one task at a
// time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/tiled_cholesky_runs.hpp"
#include "common/tiled_files_runs.hpp"
#include "common/tiled_lu_runs.hpp"
#include "common/tiled_product_runs.hpp"
#include "common/tiled_shared_runs.hpp"

namespace {

using namespace perf;

// "a,b" as a and b
std::vector<std::string> names_of(const char* list) {
  std::vector<std::string> names = {""};
  for (const char* c = list; *c != '\0'; ++c) {
    if (*c == ',') names.emplace_back();
    else names.back() += *c;
  }
  return names;
}
constexpr const char* case_names = "cholesky,lu,lu_pivoted,gemm,syrk,bytes_of_library,shared,files";
TiledOptions take_tiled_options(int& argc, char** argv) {
  TiledOptions options;
  if (const char* tile = take_option(argc, argv, "--tile")) options.tile = std::atoll(tile);
  if (const char* budget = take_option(argc, argv, "--budget")) options.budget = std::atoll(budget);
  if (const char* bytes = take_option(argc, argv, "--host-memory")) options.host_memory = std::atoll(bytes);
  if (const char* folder = take_option(argc, argv, "--folder")) options.folder = folder;
  if (const char* names = take_option(argc, argv, "--scheduler")) options.schedulers = names_of(names);
  if (const char* names = take_option(argc, argv, "--case")) options.cases = names_of(names);
  const std::vector<std::string> known = names_of(case_names);
  for (const std::string& name : options.cases)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::fprintf(stderr, "--case: there is no %s; there are %s\n", name.c_str(), case_names);
      std::exit(2);
    }
  options.tf32 = take_flag(argc, argv, "--tf32");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace perf;
  const TiledOptions tiled = take_tiled_options(argc, argv);
  const Options options = parse_options(
      argc, argv,
      "Factors and products of tiled matrices in a small memory. Also --case "
      "cholesky,lu,lu_pivoted,gemm,syrk,bytes_of_library,shared,files, --tile ORDER, --budget BYTES, "
      "--scheduler NAME,..., --tf32, and of files --folder FOLDER and --host-memory BYTES.");
  Report report("tiled_linear", "the library: in core, of products cuBLASXt with its best block");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    if constexpr (is_gpu<D> || std::is_same_v<D, strata::Threads> || std::is_same_v<D, strata::Emulated>)
      for_each_type(options, [&](auto zero, const char* type) {
        using T = decltype(zero);
        if (tiled.has_case("cholesky")) CholeskyRuns<D, T>(options, tiled, report, type).run();
        if (tiled.has_case("lu"))
          LuRuns<D, T, strata::linear::Pivoting::None>(options, tiled, report, type).run();
        if (tiled.has_case("lu_pivoted"))
          LuRuns<D, T, strata::linear::Pivoting::Partial>(options, tiled, report, type).run();
        if (tiled.has_case("gemm")) ProductRuns<D, T>(options, tiled, report, type).run_gemm();
        if (tiled.has_case("bytes_of_library"))
          ProductRuns<D, T>(options, tiled, report, type).count_bytes_of_library();
        if constexpr (!is_machine<D>)
          if (tiled.has_case("shared")) SharedRuns<D, T>(options, tiled, report, type).run();
        if (tiled.has_case("files")) FilesRuns<D, T>(options, tiled, report, type).run();
        if (tiled.has_case("syrk")) ProductRuns<D, T>(options, tiled, report, type).run_syrk();
        report.save(options);
      });
  });
  report.note(
      "the ceiling is the value in the simulation of the same graph, whose tasks run in turn at the rates "
      "that tiles have one at a time");
  report.note(
      "the times of Emulated are those of processors of this machine: only its bytes are to be compared");
  return report.finish(options);
}
