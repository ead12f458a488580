// SPDX-License-Identifier: Apache-2.0
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include <strata/core/log.hpp>

namespace strata::inline STRATA_ABI {

namespace {

struct LogListener {
  LogFunction function;
  void* context;
};
// Never destroyed: messages come until the very end of the process.
struct LogState {
  std::mutex mutex;
  LogListener listener{nullptr, nullptr};
};
LogState& log_state() {
  static auto* const state = new LogState;
  return *state;
}

void say(LogLevel level, const char* text) {
  LogListener listener;
  {
    const std::lock_guard lock(log_state().mutex);
    listener = log_state().listener;
  }
  if (listener.function != nullptr) return listener.function(level, text, listener.context);
  std::fprintf(stderr, "strata: %s: %s\n", to_string(level), text);  // one call: lines of threads stay whole
}

}  // namespace

const char* to_string(LogLevel level) {
  constexpr const char* words[] = {"error", "warning", "info", "debug"};
  return words[static_cast<int>(level)];
}

void set_log_function(LogFunction function, void* context) {
  const std::lock_guard lock(log_state().mutex);
  log_state().listener = {function, context};
}

void detail::log_message(LogLevel level, const char* format, ...) noexcept {
  if (!logs(level)) return;
  char brief[1024];
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(brief, sizeof brief, format, arguments);
  va_end(arguments);
  try {
    if (length < static_cast<int>(sizeof brief)) {
      say(level, brief);
    } else {
      std::vector<char> text(static_cast<std::size_t>(length) + 1);
      std::vsnprintf(text.data(), text.size(), format, again);
      say(level, text.data());
    }
  } catch (const std::bad_alloc&) {
    say(level, brief);
  }
  va_end(again);
}

void detail::set_log_level(const char* word) {
  for (const LogLevel level : {LogLevel::Error, LogLevel::Warning, LogLevel::Info, LogLevel::Debug})
    if (std::strcmp(word, to_string(level)) == 0)
      __atomic_store_n(&log_level, static_cast<int>(level), __ATOMIC_RELAXED);
}

}  // namespace strata::inline STRATA_ABI
