// main_guard: a main() that ends with a message and a status where the program would end in std::terminate.
//
//   int run() { ...; return 0; }                     // or void run(), or int run(int argc, char** argv)
//   int main(int argc, char** argv) { return strata::main_guard(argc, argv, run); }
//
// Not for programs that have a Runtime object of their own, or use Strata after run().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// Calls `run(context, argc, argv)` as main_guard says.
int guard_main(int argc, char** argv, int (*run)(void* context, int argc, char** argv), void* context);

}  // namespace detail

/// Starts the runtime, taking the options `--strata-*` out of argv, calls run() or run(argc, argv), and ends
/// the runtime, which waits for all queued work. Returns the status for main() to return: that of `run`, 0 if
/// it returns nothing, but at least 1 if queued work failed and no wait has thrown its error. An exception
/// that leaves `run`, or a setting that cannot be read, is printed to stderr as
/// "PROGRAM: error: MESSAGE", and gives 1.
template <class Run>
int main_guard(int argc, char** argv, Run run) {
  constexpr bool takes_arguments = std::is_invocable_v<Run&, int, char**>;
  static_assert(takes_arguments || std::is_invocable_v<Run&>,
                "main_guard: run must be callable as run() or run(argc, argv)");
  if constexpr (takes_arguments || std::is_invocable_v<Run&>) {
    const auto call = [](void* context, [[maybe_unused]] int count, [[maybe_unused]] char** values) -> int {
      Run& function = *static_cast<Run*>(context);
      const auto result = [&]() -> decltype(auto) {
        if constexpr (takes_arguments) return function(count, values);
        else return function();
      };
      if constexpr (std::is_void_v<decltype(result())>) return result(), 0;
      else return result();
    };
    return detail::guard_main(argc, argv, call, &run);
  }
}

}  // namespace strata::inline STRATA_ABI
