#include <algorithm>

#include <strata/algorithms/streaming/resident_arrays.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_call.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail {

ResidentArrays::ResidentArrays(DeviceInstance& device, QueueState& queue, const char* label)
    : DeclaredLoops(label), device_(device), queue_(queue) {}

int ResidentArrays::add_loop(Loop&& loop) {
  const int first = static_cast<int>(places_.size());
  for (const ResidentRows rows : loop.rows) places_.push_back({{nullptr, nullptr}, rows});
  loops_.push_back(std::move(loop));
  return first;
}

void ResidentArrays::check(const std::vector<const DeclaredLoops::Loop*>& loops,
                           const std::vector<Ref<CoherentState>>& sliced) const {
  const auto label = [&](int array) {
    return "\"" + std::string(arrays_[static_cast<std::size_t>(array)]->label) + "\"";
  };
  for (const DeclaredLoops::Loop* const loop : loops)
    for (const SequenceUse& use : loop->uses) {
      const Ref<CoherentState>& array = arrays_[static_cast<std::size_t>(use.array)];
      if (std::find(sliced.begin(), sliced.end(), array) != sliced.end())
        throw AccessConflict("sequence \"" + cursor_.label + "\": " + label(use.array) +
                             " is resident in loop \"" + loop->label +
                             "\", and goes through the device in slices in another; declare it alike in all");
      if (!writes(use.mode)) continue;
      for (const DeclaredLoops::Loop* const other : loops)
        if (other != loop && std::any_of(other->uses.begin(), other->uses.end(),
                                         [&](const SequenceUse& u) { return u.array == use.array; }))
          throw AccessConflict(
              "sequence \"" + cursor_.label + "\": loop \"" + loop->label + "\" writes " + label(use.array) +
              ", which is resident, and loop \"" + other->label +
              "\" of the same run uses it: slices of a loop are done before the loop before it "
              "has ended; do these loops in runs of their own, or let slices of the array go "
              "through the device, too");
    }
}

void ResidentArrays::during(int first, int count, const std::vector<Ref<CoherentState>>& sliced,
                            const Function<void()>& run) {
  has_run_ = true;
  std::vector<const DeclaredLoops::Loop*> loops;
  const int all = static_cast<int>(loops_.size());
  for (int k = 0; k < std::min(count, all); ++k)
    loops.push_back(&loops_[static_cast<std::size_t>((first + k) % all)]);
  check(loops, sliced);
  const std::vector<SequenceUse> uses = uses_of(loops);
  if (uses.empty()) return run();

  CoherentCall call(cursor_.label.c_str(), "a sequence", nullptr);
  call.add_part(device_, queue_, true);
  for (const SequenceUse& use : uses)
    call.add_use(*arrays_[static_cast<std::size_t>(use.array)], use.mode,
                 {use.region.front(), {use.region.begin() + 1, use.region.end()}});
  call.prepare();
  call.begin(0);
  std::size_t place = 0;
  for (const Loop& loop : loops_)
    for (const SequenceUse& use : loop.uses) {
      const auto found =
          std::find_if(uses.begin(), uses.end(), [&](const SequenceUse& u) { return u.array == use.array; });
      places_[place++].base[0] =
          found == uses.end() ? nullptr : call.base(0, static_cast<int>(found - uses.begin()));
    }
  run();
  queue_.wait();
  call.end(0);
}

}  // namespace strata::inline STRATA_ABI::detail
