// The log: errors that cannot be thrown, warnings, and, on request, what Strata chose by itself (devices,
// threads, memory, plans). Exceptions are not logged: the code that catches them reports them.
//
// The setting `log` (STRATA_LOG, --strata-log) is the level: error, warning, info or debug; each includes
// those before it. Messages go to stderr, a line each that begins with "strata: warning: " or its like, or to
// a function of the program. Not for hot paths: a message that is not printed costs a load and a branch, one
// that is printed a call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// How important a message is, the most important first.
enum class LogLevel { Error, Warning, Info, Debug };

/// Receives each message, without level and newline; `text` is valid during the call only. It may be called
/// by any thread, by several at once, also while locks of Strata are held and while the program ends: it does
/// not throw, and does not call Strata.
using LogFunction = void (*)(LogLevel level, const char* text, void* context);

/// From now on messages of the levels that the setting `log` allows go to `function`, with `context`; null:
/// to stderr, as at first. Another thread may still be in a call of the previous function when this returns.
void set_log_function(LogFunction function, void* context = nullptr);

/// "error", "warning", "info", "debug".
const char* to_string(LogLevel level);

namespace detail {

inline constinit int log_level = static_cast<int>(LogLevel::Warning);  // what the setting says; read relaxed

/// Whether messages of the level are printed. Before the settings have been read: warnings and errors.
inline bool logs(LogLevel level) {
  return static_cast<int>(level) <= __atomic_load_n(&log_level, __ATOMIC_RELAXED);
}

/// Prints it, if the level is allowed. Never throws; without memory for all of it, the text is truncated.
[[gnu::format(printf, 2, 3)]] void log_message(LogLevel level, const char* format, ...) noexcept;

/// For the settings: from now on this level holds, one of the words of to_string.
void set_log_level(const char* word);

}  // namespace detail

}  // namespace strata::inline STRATA_ABI
