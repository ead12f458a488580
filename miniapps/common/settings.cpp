// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <strata/miniapps/common/settings.hpp>

namespace strata::inline STRATA_ABI::miniapp {

void declare(Options& options, CommonSettings& s) {
  options.add("-m,--mesh", &s.mesh, "FILE|BOX",
              "the mesh: a file, or box:NXxNYxNZ[:LX,LY,LZ], distorted by :wave=A or :random=F");
  options.add("-r,--refine", &s.refine, "TIMES", "how often every element is cut into eight");
  options.add("-d,--device", &s.device, "NAMES",
              "serial, threads, tbb, cuda[:N], emulated, several with commas, or all");
  options.add("-t,--type", &s.type, "TYPE", "numbers of the fields", {"double", "float"});
  options.add("-o,--output", &s.output, "FILE",
              "writes the results: .vtu, .csv, or in time .pvd (with .vtu files) and .e (Exodus II)");
  options.add("-j,--json", &s.json, "FILE",
              "writes the report as JSON; -: to standard output, and all else to standard error");
  options.add("--sweep", &s.sweep, "A:B",
              "boxes of A to B elements, doubling, as lines of comma-separated values");
  options.add("-L,--memory-limit", &s.memory_limit, "BYTES",
              "memory of the device for all arrays, such as 2GiB: what is larger goes through it in slices");
  options.add_flag("--verify", s.verify, "runs the tests of the method instead of a problem");
  options.add_flag("-q,--quiet", s.quiet, "no progress, only the report");
  options.exclude("sweep", {"mesh"}, "a sweep makes the boxes that it runs");
  options.exclude("sweep", {"output"}, "a sweep prints a line for each size, and writes no results");
  options.exclude("sweep", {"verify"}, "a sweep measures, and runs no tests");
}

int refinements_of(const CommonSettings& settings) {
  constexpr index_t most = 9;  // 8^9 elements of one
  if (settings.refine < 0 || settings.refine > most)
    throw UsageError("--refine " + std::to_string(settings.refine) +
                     ": every refinement makes eight elements of one; 0 to " + std::to_string(most) +
                     " of them are possible");
  return static_cast<int>(settings.refine);
}

index_t memory_limit_of(const CommonSettings& settings) {
  return to_bytes(settings.memory_limit, "--memory-limit");
}

index_t memory_left(std::size_t capacity, std::size_t used) {
  // A tenth is left to the libraries and others.
  return capacity > used ? static_cast<index_t>((capacity - used) / 10 * 9) : 0;
}

std::string path_with(const std::string& path, const std::string& device) {
  if (path.empty()) return path;
  std::filesystem::path parts(path);
  std::string name = parts.stem().string() + "." + device;
  std::replace(name.begin(), name.end(), ':', '-');
  return parts.replace_filename(name + parts.extension().string()).string();
}

std::vector<index_t> sweep_sizes(const std::string& text) {
  const std::vector<std::string> ends = split(text, ':');
  if (ends.size() != 2)
    throw UsageError("--sweep needs two numbers of elements, such as 1000:64000, not \"" + text + "\"");
  const index_t first = to_integer(ends[0], "--sweep"), last = to_integer(ends[1], "--sweep");
  if (first < 1 || last < first)
    throw UsageError("--sweep " + text + ": the first number is at least 1, and the second not below it");
  std::vector<index_t> sizes;
  for (index_t size = first; size <= last; size *= 2) {
    sizes.push_back(size);
    if (size > last / 2) break;
  }
  return sizes;
}

std::string box_of_about(index_t elements) {
  index_t best = 1;
  const auto count = [](index_t n) { return n * (n + 1) * 2 * (n + 1); };
  const double wanted = static_cast<double>(elements);
  while (std::abs(static_cast<double>(count(best + 1)) - wanted) <
         std::abs(static_cast<double>(count(best)) - wanted))
    ++best;
  return "box:" + std::to_string(best) + "x" + std::to_string(best + 1) + "x" +
         std::to_string(2 * (best + 1));
}

}  // namespace strata::inline STRATA_ABI::miniapp
