// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include <cxxabi.h>

#include <strata/core/profiling/hooks.hpp>
#include <strata/core/profiling/observers.hpp>

namespace strata::inline STRATA_ABI {

namespace {

struct Listeners {
  std::recursive_mutex mutex;  // a callback may free a view, which is an event
  std::vector<Listener*> all;
};

// Never destroyed: static views may be freed, and so observed, after main.
Listeners& listeners() {
  static Listeners* const instance = new Listeners;
  return *instance;
}

using BeforeEvent = void (*)(const HookEvent&) noexcept;
constinit BeforeEvent before_event = nullptr;

constinit thread_local int quiet_scopes = 0;

bool is_work(EventKind kind) { return kind <= EventKind::EndFence; }

// Names of types, by their mangled ones: demangling takes a microsecond, and a program has few types. By
// contents: another library may come to lie where one was. Never destroyed: kernels are named to the very
// end, where the thread-local objects of the main thread are gone.
struct Names {
  std::mutex mutex;
  std::map<std::string, std::string> known;
};
Names& names() {
  static Names* const instance = new Names;
  return *instance;
}

std::string demangled(const char* type) {
  int status = 0;
  char* const text = abi::__cxa_demangle(type, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : type;
  std::free(text);
  return name;
}

void emit_section(EventKind kind, const char* label, std::uint64_t id) {
  if (detail::profiling::hooks_active()) detail::profiling::emit({.kind = kind, .label = label, .id = id});
}

}  // namespace

void add_listener(Listener& listener) {
  detail::profiling::start_observers();
  const std::lock_guard lock(listeners().mutex);
  listeners().all.push_back(&listener);
  __atomic_fetch_add(&detail::profiling::listener_count, 1, __ATOMIC_RELAXED);
}

void remove_listener(Listener& listener) {
  const std::lock_guard lock(listeners().mutex);
  auto& all = listeners().all;
  const auto removed = static_cast<int>(std::erase(all, &listener));
  __atomic_fetch_sub(&detail::profiling::listener_count, removed, __ATOMIC_RELAXED);
}

const char* kernel_name(const char* label, const char* kernel_type, const char* tag_type) {
  if (label != nullptr && *label != '\0') return label;
  if (kernel_type == nullptr) return "";
  std::string key = kernel_type;
  if (tag_type != nullptr) key += std::string("/") + tag_type;
  const std::lock_guard lock(names().mutex);
  const auto [entry, is_new] = names().known.try_emplace(key);
  if (is_new) entry->second = demangled(kernel_type) + (tag_type != nullptr ? "/" + demangled(tag_type) : "");
  return entry->second.c_str();
}

void push_region(const char* label) {
  if (detail::profiling::hooks_active())
    detail::profiling::emit({.kind = EventKind::PushRegion, .label = label});
}

void pop_region() {
  if (detail::profiling::hooks_active()) detail::profiling::emit({.kind = EventKind::PopRegion});
}

void mark(const char* label) {
  if (detail::profiling::hooks_active()) detail::profiling::emit({.kind = EventKind::Mark, .label = label});
}

void declare_metadata(const char* key, const char* value) {
  if (detail::profiling::hooks_active())
    detail::profiling::emit({.kind = EventKind::Metadata, .label = key, .value = value});
}

Section::Section(const char* label) : label_(label), id_(detail::profiling::next_event_id()) {
  emit_section(EventKind::CreateSection, label_, id_);
}
Section::~Section() { emit_section(EventKind::DestroySection, label_, id_); }
void Section::start() { emit_section(EventKind::StartSection, label_, id_); }
void Section::stop() { emit_section(EventKind::StopSection, label_, id_); }

namespace detail::profiling {

void emit(const HookEvent& event) noexcept {
  if (quiet_scopes > 0 && is_work(event.kind)) return;
  start_observers();
  if (const BeforeEvent action = __atomic_load_n(&before_event, __ATOMIC_ACQUIRE)) action(event);
  const std::lock_guard lock(listeners().mutex);
  for (Listener* listener : listeners().all) listener->on_event(event);
}

std::uint64_t next_event_id() {
  static std::uint64_t id = 0;
  return __atomic_add_fetch(&id, 1, __ATOMIC_RELAXED);
}

void set_before_event(void (*action)(const HookEvent&) noexcept) {
  __atomic_store_n(&before_event, action, __ATOMIC_RELEASE);
}

EventKind end_of(EventKind begin) {
  switch (begin) {
    case EventKind::BeginFor:
      return EventKind::EndFor;
    case EventKind::BeginReduce:
      return EventKind::EndReduce;
    case EventKind::BeginScan:
      return EventKind::EndScan;
    case EventKind::BeginCopy:
      return EventKind::EndCopy;
    case EventKind::BeginInitialize:
      return EventKind::EndInitialize;
    case EventKind::BeginGraph:
      return EventKind::EndGraph;
    default:
      return EventKind::EndFence;
  }
}

void EventScope::begin(const HookEvent& event) {
  new (&kept) HookEvent(event);
  kept.id = next_event_id();
  begun_ = true;
  emit(kept);
}

void EventScope::end() {
  kept.kind = end_of(kept.kind);
  emit(kept);
}

QuietWork::QuietWork() { ++quiet_scopes; }
QuietWork::~QuietWork() { --quiet_scopes; }

}  // namespace detail::profiling
}  // namespace strata::inline STRATA_ABI
