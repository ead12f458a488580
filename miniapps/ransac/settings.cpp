// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/ransac/settings.hpp>

namespace strata::inline STRATA_ABI::ransac {

using miniapp::UsageError;

void declare(miniapp::Options& options, RansacSettings& s) {
  options.add("-f,--input", &s.input, "FILE", "vectors as lines of x,y,x',y'; without it they are made");
  options.add("-n,--vectors", &s.vectors, "N", "vectors that are made, half of them of one flow");
  options.add("--scale", &s.scale, "TIMES", "times as many", {"1", "10", "100"});
  options.add("--seed", &s.seed, "N", "of the vectors that are made, and of those that iterations sample");
  options.add("-i,--iterations", &s.iterations, "M", "flows that are tried");
  options.add("-e,--error", &s.error, "E", "points from which on a vector is an outlier");
  options.add("-c,--convergence", &s.convergence, "C",
              "a candidate has fewer than C times as many outliers as there are vectors");
  options.add("--mode", &s.mode, "MODE",
              "static: separate arrays, and a fixed share of the iterations for the host; dynamic: arrays of "
              "both, and every team and thread claims iterations",
              {"static", "dynamic"});
  options.add("-a,--alpha", &s.alpha, "SHARE",
              "static: the host's share of the iterations, 0 to 1; without it 0.01 where a host takes part");
  options.add("--memory", &s.memory, "MODE", "dynamic: how the arrays of both lie in memory",
              {"managed", "mapped"});
  options.add("-d,--device", &s.common.device, "NAMES",
              "serial, threads, tbb, cuda[:N], emulated[:N], several with commas, or all");
  options.add("--host", &s.host, "NAME", "the host that works beside cuda or emulated",
              {"none", "serial", "threads", "tbb"});
  options.add("-t,--threads", &s.threads, "T", "threads of the host; 0: all that it has");
  options.add("--teams", &s.teams, "N", "teams of the device; 0: 1024 on cuda, 16 on emulated");
  options.add("--team-size", &s.team_size, "N", "members of a team; 0: the device's choice");
  options.add("--repetitions", &s.repetitions, "N", "timed fits");
  options.add("--warm-up", &s.warm_up, "N", "fits before them");
  options.add("-j,--json", &s.common.json, "FILE", "writes the report as JSON");
  options.add_flag("--verify", s.common.verify,
                   "compares the candidates, of this fit and of every mix of device and host, with Serial's");
  options.add_flag("-q,--quiet", s.common.quiet, "only the report");
  options.exclude("input", {"vectors", "scale"}, "the vectors are those of the file");
}

Problem problem_of(const RansacSettings& s) {
  const auto seed = static_cast<std::uint64_t>(s.seed);
  if (!s.input.empty())
    return make_problem(read_vectors(s.input), s.iterations, s.error, s.convergence, seed);
  const index_t scale = miniapp::to_integer(s.scale, "--scale");
  if (s.vectors < 2 || s.vectors > most_vectors / scale)
    throw UsageError("--vectors " + std::to_string(s.vectors) + ": give 2 to " +
                     std::to_string(most_vectors / scale) +
                     (scale == 1 ? "" : ", of which there will be " + s.scale + " times as many"));
  return make_problem(make_vectors(s.vectors * scale, seed), s.iterations, s.error, s.convergence, seed);
}

FitRequest request_of(const RansacSettings& s) {
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw UsageError(what);
  };
  constexpr index_t most_threads = 1024, most_teams = 1'000'000, most_members = 1024, most_fits = 1'000'000;
  miniapp::require_between("--threads", s.threads, 0, most_threads, "threads");
  miniapp::require_between("--teams", s.teams, 0, most_teams, "teams");
  miniapp::require_between("--team-size", s.team_size, 0, most_members, "members");
  miniapp::require_between("--repetitions", s.repetitions, 1, most_fits, "fits");
  miniapp::require_between("--warm-up", s.warm_up, 0, most_fits, "fits");
  const bool is_static = s.mode == "static", has_host = s.host != "none";
  FitRequest request;
  request.sharing = is_static ? Sharing::Static : Sharing::Dynamic;
  request.memory = memory_mode_of(s.memory);
  request.teams = s.teams;
  request.team_size = s.team_size;
  request.repetitions = s.repetitions;
  request.warm_up = s.warm_up;
  request.alpha = is_static && has_host ? 0.01 : 0;
  if (s.alpha.empty()) return request;
  const double alpha = miniapp::to_number(s.alpha, "--alpha");
  require(alpha >= 0 && alpha <= 1,
          "--alpha " + s.alpha + ": the host's share of the iterations, from 0 (the device does all) to 1");
  require(is_static, "--alpha " + s.alpha + ": shares are fixed by --mode static; dynamic ones are claimed");
  require(has_host || alpha == 0,
          "--alpha " + s.alpha + ": the host takes no part; name one, --host threads");
  request.alpha = alpha;
  return request;
}

}  // namespace strata::inline STRATA_ABI::ransac
