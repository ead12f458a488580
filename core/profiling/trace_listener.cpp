// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <utility>

#include <strata/core/allocation_report.hpp>
#include <strata/core/profiling/event_name.hpp>
#include <strata/core/profiling/json_text.hpp>
#include <strata/core/profiling/trace_listener.hpp>

namespace strata::inline STRATA_ABI::detail::profiling {

namespace {

constexpr std::size_t buffered_bytes = 64 * 1024;
constexpr double buffered_seconds = 1;

std::string argument(const char* name, std::uint64_t value) {
  return ",\"" + std::string(name) + "\":" + std::to_string(value);
}
std::string argument(const char* name, const std::string& value) {
  return ",\"" + std::string(name) + "\":" + json_quoted(value);
}
// To a nanosecond. Not by printf, whose decimal point is that of the user's language.
std::string microseconds(double seconds) {
  char text[400];  // enough for any double
  return {text, std::to_chars(text, text + sizeof text, seconds * 1e6, std::chars_format::fixed, 3).ptr};
}

const char* category_of(EventKind begin) {
  switch (begin) {
    case EventKind::BeginFor:
      return "for";
    case EventKind::BeginReduce:
      return "reduce";
    case EventKind::BeginScan:
      return "scan";
    case EventKind::BeginCopy:
      return "copy";
    case EventKind::BeginInitialize:
      return "initialize";
    case EventKind::BeginGraph:
      return "graph";
    default:
      return "fence";
  }
}

std::string arguments_of(const HookEvent& event) {
  std::string text;
  if (event.items != 0) text += argument("items", static_cast<std::uint64_t>(event.items));
  if (event.bytes != 0) text += argument("bytes", event.bytes);
  if (event.kernel_type != nullptr && *event.label != '\0')
    text += argument("kernel", std::string(kernel_name("", event.kernel_type, event.tag_type)));
  if (*event.source.kind != '\0') text += argument("from", describe_space(event.source));
  if (*event.destination.kind != '\0') text += argument("to", describe_space(event.destination));
  return text;
}

}  // namespace

Trace::Trace(const std::string& file) : file_("trace", file, "[\n") {
  records_.reserve(2 * buffered_bytes);
  note_live_memory();
}

void Trace::on_event(const HookEvent& event) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  record(event);
  const double time = now();
  if (records_.size() >= buffered_bytes || time - flushed_ > buffered_seconds) flush(time);
}

void Trace::record(const HookEvent& event) {
  switch (event.kind) {
    case EventKind::BeginFor:
    case EventKind::BeginReduce:
    case EventKind::BeginScan:
    case EventKind::BeginCopy:
    case EventKind::BeginInitialize:
    case EventKind::BeginGraph:
    case EventKind::BeginFence:
      return begin(event);
    case EventKind::EndFor:
    case EventKind::EndReduce:
    case EventKind::EndScan:
    case EventKind::EndCopy:
    case EventKind::EndInitialize:
    case EventKind::EndGraph:
    case EventKind::EndFence:
      return end(event.id);
    case EventKind::Allocate:
    case EventKind::Deallocate:
      return memory(event);
    case EventKind::PushRegion: {
      const Track track = tracks_.of_thread(records_);
      regions_[track.thread].push_back({track, now(), event.label, "region", ""});
      return;
    }
    case EventKind::PopRegion: {
      auto& stack = regions_[tracks_.of_thread(records_).thread];
      if (stack.empty()) return;  // it began before the trace
      write_span(stack.back(), now());
      stack.pop_back();
      return;
    }
    case EventKind::Mark:
      return write_instant(event.label, "mark", "");
    case EventKind::Metadata:
      return write_instant(event.label, "metadata", argument("value", std::string(event.value)));
    case EventKind::StartSection:
      return section(event, 'b');
    case EventKind::StopSection:
      return section(event, 'e');
    case EventKind::CreateSection:
    case EventKind::DestroySection:
      return;
    case EventKind::DeviceTime:
      return device_time(event);
  }
}

void Trace::begin(const HookEvent& event) {
  const bool fence = event.kind == EventKind::BeginFence;
  const Track track = fence ? tracks_.of_thread(records_) : tracks_.enter(event, records_);
  std::string arguments = arguments_of(event);
  if (fence) {
    const std::string device = std::string(event.device) + "{" + std::to_string(event.instance) + "}";
    arguments =
        argument("waits for", event.all_queues ? device : device + " queue " + std::to_string(event.queue));
  }
  Span span{track, 0, event_name(event), category_of(event.kind), std::move(arguments)};
  span.begin = now();
  open_.emplace(event.id, std::move(span));
}

void Trace::end(std::uint64_t id) {
  const double time = now();
  const auto span = open_.find(id);
  if (span == open_.end()) return;  // it began before the trace
  write_span(span->second, time);
  if (span->second.track.process == device_queues) tracks_.leave(span->second.track);
  open_.erase(span);
}

void Trace::memory(const HookEvent& event) {
  const bool born = event.kind == EventKind::Allocate;
  const std::string space = describe_space(event.destination);
  const auto bytes = static_cast<std::int64_t>(event.bytes);
  std::int64_t& held = held_[space];
  held = std::max<std::int64_t>(0, held + (born ? bytes : -bytes));
  write_instant((born ? "allocate " : "free ") + std::string(event.label), "memory",
                argument("bytes", event.bytes) + argument("in", space));
  write_memory(space);
}

// Memory allocated before the trace is freed within it.
void Trace::note_live_memory() {
  visit_allocations(
      [](void* context, const AllocationInfo& info) {
        static_cast<Trace*>(context)->held_[describe_space(info.space)] +=
            static_cast<std::int64_t>(info.bytes);
      },
      this);
  for (const auto& [space, bytes] : held_) write_memory(space);
}

void Trace::write_memory(const std::string& space) {
  records_ += "{\"ph\":\"C\",\"name\":" + json_quoted("bytes in " + space) +
              ",\"ts\":" + microseconds(now()) + ",\"pid\":" + std::to_string(host_threads) +
              ",\"args\":{\"bytes\":" + std::to_string(held_[space]) + "}},\n";
}

void Trace::write_instant(const std::string& name, const char* category, const std::string& arguments) {
  const Track track = tracks_.of_thread(records_);
  records_ += "{\"ph\":\"i\",\"s\":\"t\",\"name\":" + json_quoted(name) + ",\"cat\":\"" + category +
              "\",\"ts\":" + microseconds(now()) + ",\"pid\":" + std::to_string(track.process) +
              ",\"tid\":" + std::to_string(track.thread) + ",\"args\":{" +
              (arguments.empty() ? "" : arguments.substr(1)) + "}},\n";
}

void Trace::write_span(const Span& span, double end) {
  records_ += "{\"ph\":\"X\",\"name\":" + json_quoted(span.name) + ",\"cat\":\"" + span.category +
              "\",\"ts\":" + microseconds(span.begin) + ",\"dur\":" + microseconds(end - span.begin) +
              ",\"pid\":" + std::to_string(span.track.process) +
              ",\"tid\":" + std::to_string(span.track.thread) + ",\"args\":{" +
              (span.arguments.empty() ? "" : span.arguments.substr(1)) + "}},\n";
}

void Trace::device_time(const HookEvent& event) {
  const Track track = tracks_.of_clock(event, records_);
  const std::string name = (event.bytes > 0 ? "copy to " : "") + std::string(event.label);
  write_span({track, event.begin_seconds, name, "device", arguments_of(event)}, event.end_seconds);
}

// Sections may overlap, so they are not spans of a thread.
void Trace::section(const HookEvent& event, char phase) {
  if (phase == 'b') sections_.insert_or_assign(event.id, tracks_.of_thread(records_));
  const auto begun = sections_.find(event.id);
  if (begun == sections_.end()) return;
  records_ += std::string("{\"ph\":\"") + phase + "\",\"name\":" + json_quoted(event.label) +
              ",\"cat\":\"section\",\"id\":" + std::to_string(event.id) + ",\"ts\":" + microseconds(now()) +
              ",\"pid\":" + std::to_string(begun->second.process) +
              ",\"tid\":" + std::to_string(begun->second.thread) + "},\n";
  if (phase == 'e') sections_.erase(begun);
}

void Trace::finish(bool wait) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (wait) lock.lock();
  else if (!lock.try_lock()) return;
  if (std::exchange(finished_, true) || getpid() != process_) return;
  const double time = now();
  for (const auto& [thread, stack] : regions_)
    for (const Span& span : stack) write_span(span, time);
  for (const auto& [id, span] : open_) write_span(span, time);
  if (records_.ends_with(",\n")) records_.resize(records_.size() - 2);
  else records_ += "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1,\"args\":{\"labels\":\"\"}}";
  file_.write(records_);
  file_.finish("\n]\n");
}

}  // namespace strata::inline STRATA_ABI::detail::profiling
