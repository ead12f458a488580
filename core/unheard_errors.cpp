// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#include <unistd.h>

#include <strata/core/error_text.hpp>
#include <strata/core/log.hpp>
#include <strata/core/unheard_errors.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

struct Held {
  std::exception_ptr error;
  std::string work;
  int holders = 1;
  bool reported = false;
};

// Never destroyed: queues of static duration may end later.
struct HeldErrors {
  const pid_t process = getpid();
  std::mutex mutex;
  std::vector<Held> all;

  auto find(const std::exception_ptr& error) {
    return std::find_if(all.begin(), all.end(), [&](const Held& held) { return held.error == error; });
  }
};

HeldErrors& held_errors() {
  static HeldErrors* const instance = new HeldErrors;
  return *instance;
}

constinit std::atomic<int> printed{0};

}  // namespace

void hold_error(const std::exception_ptr& error, const std::string& work) {
  HeldErrors& errors = held_errors();
  const std::lock_guard lock(errors.mutex);
  if (const auto held = errors.find(error); held != errors.all.end()) ++held->holders;
  else errors.all.push_back({error, work});
}

bool share_error(const std::exception_ptr& error) noexcept {
  HeldErrors& errors = held_errors();
  const std::lock_guard lock(errors.mutex);
  const auto held = errors.find(error);
  if (held == errors.all.end()) return false;
  ++held->holders;
  return true;
}

void error_was_reported(const std::exception_ptr& error) noexcept {
  HeldErrors& errors = held_errors();
  const std::lock_guard lock(errors.mutex);
  if (const auto held = errors.find(error); held != errors.all.end()) held->reported = true;
}

void drop_error(const std::exception_ptr& error) noexcept {
  Held last;  // destroyed without the lock
  {
    HeldErrors& errors = held_errors();
    const std::lock_guard lock(errors.mutex);
    const auto held = errors.find(error);
    if (held == errors.all.end() || --held->holders > 0) return;
    last = std::move(*held);
    errors.all.erase(held);
  }
  if (!last.reported) print_unheard_error(last.work, last.error);
}

void print_unheard_error(const std::string& work, const char* what) noexcept {
  printed.fetch_add(1, std::memory_order_relaxed);
  log_message(LogLevel::Error, "%s failed, which nobody waited for: %s", work.c_str(), what);
}

void print_unheard_error(const std::string& work, const std::exception_ptr& error) noexcept {
  with_text_of(error, [&](const char* text) { print_unheard_error(work, text); });
}

void print_held_errors() noexcept {
  std::vector<Held> unreported;
  {
    HeldErrors& errors = held_errors();
    if (getpid() != errors.process) return;
    const std::lock_guard lock(errors.mutex);
    for (Held& held : errors.all)
      if (!std::exchange(held.reported, true)) unreported.push_back(held);
  }
  for (const Held& held : unreported) print_unheard_error(held.work, held.error);
}

int unheard_errors() noexcept { return printed.load(std::memory_order_relaxed); }

}  // namespace strata::inline STRATA_ABI::detail
