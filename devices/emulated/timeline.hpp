// Virtual time of the `Emulated` device: when every kernel and copy would begin and end on a machine with the
// given bandwidths, latencies and links. Pure logic: nothing runs, nothing waits, and the same calls give the
// same times.
//
// The model. Each instance has one compute engine, one copy engine for each direction of its host link, and
// one for copies within its memory; each ordered pair of instances may have a peer link. An engine does one
// thing at a time. An operation is placed when it is submitted, once and for all: it begins at the earliest
// time at which
//   - the host has submitted it, the operation before it in its queue has ended, and every event that its
//     queue waits for is complete, and
//   - its engine is idle for long enough; gaps before operations that were placed earlier are used.
//
//     host      s s s      s: submission; operations begin after theirs
//     upload      [copy a][copy b]
//     compute             [kernel a][kernel b]      copy b overlaps kernel a: other queue, other engine
//
// Not modelled: a kernel and a copy of one instance do not share memory bandwidth, two kernels
// never share an instance, and host links of different instances do not slow each other.
//
// Not thread safe: the caller serialises, and the order of calls is the order of submission.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// How fast one instance is. Bandwidths are in bytes per second, may be infinite, and are positive unless
/// said otherwise; latencies are in seconds and not negative. The defaults are powers of two, so that times
/// are exact.
struct InstanceRates {
  double host_to_device_bandwidth = 0x1p35;
  double device_to_host_bandwidth = 0x1p35;
  /// Bytes per second of both directions of the host link together; 0: no limit beyond each direction's own.
  /// A copy keeps the rate it was placed with; one placed later that overlaps it gets what is left of this
  /// limit, and waits if nothing is left. So the limit holds at every instant.
  double host_link_total = 0;
  /// Bytes per second to and from other instances, each way; a link has the lower figure of its two ends. 0:
  /// none; copies are staged: all bytes to the host by one host link, then all of them on by the other.
  double peer_bandwidth = 0;
  /// Bytes copied per second within the instance; each is read and written.
  double memory_bandwidth = 0x1p40;
  double copy_latency = 0x1p-17;  ///< of each copy, on its engine, before its first byte (peer: the source's)
  double launch_latency = 0x1p-18;  ///< of each kernel, on the compute engine, before its first item
};

struct TimelineConfig {
  std::vector<InstanceRates> instances{InstanceRates{}};  ///< one entry an instance
  double host_submit_cost = 0x1p-20;                      ///< seconds of host time for each kernel and copy
};

/// When an operation runs, in seconds of virtual time.
struct TimeSpan {
  double start = 0;
  double end = 0;
  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

/// An engine or link that an operation occupies.
struct Resource {
  enum class Kind { Host, Compute, Upload, Download, Memory, Peer };
  Kind kind = Kind::Host;
  int instance = -1;  // of peer: the source; of host: -1
  int target = -1;    // of peer: the destination
  friend bool operator==(const Resource&, const Resource&) = default;
};

enum class QueueId : int { None = -1 };

/// One occupation of one resource; a staged copy has two.
struct TraceEntry {
  Resource resource;
  QueueId queue = QueueId::None;
  std::string label;
  TimeSpan time;
  std::size_t bytes = 0;
};

class Timeline {
 public:
  /// The place of the host in copies.
  static constexpr int host = -1;

  /// Throws SettingError for no instance, or a figure outside what InstanceRates says.
  explicit Timeline(TimelineConfig config = {});

  /// An in-order queue on `instance`. Throws NoSuchDevice.
  QueueId make_queue(int instance);
  /// Ends a queue; operations submitted to it stay. Its id may be used again.
  void release_queue(QueueId queue);

  /// Submits a kernel that takes `seconds` (not negative) besides the launch latency, on the queue's
  /// instance.
  TimeSpan kernel(QueueId queue, double seconds, std::string_view label = {});
  /// Submits a copy between instances, within one, or from or to `host`; not from host to host (CopyError).
  TimeSpan copy(QueueId queue, int source, int destination, std::size_t bytes, std::string_view label = {});

  /// An operation that takes no time and no engine; the time at which it is done.
  double enter(QueueId queue);

  /// The time at which everything submitted to `queue` has ended: an event for wait_event() and
  /// host_wait_until().
  double record(QueueId queue) const;
  /// What record() is the later of, besides the host's clock: the end of the last operation of `queue`, and
  /// the times that it was to wait for since.
  struct Point {
    double end = 0, waited = 0;
  };
  Point point(QueueId queue) const;
  /// Later operations of `queue` begin no sooner than `time`.
  void wait_event(QueueId queue, double time);

  /// The host's clock, in seconds; it moves by submissions, by its own work and by waiting.
  double now() const { return now_; }
  /// The host works for `seconds`.
  void host_advance(double seconds, std::string_view label = "work");
  /// The host waits for everything submitted to `queue`.
  void host_wait(QueueId queue) { host_wait_until(record(queue)); }
  /// The host waits until `time`, if that has not passed.
  void host_wait_until(double time);
  /// When the last of all operations submitted so far ends, or the host's clock if that is later.
  double makespan() const;

  const TimelineConfig& config() const { return config_; }
  /// Whether operations are kept for trace(); off at first, since the trace grows without end.
  void keep_trace(bool keep) { tracing_ = keep; }
  const std::vector<TraceEntry>& trace() const { return trace_; }
  /// What took longer, or was known later, than when it was placed.
  void add_to_trace(TraceEntry entry);
  void change_trace(std::size_t index, TimeSpan time);
  /// Back to time 0, with idle engines and an empty trace; queues and configuration stay.
  void reset();

 private:
  // A time in which an engine is busy, moving `rate` bytes a second over a link with a total, 0 elsewhere.
  struct Busy {
    double start, end, rate;
  };
  using Engine = std::vector<Busy>;  // in order, disjoint; adjacent ones of equal rate are merged
  struct Queue {
    int instance = -1;           // -1: released
    double end = 0, waited = 0;  // see Point
    double ready() const { return end > waited ? end : waited; }
    void ends(double time) { end = time, waited = 0; }
  };

  Engine& engine(const Resource& resource);
  const Queue& queue(QueueId id) const;
  Queue& queue(QueueId id);
  const InstanceRates& rates(int instance) const { return config_.instances[std::size_t(instance)]; }
  double submit(const Queue& queue);
  double peer_bandwidth(int source, int destination) const;
  template <class Plan>
  TimeSpan place(Engine& engine, double ready, double shortest, Plan plan);
  void occupy(Engine& engine, std::size_t position);
  double plan_transfer(double start, double bytes, double rate, double total, double latency,
                       const Engine& opposite);
  TimeSpan simple(const Resource& resource, double ready, double seconds);
  TimeSpan transfer(const Resource& resource, double ready, std::size_t bytes);
  void note(const Resource& resource, QueueId queue, std::string_view label, TimeSpan time,
            std::size_t bytes);

  TimelineConfig config_;
  int count_ = 0;
  double now_ = 0, last_end_ = 0;
  std::vector<Engine> engines_;  // compute, upload, download, memory of each instance; then the peer links
  std::vector<Queue> queues_;
  std::vector<Busy> parts_;  // what the operation being placed would occupy
  bool tracing_ = false;
  std::vector<TraceEntry> trace_;
};

}  // namespace strata::inline STRATA_ABI::detail
