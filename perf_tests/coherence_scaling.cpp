// Coherent arrays on several GPUs: a stencil whose halos travel while the interior is computed, its steps
// launched and recorded; N bodies and smoothed particles, of which every device needs all; factors of a
// matrix, one row of which all need in each step; the bandwidth of copies between devices; and on one GPU the
// applications of Dastgeer and Kessler (IJPP 44, 2016, figures 6 and 7) in two memory modes.
//
// Speed-ups are over one GPU, the same program. Without a GPU the program says so; on Emulated, which the
// option --device asks for, it runs small and measures nothing that counts.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <vector>

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/miniapps/coherent_apps/run_app.hpp>
#include <strata/views/coherent/coherent_array.hpp>

#include "baselines/peer_copy.hpp"
#include "common/contest.hpp"

namespace {

using namespace perf;
using namespace strata;

template <class D>
using Devices = std::vector<D>;

template <class D>
Devices<D> first_devices(int count) {
  Devices<D> devices;
  for (int k = 0; k < count; ++k) devices.push_back(D(k));
  return devices;
}
template <class D>
void wait_for(const Devices<D>& devices) {
  for (const D& device : devices) wait(device);
}

// ---- the stencil

struct FillGrid {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto u) const {
    u(i, j) = static_cast<double>((i * 31 + j * 17) % 101);
  }
};
struct FivePoints {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto u, auto v) const {
    v(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
  }
};
struct SumOfRow {
  index_t columns;
  STRATA_FUNCTION void operator()(index_t i, auto u, double& sum) const {
    for (index_t j = 0; j < columns; ++j) sum += u(i, j);
  }
};

struct StencilRun {
  double seconds, sum;
  std::uint64_t halo_bytes;  // from device to device, of all timed steps of a repetition
};
// Steps launched one by one, or as a Sequence, which is planned and recorded once.
template <class D>
StencilRun run_stencil(const Devices<D>& devices, index_t n, int steps, int reps, bool recorded = false) {
  using Grid = CoherentArray<double, rank<2>, LayoutRight>;
  Grid u("u", n, n, uninitialized), v("v", n, n, uninitialized);
  const auto where = across(devices);
  launch(where, mdrange({n, n}), FillGrid{}, out(u));
  launch(where, mdrange({n, n}), FillGrid{}, out(v));
  const auto inner = mdrange({1, 1}, {n - 1, n - 1});
  Sequence pairs("stencil", where);
  pairs.loop("there", inner, FivePoints{}, in(u, halo(1, 1)), inout(v));
  pairs.loop("back", inner, FivePoints{}, in(v, halo(1, 1)), inout(u));
  const auto run = [&](int count) {  // an even number
    if (recorded) {
      pairs.run(count / 2);
    } else {
      for (int s = 0; s < count; s += 2) {
        launch(where, inner, FivePoints{}, in(u, halo(1, 1)), inout(v));
        launch(where, inner, FivePoints{}, in(v, halo(1, 1)), inout(u));
      }
    }
    wait_for(devices);
  };
  run(4);
  run(steps);
  const auto peer_bytes = [&] { return u.counters().peer.bytes + v.counters().peer.bytes; };
  const std::uint64_t before = peer_bytes();
  std::vector<double> seconds;
  for (int rep = 0; rep < reps; ++rep) {
    const double begin = now();
    run(steps);
    seconds.push_back(now() - begin);
  }
  const std::uint64_t moved = (peer_bytes() - before) / static_cast<unsigned>(reps);
  std::sort(seconds.begin(), seconds.end());
  double sum = 0;
  launch_reduce(where, n, SumOfRow{n}, Sum(sum), in(u));
  return {seconds[seconds.size() / 2], sum, moved};
}

// ---- copies between devices

struct Touch {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += 1; }
};

template <class D>
void peer_bandwidth(Report& report, index_t n) {
  const CoherentArray<double, rank<1>> x("x", n);
  const double bytes = static_cast<double>(n) * sizeof(double);
  std::vector<double> seconds;
  for (int rep = -2; rep < 7; ++rep) {
    launch(on(D(0)), n, Touch{}, inout(x));
    wait(D(0));
    const double begin = now();
    x.prefetch(x.domain(), D(1));
    wait(D(1));
    if (rep >= 0) seconds.push_back(now() - begin);
  }
  std::sort(seconds.begin(), seconds.end());
  Statistics time{seconds[seconds.size() / 2], seconds.front(), seconds.back()};
  double by_hand = none;
  if constexpr (is_gpu<D>)
    by_hand = bytes / peer_copy_seconds(0, 1, static_cast<std::size_t>(bytes), 7) / 1e9;
  report.add({"peer copy by prefetch", D::name, n, "double", time, gigabytes_per_second(bytes, time), "GB/s",
              by_hand, none});
}

// ---- the applications

template <class D>
void applications(Report& report, bool small) {
  for (const auto& kind : coherent_apps::app_kinds()) {
    coherent_apps::AppRequest request;
    request.app = kind.name;
    request.n = small ? kind.least_n : kind.n;
    // With all pairs, many bodies hide what is copied; the paper does not say how many it had.
    if (!small && request.app == "nbody") request.n = 512;
    request.steps = small ? 2 : kind.steps;
    double seconds[2] = {};
    const std::optional<MemoryMode> modes[2] = {{}, MemoryMode::Implicit};
    const char* const names[2] = {"regions", "implicit"};
    std::vector<double> first;
    for (int p = 0; p < 2; ++p) {
      request.memory = modes[p];
      std::vector<double> all;
      coherent_apps::AppOutcome outcome;
      for (int rep = 0; rep < (small ? 1 : 4); ++rep) {
        outcome = coherent_apps::run_app(first_devices<D>(1), request);
        if (rep > 0 || small) all.push_back(outcome.run_seconds);  // the first one warms up
      }
      std::sort(all.begin(), all.end());
      seconds[p] = all[all.size() / 2];
      if (p == 0) first = outcome.values;
      else
        report.check(outcome.values == first,
                     std::string(kind.name) + ": both memory modes give the same values");
    }
    for (int p = 0; p < 2; ++p)
      report.add({std::string(kind.name) + ", " + names[p],
                  D::name,
                  request.n,
                  kind.type,
                  {seconds[p], seconds[p], seconds[p]},
                  seconds[p] * 1e3,
                  "ms",
                  none,
                  p == 0 ? none : seconds[p] / seconds[0]});
  }
}

// One of the applications on 1, 2, 4... devices; `work` is what `unit` counts, in 10^9.
template <class D>
void application_scaling(Report& report, const char* app, const char* name, index_t n, int steps, double work,
                         const char* unit) {
  double one = 0;
  std::vector<double> values;
  for (int count = 1; count <= D::count(); count *= 2) {
    coherent_apps::AppRequest request;
    request.app = app;
    request.n = n;
    request.steps = steps;
    double best = 0;
    coherent_apps::AppOutcome outcome;
    for (int rep = 0; rep < 2; ++rep) {
      outcome = coherent_apps::run_app(first_devices<D>(count), request);
      best = rep == 0 ? outcome.run_seconds : std::min(best, outcome.run_seconds);
    }
    if (count == 1) {
      one = best;
      values = outcome.values;
    }
    report.check(outcome.values == values,
                 std::string(name) + " on " + std::to_string(count) + " devices have the values of one");
    report.add({std::string(name) + ", " + std::to_string(count) + " devices",
                D::name,
                n,
                coherent_apps::app_kind(app).type,
                {best, best, best},
                work / best / 1e9,
                unit,
                none,
                one / best});
  }
}

template <class D>
void stencil_scaling(Report& report, index_t grid, int steps, int reps) {
  double one = 0, one_sum = 0;
  for (int count = 1; count <= D::count(); count *= 2) {
    const Devices<D> devices = first_devices<D>(count);
    for (const bool recorded : {false, true}) {
      const StencilRun run = run_stencil<D>(devices, grid, steps, reps, recorded);
      if (count == 1 && !recorded) {
        one = run.seconds;
        one_sum = run.sum;
      }
      const std::string name = std::string("5-point stencil, ") + (recorded ? "recorded, " : "") +
                               std::to_string(count) + " devices";
      report.check(run.sum == one_sum, name + ": the bits of one device");
      // A row each way at each cut, in each step.
      const auto planned = static_cast<std::uint64_t>(index_t{2} * (count - 1) * grid *
                                                      static_cast<index_t>(sizeof(double)) * steps);
      report.check(run.halo_bytes == planned, name + ": " + std::to_string(run.halo_bytes) +
                                                  " bytes of halos, " + std::to_string(planned) + " planned");
      const double updates = static_cast<double>((grid - 2) * (grid - 2)) * steps;
      report.add({name,
                  D::name,
                  grid,
                  "double",
                  {run.seconds, run.seconds, run.seconds},
                  updates / run.seconds / 1e9,
                  "G/s",
                  none,
                  one / run.seconds});
    }
  }
}

template <class D>
void measure(const Options& options, Report& report) {
  constexpr bool small = !is_gpu<D>;
  const int reps = options.reps_or(3);
  stencil_scaling<D>(report, options.n > 0 ? options.n : small ? 256 : 16384, small ? 10 : 100, reps);
  // Kernels as short as what starts them: what the recorded steps save.
  if (options.n == 0) stencil_scaling<D>(report, small ? 64 : 2048, small ? 10 : 1000, reps);

  const index_t bodies = small ? 256 : 131072, particles = small ? 256 : 20000, rows = small ? 64 : 4095;
  const int body_steps = small ? 2 : 50, particle_steps = small ? 2 : 50;
  const auto pairs = [](index_t n, int steps) {
    return static_cast<double>(n) * static_cast<double>(n) * steps;
  };
  application_scaling<D>(report, "nbody", "N bodies", bodies, body_steps, pairs(bodies, body_steps), "G/s");
  application_scaling<D>(report, "sph", "smoothed particles", particles, particle_steps,
                         pairs(particles, particle_steps), "G/s");
  application_scaling<D>(report, "lu", "LU factors", rows, 0,
                         2.0 / 3 * pairs(rows, 1) * static_cast<double>(rows), "GFLOP/s");
  if (D::count() > 1) peer_bandwidth<D>(report, small ? 1 << 16 : 1 << 27);
  applications<D>(report, small);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "Coherent arrays on several GPUs, and what implicit copies cost.");
  Report report("coherence_scaling", "one device; of none: regions (how many times as long they take)");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    if constexpr (is_gpu<D>) measure<D>(options, report);
    else if constexpr (std::is_same_v<D, Emulated>) {
      if (options.device == D::name) measure<D>(options, report);
    } else if (options.device == D::name) {
      std::printf("left out: %s, of which a machine has one\n", D::name);
    }
  });
  return report.finish(options);
}
