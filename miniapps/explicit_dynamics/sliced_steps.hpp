// SlicedSteps: the time steps of fields that go through a device in slices. Include it in files that nvcc
// compiles where there is Cuda.
//
// The host keeps the clock. Several steps are done while a slice is on the device: of a given length as many
// as pay, of a stable one that is kept up to where another is decided. The latter are attempts, whose results
// go to the second copies of the fields, and are done again where their lengths were wrong
// (step_lengths.hpp). Where each step decides its length, it is done up to the reduction, the host sets the
// length, and the nodes of that step begin the next run; forces are then copied to the host between runs,
// else they never leave the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <strata/core/bytes.hpp>
#include <strata/miniapps/explicit_dynamics/make_fields.hpp>
#include <strata/miniapps/explicit_dynamics/step_lengths.hpp>
#include <strata/miniapps/explicit_dynamics/step_loops.hpp>
#include <strata/miniapps/explicit_dynamics/sums.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// Sets what the loops of a run see: the last one of `times` for all later steps.
template <class Clocks>
void show_clocks(const Clocks& array, const std::vector<StepTimes>& times) {
  const auto clocks = array.write();
  for (index_t k = 0; k < array.extent(0); ++k) {
    const StepTimes shown = times[std::min(static_cast<std::size_t>(k), times.size() - 1)];
    clocks(k) = Clock();
    clocks(k).dt = shown.dt;
    clocks(k).prev_dt = shown.prev_dt;
  }
}

template <class T, class Where>
class SlicedSteps {
  using D = DeviceOf<Where>;
  using Steps = Sequence<Where>;

 public:
  /// All but `where` and `p` must outlive this. Slices stay on the device for `steps_per_pass` steps; 0: as
  /// many as the plan finds fastest.
  SlicedSteps(const Where& where, Body<T, D>& body, const MeshRegions& regions, const Parameters& p,
              int steps_per_pass)
      : body_(body),
        f_(body.fields),
        parameters_(p),
        loops_(p.fused ? 3 : 5),
        steps_("dynamics", steps_per_pass > 0 ? where.steps_per_pass(steps_per_pass) : where) {
    steps_.temporary(f_.stable_dt);
    if (!p.fused) {
      steps_.temporary(f_.velocity_gradient);
      steps_.temporary(f_.mode_rates);
      steps_.temporary(f_.rate);
    }
    if (!p.decides_each_step()) steps_.temporary(f_.element_force);
    if (does_again(p))
      for_each_state(f_, body.second,
                     [&](const auto& one, const auto& other) { steps_.second_copy(one, other); });
    add_elements(steps_, f_, p, regions);
    steps_.loop_reduce("dynamics: least step", f_.element_mass.extent(0), FindSlowest<T>{}, slowest_,
                       in(f_.stable_dt));
    add_nodes(steps_, f_, regions);
  }

  /// Does steps, and moves the clock over them. Where one fails the clock says so, and failed() which
  /// elements: they have gone on to it, the nodes have not, as in core; with given lengths later steps are in
  /// the fields, too. `stable_dt` gives the least stable step of the configuration.
  template <class F>
  void advance(Clock& clock, index_t steps, const F& stable_dt) {
    if (clock.failure != Failure::None || steps == 0) return;
    if (parameters_.dt > 0) advance_given(clock, steps);
    else if (parameters_.decides_each_step()) advance_each(clock, steps);
    else advance_kept(clock, steps, stable_dt);
  }
  const SlowestElements<T>& failed() const { return failed_; }
  /// A number of steps up to multiples of which they go well together.
  index_t steps_at_once() {
    constexpr index_t passes = 8, decided_steps = 32;
    if (parameters_.dt > 0) return passes * steps_.planned(most_planned).steps_per_pass;
    return parameters_.decides_each_step() ? decided_steps : std::min(parameters_.dt_every, most_lengths);
  }
  /// Frees the device's memory until the next steps.
  void release() { steps_.release(); }
  const StreamReport& report() const { return report_; }
  /// Sentences on the second copies and the last run.
  std::string text() const {
    std::string all;
    if (does_again(parameters_)) {
      index_t bytes = 0;
      for_each_state(body_.second, body_.second, [&](const auto& array, const auto&) {
        bytes += array.size() * index_t{sizeof(typename std::decay_t<decltype(array)>::value_type)};
      });
      all = " A second copy of what steps change takes another " + string_from_bytes(bytes) +
            " there, for up to " + std::to_string(std::min(parameters_.dt_every, most_lengths)) +
            " steps of one length, which are done again where that was not the rule's: " +
            std::to_string(again_) + " times beside " + std::to_string(attempts_) + ".";
    }
    if (report_.passes > 0) all += " The last run:\n" + report_.explain();
    return all;
  }

 private:
  static constexpr int most_planned = 1 << 14;

  // Moves the clock over one step, as SetNextTimeStep does it on the device. False where the step failed.
  bool set_next_step(Clock& clock, const SlowestElements<T>& slowest) {
    SetNextTimeStep<Clock*>{&clock, parameters_.dt, parameters_.safety, parameters_.collapse,
                            parameters_.dt_every}(slowest.dt);
    if (clock.failure != Failure::None) failed_ = slowest;
    return clock.failure == Failure::None;
  }

  void advance_given(Clock& clock, index_t steps) {
    const double dt = parameters_.dt;
    for (index_t done = 0; done < steps;) {
      const int count = static_cast<int>(std::min<index_t>(steps - done, most_planned));
      show_clocks(f_.clocks, {{clock.dt, clock.prev_dt}, {dt, clock.dt}, {dt, dt}});
      steps_.begin_with(0);
      report_ = steps_.run(count);
      for (const SlowestElements<T>& slowest : slowest_)
        if (!set_next_step(clock, slowest)) return;
      done += count;
    }
  }

  void advance_each(Clock& clock, index_t steps) {
    const auto show = [&] { show_clocks(f_.clocks, {{clock.dt, clock.prev_dt}}); };
    // The elements of the first step.
    show();
    steps_.begin_with(0);
    report_ = steps_.run_loops(loops_ - 1);
    for (index_t done = 1; set_next_step(clock, slowest_.at(0)); ++done) {
      // The step that the clock shows waits for its nodes; then the elements of the next one.
      show();
      report_ = steps_.run_loops(done == steps ? 1 : loops_);
      if (done == steps) return;
    }
  }

  template <class F>
  void advance_kept(Clock& clock, index_t steps, const F& stable_dt) {
    for (index_t done = 0; done < steps && clock.failure == Failure::None;) {
      const index_t count =
          std::min({steps - done, most_lengths, StepLengths::until_decided(clock, parameters_)});
      StepLengths lengths(clock, parameters_, clock.step == 0 ? stable_dt() : 0, static_cast<int>(count));
      attempt(lengths, static_cast<int>(count));
      clock = lengths.clock();
      done += count;
    }
  }
  void attempt(StepLengths& lengths, int count) {
    const auto run = [&](int of_them) {
      show_clocks(f_.clocks, lengths.times());
      steps_.begin_with(0);
      report_ = steps_.attempt(of_them);
    };
    run(count), ++attempts_;
    for (; lengths.settle(slowest_) == StepLengths::Outcome::Again; run(count)) ++again_;
    if (lengths.clock().failure == Failure::None) return accept();
    // Up to the step that failed, and its elements.
    const int right = lengths.failed_step();
    failed_ = slowest_.at(static_cast<std::size_t>(right));
    if (right > 0) {
      run(right);
      accept();
    }
    show_clocks(f_.clocks, {lengths.times().at(static_cast<std::size_t>(right))});
    steps_.begin_with(0);
    report_ = steps_.run_loops(loops_ - 1);
  }
  void accept() {
    steps_.accept();
    for_each_state(f_, body_.second, [](auto& one, auto& other) { std::swap(one, other); });
  }

  Body<T, D>& body_;
  Fields<T, CoherentArrays<D>>& f_;
  const Parameters parameters_;
  const int loops_;
  std::vector<SlowestElements<T>> slowest_;
  Steps steps_;
  SlowestElements<T> failed_{};
  StreamReport report_;
  index_t attempts_ = 0, again_ = 0;  // of steps whose lengths were assumed
};

}  // namespace strata::inline STRATA_ABI::dynamics
