// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/core/profiling/observers.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/core/settings_table.hpp>
#include <strata/core/unheard_errors.hpp>

namespace strata::inline STRATA_ABI {

namespace {

struct EndActions {
  std::mutex mutex;
  std::vector<void (*)() noexcept> actions;
  bool at_exit = false;
};

EndActions& end_actions() {
  static EndActions* const instance = new EndActions;
  return *instance;
}

}  // namespace

bool runtime_ended() { return __atomic_load_n(&detail::runtime_state, __ATOMIC_RELAXED) != 0; }

void finalize() {
  if (__atomic_exchange_n(&detail::runtime_state, 1, __ATOMIC_ACQ_REL) != 0) return;
  std::vector<void (*)() noexcept> actions;
  {
    const std::lock_guard lock(end_actions().mutex);
    actions.swap(end_actions().actions);
  }
  for (auto action = actions.rbegin(); action != actions.rend(); ++action) (*action)();
  detail::print_held_errors();
  detail::profiling::finish_observers();
}

Runtime::Runtime(int& argc, char** argv) {
  const bool tools_help = detail::take_kokkos_options(argc, argv);
  if (parse_settings(argc, argv)) std::exit(0);
  if (settings().print_config) std::fputs(settings_help().c_str(), stdout);
  detail::profiling::update_observers();
  if (!tools_help) return;
  detail::profiling::print_tools_help();
  std::exit(0);
}

namespace detail {

void fail_ended(const char* what) {
  throw RuntimeEnded(
      std::string(what) +
      ": the runtime has ended; do this before strata::finalize() or the end of the Runtime object");
}

void at_end(void (*action)() noexcept) {
  const std::lock_guard lock(end_actions().mutex);
  // Nobody would call it any more.
  require_running("the start of a device");
  end_actions().actions.push_back(action);
  if (!std::exchange(end_actions().at_exit, true)) std::atexit(finalize);
}

// Devices then still end in order, before static views are destroyed.
void end_at_exit() {
  const std::lock_guard lock(end_actions().mutex);
  if (!std::exchange(end_actions().at_exit, true)) std::atexit(finalize);
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
