// Calls of launch, launch_reduce and launch_scan that do not compile: functions of the last resort, which are
// taken where no other one can be called, and say what was written and what to write. launch.hpp includes
// them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/place.hpp>

namespace strata::inline STRATA_ABI {

/// These do not compile: the label belongs to the place.
template <class... Rest>
void launch(const char*, const Rest&...) {
  static_assert(detail::never<Rest...>,
                "strata: launch: the label belongs to the place: launch(on(device).named(\"x\"), ...): you "
                "wrote launch(\"x\", place, ...); write that");
}
template <class... Rest>
void launch_reduce(const char*, const Rest&...) {
  static_assert(
      detail::never<Rest...>,
      "strata: launch_reduce: the label belongs to the place: launch_reduce(on(device).named(\"x\"), ...): "
      "you wrote launch_reduce(\"x\", place, ...); write that");
}
template <class... Rest>
void launch_scan(const char*, const Rest&...) {
  static_assert(detail::never<Rest...>,
                "strata: launch_scan: the label belongs to the place: launch_scan(on(device).named(\"x\"), "
                "...): you wrote launch_scan(\"x\", place, ...); write that");
}

namespace detail {

struct NoPlaceOfLaunch {
  template <LacksOn W>
  NoPlaceOfLaunch(const W&) {
    static_assert(
        never<W>,
        "strata: launch: a place is made by on(...): you wrote launch(device, n, kernel, ...); write "
        "launch(on(device), n, kernel, ...), as in launch(on(Threads{}), n, kernel, in(x), out(y))");
  }
  template <Place W>
  NoPlaceOfLaunch(const W&) {
    static_assert(never<W>,
                  "strata: launch: no range follows the place: you wrote launch(place, kernel, n, ...), or a "
                  "real number for n; write launch(place, n, kernel, ...), as in launch(on(Threads{}), n, "
                  "kernel, in(x), out(y))");
  }
  template <class W>
  requires(!LacksOn<W> && !Place<W>) NoPlaceOfLaunch(const W&) {
    static_assert(
        never<W>,
        "strata: launch: nothing says where it runs: you wrote launch(n, kernel, ...); write "
        "launch(on(device), n, kernel, ...), as in launch(on(Threads{}), n, kernel, in(x), out(y))");
  }
};
struct NoPlaceOfLaunchReduce {
  template <LacksOn W>
  NoPlaceOfLaunchReduce(const W&) {
    static_assert(never<W>,
                  "strata: launch_reduce: a place is made by on(...): you wrote launch_reduce(device, n, "
                  "kernel, ...); write launch_reduce(on(device), n, kernel, ...), as in "
                  "launch_reduce(on(Threads{}), n, kernel, Sum(s), in(x))");
  }
  template <Place W>
  NoPlaceOfLaunchReduce(const W&) {
    static_assert(never<W>,
                  "strata: launch_reduce: no range follows the place: you wrote launch_reduce(place, kernel, "
                  "n, ...), or a real number for n; write launch_reduce(place, n, kernel, ...), as in "
                  "launch_reduce(on(Threads{}), n, kernel, Sum(s), in(x))");
  }
  template <class W>
  requires(!LacksOn<W> && !Place<W>) NoPlaceOfLaunchReduce(const W&) {
    static_assert(never<W>,
                  "strata: launch_reduce: nothing says where it runs: you wrote launch_reduce(n, kernel, "
                  "...); write launch_reduce(on(device), n, kernel, ...), as in launch_reduce(on(Threads{}), "
                  "n, kernel, Sum(s), in(x))");
  }
};
struct NoPlaceOfLaunchScan {
  template <LacksOn W>
  NoPlaceOfLaunchScan(const W&) {
    static_assert(never<W>,
                  "strata: launch_scan: a place is made by on(...): you wrote launch_scan(device, n, kernel, "
                  "...); write launch_scan(on(device), n, kernel, ...), as in launch_scan(on(Threads{}), n, "
                  "kernel, Sum(s), in(x), out(y))");
  }
  template <Place W>
  NoPlaceOfLaunchScan(const W&) {
    static_assert(never<W>,
                  "strata: launch_scan: no range follows the place: you wrote launch_scan(place, kernel, n, "
                  "...), or a real number for n; write launch_scan(place, n, kernel, ...), as in "
                  "launch_scan(on(Threads{}), n, kernel, Sum(s), in(x), out(y))");
  }
  template <class W>
  requires(!LacksOn<W> && !Place<W>) NoPlaceOfLaunchScan(const W&) {
    static_assert(never<W>,
                  "strata: launch_scan: nothing says where it runs: you wrote launch_scan(n, kernel, ...); "
                  "write launch_scan(on(device), n, kernel, ...), as in launch_scan(on(Threads{}), n, "
                  "kernel, Sum(s), in(x), out(y))");
  }
};

}  // namespace detail

/// Nor do these: a device or a queue is not a place, none is given, or no range follows it.
inline void launch(detail::NoPlaceOfLaunch, detail::AnyOrNone = {}, detail::AnyOrNone = {},
                   detail::AnyOrNone = {}, detail::AnyOrNone = {}, detail::AnyOrNone = {},
                   detail::AnyOrNone = {}, detail::AnyOrNone = {}, detail::AnyOrNone = {}) {}
inline void launch_reduce(detail::NoPlaceOfLaunchReduce, detail::AnyOrNone = {}, detail::AnyOrNone = {},
                          detail::AnyOrNone = {}, detail::AnyOrNone = {}, detail::AnyOrNone = {},
                          detail::AnyOrNone = {}, detail::AnyOrNone = {}, detail::AnyOrNone = {}) {}
inline void launch_scan(detail::NoPlaceOfLaunchScan, detail::AnyOrNone = {}, detail::AnyOrNone = {},
                        detail::AnyOrNone = {}, detail::AnyOrNone = {}, detail::AnyOrNone = {},
                        detail::AnyOrNone = {}, detail::AnyOrNone = {}, detail::AnyOrNone = {}) {}

}  // namespace strata::inline STRATA_ABI
