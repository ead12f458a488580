// Sequence: several loops, one after the other and again and again: the time steps of a simulation, or
// launches that use the same arrays. Declared once, run where the place says.
//
//   Sequence steps("steps", on(Cuda{0}));                      // or streamed(Cuda{0}, 2_GiB), or across(...)
//   steps.temporary(force);
//   steps.loop("elements", elements, Stress{}, in(corners), in(x, rows(nodes_of)), inout(state), out(force));
//   steps.loop_reduce("least", elements, LeastStep{}, finalize(SetStep{}, inout(clock, everything)), in(dt));
//   steps.loop("nodes", nodes, Motion{}, in(force, rows(elements_of)), inout(x));
//   steps.run(1000);
//
// means: 1000 times, launch the first loop over all its work items, then the second one, and so on. The bits
// are those of single launches, whatever the place:
//
// - on(device), on(queue): a run is one coherent call, whose uses are the union of those of its loops
//   (run_uses.hpp): an element that a loop writes (out) before any reads it is not copied to the device, nor
//   is one of a temporary. The loops are recorded as a graph of one step and one of several steps, which are
//   enqueued as often as there are steps. Graphs are kept as long as the arrays stay where they are
//   on the device, so that another run costs one call and a graph launch per step. Loops that differ from
//   step to step (by_step, results that go to a vector) are launched between the graphs of the loops around
//   them. Returns after enqueueing, on devices that work asynchronously, unless a loop has results for the
//   host. (in_core_sequence.hpp)
// - streamed(device, budget): while a slice is on the device, as many loops run over it as the rows that
//   they read of its neighbours allow. Include <strata/algorithms/streaming/streamed_sequence.hpp>, which
//   states the requirements on the loops there. Returns a StreamReport when the results are in host memory.
// - across(devices): the first time a loop is a launch over the devices. From then on a step, or several, is
//   one call that enqueues copies and kernels on all devices as they were planned once (joint_call.hpp), as
//   long as the arrays are as the plan found them. Loops that have values for the host or differ from step to
//   step are launches each time; so are all loops where a host has a part or shares are adaptive.
//   (split_sequence.hpp)
//
// Results of reductions go to the host, a value for each time that the loop was done, in every place; over
// on(...) and across(...) also to a CoherentArray<T, rank<0>> or a finalize kernel, on the device, where the
// loops after it may read them.
//
// Errors are those of launches over the place: AccessConflict, ShapeMismatch and NeverWritten (checked
// builds) name the loop where they can. After a run that failed after its begin, arrays that loops write are
// part old, part new, and run() continues with the first loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/sequence/in_core_sequence.hpp>
#include <strata/algorithms/sequence/split_sequence.hpp>

namespace strata::inline STRATA_ABI {

/// See the head of this file. `Where` is the type of a place. Loops are declared before the first run;
/// kernels and arrays are kept. Not copied. One thread at a time.
template <class Where>
class Sequence {
  using Loops = detail::sequences::SequenceOver<Where>;

 public:
  /// No loops yet. `label` names the runs in messages and profiles.
  Sequence(const char* label, const Where& where) : loops_(label, where) {}
  /// The same, with the label of the place: on(device).named("steps").
  explicit Sequence(const Where& where) : Sequence(detail::label_of(where, "sequence"), where) {}

  /// Declares that loops write the array before others read it, and that its values are not needed after a
  /// run: they are not copied to the device, and in slices not at all. They are undefined afterwards; memory
  /// of it that the host never touches costs nothing.
  template <class T, int Rank, class L>
  void temporary(const BasicCoherentArray<T, Rank, L>& array) {
    loops_.temporary(array);
  }

  /// Of streamed sequences: gives an array a second copy for attempt(). Loops write all rows of the array;
  /// the copy has the same extents, and no loop is declared with it. After each accept() the newer values are
  /// in the other one of the two.
  template <class T, int Rank, class L>
  void second_copy(const BasicCoherentArray<T, Rank, L>& array,
                   const BasicCoherentArray<T, Rank, L>& second) requires requires(Loops& loops) {
    loops.second_copy(array, second);
  }
  { loops_.second_copy(array, second); }

  /// One more loop: kernel(index..., views...) for every index of `work`. The kernel may be a
  /// by_step(function), or a factory. Over on(...), `work` may be teams, with arrays declared as a whole:
  /// kernel(member, views...), in(x, everything).
  template <WorkRange R, class K, class... Accesses>
  requires(detail::is_coherent_access_v<Accesses>&&...) void loop(const char* label, const R& work,
                                                                  const K& kernel,
                                                                  const Accesses&... accesses) {
    loops_.loop(label, work, kernel, accesses...);
  }

  /// One more loop that reduces: kernel(index..., views..., value&), as parallel_reduce takes it. After a run
  /// `into` has a value for each time that the loop was done: a std::vector of the functor's value_type, or
  /// each_step(Sum, vector) and its like; the vector outlives this. Or `into` is a target of launch_reduce on
  /// the device: a CoherentArray<T, rank<0>>, Sum(array) and its like, or finalize(functor, accesses...), of
  /// which the last value stays.
  template <WorkRange R, class K, class Into, class... Accesses>
  requires(detail::is_coherent_access_v<Accesses>&&...) void loop_reduce(const char* label, const R& work,
                                                                         const K& kernel, Into&& into,
                                                                         const Accesses&... accesses) {
    loops_.loop_reduce(label, work, kernel, into, accesses...);
  }

  /// Runs all loops, `steps` times, beginning after the last one that ran; the head of this file says what it
  /// returns and throws. Error where `steps` is negative.
  auto run(int steps) { return loops_.run(loops_of(steps)); }
  /// Runs `count` loops, which may be a part of a step. Error where `count` is negative.
  auto run_loops(int count) { return loops_.run(count); }
  /// Of streamed sequences: like run(steps), but arrays with a second copy keep the values of the begin, and
  /// the copies get the results, so that the same steps can be done again. Until accept(), which exchanges
  /// the two, other uses of the second copy see these results, and the next run begins with the first one. An
  /// attempt of zero steps, and accept() after it, change nothing. AccessConflict where loops read and write
  /// an array that has no second copy and is not temporary.
  auto attempt(int steps) requires requires(Loops& loops) { loops.attempt(1); }
  { return loops_.attempt(loops_of(steps)); }
  void accept() requires requires(Loops& loops) { loops.accept(); }
  { loops_.accept(); }
  /// The next run begins with this loop, counted from 0. Error where there is no such loop.
  void begin_with(int loop) { loops_.begin_with(loop); }
  /// Frees, until the next run, the graphs, or the device's memory (except that of resident arrays), that are
  /// kept from run to run.
  void release() { loops_.release(); }
  /// Of streamed sequences: the report of run(steps) without running it, or of its first part where the
  /// results of all steps do not fit. Throws OutOfMemory.
  auto planned(int steps) requires requires(Loops& loops) { loops.planned(1); }
  { return loops_.planned(loops_of(steps)); }

 private:
  int loops_of(int steps) const { return loops_.cursor().count_of(steps); }

  Loops loops_;
};

}  // namespace strata::inline STRATA_ABI
