#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>

namespace strata::inline STRATA_ABI {

namespace {

struct EndActions {
  std::mutex mutex;
  std::vector<void (*)() noexcept> actions;
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
}

Runtime::Runtime(int& argc, char** argv) {
  if (parse_settings(argc, argv)) std::exit(0);
  if (settings().print_config) std::fputs(settings_help().c_str(), stdout);
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
  // A program that never calls finalize still ends its devices in order, before static views are destroyed.
  if (end_actions().actions.empty()) std::atexit(finalize);
  end_actions().actions.push_back(action);
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
