// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <unistd.h>

#include <strata/core/profiling/json_text.hpp>
#include <strata/core/profiling/trace_tracks.hpp>

namespace strata::inline STRATA_ABI::detail::profiling {

namespace {

// One system call a thread.
int this_thread() {
  thread_local const int number = gettid();
  return number;
}

std::string queue_name(const HookEvent& event) {
  return std::string(event.device) + "{" + std::to_string(event.instance) + "} " +
         (event.queue == 0 ? "default queue" : "queue " + std::to_string(event.queue));
}

}  // namespace

void TraceTracks::name_track(Track track, const std::string& name, std::string& records) {
  const std::string place =
      "\"pid\":" + std::to_string(track.process) + ",\"tid\":" + std::to_string(track.thread);
  records += "{\"ph\":\"M\",\"name\":\"thread_name\"," + place + ",\"args\":{\"name\":" + json_quoted(name) +
             "}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\"," + place +
             ",\"args\":{\"sort_index\":" + std::to_string(track.thread) + "}},\n";
}

void TraceTracks::name_group(int process, const std::string& name, std::string& records) {
  if (std::find(named_groups_.begin(), named_groups_.end(), process) != named_groups_.end()) return;
  named_groups_.push_back(process);
  records += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + std::to_string(process) +
             ",\"tid\":0,\"args\":{\"name\":" + json_quoted(name) + "}},\n";
}

Track TraceTracks::of_thread(std::string& records) {
  const int thread = this_thread();
  const Track track{host_threads, thread};
  if (std::find(threads_.begin(), threads_.end(), thread) != threads_.end()) return track;
  threads_.push_back(thread);
  name_group(host_threads, "threads of the host", records);
  name_track(track, thread == getpid() ? "main thread" : "thread " + std::to_string(thread), records);
  return track;
}

Track TraceTracks::enter(const HookEvent& event, std::string& records) {
  const int self = this_thread();
  auto& lanes = lanes_[{event.device, event.instance, event.queue}];
  auto lane =
      std::find_if(lanes.begin(), lanes.end(), [&](auto& l) { return l.depth > 0 && l.owner == self; });
  if (lane == lanes.end())
    lane = std::find_if(lanes.begin(), lanes.end(), [](auto& l) { return l.depth == 0; });
  if (lane == lanes.end()) {
    name_group(device_queues, "queues of devices", records);
    lanes.push_back({{device_queues, next_lane_++}, self, 0});
    lane = lanes.end() - 1;
    const bool further = lanes.size() > 1;
    name_track(lane->track,
               queue_name(event) + (further ? " (at once: " + std::to_string(lanes.size()) + ")" : ""),
               records);
  }
  lane->owner = self;
  ++lane->depth;
  return lane->track;
}

void TraceTracks::leave(Track track) {
  for (auto& [queue, lanes] : lanes_)
    for (Lane& lane : lanes)
      if (lane.track == track) --lane.depth;
}

Track TraceTracks::of_clock(const HookEvent& event, std::string& records) {
  const std::string clock = std::string(event.device) + ", " + event.value;
  const int process =
      clocks_.try_emplace(clock, first_clock + static_cast<int>(clocks_.size())).first->second;
  const auto key = std::pair(process, Queue(event.device, event.instance, event.queue));
  const auto [entry, is_new] = clock_tracks_.try_emplace(key, Track{process, next_lane_});
  if (is_new) {
    ++next_lane_;
    name_group(process, clock, records);
    name_track(entry->second, queue_name(event), records);
  }
  return entry->second;
}

}  // namespace strata::inline STRATA_ABI::detail::profiling
