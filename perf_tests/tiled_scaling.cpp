// How do factors of matrices that are larger than the devices' memories scale with the number of devices, by
// several schedulers, beside the simulation of the same graphs and, on GPUs, cuSOLVERMg in core?
//
//   strata_tiled_scaling --device Cuda --type float --devices 1,2,4 --tile 1920
//                        --problems lu:57600:2000MiB:library,cholesky:76800:2000MiB:tf32:library
//                        --scheduler data-aware,dmdas,lws,darts --seconds 130 --json FILE
//
// A problem is FACTOR:ORDER:BUDGET, the budget in bytes of each device; lu is without pivots. With `:tf32`
// also in TF32, which is when copies count; with `:library` also by cuSOLVERMg. Operations: n^3 / 3 of
// cholesky, 2 n^3 / 3 of lu. First the first scheduler runs on each number of devices, then the library, then
// the others, on most devices first. Each problem gets as much of --seconds as those after it; what the
// simulation says will not end in that time is left out, with a note.
//
// The simulation has the graph that was run, on devices whose tasks run in turn: products at the rate that
// they have where all queues have some, other tasks as one at a time; links of the host as fast as they are
// where all devices copy at once. Schedulers decide in it by what they were told in the run.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <strata/core/bytes.hpp>

#include "common/tiled_scaling_runs.hpp"

namespace {

using namespace perf;

[[noreturn]] void fail(const std::string& mistake) {
  std::fprintf(stderr, "strata_tiled_scaling: %s\n", mistake.c_str());
  std::exit(2);
}
// Takes an option and its value out of the command line; empty where it is not there.
std::string take_option(int& argc, char** argv, const char* name) {
  for (int a = 1; a < argc; ++a) {
    if (std::strcmp(argv[a], name) != 0) continue;
    if (a + 1 == argc) fail(std::string(name) + " lacks its value");
    const std::string found = argv[a + 1];
    for (int k = a; k + 2 <= argc; ++k) argv[k] = argv[k + 2];
    argc -= 2;
    return found;
  }
  return "";
}
std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> parts = {""};
  for (const char c : list) {
    if (c == separator) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}
long positive(const std::string& text, const char* of) {
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != '\0' || number <= 0)
    fail(std::string(of) + " takes positive numbers, not '" + text + "'");
  return number;
}
ScalingProblem problem_of(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 3 || (parts[0] != "cholesky" && parts[0] != "lu"))
    fail("--problems takes cholesky:ORDER:BYTES and lu:ORDER:BYTES, separated by commas, not '" + text + "'");
  try {
    ScalingProblem problem{parts[0] == "lu", positive(parts[1], "--problems"),
                           strata::bytes_from_string(parts[2])};
    for (std::size_t k = 3; k < parts.size(); ++k) {
      if (parts[k] != "tf32" && parts[k] != "library")
        fail("--problems: what may follow the bytes is tf32 and library, not '" + parts[k] + "'");
      (parts[k] == "tf32" ? problem.tf32 : problem.library) = true;
    }
    return problem;
  } catch (const strata::Error& error) {
    fail(std::string("--problems: ") + error.what());
  }
}
// Sizes are those of GPUs, unless another device is asked for by name, on which the program is tried out.
ScalingOptions take_scaling_options(int& argc, char** argv) {
  ScalingOptions options;
  const auto take = [&](const char* name, const char* otherwise) {
    const std::string text = take_option(argc, argv, name);
    return text.empty() ? std::string(otherwise) : text;
  };
  options.tile = positive(take("--tile", "1920"), "--tile");
  for (const std::string& count : split(take("--devices", "1,2,4"), ','))
    options.devices.push_back(static_cast<int>(positive(count, "--devices")));
  std::sort(options.devices.begin(), options.devices.end());
  options.schedulers = split(take("--scheduler", "data-aware,dmdas,lws,darts"), ',');
  const std::vector<std::string> known = strata::tasks::scheduler_names();
  for (const std::string& name : options.schedulers)
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail("--scheduler: there is no '" + name + "'");
  for (const std::string& problem : split(take("--problems", "cholesky:38400:2000MiB,lu:28800:2000MiB"), ','))
    options.problems.push_back(problem_of(problem));
  if (const std::string seconds = take_option(argc, argv, "--seconds"); !seconds.empty())
    options.seconds = static_cast<double>(positive(seconds, "--seconds"));
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  ScalingOptions scaling = take_scaling_options(argc, argv);
  const Options options = parse_options(
      argc, argv,
      "Factors of tiled matrices on several devices. Also --devices 1,2,4, --tile ORDER, --problems "
      "cholesky:ORDER:BYTES,lu:ORDER:BYTES:tf32:library, --scheduler NAME,..., --seconds S.");
  Report report("tiled_scaling", "the first scheduler on one device");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    if constexpr (!is_machine<D>) {
      if (!is_gpu<D> && options.device != D::name) return;
      const int count = static_cast<int>(D::count());
      ScalingOptions here = scaling;
      std::erase_if(here.devices, [&](int asked) { return asked > count; });
      if (here.devices.empty()) fail("there are only " + std::to_string(count) + " devices " + D::name);
      if (here.devices.size() < scaling.devices.size())
        report.note(std::string(D::name) + ": there are " + std::to_string(count) +
                    " devices; larger numbers were left out");
      for_each_type(options, [&](auto zero, const char* type) {
        ScalingRuns<D, decltype(zero)>(options, here, report, type).run();
      });
    }
  });
  report.note(
      "the ceiling is the value in the simulation of the same graph, on devices whose tasks run in turn: "
      "products "
      "at the rate that they have on all queues, others as one at a time");
  report.note(
      "the times of Emulated are those of processors of this machine: only its bytes are to be compared");
  return report.finish(options);
}
