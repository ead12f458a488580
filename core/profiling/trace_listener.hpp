// The listener that writes a trace: events to records of the file format. Private to the trace; see trace.hpp
// for what the times mean.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include <strata/core/files/output_file.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/profiling/trace_tracks.hpp>

namespace strata::inline STRATA_ABI::detail::profiling {

/// An interval that is drawn.
struct Span {
  Track track;
  double begin;  // seconds
  std::string name;
  const char* category;
  std::string arguments;  // each with a comma before it
};

/// Called under the lock of the listeners; its own mutex is for finish(), which is called without that lock.
/// Writes nothing in a child of fork(): the file, and the records not yet in it, are the parent's.
class Trace final : public Listener {
 public:
  explicit Trace(const std::string& file);
  void on_event(const HookEvent& event) override;
  /// Completes the file. Without `wait`, only if no other thread is writing it.
  void finish(bool wait);

 private:
  double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void record(const HookEvent& event);
  void begin(const HookEvent& event);
  void end(std::uint64_t id);
  void memory(const HookEvent& event);
  void device_time(const HookEvent& event);
  void section(const HookEvent& event, char phase);
  void note_live_memory();
  void write_memory(const std::string& space);
  void write_instant(const std::string& name, const char* category, const std::string& arguments);
  void write_span(const Span& span, double end);
  void flush(double time) {
    if (getpid() == process_) file_.write(records_);  // a child of fork has its parent's records
    records_.clear();
    flushed_ = time;
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_ = Clock::now();
  const pid_t process_ = getpid();
  std::mutex mutex_;
  files::OutputFile file_;
  std::string records_;
  double flushed_ = 0;
  bool finished_ = false;
  TraceTracks tracks_;
  std::unordered_map<std::uint64_t, Span> open_;        // by the event's id
  std::unordered_map<int, std::vector<Span>> regions_;  // by thread
  std::unordered_map<std::uint64_t, Track> sections_;   // those that run
  std::unordered_map<std::string, std::int64_t> held_;  // bytes, by memory
};

}  // namespace strata::inline STRATA_ABI::detail::profiling
