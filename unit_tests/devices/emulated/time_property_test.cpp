// Virtual time and memory in use of random programs: the same whether the queues have done all work when the
// next is enqueued, or have not begun, or anything in between.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <memory>
#include <ostream>
#include <thread>
#include <tuple>

#include <strata/devices/emulated/platform.hpp>

#include "devices/emulated/time_program.hpp"

namespace {

using namespace emulated_testing;
using strata_tests::Random;
using HostArray = MDArray<int, Serial, rank<1>>;
using Block = MDArray<char, Emulated, rank<1>>;

/// A call of the host that holds its queue, and no worker of the instance, until it is opened.
class Door : public detail::HostCall {
 public:
  void run() override { is_open_.wait(false); }
  void open() {
    is_open_.store(true);
    is_open_.notify_all();
  }

 private:
  std::atomic<bool> is_open_{false};
};

/// Drained: each queue has done all work before the next step. Held: queues begin when the host waits for
/// them. Any: some are held, for some time.
enum class Pace { Drained, Held, Any };

/// What a program saw.
struct Sight {
  std::size_t step;
  std::string what;
  double value;
  friend bool operator==(const Sight&, const Sight&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Sight& seen) {
    return out << seen.what << " = " << seen.value << " in step " << seen.step;
  }
};

class PacedRun {
 public:
  PacedRun(const Draft& draft, Pace pace, Random& random) : draft_(draft), pace_(pace), random_(random) {
    for (int k = 0; k < managed_arrays; ++k) shared_.push_back(new_array());
    // All at once, so that blocks have the room that is left.
    for (const int instance : draft.instances) add_arrays(instance);
    for (std::size_t q = 0; q < Draft::most_live; ++q) begin_queue(queues_[q]);
  }

  std::vector<Sight> run() {
    emulated::keep_trace(true);
    emulated::reset_time();
    for (std::size_t q = 0; q < queues_.size(); ++q) hold(q);
    for (step_ = 0; step_ < draft_.steps.size(); ++step_) {
      do_step(draft_.steps[step_]);
      settle();
      note("clock", emulated::now());
    }
    for (const Event& each : events_)
      note("time of an event", each.state()->seconds_since(*events_.front().state()));
    note_trace();
    note_end();
    return std::move(seen_);
  }

 private:
  struct OfQueue {
    std::unique_ptr<Queue<Emulated>> queue;  // null: not yet, or no longer
    Event end;                               // of what it had done by then
    int instance;
    Array near, other, far;
    HostArray host;
    detail::Ref<Door> door;
  };

  static std::unique_ptr<SharedArray> new_array() {
    return std::make_unique<SharedArray>(array_pages * per_page);
  }
  void add_arrays(int instance) {
    const auto array = [](int where) {
      return create<Array>("own", per_page, uninitialized, on(Emulated{where}));
    };
    queues_.push_back({{},
                       {},
                       instance,
                       array(instance),
                       array(instance),
                       array(1 - instance),
                       create<HostArray>("host", per_page),
                       {}});
  }
  static void begin_queue(OfQueue& each) {
    each.queue = std::make_unique<Queue<Emulated>>(Emulated{each.instance});
  }
  void note(const char* what, double value) { seen_.push_back({step_, what, value}); }

  void hold(std::size_t number) {
    OfQueue& each = queues_[number];
    if (!each.queue) return;
    each.door = detail::Ref<Door>(new Door);
    each.queue->state().call_host(each.door);
    if (pace_ == Pace::Drained || (pace_ == Pace::Any && random_(0, 1) == 0)) each.door->open();
  }
  void open(unsigned queues) {
    for (std::size_t q = 0; q < queues_.size(); ++q)
      if ((queues >> q & 1) != 0 && queues_[q].door) queues_[q].door->open();
  }
  void drain() {
    while (!detail::Platform::get().pending_work().has_run())
      std::this_thread::sleep_for(std::chrono::microseconds(5));
  }
  void settle() {
    if (pace_ == Pace::Drained) return drain();
    if (pace_ == Pace::Any && random_(0, 2) == 0) {
      using Clock = std::chrono::steady_clock;
      for (const auto end = Clock::now() + std::chrono::microseconds(random_(0, 30)); Clock::now() < end;) {
      }
    }
  }

  void do_step(const Step& step) {
    if (step.opens == 0) return act(step);
    std::jthread opener([&] {
      if (pace_ != Pace::Drained) std::this_thread::sleep_for(std::chrono::microseconds(50));
      open(step.opens);
    });
    act(step);
    opener.join();
    for (std::size_t q = 0; q < queues_.size(); ++q)
      if ((step.opens >> q & 1) != 0) hold(q);
  }
  void act(const Step& step) {
    using Kind = Step::Kind;
    const auto object = std::size_t(step.object);
    switch (step.kind) {
      case Kind::WaitEvent:
        return events_[object].wait();
      case Kind::WaitInstance:
        return wait(Emulated{step.queue});
      case Kind::TouchOnHost:
        for (index_t k = step.first; k < step.first + step.count; ++k) {
          volatile int& element = (*shared_[object])[k * per_page];
          if (step.writes) element = element + 1;
          else static_cast<void>(int{element});
        }
        return;
      case Kind::Advance:
        return emulated::advance(double(step.count) * item);
      case Kind::Allocate:
        blocks_.push_back(create<Block>("block", block_bytes, uninitialized, on(Emulated{step.queue})));
        return;
      case Kind::Free:
        blocks_.erase(blocks_.begin() + step.object);
        return;
      case Kind::NewArray:
        shared_[object].reset();
        shared_[object] = new_array();
        return;
      case Kind::Look:
        drain();
        for (int i = 0; i < 2; ++i) note("bytes in use", double(emulated::used(i)));
        return;
      default:
        return enqueue(step, queues_[std::size_t(step.queue)]);
    }
  }
  void enqueue(const Step& step, OfQueue& on_queue) {
    using Kind = Step::Kind;
    const Queue<Emulated>& queue = *on_queue.queue;
    const auto object = std::size_t(step.object);
    switch (step.kind) {
      case Kind::Kernel:
        return parallel_for("kernel", on(queue), step.count, [](index_t) {});
      case Kind::Touch:
        return parallel_for("touch", on(queue), step.count,
                            AddEvery{shared_[object]->in(queue.device()) + step.first * per_page, per_page});
      case Kind::Prefetch:
        prefetch(queue, shared_[object]->range(step.first, step.count, step.reads, step.writes, step.shared),
                 step.to_host);
        return;
      case Kind::Copy: {
        const auto part = [&](const auto& x) { return subview(x, range(0, step.count)); };
        const auto near = part(on_queue.near);
        if (step.object == 0) deep_copy(queue, near, part(on_queue.host));
        if (step.object == 1) deep_copy(queue, part(on_queue.host), near);
        if (step.object == 2) deep_copy(queue, part(on_queue.other), near);
        if (step.object == 3) deep_copy(queue, part(on_queue.far), near);
        return;
      }
      case Kind::Record:
        events_.push_back(queue.record());
        return;
      case Kind::WaitFor:
        return queue.wait_for(events_[object]);
      case Kind::WaitQueue:
        return queue.wait();
      case Kind::NewQueue:
        on_queue.end = queue.record();
        on_queue.queue.reset();
        begin_queue(queues_[object]);
        return hold(object);
      default:
        FAIL() << "not the work of a queue";
    }
  }

  // The end of each operation; which queue of the timeline it had, and the order of the list, may differ.
  void note_trace() {
    auto all = emulated::trace();
    const auto key = [](const emulated::Operation& each) {
      return std::tie(each.engine, each.start, each.end, each.label, each.bytes);
    };
    std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    for (const emulated::Operation& each : all) {
      const std::string what = each.label + " on " + each.engine;
      note((what + ": start").c_str(), each.start);
      note((what + ": end").c_str(), each.end);
    }
  }
  void note_end() {
    shared_.clear();
    blocks_.clear();
    for (OfQueue& each : queues_) {
      if (each.door) each.door->open();
      each = {};
    }
    for (int i = 0; i < 2; ++i) wait(Emulated{i});
    note("clock at the end", emulated::now());
    for (int i = 0; i < 2; ++i) note("bytes in use at the end", double(emulated::used(i)));
  }

  const Draft& draft_;
  const Pace pace_;
  Random& random_;
  std::vector<std::unique_ptr<SharedArray>> shared_;
  std::vector<OfQueue> queues_;
  std::vector<Event> events_;
  std::vector<Block> blocks_;
  std::size_t step_ = 0;
  std::vector<Sight> seen_;
};

class EmulatedTimeProperty : public EmulatedTest {
 protected:
  void run(int programs) {
    Random random;
    for (int k = 0; k < programs && !HasFailure(); ++k) {
      emulated::Config config = round_config();
      config.count = 2;
      config.capacity = capacity;
      config.managed_page = page;
      config.fault_latency = fault;
      config.copy_latency = random(0, 1) == 0 ? 0 : 0x1p-6;
      config.host_submit_cost = random(0, 1) == 0 ? 0 : 0x1p-12;
      if (random(0, 1) == 0) config.peer_bandwidth = 0;
      if (random(0, 2) == 0) config.host_link_total = 0x1p20;
      emulated::configure(config);
      const Draft draft(random, int(random(5, 60)));

      std::string text;
      for (std::size_t i = 0; i < draft.steps.size(); ++i)
        text += std::to_string(i) + ": " + draft.steps[i].text() + "\n";
      const std::vector<Sight> drained = PacedRun(draft, Pace::Drained, random).run();
      for (const Pace pace : {Pace::Held, Pace::Any}) {
        SCOPED_TRACE(text);
        const std::vector<Sight> seen = PacedRun(draft, pace, random).run();

        ASSERT_EQ(seen.size(), drained.size());
        for (std::size_t i = 0; i < seen.size(); ++i)
          ASSERT_EQ(seen[i], drained[i])
              << "in program " << k << ", " << (pace == Pace::Held ? "with held queues" : "with any queues");
      }
    }
  }
};

TEST_F(EmulatedTimeProperty, DoesNotDependOnHowFarTheQueuesHaveCome) { run(strata_tests::trials(60)); }
TEST_F(EmulatedTimeProperty, DoesNotDependOnHowFarTheQueuesHaveComeSlow) {
  run(strata_tests::trials(10'000));
}

}  // namespace
