// OutputPackages: which arrays a device writes next, all of them while they stay in its memory. A package is
// grown around one of the most urgent tasks so that few bytes have to be loaded for many tasks.
//
// What an output's tasks read and no later package writes has to be loaded beside the outputs: the output
// lacks it. A package grows by the outputs that lack the same arrays, by those always that give most tasks
// for each byte: in a product all outputs of a row lack that row of one factor, in a symmetric one that row
// of the only factor. This makes squares of products, and triangles where factors are shared, without knowing
// either.
//
// A package ends where it has most tasks for each byte. Outputs that read what the device still holds may be
// worth more than many that do not: the rows below a triangle, one by one, while the triangle stays.
//
// Only outputs are taken that can be finished: whatever their tasks wait for is of the package or of an
// earlier one. So each output is loaded and stored once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <queue>
#include <set>
#include <vector>

#include <strata/algorithms/tasks/plan/lru_scheduler.hpp>
#include <strata/algorithms/tasks/plan/structural_order.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// The array to which each task belongs: the first that it writes, or none.
std::vector<ArrayId> outputs_of(const TaskDag& graph);

/// What a device does next.
struct OutputPackage {
  std::vector<ArrayId> outputs;  ///< in the order in which they were chosen
  std::vector<TaskId> tasks;     ///< theirs, each after those that it waits for
  std::vector<ArrayId> kept;     ///< what they read of what the device holds
  double loads = 0;              ///< bytes that it is expected to load
  int steps = 0;                 ///< tasks of the output that has most of them
};

/// See the head of the file. Copies are independent of each other.
class OutputPackages {
 public:
  /// No task is taken. What is equal is ordered by `order`; all are referred to.
  OutputPackages(const TaskDag& graph, const StructuralOrder& order, const std::vector<double>& priorities);

  /// Takes outputs of at most `bytes`, but at least one; none where all are taken. `held`: arrays that the
  /// device has, each once, and keeps for the package where that is worth more than more outputs.
  OutputPackage take(index_t bytes, const std::vector<ArrayId>& held);
  /// Bytes of outputs whose tasks are not all taken.
  index_t bytes_left() const { return bytes_left_; }
  /// How many outputs and tasks were looked at so far, each as often as it was: what planning costs.
  long num_inspected() const { return num_inspected_; }

 private:
  // Where groups are, by what their outputs lack. Cleared in no time: it is for each output of a package.
  class GroupPlaces {
   public:
    void clear() {
      ++epoch_;
      count_ = 0;
    }
    /// Of the group that lacks this; of a new one where there is none yet, which is then to be at `next`.
    std::size_t find(std::uint64_t lacking, std::size_t next);

   private:
    struct Slot {
      std::uint64_t lacking = 0;
      long epoch = 0;
      std::size_t place = 0;
    };
    Slot& slot(std::uint64_t lacking);

    std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two, at most half full
    long epoch_ = 1;
    std::size_t count_ = 0;
  };
  // What is known of an array as an output.
  struct alignas(64) Output {
    // What changes while a package grows, in one cache line.
    std::uint64_t lacking = 0;  // a hash of the set of what is to be loaded beside it
    index_t lacks = 0;          // bytes of these
    int waits = 0;              // dependencies on tasks that are neither taken nor chosen
    int open_tasks = 0;         // of its tasks, those that are not taken
    int open_readers = 0;       // of `readers`, those with tasks that are not taken
    bool is_final = false;      // no task writes it any more that is not taken
    // By the package that is growing; held: is there; counted: in its room, because it is kept.
    bool is_chosen = false, is_seen = false, is_touched = false, is_held = false, is_counted = false;
    bool is_tried = false;  // of a package that was grown for the same device
    long saved = 0;         // the last step of a growth that saved what it lacks

    std::vector<TaskId> chain;                   // its tasks, in program order
    std::size_t next = 0;                        // the first of them that is not taken
    std::vector<ArrayId> reads;                  // what they read beside it, each once
    std::vector<ArrayId> readers;                // outputs whose tasks read it; not all that are finished
    std::vector<std::pair<ArrayId, int>> after;  // outputs with tasks that wait for its own, and how often
  };
  // An output that lacks nothing; the one with most tasks is the greatest.
  struct FreeOutput {
    double tasks;
    int number;  // minus that of the structural order
    ArrayId array;
    auto operator<=>(const FreeOutput&) const = default;
  };
  // A package that is growing.
  struct Growth {
    // The beginning that is worth most.
    struct Beginning {
      std::size_t count = 0;
      double tasks = 0, loads = 0;
      double worth() const { return tasks > 0 ? tasks / loads : -1; }
    };
    struct Mark {
      std::size_t chosen = 0, seen = 0, counted = 0, saved = 0;
      index_t room = 0;
      double tasks = 0, loads = 0;
      Beginning best;
    };
    struct Saved {
      ArrayId output;
      std::uint64_t lacking;
      index_t lacks;
    };
    Beginning best;
    bool has_held = false;
    index_t room = 0;
    double tasks = 0, loads = 0;  // loads: bytes, with those of the outputs
    std::vector<ArrayId> chosen;
    std::vector<ArrayId> seen;     // what is loaded beside them, or there
    std::vector<ArrayId> counted;  // what is kept for them
    std::vector<Saved> saved;      // what outputs lacked before each step, for undo()
    std::vector<ArrayId> touched;  // outputs that read one of these, or wait for one of those
    std::priority_queue<FreeOutput> free;
    double worth() const { return tasks > 0 ? tasks / loads : -1; }
    Mark mark() const {
      return {chosen.size(), seen.size(), counted.size(), saved.size(), room, tasks, loads, best};
    }
  };
  // Outputs that lack the same arrays.
  struct Group {
    int count;
    double tasks, loads;
    int number;        // the first in the structural order
    ArrayId output;    // one that waits for nothing
    int open_readers;  // of what it lacks
  };

  Output& output(ArrayId array) { return arrays_[static_cast<std::size_t>(array)]; }
  const Output& output(ArrayId array) const { return arrays_[static_cast<std::size_t>(array)]; }
  bool is_open(const Output& output) const { return output.open_tasks > 0 && !output.is_chosen; }
  int number_of(ArrayId array) const { return order_->of_arrays[static_cast<std::size_t>(array)]; }
  void sort_by_number(std::vector<ArrayId>& arrays) const;
  void count_after(ArrayId array);
  void finalize(ArrayId array);
  void touch(ArrayId array, Output& own, Growth& growth);
  void add_free(ArrayId array, const Output& own, Growth& growth);
  void see(ArrayId array, Growth& growth);
  index_t room_of(const Output& own, ArrayId array, const Growth& growth) const;
  void choose(ArrayId array, Growth& growth);
  void choose_free(Growth& growth);
  void load(const Output& own, Growth& growth);
  void load_for(ArrayId array, Growth& growth);
  void undo(Growth& growth, const Growth::Mark& mark);
  void find_groups(const Growth& growth);
  bool add_group(Growth& growth);
  Growth grow(ArrayId seed, index_t bytes, const std::vector<ArrayId>& held);
  int open_readers_of(const Output& own) const;
  void enable(TaskId task);
  void take_task(TaskId task);
  void take_output(ArrayId array, std::vector<TaskId>& tasks);
  std::vector<ArrayId> seeds();

  const TaskDag* graph_;
  const StructuralOrder* order_;
  const std::vector<double>* priorities_;
  std::vector<ArrayId> outputs_;  // of tasks
  std::vector<bool> is_taken_;    // of tasks
  std::vector<int> waits_;        // of tasks: predecessors that are not taken
  std::vector<TaskId> pending_;   // of take_task
  std::vector<Output> arrays_;
  std::vector<Group> groups_;                             // of add_group
  GroupPlaces places_;                                    // of these
  std::vector<std::pair<ArrayId, std::size_t>> members_;  // of these
  std::set<PriorityEntry> ready_;
  index_t bytes_left_ = 0;
  long step_ = 0;  // of growths
  long num_inspected_ = 0;
};

}  // namespace strata::inline STRATA_ABI::tasks::detail
