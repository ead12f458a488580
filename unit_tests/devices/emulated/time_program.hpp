// Random programs over a few queues of two emulated instances: kernels, pages of managed memory, prefetches,
// copies, events, waits, and blocks that are allocated and freed. A program is drawn first and run
// afterwards, so that it can be run again with queues that are faster or slower.
//
// Pages and blocks are used in an order that events and waits give, so that what moves is the same in each
// run. Queues are held by gates; a step says which have to be open where the host waits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "devices/emulated/managed.hpp"

namespace emulated_testing {

constexpr index_t array_pages = 8;  // of the managed arrays
constexpr int managed_arrays = 3;   // that there are at a time
constexpr index_t capacity = 8 * mebi;
constexpr index_t block_bytes = 5 * mebi / 2;  // so that an instance has room for three, and for all pages
constexpr int most_blocks = 3;

struct Step {
  enum class Kind {
    Kernel,
    Touch,
    Prefetch,
    Copy,
    Record,
    WaitFor,
    WaitQueue,
    WaitEvent,
    WaitInstance,
    TouchOnHost,
    Advance,
    Allocate,
    Free,
    NewArray,
    NewQueue,
    Look
  };
  Kind kind;
  int queue = 0;   // or the instance
  int object = 0;  // a managed array, an event or a block, and the kind of a copy
  index_t first = 0, count = 0;
  bool reads = false, writes = false, shared = false, to_host = false;
  unsigned opens = 0;  // queues whose gates open before it, and that get new ones after it

  /// For whoever looks for a fault.
  std::string text() const {
    static const char* const names[] = {
        "kernel",         "touch",          "prefetch",          "copy",          "record",  "wait for",
        "wait for queue", "wait for event", "wait for instance", "touch on host", "advance", "allocate",
        "free",           "new array",      "new queue",         "look"};
    std::string text = names[static_cast<int>(kind)];
    for (const index_t each : {index_t{queue}, index_t{object}, first, count})
      text += " " + std::to_string(each);
    for (const bool each : {reads, writes, shared, to_host}) text += each ? " yes" : " no";
    return text + ", opens " + std::to_string(opens);
  }
};

/// A program as it is drawn.
class Draft {
 public:
  static constexpr int most_live = 3;  // queues at a time
  std::vector<int> instances;          // of the queues, by number
  std::vector<Step> steps;

  Draft(strata_tests::Random& random, int count) : random_(random) {
    for (int q = 0; q < most_live; ++q) new_queue();
    while (static_cast<int>(steps.size()) < count) draw_one();
    steps.push_back({Step::Kind::WaitInstance, 0, 0, 0, 0, false, false, false, false, all()});
    steps.push_back({Step::Kind::WaitInstance, 1, 0, 0, 0, false, false, false, false, all()});
    steps.push_back({Step::Kind::Look, 0, 0, 0, 0, false, false, false, false, all()});
  }

 private:
  using Kind = Step::Kind;
  struct Use {
    int queue = -1, event = -1;  // the queue that used an array last, and an event after that
  };

  bool likely(index_t one_in) { return random_(1, one_in) == 1; }
  int any(int count) { return static_cast<int>(random_(0, count - 1)); }
  int any_queue() { return live_[static_cast<std::size_t>(any(most_live))]; }
  unsigned all() const { return (1u << instances.size()) - 1; }
  // The queues that `queues` may wait for, directly or not, and these.
  unsigned needed(unsigned queues) const {
    for (unsigned before = 0; before != queues;) {
      before = queues;
      for (std::size_t q = 0; q < waits_for_.size(); ++q)
        if ((queues >> q & 1) != 0) queues |= waits_for_[q];
    }
    return queues;
  }
  void add_waiting(Step step, unsigned queues) {
    step.opens = needed(queues);
    for (unsigned& each : waits_for_) each &= ~step.opens;
    steps.push_back(step);
  }
  int record(int queue) {
    steps.push_back({Kind::Record, queue});
    recorded_.push_back(queue);
    return static_cast<int>(recorded_.size()) - 1;
  }
  void wait_for(int queue, int event) {
    steps.push_back({Kind::WaitFor, queue, event});
    const int other = recorded_[static_cast<std::size_t>(event)];
    if (other != queue) waits_for_[static_cast<std::size_t>(queue)] |= 1u << other;
  }
  int last_event(Use& use) {
    if (use.event < 0) use.event = record(use.queue);
    return use.event;
  }
  // Orders the next use of an array, by a queue, after the last one.
  void use(int array, int queue) {
    Use& last = uses_[array];
    if (last.queue >= 0 && last.queue != queue) wait_for(queue, last_event(last));
    last = {queue, -1};
  }
  void use_on_host(int array) {
    Use& last = uses_[array];
    if (last.queue < 0) return;
    add_waiting({Kind::WaitEvent, 0, last_event(last)}, 1u << last.queue);
    last = {};
  }
  void new_queue() {
    instances.push_back(instances.size() < 2 ? static_cast<int>(instances.size()) : any(2));
    waits_for_.push_back(0);
    const int number = static_cast<int>(instances.size()) - 1;
    if (static_cast<int>(live_.size()) < most_live) {
      live_.push_back(number);
      return;
    }
    int& place = live_[static_cast<std::size_t>(any(most_live))];
    for (Use& each : uses_)
      if (each.queue == place) last_event(each);
    steps.push_back({Kind::NewQueue, place, number});
    place = number;
  }

  void draw_one() {
    const int queue = any_queue(), array = any(managed_arrays);
    const index_t first = random_(0, array_pages - 1), count = random_(1, array_pages - first);
    switch (random_(0, 17)) {
      case 0:
        return steps.push_back({Kind::Kernel, queue, 0, 0, random_(1, 64)});
      case 1:
      case 2:
      case 3:
      case 4:
        use(array, queue);
        return steps.push_back({Kind::Touch, queue, array, first, count});
      case 5:
      case 6: {
        use(array, queue);
        const bool writes = likely(2);
        const index_t begin = first * per_page + (likely(3) ? random_(0, per_page - 1) : 0);
        const index_t length = random_(1, array_pages * per_page - begin);
        return steps.push_back({Kind::Prefetch, queue, array, begin, length, !writes || likely(2), writes,
                                !writes && likely(2), likely(3)});
      }
      case 7:
      case 8:
        return steps.push_back({Kind::Copy, queue, any(4), 0, random_(1, per_page)});
      case 9:
        record(queue);
        return;
      case 10:
        if (!recorded_.empty()) wait_for(queue, any(static_cast<int>(recorded_.size())));
        return;
      case 11:
        return draw_wait(queue);
      case 12:
        use_on_host(array);
        return steps.push_back({Kind::TouchOnHost, 0, array, first, count, true, likely(2)});
      case 13:
        if (likely(2)) return steps.push_back({Kind::Advance, 0, 0, 0, random_(1, 64)});
        return add_waiting({Kind::Look}, all());
      case 14:
      case 15:
        return draw_block();
      case 16:
        uses_[array] = {};
        return steps.push_back({Kind::NewArray, 0, array});
      default:
        if (likely(3) && instances.size() < 8) new_queue();
    }
  }
  void draw_wait(int queue) {
    switch (any(3)) {
      case 0:
        return add_waiting({Kind::WaitQueue, queue}, 1u << queue);
      case 1: {
        if (recorded_.empty()) return;
        const int event = any(static_cast<int>(recorded_.size()));
        return add_waiting({Kind::WaitEvent, 0, event}, 1u << recorded_[static_cast<std::size_t>(event)]);
      }
      default: {
        unsigned queues = 0;
        const int instance = any(2);
        for (std::size_t q = 0; q < instances.size(); ++q)
          if (instances[q] == instance) queues |= 1u << q;
        return add_waiting({Kind::WaitInstance, instance}, queues);
      }
    }
  }
  // An allocation may wait for all work that there was when a block was freed.
  void draw_block() {
    const int instance = any(2);
    int live = 0;
    for (const int each : blocks_) live += each == instance;
    if (live < most_blocks && likely(2)) {
      const bool may_wait = live + freed_[instance] >= most_blocks;
      blocks_.push_back(instance);
      return add_waiting({Kind::Allocate, instance}, may_wait ? all() : 0);
    }
    if (blocks_.empty()) return;
    const int block = any(static_cast<int>(blocks_.size()));
    ++freed_[blocks_[static_cast<std::size_t>(block)]];
    blocks_.erase(blocks_.begin() + block);
    steps.push_back({Kind::Free, 0, block});
  }

  strata_tests::Random& random_;
  std::vector<int> live_, recorded_, blocks_;
  std::vector<unsigned> waits_for_;
  Use uses_[managed_arrays];
  int freed_[2] = {0, 0};
};

}  // namespace emulated_testing
