// expect: a scheduler that is given as an object is copied, once for each window: make its class copyable
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/tasks/plan/forwarding_scheduler.hpp>
#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/tasks.hpp>

void run(strata::TaskGraph& graph) {
  using namespace strata;
  const tasks::ForwardingScheduler owner(tasks::make_scheduler("eager"));
  graph.run(on(Emulated{0}), owner);
}
