// The first thing to run: two kernels of the Kokkos Array paper on every device found, as one table. Ends
// with a status other than 0 if a result is wrong.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>
#include <vector>

#include <strata/version.hpp>

#include "common/ceiling.hpp"
#include "common/devices.hpp"
#include "common/gram_schmidt.hpp"
#include "common/hex_gradient.hpp"
#include "common/report.hpp"

namespace {

using namespace perf;
using strata::index_t;

constexpr index_t vector_length = 1000000, elements = 200000;
constexpr int vectors = 8;

// This machine's memory bandwidth, by all processors, out of cache.
double triad_bandwidth() {
  TriadCeiling<double> ceiling(200e6, processors());
  Race race;
  const int triad = ceiling.add_to(race);
  race.run(15, 1.0);
  return gigabytes_per_second(ceiling.triad_bytes(), race[triad]);
}

struct Table {
  double triad;
  bool correct = true;
  std::vector<std::vector<std::string>> rows = {{"case", "device", "time", "GB/s", "of triad", "result"}};

  // Runs once for the result, then for the time.
  template <class D, class Problem>
  void run(const char* name, double bytes, const Problem& problem) {
    const auto call = [&] {
      problem.launch();
      strata::wait(D{});
    };
    call();
    const bool right = problem.correct();
    correct = correct && right;
    Race race;
    const int k = race.add(call);
    race.run(is_machine<D> ? 9 : 2, 1.0);
    const double speed = gigabytes_per_second(bytes, race[k]);
    rows.push_back({name, D::name, duration(race[k].median), fixed(speed, 1),
                    is_machine<D> ? fixed(100 * speed / triad, 0) + " %" : "-", right ? "correct" : "WRONG"});
  }
};

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "Gram-Schmidt and the hexahedral gradient on every device of this build.");
  std::printf("Strata %s on %s\n", STRATA_VERSION_STRING, machine().c_str());
  Table table{triad_bandwidth()};
  std::printf("memory bandwidth (triad, all processors): %s GB/s\n\n", fixed(table.triad, 1).c_str());
  std::fflush(stdout);

  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    table.run<D>("Gram-Schmidt", gram_schmidt_bytes<double, D>(vector_length, vectors),
                 GramSchmidt<double, D>(vector_length, vectors));
    table.run<D>("hexahedral gradient", static_cast<double>(elements) * hex_bytes<double>,
                 HexArrays<double, D, strata::LayoutTiled<8>>(elements));
  });

  print_table(table.rows, 2);
  std::printf(
      "\nGram-Schmidt: %d vectors of %lld doubles; hexahedral gradient: %lld elements, 48 doubles each.\n",
      vectors, static_cast<long long>(vector_length), static_cast<long long>(elements));
  std::printf(
      "Two vectors may stay in the last cache, so Gram-Schmidt may exceed triad, which is of memory.\n"
      "Serial uses one processor. Emulated is an accelerator for tests: its speed is not a machine's. Triad "
      "is "
      "the host's.\n");
  if (!STRATA_HAS_TBB) std::puts("Left out: Tbb (built without oneTBB).");
  if (!STRATA_HAS_CUDA) std::puts("Left out: Cuda (built without nvcc).");
  if (!table.correct) std::fprintf(stderr, "quickstart: a result is WRONG, see the table\n");
  return table.correct ? 0 : 1;
}
