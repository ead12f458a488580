// Graphs of tasks over coherent arrays, scopes, schedulers and measured costs; docs/tasks.md,
// docs/scheduling.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/algorithms/tasks/task_scope.hpp>
#include <strata/strata.hpp>
