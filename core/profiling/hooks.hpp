// Hooks: one point through which every kernel, copy, fence, allocation and user region can be observed.
//
// When nothing listens an event costs a load and a branch. Listeners are called on the thread that caused the
// event, one event at a time under one lock, in the order of their registration; they may not add or
// remove listeners from inside a callback. Names of kernels are made only if there is a listener.
//
// The first event of a program starts the observers of its settings (tools, trace, counters): see
// observers.hpp. A replay of a graph is one event; recording into a graph is none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <strata/core/allocation.hpp>
#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// What happened. Begin and end of one kernel, copy or fence carry the same `id`, and come on one thread.
/// Initialize is the zeroing of a new array, DeviceTime the time of a kernel or copy as measured by the
/// device.
enum class EventKind {
  BeginFor,
  BeginReduce,
  BeginScan,
  EndFor,
  EndReduce,
  EndScan,
  BeginCopy,
  EndCopy,
  BeginInitialize,
  EndInitialize,
  BeginGraph,
  EndGraph,
  BeginFence,
  EndFence,
  Allocate,
  Deallocate,
  PushRegion,
  PopRegion,
  Mark,
  CreateSection,
  StartSection,
  StopSection,
  DestroySection,
  Metadata,
  DeviceTime
};

/// One event. Fields that do not apply are empty. Pointers are valid only during the callback.
struct HookEvent {
  EventKind kind;                     ///< what happens
  const char* label = "";             ///< of the kernel, region or allocation; for copies of the destination
  const char* kernel_type = nullptr;  ///< mangled type of the kernel (demangle with `kernel_name`)
  const char* tag_type = nullptr;     ///< mangled type of its tag, if it has one
  const char* device = "";            ///< the kind of device that does the work
  int instance = 0;                   ///< and its instance
  std::uint64_t queue = 0;            ///< 0: the default queue
  bool all_queues = false;            ///< a fence of all queues of the instance
  std::uint64_t id = 0;               ///< sections: the same in all events of one
  std::int64_t items = 0;             ///< work items of a kernel; operations of a graph
  /// The memory that a copy, fill, allocation or free concerns, and the address there.
  SpaceId destination{"", 0};
  const void* destination_data = nullptr;
  /// Label, memory and address of the source of a copy.
  const char* source_label = "";
  SpaceId source{"", 0};
  const void* source_data = nullptr;
  std::size_t bytes = 0;     ///< of a copy, fill, allocation or free
  const char* value = "";    ///< of metadata, whose key is the label; the name of the clock of a DeviceTime
  double begin_seconds = 0;  ///< DeviceTime: by the device's clock, with an arbitrary zero
  double end_seconds = 0;    ///< when it ended, by the same clock
};

/// Observes events. The default does nothing.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Must not throw: the program would end.
  virtual void on_event(const HookEvent& event) = 0;
};

/// Adds `listener`, which must live until it is removed.
void add_listener(Listener& listener);
/// Removes `listener`; no callback of it runs after this returns.
void remove_listener(Listener& listener);

/// A readable name: the label if there is one, else the demangled type of the kernel, with "/" and the type
/// of its tag if it has one. Valid as long as the label; that of a type to the end of the process.
const char* kernel_name(const char* label, const char* kernel_type, const char* tag_type);
inline const char* kernel_name(const HookEvent& event) {
  return kernel_name(event.label, event.kernel_type, event.tag_type);
}

/// Marks a region of the program for profilers.
void push_region(const char* label);
void pop_region();
/// Marks a point in time for profilers.
void mark(const char* label);
/// Reports a property of the run to profilers, such as the size of the problem.
void declare_metadata(const char* key, const char* value);

/// A region that ends with the scope.
class Region {
 public:
  /// Begins the region; `label` is not kept.
  explicit Region(const char* label) { push_region(label); }
  ~Region() { pop_region(); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

/// A part of the program that is timed, and may start and stop many times. Unlike regions, sections may
/// overlap.
class Section {
 public:
  /// `label` is not copied: it must live as long as the section.
  explicit Section(const char* label);
  ~Section();
  void start();
  void stop();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  const char* label_;
  std::uint64_t id_;
};

namespace detail::profiling {

// The number of listeners, and one more until the first event. Read relaxed on hot paths: a late listener may
// miss the event under way.
inline constinit int listener_count = 1;

inline bool hooks_active() { return __atomic_load_n(&listener_count, __ATOMIC_RELAXED) != 0; }

/// Calls all listeners.
void emit(const HookEvent& event) noexcept;
/// A new id for a begin/end pair.
std::uint64_t next_event_id();

/// From now on `action` is called before the listeners of every event, outside their lock: it may wait for
/// devices. Null: none.
void set_before_event(void (*action)(const HookEvent& event) noexcept);

/// The end that belongs to a begin.
EventKind end_of(EventKind begin);

/// Reports the begin of an event to the listeners when it is constructed, and the end when it is destroyed,
/// also by an exception.
class EventScope {
 public:
  /// `describe()` gives the event of the begin, whose id is made here; called only if there is a listener.
  /// The objects to which its pointers point must live as long as the scope.
  template <class Describe>
  explicit EventScope(const Describe& describe) {
    if (hooks_active()) [[unlikely]]
      begin(describe());
  }
  ~EventScope() {
    if (begun_) [[unlikely]]
      end();
  }
  EventScope(const EventScope&) = delete;
  EventScope& operator=(const EventScope&) = delete;

 private:
  void begin(const HookEvent& event);
  void end();

  bool begun_ = false;
  union {  // not touched without a listener
    HookEvent kept;
  };
};

/// While one exists, the kernels, copies and fences of its thread are not reported: they are part of a graph.
class QuietWork {
 public:
  QuietWork();
  ~QuietWork();
  QuietWork(const QuietWork&) = delete;
  QuietWork& operator=(const QuietWork&) = delete;
};

}  // namespace detail::profiling
}  // namespace strata::inline STRATA_ABI
