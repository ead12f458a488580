// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <strata/miniapps/coherent_apps/settings.hpp>
#include <strata/miniapps/common/memory.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

using miniapp::UsageError;

namespace {

// "nbody 4096, lu 256": what each application takes where nothing is given.
template <class Number>
std::string defaults(const Number& number) {
  std::string text;
  for (const AppKind& kind : app_kinds())
    text += (text.empty() ? "" : ", ") + std::string(kind.name) + " " + std::to_string(number(kind));
  return text;
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const AppKind& kind : app_kinds()) list.emplace_back(kind.name);
  return list;
}

}  // namespace

void declare(miniapp::Options& options, CoherentSettings& s) {
  options.add("--app", &s.app, "NAME", "the application; may stand first, without --app", names());
  options.set_first("--app");
  options.add("-n,--n", &s.n, "N",
              "its size: bodies, rows, particles, points of a side, numbers; 0: " +
                  defaults([](const AppKind& kind) { return kind.n; }));
  options.add("-s,--steps", &s.steps, "N", "its steps; 0: " + defaults([](const AppKind& kind) {
                                             return kind.steps;
                                           }) + " (of lu, as many as rows)");
  options.add("--dt", &s.dt, "T", "time of a step of nbody (0: 0.01) or sph (0: as its particles need)");
  miniapp::declare_memory(options, s.memory);
  options.add("-d,--device", &s.common.device, "NAMES",
              "serial, threads, tbb, cuda[:N], emulated[:N], several with commas, or all");
  options.add("-g,--gpus", &s.gpus, "G",
              "instances of cuda or emulated that share the work, from the one named on");
  options.add("--trials", &s.trials, "N", "runs, the fastest of which is reported");
  options.add("-j,--json", &s.common.json, "FILE", "writes the report as JSON");
  options.add_flag("--verify", s.common.verify, "compares what comes out with the same program on Serial");
  options.add_flag("-q,--quiet", s.common.quiet, "only the report");
}

AppRequest request_of(const CoherentSettings& settings) {
  const AppKind& kind = app_kind(settings.app);
  AppRequest request{settings.app, settings.n == 0 ? kind.n : settings.n,
                     settings.steps == 0 ? kind.steps : settings.steps, settings.dt};
  const auto fail = [](const std::string& what) { throw UsageError(what); };
  if (request.n < kind.least_n || request.n > kind.most_n)
    fail("--n " + std::to_string(request.n) + ": " + kind.n_is + " of " + kind.name + " are " +
         std::to_string(kind.least_n) + " to " + std::to_string(kind.most_n) + ": " + kind.limits_are);
  if (request.app == "lu" && request.steps == 0) request.steps = request.n;
  if (request.steps < 1) fail("--steps " + std::to_string(settings.steps) + ": there is at least one");
  if (request.app == "lu" && request.steps > request.n)
    fail("--steps " + std::to_string(settings.steps) + ": a matrix of " + std::to_string(request.n) +
         " rows has no more steps than rows");
  if (!(settings.dt >= 0) || !std::isfinite(settings.dt))
    fail("--dt " + std::to_string(settings.dt) + ": a step in time is positive");
  if (settings.dt > 0 && !kind.has_time)
    fail("--dt: there is no time in " + settings.app + ", but in nbody and sph");
  if (settings.gpus < 1) fail("--gpus " + std::to_string(settings.gpus) + ": there is at least one");
  if (settings.trials < 1) fail("--trials " + std::to_string(settings.trials) + ": there is at least one");
  request.memory = miniapp::memory_choice(settings.memory);
  miniapp::refuse_explicit(request.memory, "strata-coherent",
                           "its devices read in each step what all of them have written");
  return request;
}

}  // namespace strata::inline STRATA_ABI::coherent_apps
