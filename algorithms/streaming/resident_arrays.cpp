// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <functional>

#include <strata/algorithms/streaming/resident_arrays.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/array_reservation.hpp>
#include <strata/views/coherent/coherent_call.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

ArrayPart part_of_use(const sequences::SequenceUse& use) {
  return {use.region.front(), {use.region.begin() + 1, use.region.end()}};
}

void add_label(std::string& labels, const std::string& label) {
  if (labels.find(label) == std::string::npos) labels += (labels.empty() ? "" : ", ") + label;
}

}  // namespace

ResidentArrays::ResidentArrays(DeviceInstance& device, QueueState& queue, const char* label)
    : sequences::DeclaredLoops(label), device_(device), queue_(queue) {}

void ResidentArrays::add_loop(Loop&& loop) {
  for (const ResidentRows rows : loop.rows) places_.push_back({{nullptr, nullptr}, rows});
  loops_.push_back(std::move(loop));
}

std::vector<const ResidentArrays::Loop*> ResidentArrays::loops_of_run(int first, int count) const {
  std::vector<const Loop*> loops;
  const int all = static_cast<int>(loops_.size());
  for (int k = 0; k < std::min(count, all); ++k)
    loops.push_back(&loops_[static_cast<std::size_t>((first + k) % all)]);
  return loops;
}

std::string ResidentArrays::label_of(int array) const {
  return "\"" + arrays_[static_cast<std::size_t>(array)]->label + "\"";
}

std::string ResidentArrays::written_by(const std::vector<const Loop*>& loops) const {
  std::string labels;
  for (const Loop* const loop : loops)
    for (const sequences::SequenceUse& use : loop->uses)
      if (writes(use.mode)) add_label(labels, label_of(use.array));
  return labels;
}

void ResidentArrays::check(int first, int count, const std::vector<Sliced>& sliced) const {
  const std::vector<const Loop*> loops = loops_of_run(first, count);
  const bool is_repeated = count > static_cast<int>(loops_.size());
  const std::string begin = "sequence \"" + cursor_.label + "\": ";
  for (const Loop* const loop : loops)
    for (std::size_t k = 0; k < loop->uses.size(); ++k) {
      const sequences::SequenceUse& use = loop->uses[k];
      const Ref<CoherentState>& array = arrays_[static_cast<std::size_t>(use.array)];
      if (std::any_of(sliced.begin(), sliced.end(), [&](const Sliced& s) { return s.state == array; }))
        throw AccessConflict(begin + label_of(use.array) + " is resident in loop \"" + loop->label +
                             "\", and goes through the device in slices in another; declare it alike in all");
      if (!writes(use.mode)) continue;
      if (is_repeated && !loop->is_own[k])
        throw AccessConflict(
            begin + "loop \"" + loop->label + "\" writes " + label_of(use.array) +
            ", which is resident, and is done more than once in a run: a slice goes through "
            "all steps before the next one comes; let work items touch their own rows of it, "
            "or do one step in a run");
      for (const Loop* const other : loops)
        if (other != loop &&
            std::any_of(other->uses.begin(), other->uses.end(),
                        [&](const sequences::SequenceUse& u) { return u.array == use.array; }))
          throw AccessConflict(
              begin + "loop \"" + loop->label + "\" writes " + label_of(use.array) +
              ", which is resident, and loop \"" + other->label +
              "\" of the same run uses it: a slice goes through all loops before the next one "
              "comes; do these loops in runs of their own, or let the array go through the "
              "device in slices, too");
    }
}

void ResidentArrays::check_repeatable(int first, int count) const {
  for (const Loop* const loop : loops_of_run(first, count))
    for (const sequences::SequenceUse& use : loop->uses)
      if (use.mode == AccessMode::InOut)
        throw AccessConflict(
            "sequence \"" + cursor_.label + "\": loop \"" + loop->label + "\" reads and writes " +
            label_of(use.array) +
            ", which is resident: an attempt done again would begin with what the one before "
            "wrote; let the array go through the device in slices, with a second copy");
}

void ResidentArrays::during(int first, int count, const std::vector<Sliced>& sliced,
                            const Function<void()>& run, const Function<bool()>& has_begun) {
  has_run_ = true;
  check(first, count, sliced);
  const std::vector<const Loop*> loops = loops_of_run(first, count);
  const std::vector<sequences::SequenceUse> uses = uses_of({loops.begin(), loops.end()});
  if (uses.empty()) return run();

  // The run takes the sliced ones after these.
  struct Wanted {
    Ref<CoherentState> array;
    ArrayPart part;
    bool is_written;
  };
  std::vector<Wanted> wanted;
  for (const Sliced& s : sliced)
    if (s.is_used) wanted.push_back({s.state, {s.state->shape.domain, {}}, s.is_written});
  for (const sequences::SequenceUse& use : uses)
    wanted.push_back({arrays_[static_cast<std::size_t>(use.array)], part_of_use(use), writes(use.mode)});
  std::sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) {
    return std::less<const CoherentState*>()(&*a.array, &*b.array);
  });
  std::vector<ArrayReservation> reserved;
  reserved.reserve(wanted.size());
  for (const Wanted& w : wanted) reserved.emplace_back(w.array, w.part, w.is_written, "a streamed sequence");

  CoherentCall call(cursor_.label.c_str(), "a sequence", nullptr);
  call.add_part(device_, queue_, true);
  for (const sequences::SequenceUse& use : uses)
    call.add_use(*arrays_[static_cast<std::size_t>(use.array)], use.mode, part_of_use(use));
  call.prepare();
  call.begin(0);
  std::size_t place = 0;
  for (const Loop& loop : loops_)
    for (const sequences::SequenceUse& use : loop.uses) {
      const auto found = std::find_if(uses.begin(), uses.end(),
                                      [&](const sequences::SequenceUse& u) { return u.array == use.array; });
      places_[place++].base[0] =
          found == uses.end() ? nullptr : call.base(0, static_cast<int>(found - uses.begin()));
    }
  try {
    run();
  } catch (const Error& error) {
    if (!has_begun()) {
      call.retract(0);
      throw;
    }
    const std::string written = written_by(loops);
    if (written.empty()) throw;
    throw DataLost(
        std::string(error.what()) + "\nThe values of " + written +
        ", which are resident, may be in part old and in part new: write them anew before they are "
        "used");
  }
  try {
    call.end(0);
  } catch (const std::exception& error) {
    // What was to be read did not come to the device, and slices have gone through it all the same: their
    // kernels waited for a copy that had failed.
    std::string written = written_by(loops);
    for (const Sliced& s : sliced)
      if (s.is_used && s.is_written) add_label(written, "\"" + s.state->label + "\"");
    if (written.empty()) throw;
    throw DataLost(std::string(error.what()) + "\nThe values of " + written +
                   ", which the loops have written meanwhile, may be wrong: write them anew before they are "
                   "used");
  }
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
