// streamed: a place through whose parts arrays pass in slices of rows, within a budget for each part.
//
//   streamed(Cuda{0}, 2_GiB)                                    a device
//   streamed(on(queue).named("axpy"), 2_GiB)                    the queue of its kernels, with a label
//   streamed(across(Cuda{0}, Cuda{1}).weighted({2, 1}), 2_GiB)  several devices, 2 GiB each
//   streamed(Cuda{0}, 2_GiB).chunk(1 << 20).slots(4)            options in place of the model's choice
//
// Parts of several devices are runs of rows in the order of the devices, in equal sizes or those of
// weighted(), cut at tiles of the arrays' layouts; adaptive() is ignored.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/place.hpp>
#include <strata/algorithms/streaming/plan/stream_problem.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {
/// The options of all places that stream. Throws Error where a number is out of its range.
streaming::StreamOptions checked_options(streaming::StreamOptions options);
int checked_launch_steps(int steps);
}  // namespace detail

/// The place of a streamed launch, made by `streamed`: arrays stream through the parts of the place `where`,
/// on(...) or across(...). `SeveralSteps`: iterations make several steps in a launch.
template <Place Where, bool SeveralSteps = false>
struct Streamed {
  static_assert(
      !detail::PlaceTraits<Where>::is_streamed,
      "strata: streamed: the place streams already; give a device, a queue, on(...) or across(...)");
  static_assert(!detail::is_grid<Where>,
                "strata: streamed: slices are rows: you wrote streamed(across(...).grid(...), budget); write "
                "streamed(across(...), budget)");
  Where where;                               ///< the devices, or the queue of the kernels
  index_t budget;                            ///< bytes of the memory of each
  detail::streaming::StreamOptions options;  ///< 0 or Automatic: the model chooses
  bool progress = false;                     ///< a line on a terminal, of one of the devices
  bool only_plan = false;                    ///< dry_run(): nothing is copied or computed
  int launch_steps = 1;                      ///< steps in a launch, of iterations

  /// With a label for the launches there. The text is kept by pointer and must live as long as the place.
  Streamed named(const char* text) const {
    return with([&](Streamed& p) { p.where = p.where.named(text); });
  }
  /// Iterations use this scheduler: over several devices carry, overlap or naive.
  Streamed scheduler(StreamScheduler s) const {
    return with([&](Streamed& p) { p.options.scheduler = s; });
  }
  // With 0 the model chooses these; negative numbers are an Error.

  /// Slices have `rows` rows.
  Streamed chunk(index_t rows) const {
    return with([&](Streamed& p) { p.options.chunk = rows; });
  }
  /// The number of slices on each device: 3 for copies in both directions and a kernel at once; at least 2.
  Streamed slots(int count) const {
    return with([&](Streamed& p) { p.options.slots = count; });
  }
  /// The number of steps while a slice is on a device.
  Streamed steps_per_pass(int steps) const {
    return with([&](Streamed& p) { p.options.steps_per_pass = steps; });
  }
  /// The number of steps in each launch, 1 or more, of kernels that allow it (temporal blocking). Include
  /// fused_steps.hpp for it.
  Streamed<Where, true> steps_per_launch(int steps) const {
    return {where, budget, options, progress, only_plan, detail::checked_launch_steps(steps)};
  }
  /// With a line of progress where standard error is a terminal.
  Streamed show_progress() const {
    return with([](Streamed& p) { p.progress = true; });
  }
  /// Plans only, and returns the report: nothing is copied or computed.
  Streamed dry_run() const {
    return with([](Streamed& p) { p.only_plan = true; });
  }

 private:
  template <class F>
  Streamed with(const F& change) const {
    Streamed changed = *this;
    change(changed);
    changed.options = detail::checked_options(changed.options);
    return changed;
  }
};

namespace detail {

template <class Where, bool SeveralSteps>
struct PlaceTraits<Streamed<Where, SeveralSteps>> : PlaceTraits<Where> {
  static constexpr bool is_streamed = true;
  static const char* label(const Streamed<Where, SeveralSteps>& place) { return label_of(place.where); }
};
template <class W>
inline constexpr bool makes_several_steps = false;
template <class Where>
inline constexpr bool makes_several_steps<Streamed<Where, true>> = true;

}  // namespace detail

/// Through a device, or the parts of a place; `budget` bytes of the memory of each may be used.
template <Device D>
Streamed<On<D>> streamed(const D& device, index_t budget) {
  return {on(device), budget, {}};
}
template <class D>
Streamed<On<D>> streamed(const Queue<D>& queue, index_t budget) {
  return {on(queue), budget, {}};
}
template <Place Where>
Streamed<Where> streamed(const Where& where, index_t budget) {
  return {where, budget, {}};
}

}  // namespace strata::inline STRATA_ABI
