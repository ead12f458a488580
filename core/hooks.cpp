#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <cxxabi.h>

#include <strata/core/hooks.hpp>

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

}  // namespace

void add_listener(Listener& listener) {
  const std::lock_guard lock(listeners().mutex);
  listeners().all.push_back(&listener);
  __atomic_fetch_add(&detail::listener_count, 1, __ATOMIC_RELAXED);
}

void remove_listener(Listener& listener) {
  const std::lock_guard lock(listeners().mutex);
  auto& all = listeners().all;
  const auto removed = static_cast<int>(std::erase(all, &listener));
  __atomic_fetch_sub(&detail::listener_count, removed, __ATOMIC_RELAXED);
}

const char* kernel_name(const HookEvent& event) {
  if (event.label && *event.label) return event.label;
  if (event.kernel_type == nullptr) return "";
  thread_local std::string name;
  int status = 0;
  char* const text = abi::__cxa_demangle(event.kernel_type, nullptr, nullptr, &status);
  name = status == 0 ? text : event.kernel_type;
  std::free(text);
  return name.c_str();
}

void push_region(const char* label) {
  if (detail::hooks_active()) detail::emit({.kind = EventKind::PushRegion, .label = label});
}

void pop_region() {
  if (detail::hooks_active()) detail::emit({.kind = EventKind::PopRegion});
}

void mark(const char* label) {
  if (detail::hooks_active()) detail::emit({.kind = EventKind::Mark, .label = label});
}

namespace detail {

void emit(const HookEvent& event) noexcept {
  const std::lock_guard lock(listeners().mutex);
  for (Listener* listener : listeners().all) listener->on_event(event);
}

std::uint64_t next_event_id() {
  static std::uint64_t id = 0;
  return __atomic_add_fetch(&id, 1, __ATOMIC_RELAXED);
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
