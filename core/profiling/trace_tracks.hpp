// Tracks of a trace: which line of the picture an event is drawn on. Private to the trace.
//
// Work of one queue has one track. Where threads share a queue of a host device their work overlaps, which
// one track cannot show: it gets further ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <strata/core/profiling/hooks.hpp>

namespace strata::inline STRATA_ABI::detail::profiling {

/// A line of the picture, in the numbers of the file format: `process` is a group of lines.
struct Track {
  int process;
  int thread;
  friend bool operator==(Track, Track) = default;
};

/// The groups.
inline constexpr int host_threads = 1, device_queues = 2, first_clock = 3;

/// Assigns tracks; appends to `records` the names of new ones.
class TraceTracks {
 public:
  /// The track of the calling thread.
  Track of_thread(std::string& records);
  /// A track of the queue of `event` for work that begins now on the calling thread; until leave().
  Track enter(const HookEvent& event, std::string& records);
  void leave(Track track);
  /// The track of the queue of `event` by the clock that it names.
  Track of_clock(const HookEvent& event, std::string& records);

 private:
  struct Lane {
    Track track;
    int owner;  // the thread whose work is on it
    int depth;
  };
  using Queue = std::tuple<std::string, int, std::uint64_t>;

  static void name_track(Track track, const std::string& name, std::string& records);
  void name_group(int process, const std::string& name, std::string& records);

  std::vector<int> threads_;
  std::map<Queue, std::vector<Lane>> lanes_;
  std::map<std::string, int> clocks_;
  std::map<std::pair<int, Queue>, Track> clock_tracks_;
  std::vector<int> named_groups_;
  int next_lane_ = 1;
};

}  // namespace strata::inline STRATA_ABI::detail::profiling
