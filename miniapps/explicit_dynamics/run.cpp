// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <optional>
#include <vector>

#include <strata/core/files/output_lock.hpp>
#include <strata/miniapps/common/progress.hpp>
#include <strata/miniapps/common/run_devices.hpp>
#include <strata/miniapps/explicit_dynamics/checkpoint.hpp>
#include <strata/miniapps/explicit_dynamics/output.hpp>
#include <strata/miniapps/explicit_dynamics/run.hpp>
#include <strata/miniapps/explicit_dynamics/verify.hpp>

namespace strata::inline STRATA_ABI::dynamics {

namespace {

using miniapp::now_seconds;
using miniapp::number_text;
using miniapp::RunReport;

void describe_run(RunReport& report, const Dynamics& s, const DynamicsSettings& settings) {
  report.device = s.device();
  report.type = s.type();
  report.mesh = {settings.common.mesh, s.node_count(), s.element_count(), settings.common.refine};
}

std::string with_suffix(const std::string& path, const std::string& suffix) {
  return suffix.empty() ? path : miniapp::path_with(path, suffix);
}

// The checkpoint that this device wrote where several did; else the one for all.
std::string restart_file(const DynamicsSettings& settings, const std::string& suffix) {
  const std::string own = with_suffix(settings.restart, suffix);
  return std::filesystem::exists(own) ? own : settings.restart;
}

void set_begin(Dynamics& s, const DynamicsSettings& settings) {
  for (const GivenVelocity& given : given_velocities(settings))
    s.set_velocity(given.selector, given.v[0], given.v[1], given.v[2]);
  for (const HeldNodes& held : held_nodes(settings)) s.fix(held.selector, held.directions);
}

std::string progress_text(const Look& look) {
  const Energies& e = look.energies;
  const Clock& c = look.clock;
  return "t " + number_text(c.time, 4) + ", dt " + number_text(c.dt, 3) + ", kinetic " +
         number_text(e.kinetic, 4) + ", elastic " + number_text(e.elastic, 4) + ", total " +
         number_text(e.total(), 6);
}

// The next step at which something is due: a multiple of `every`, where that is not 0.
index_t next_multiple(index_t step, index_t every, index_t last) {
  return every == 0 ? last : std::min(last, (step / every + 1) * every);
}

// Goes to the last step, with outputs and checkpoints. A restart goes on with the series of results: what
// they have of the checkpoint's time and later is written again, so that they become those of one run.
class Run {
 public:
  Run(Dynamics& s, const DynamicsSettings& settings, const std::string& suffix, RunReport& report)
      : s_(s),
        settings_(settings),
        report_(report),
        checkpoint_file_(with_suffix(settings.checkpoint_file, suffix)),
        description_(settings.checkpoint > 0 || !settings.restart.empty() ? describe(s) : std::string()) {
    const bool goes_on = !settings.restart.empty();
    if (goes_on) restart_from(restart_file(settings, suffix));
    const Clock clock = s.clock();
    first_ = clock.step;
    output_.emplace(with_suffix(settings.common.output, suffix), s,
                    goes_on ? std::optional(clock.time) : std::nullopt);
    if (goes_on) output_->require_series();
    progress_.emplace(miniapp::progress_style(settings.common.quiet), "steps", settings.steps, first_);
  }

  index_t first_step() const { return first_; }

  void go() {
    try {
      do_steps();
      report_.timed("output", [&] { output_->finish(); });
    } catch (...) {
      list_files();
      throw;
    }
    list_files();
  }

 private:
  void restart_from(const std::string& path) {
    restart(path, description_, s_);
    const index_t step = s_.clock().step;
    if (step > settings_.steps)
      throw CheckpointError("--restart " + path + " is of step " + std::to_string(step) +
                            ", after the last one, --steps " + std::to_string(settings_.steps) +
                            "; ask for more steps");
  }

  void do_steps() {
    const auto is_due = [](index_t step, index_t every) { return every > 0 && step % every == 0; };
    index_t step = first_;
    if (is_due(step, settings_.output_every)) write();
    while (step < settings_.steps) {
      const index_t target = std::min(next_multiple(step, settings_.output_every, settings_.steps),
                                      next_multiple(step, settings_.checkpoint, settings_.steps));
      step = advance(step, target);
      if (is_due(step, settings_.output_every)) write();
      if (is_due(step, settings_.checkpoint)) checkpoint();
    }
    if (!is_due(step, settings_.output_every)) write();
    progress_->finish();
  }

  // In pieces, each followed by a look: while one is waited for, the next is already enqueued, so that the
  // device never waits for the host. After a look that shows a failure nothing more is enqueued: looks
  // already enqueued are fetched, and wait() reports the failure.
  index_t advance(index_t step, index_t target) {
    const double begin = now_seconds();
    if (at_once_ < 0) at_once_ = s_.steps_at_once();
    if (at_once_ > 0) advance_and_wait(step, target);
    for (index_t queued = 0; at_once_ == 0 && (step < target || queued > 0);) {
      if (step < target) {
        const index_t piece = std::min(target - step, piece_);
        s_.advance(piece);
        s_.look();
        step += piece;
        ++queued;
      }
      if (queued == 2 || step == target) {
        const Look look = s_.seen();
        --queued;
        show(look);
        if (look.clock.failure != Failure::None) target = step;
      }
    }
    s_.wait();
    report_.add_phase("steps", now_seconds() - begin);
    return target;
  }
  // Where the steps are done when advance() returns, nothing is to be looked at ahead of it; and energies,
  // for which all fields go through the device, are only computed to be shown.
  void advance_and_wait(index_t step, index_t target) {
    while (step < target) {
      const index_t until = next_multiple(step, at_once_, target);
      s_.advance(until - step);
      step = until;
      const Clock now = s_.clock();
      if (now.failure != Failure::None) return;
      if (progress_->due(now.step)) progress_->show(now.step, progress_text({now, s_.energies()}));
    }
  }
  // A piece takes some 0.1 s.
  void show(const Look& look) {
    const double now = now_seconds();
    if (now - last_look_ < 0.05 && piece_ < longest_piece) piece_ *= 2;
    else if (now - last_look_ > 0.2 && piece_ > 1) piece_ /= 2;
    last_look_ = now;
    if (look.clock.failure == Failure::None && progress_->due(look.clock.step))
      progress_->show(look.clock.step, progress_text(look));
  }
  void write() {
    report_.timed("output", [&] { output_->write(); });
  }
  // After the results so far: a run that continues from here finds them.
  void checkpoint() {
    report_.timed("output", [&] { output_->wait(); });
    report_.timed("checkpoints", [&] { write_checkpoint(checkpoint_file_, description_, s_); });
    has_checkpoint_ = true;
  }
  void list_files() {
    for (const std::string& file : output_->files()) report_.files.push_back(file);
    if (has_checkpoint_) report_.files.push_back(checkpoint_file_);
  }

  Dynamics& s_;
  const DynamicsSettings& settings_;
  RunReport& report_;
  std::string checkpoint_file_, description_;
  std::optional<Output> output_;
  std::optional<miniapp::Progress> progress_;
  static constexpr index_t longest_piece = index_t{1} << 20;
  index_t first_ = 0, piece_ = 1, at_once_ = -1;
  double last_look_ = now_seconds();
  bool has_checkpoint_ = false;
};

void add_results(RunReport& report, Dynamics& s) {
  const Energies e = s.energies();
  const Clock c = s.clock();
  report.add_result("steps", static_cast<double>(c.step));
  report.add_result("time", c.time);
  report.add_result("last time step", c.dt);
  report.add_result("least stable time step", c.minimum_dt);
  report.add_result("kinetic energy", e.kinetic);
  // Of an inverted element they may be no numbers, which says nothing about the others.
  const auto add_of_elements = [&](const char* name, double energy) {
    if (c.failure == Failure::None || std::isfinite(energy)) report.add_result(name, energy);
  };
  add_of_elements("elastic energy", e.elastic);
  add_of_elements("hourglass energy", e.hourglass);
  report.add_result("internal work", e.work);
  report.add_result("total energy", e.total());
  const char* const axes[] = {"x", "y", "z"};
  for (int d = 0; d < 3; ++d) report.add_result(std::string("momentum ") + axes[d], e.momentum[d]);
  for (int d = 0; d < 3; ++d) report.add_result(std::string("reaction impulse ") + axes[d], e.reaction[d]);
}

// What a step keeps exactly, up to rounding: kinetic energy plus internal work, and momentum less the impulse
// of what holds the body. Momenta are compared with sqrt(2 M E), which bounds the sum of m |v|.
void add_balances(RunReport& report, Dynamics& s, const Energies& begin, index_t steps) {
  const Energies end = s.energies();
  const bool is_float = s.type() == "float";
  const double energy = std::max({std::abs(begin.total()), begin.kinetic, end.kinetic, 1e-300});
  const double thousands = std::max(1.0, static_cast<double>(steps) / 1000);
  report.checks.push_back(miniapp::check_zero("change of kinetic energy plus internal work, relative",
                                              (end.total() - begin.total()) / energy,
                                              (is_float ? 1e-5 : 1e-12) * thousands));
  double mass = 0;
  for (const double m : s.get(Field::Mass)) mass += m;
  const double momentum = std::sqrt(2 * mass * energy);
  double difference = 0;
  for (int d = 0; d < 3; ++d) {
    const double change = end.momentum[d] - begin.momentum[d], impulse = end.reaction[d] - begin.reaction[d];
    const double one = std::abs(change - impulse) / momentum;
    if (!(one <= difference)) difference = one;  // also what is not a number
  }
  report.checks.push_back(miniapp::check_zero("change of momentum less reaction impulse, relative",
                                              difference, is_float ? 1e-6 * thousands : 1e-10));
}

// Files of one name would replace each other. A checkpoint may replace the one that the run begins with.
void require_different_files(const DynamicsSettings& settings, const std::vector<std::string>& devices) {
  const miniapp::NamedFile output{"--output", settings.common.output, true},
      json{"--json", settings.common.json}, mesh{"--mesh", settings.common.mesh},
      restart{"--restart", settings.restart}, restart_of_device{"--restart", settings.restart, true},
      checkpoint{"--checkpoint-file", settings.checkpoint > 0 ? settings.checkpoint_file : "", true};
  miniapp::require_different_files({output, json, checkpoint}, {mesh}, devices);
  miniapp::require_different_files({output, json}, {restart, restart_of_device}, devices);
}

}  // namespace

void require_usable(const DynamicsSettings& settings, const std::vector<std::string>& devices) {
  static_cast<void>(parameters_of(settings));
  static_cast<void>(given_velocities(settings));
  static_cast<void>(held_nodes(settings));
  static_cast<void>(miniapp::refinements_of(settings.common));
  if (!settings.common.sweep.empty() || settings.common.verify) return;
  miniapp::require_writable("--output", settings.common.output);
  try {
    if (!settings.common.output.empty()) fem::require_writable(settings.common.output);
  } catch (const Error& error) {
    throw miniapp::UsageError(std::string("--output: ") + error.what());
  }
  miniapp::require_writable("--json", settings.common.json);
  if (settings.checkpoint > 0) miniapp::require_writable("--checkpoint-file", settings.checkpoint_file);
  require_different_files(settings, devices);
}

void run_problem(const MakeSimulation& make, const DynamicsSettings& settings, const std::string& suffix,
                 RunReport& report) {
  report.is_starting = true;
  // Two runs of one checkpoint would replace each other's.
  const strata::detail::files::OutputLock lock(
      settings.checkpoint > 0 ? with_suffix(settings.checkpoint_file, suffix) : std::string());
  if (!settings.restart.empty()) require_checkpoint(restart_file(settings, suffix));
  const Parameters parameters = parameters_of(settings);
  const double begin = now_seconds();
  const auto s =
      make(settings.common.mesh, miniapp::refinements_of(settings.common), settings.common.type, parameters);
  describe_run(report, *s, settings);
  report.add_phase("mesh and fields", now_seconds() - begin);

  set_begin(*s, settings);
  Run run(*s, settings, suffix, report);
  report.is_starting = false;
  const double stable = s->stable_dt();
  if (parameters.dt > stable)
    report.notes.push_back("The time step " + number_text(parameters.dt) +
                           " is larger than the stable one at the start, " + number_text(stable) +
                           ": the results may be useless.");
  if (settings.output_every > 0 && settings.common.output.empty())
    report.notes.push_back("--output-every writes nothing without --output FILE.");
  const Energies energies = s->energies();
  if (energies.kinetic == 0 && energies.elastic == 0)
    report.notes.push_back("Nothing moves: give --velocity SELECTOR=VX,VY,VZ.");
  try {
    run.go();
  } catch (const SimulationError&) {
    add_results(report, *s);  // those of the moment it was seen
    throw;
  }

  report.notes.push_back("The elements of a step are computed by " +
                         std::string(parameters.fused ? "one kernel (fused)." : "three kernels."));
  if (parameters.memory)
    report.notes.push_back(std::string("The fields are in the memory mode ") + to_string(*parameters.memory) +
                           ".");
  if (const std::string storage = s->storage(); !storage.empty()) {
    if (parameters.memory_limit == 0)
      report.notes.push_back("The mesh does not fit the device's memory, and streams through it.");
    report.notes.push_back(storage);
  }
  add_results(report, *s);
  const index_t steps = s->clock().step - run.first_step();
  add_balances(report, *s, energies, steps);
  const double seconds = report.seconds_of("steps");
  if (seconds > 0 && steps > 0) {
    const auto count = static_cast<double>(steps);
    report.add_figure("element-steps", count * static_cast<double>(s->element_count()) / seconds,
                      "element-steps/s");
    report.add_figure("step", seconds / count * 1e6, "us");
  }
}

void run_verification(const MakeSimulation& make, const DynamicsSettings& settings, RunReport& report) {
  Verification v;
  v.is_float = settings.common.type == "float";
  v.fused = settings.kernels == "fused";
  report.type = settings.common.type;
  const Parameters given = parameters_of(settings);
  v.make = [&](const std::string& mesh, const Parameters& of_test) {
    Parameters parameters = of_test;
    parameters.memory_limit = given.memory_limit;
    parameters.devices = given.devices;
    parameters.memory = given.memory;
    auto s = make(mesh, 0, settings.common.type, parameters);
    report.device = s->device();
    return s;
  };
  report.mesh.source = "those of the tests";
  for (const VerificationCase& one : verification_cases()) {
    try {
      report.timed(one.name, [&] { one.run(v); });
    } catch (const std::exception& error) {  // the other cases go on
      v.add(miniapp::check_true(std::string(one.name) + ": came to its end", false));
      report.notes.push_back(std::string(one.name) + ": " + error.what());
    }
  }
  report.checks = std::move(v.checks);
}

std::string run_size(const MakeSimulation& make, const DynamicsSettings& settings, const std::string& box,
                     RunReport& report) {
  report.is_starting = true;
  DynamicsSettings of_size = settings;
  of_size.common.mesh = box;
  of_size.common.refine = 0;
  const auto s = make(of_size.common.mesh, 0, of_size.common.type, parameters_of(of_size));
  set_begin(*s, of_size);
  report.is_starting = false;
  describe_run(report, *s, of_size);
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
  return report.device + "," + report.type + "," + settings.kernels + "," +
         std::to_string(s->element_count()) + "," + std::to_string(s->node_count()) + "," +
         std::to_string(steps) + "," + number_text(seconds) + "," + number_text(per_step * 1e6) + "," +
         number_text(per_step * 1e6 / count) + "," + number_text(per_step > 0 ? count / per_step : 0);
}

}  // namespace strata::inline STRATA_ABI::dynamics
