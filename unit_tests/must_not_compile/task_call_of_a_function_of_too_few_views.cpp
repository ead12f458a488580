// expect: no device can call the function as f\(queue, views\.\.\.\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/strata.hpp>

struct OfOneView {
  void operator()(const auto& queue, const auto& x) const;
};
void add(strata::TaskGraph& graph, const strata::CoherentArray<double, strata::rank<1>>& x,
         const strata::CoherentArray<double, strata::rank<1>>& y) {
  graph.call("f", OfOneView{}, strata::in(x), strata::out(y));
}
