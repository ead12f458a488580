#include <algorithm>
#include <cmath>
#include <cstdio>

#include <strata/miniapps/common/progress.hpp>
#include <strata/miniapps/explicit_dynamics/checkpoint.hpp>
#include <strata/miniapps/explicit_dynamics/output.hpp>
#include <strata/miniapps/explicit_dynamics/run.hpp>
#include <strata/miniapps/explicit_dynamics/verify.hpp>

namespace strata::inline STRATA_ABI::dynamics {

namespace {

using miniapp::now_seconds;
using miniapp::number_text;
using miniapp::RunReport;

RunReport begin_report(const Dynamics& s, const DynamicsSettings& settings) {
  RunReport report;
  report.device = s.device();
  report.type = s.type();
  report.mesh = {settings.common.mesh, s.node_count(), s.element_count(), settings.common.refine};
  return report;
}

void set_begin(Dynamics& s, const DynamicsSettings& settings) {
  for (const GivenVelocity& given : given_velocities(settings))
    s.set_velocity(given.selector, given.v[0], given.v[1], given.v[2]);
  for (const HeldNodes& held : held_nodes(settings)) s.fix(held.selector, held.directions);
}

std::string progress_text(Dynamics& s) {
  const Energies e = s.energies();
  const Clock c = s.clock();
  return "t " + number_text(c.time, 4) + ", dt " + number_text(c.dt, 3) + ", kinetic " +
         number_text(e.kinetic, 4) + ", elastic " + number_text(e.elastic, 4) + ", total " +
         number_text(e.total(), 6);
}

// The next step at which something is due: a multiple of `every`, where that is not 0.
index_t next_multiple(index_t step, index_t every, index_t last) {
  return every == 0 ? last : std::min(last, (step / every + 1) * every);
}

// Goes to the last step, with outputs and checkpoints; returns the seconds of the steps.
class Run {
 public:
  Run(Dynamics& s, const DynamicsSettings& settings, const std::string& suffix, RunReport& report)
      : s_(s),
        settings_(settings),
        report_(report),
        output_(settings.common.output, suffix, s),
        progress_(miniapp::progress_style(settings.common.quiet), "steps", settings.steps),
        description_(
            describe(s, settings.common.mesh + " refined " + std::to_string(settings.common.refine))),
        checkpoint_file_(with_suffix(settings.checkpoint_file, suffix)) {}

  void restart_from(const std::string& path) { restart(path, description_, s_); }

  void go() {
    index_t step = s_.clock().step;
    if (step > settings_.steps)
      throw CheckpointError("--restart " + settings_.restart + " is of step " + std::to_string(step) +
                            ", after the last one, --steps " + std::to_string(settings_.steps));
    if (settings_.output_every > 0 && step == 0) write();
    while (step < settings_.steps) {
      const index_t target = std::min(next_multiple(step, settings_.output_every, settings_.steps),
                                      next_multiple(step, settings_.checkpoint, settings_.steps));
      step = advance(step, target);
      if (settings_.output_every > 0 && step % settings_.output_every == 0) write();
      if (settings_.checkpoint > 0 && step % settings_.checkpoint == 0)
        report_.timed("checkpoints", [&] { write_checkpoint(checkpoint_file_, description_, s_); });
    }
    if (settings_.output_every == 0 || step % settings_.output_every != 0) write();
    progress_.finish();
    report_.timed("output", [&] { output_.finish(); });
    for (const std::string& file : output_.files()) report_.files.push_back(file);
    if (settings_.checkpoint > 0 && settings_.steps >= settings_.checkpoint)
      report_.files.push_back(checkpoint_file_);
  }

 private:
  // In pieces between which progress may be shown, each long enough that its wait costs nothing; in one where
  // it is not.
  index_t advance(index_t step, index_t target) {
    while (step < target) {
      const index_t piece = settings_.common.quiet ? target - step : std::min(target - step, piece_);
      const double begin = now_seconds();
      s_.advance(piece);
      s_.wait();
      const double seconds = now_seconds() - begin;
      report_.add_phase("steps", seconds);
      step += piece;
      if (piece == piece_ && seconds < 0.2 && piece_ < longest_piece) piece_ *= 2;
      if (progress_.due(step)) progress_.show(step, progress_text(s_));
    }
    return step;
  }
  void write() {
    report_.timed("output", [&] { output_.write(); });
  }

  Dynamics& s_;
  const DynamicsSettings& settings_;
  RunReport& report_;
  Output output_;
  miniapp::Progress progress_;
  std::string description_, checkpoint_file_;
  static constexpr index_t longest_piece = index_t{1} << 20;
  index_t piece_ = 16;
};

void add_results(RunReport& report, Dynamics& s) {
  const Energies e = s.energies();
  const Clock c = s.clock();
  report.add_result("steps", static_cast<double>(c.step));
  report.add_result("time", c.time);
  report.add_result("last time step", c.dt);
  report.add_result("least stable time step", c.minimum_dt);
  report.add_result("kinetic energy", e.kinetic);
  report.add_result("elastic energy", e.elastic);
  report.add_result("hourglass energy", e.hourglass);
  report.add_result("internal work", e.work);
  report.add_result("total energy", e.total());
  const char* const axes[] = {"x", "y", "z"};
  for (int d = 0; d < 3; ++d) report.add_result(std::string("momentum ") + axes[d], e.momentum[d]);
  for (int d = 0; d < 3; ++d) report.add_result(std::string("reaction impulse ") + axes[d], e.reaction[d]);
}

}  // namespace

miniapp::RunReport run_problem(const MakeSimulation& make, const DynamicsSettings& settings,
                               const std::string& suffix) {
  const Parameters parameters = parameters_of(settings);
  const double begin = now_seconds();
  const auto s =
      make(settings.common.mesh, miniapp::refinements_of(settings.common), settings.common.type, parameters);
  RunReport report = begin_report(*s, settings);
  report.add_phase("mesh and fields", now_seconds() - begin);

  set_begin(*s, settings);
  Run run(*s, settings, suffix, report);
  if (!settings.restart.empty()) run.restart_from(settings.restart);
  const double stable = s->stable_dt();
  if (parameters.dt > stable)
    report.notes.push_back("The time step " + number_text(parameters.dt) +
                           " is larger than the stable one of the begin, " + number_text(stable) +
                           ": the results may be useless.");
  const index_t first = s->clock().step;
  const Energies energies = s->energies();
  run.go();

  add_results(report, *s);
  const Energies end = s->energies();
  const double scale = std::max({std::abs(energies.total()), energies.kinetic, end.kinetic, 1e-300});
  report.checks.push_back(miniapp::check_zero("change of kinetic energy plus internal work, relative",
                                              (end.total() - energies.total()) / scale,
                                              s->type() == "float" ? 1e-3 : 1e-10));
  if (energies.kinetic == 0 && energies.elastic == 0)
    report.notes.push_back("Nothing moves: give --velocity SELECTOR=VX,VY,VZ.");
  const double seconds = report.seconds_of("steps");
  const auto steps = static_cast<double>(s->clock().step - first);
  if (seconds > 0 && steps > 0) {
    report.add_figure("element-steps", steps * static_cast<double>(s->element_count()) / seconds,
                      "element-steps/s");
    report.add_figure("step", seconds / steps * 1e6, "us");
  }
  return report;
}

miniapp::RunReport run_verification(const MakeSimulation& make, const DynamicsSettings& settings) {
  Verification v;
  v.is_float = settings.common.type == "float";
  v.fused = settings.kernels == "fused";
  RunReport report;
  report.type = settings.common.type;
  v.make = [&](const std::string& mesh, const Parameters& parameters) {
    auto s = make(mesh, 0, settings.common.type, parameters);
    report.device = s->device();
    return s;
  };
  report.mesh.source = "those of the tests";
  for (const VerificationCase& one : verification_cases()) report.timed(one.name, [&] { one.run(v); });
  report.checks = std::move(v.checks);
  return report;
}

miniapp::RunReport run_size(const MakeSimulation& make, const DynamicsSettings& settings, index_t elements,
                            std::string& row) {
  DynamicsSettings of_size = settings;
  of_size.common.mesh = miniapp::box_of_about(elements);
  of_size.common.refine = 0;
  if (of_size.velocity.empty() && of_size.fix.empty()) {
    of_size.velocity = {"all=0.001,0,0"};
    of_size.fix = {"x>=max"};
  }
  const auto s = make(of_size.common.mesh, 0, of_size.common.type, parameters_of(of_size));
  set_begin(*s, of_size);
  RunReport report = begin_report(*s, of_size);
  s->advance(16);  // warm: pages, caches, the graph
  s->wait();
  // As many steps as were asked for, but two seconds at most.
  index_t steps = 0;
  double seconds = 0;
  for (index_t piece = 16; steps < settings.steps && seconds < 2; piece *= 2) {
    const index_t now = std::min(piece, settings.steps - steps);
    const double begin = now_seconds();
    s->advance(now);
    s->wait();
    seconds += now_seconds() - begin;
    steps += now;
  }
  report.add_phase("steps", seconds);
  const double per_step = steps > 0 ? seconds / static_cast<double>(steps) : 0;
  const auto count = static_cast<double>(s->element_count());
  report.add_figure("element-steps", per_step > 0 ? count / per_step : 0, "element-steps/s");
  row = report.device + "," + report.type + "," + settings.kernels + "," +
        std::to_string(s->element_count()) + "," + std::to_string(s->node_count()) + "," +
        std::to_string(steps) + "," + number_text(seconds) + "," + number_text(per_step * 1e6) + "," +
        number_text(per_step * 1e6 / count) + "," + number_text(per_step > 0 ? count / per_step : 0);
  return report;
}

}  // namespace strata::inline STRATA_ABI::dynamics
