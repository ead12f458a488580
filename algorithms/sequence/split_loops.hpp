// SplitLoops: the loops of a sequence over several devices. Each is a launch of its own the first time; from
// then on loops that follow each other are planned together and enqueued in one call
// (views/coherent/joint_call.hpp), as long as the arrays are as such a plan finds them.
//
// Compiled once: the part that knows devices and kernels is split_sequence.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/sequence/declared_loops.hpp>
#include <strata/core/function.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

class SplitLoops : public DeclaredLoops {
 public:
  /// The part of a loop that a device runs.
  struct Part {
    std::size_t place;         // its number
    ResidentRows work, early;  // the work items, and those of them that may go first; begin = end: none
    struct Use {
      Ref<CoherentState> array;
      AccessMode mode;
      ArrayPart region, early;
    };
    std::vector<Use> uses;           // in the order of the kernel's views
    std::vector<ResidentRows> rows;  // of each

    /// The use that the access of a loop declares, of its work items or others.
    template <class Access>
    void add_use(const Access& access) {
      add_use_by(work, access);
    }
    template <class Access>
    void add_use_by(ResidentRows some, const Access& access) {
      const auto used_by = [&](ResidentRows items) {
        return part_of(access.region, access.array.domain(), items, access.array.label());
      };
      add_use(access.array.state(), Access::mode, used_by(some),
              early.begin < early.end ? used_by(early) : ArrayPart{});
    }

   private:
    void add_use(const Ref<CoherentState>& array, AccessMode mode, ArrayPart&& region, ArrayPart&& first);
  };
  /// Where the kernel of a part is launched, and over which work items.
  struct Site {
    std::size_t place;
    ResidentRows work;
    std::vector<char*> bases;  // of each use: where the first element of the array is, or would be
    const ResidentRows* rows;  // of each use
  };
  struct Loop : DeclaredLoops::Loop {
    /// A launch of all of it, in step `step`.
    Function<void(int step)> launch;
    /// What it consists of: one launch, or, of sums, two, of which the second joins the values of parts. Of
    /// loops that are the same in each step, and so may be planned with others; none of others.
    struct Stage {
      Function<std::vector<Part>()> parts;
      Function<void(const Site&)> launch_part;
    };
    std::vector<Stage> stages;
    bool was_launched = false;
  };
  /// Of a loop that reduces for the host: begin() drops the values, finish() passes them to the user's
  /// vector.
  struct Results {
    Function<void()> begin, finish;
  };
  /// A device and its queue, which must outlive this.
  struct Place {
    DeviceInstance* device;
    QueueState* queue;
  };

  SplitLoops(const char* label, std::vector<Place> places);
  ~SplitLoops();

  void add_loop(Loop&& loop);
  void add_results(const Results& results) { results_.push_back(results); }
  /// `count` loops, from the one after the last on.
  void run(int count);
  /// Forgets the plans.
  void release();

 private:
  // Loops that are enqueued in one call.
  class Joint;

  Loop& loop(int number) { return loops_[static_cast<std::size_t>(number % cursor_.loops)]; }
  void check_uses(int first, int count);
  int jointly_from(int first, int most);
  bool run_jointly(int first, int count);
  Ref<Joint> make_joint(int first, int count);

  const std::vector<Place> places_;
  std::vector<Loop> loops_;
  std::vector<Results> results_;
  std::vector<std::pair<int, int>> checked_;
  std::vector<Ref<Joint>> joints_;
};

}  // namespace strata::inline STRATA_ABI::detail::sequences
