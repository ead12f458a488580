// What does an array cost to make and to drop? Uninitialised arrays of 8 bytes to 1 GiB, again and again,
// against malloc on hosts, cudaMallocAsync and cudaMalloc on GPUs.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/allocation.hpp"

#include <vector>

#include "common/contest.hpp"

namespace {

using namespace perf;
using strata::index_t;

std::string size_name(double bytes) {
  if (bytes < 1024) return fixed(bytes, 0) + " B";
  if (bytes < 1048576) return fixed(bytes / 1024, 0) + " KiB";
  if (bytes < 1073741824) return fixed(bytes / 1048576, 0) + " MiB";
  return fixed(bytes / 1073741824, 0) + " GiB";
}

template <class D>
void measure(const Options& options, Report& report, index_t n) {
  using Array = strata::MDArray<double, D, strata::rank<1>>;
  constexpr int calls = 16;
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(double);
  Contest<D> contest(options, report, "double", 0);
  bool made = true;
  contest.measure({.name = "create and free, " + size_name(static_cast<double>(bytes)),
                   .n = n,
                   .calls = calls,
                   .run =
                       [&] {
                         for (int c = 0; c < calls; ++c) {
                           const auto x = strata::create<Array>("x", n, strata::uninitialized);
                           made = made && x.data() != nullptr && x.extent(0) == n;
                         }
                       },
                   .baseline = allocation_baseline(contest.place(), bytes, calls),
                   .baseline_name = is_machine<D> ? "plain" : "pool",
                   .others = {allocation_without_pool(contest.place(), bytes, calls)},
                   .correct = [&] { return made; }});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "Making and dropping arrays of 8 bytes to 1 GiB.");
  Report report(
      "allocation",
      "malloc and free; on Cuda cudaMallocAsync and cudaFreeAsync from a pool that keeps its memory");
  std::vector<index_t> sizes = {1, 128, 8192, 131072, 1 << 23, 1 << 27};
  if (options.n > 0) sizes = {options.n};
  for_each_real_device(options, [&](auto device) {
    for (const index_t n : sizes) measure<decltype(device)>(options, report, n);
  });
  report.note("microseconds for one, 16 one after the other; nobody touches the memory");
  return report.finish(options);
}
