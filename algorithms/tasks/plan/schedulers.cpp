// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <utility>

#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>

namespace strata::inline STRATA_ABI::tasks {

namespace {

using Options = SchedulerOptions;
using Maker = std::unique_ptr<TaskScheduler> (*)(const Options&);
using detail::DartsKind;

constexpr std::pair<const char*, Maker> makers[] = {
    {"eager", [](const Options& o) { return detail::make_eager(o, false); }},
    {"eager-prefetch", [](const Options& o) { return detail::make_eager(o, true); }},
    {"lws", detail::make_work_stealing},
    {"lfq", detail::make_local_queues},
    {"dmda", [](const Options& o) { return detail::make_dmda(o, false); }},
    {"dmdas", [](const Options& o) { return detail::make_dmda(o, true); }},
    {"ap", detail::make_absolute_priority},
    {"darts", [](const Options& o) { return detail::make_darts(o, DartsKind::Published); }},
    {"darts-lru", [](const Options& o) { return detail::make_darts(o, DartsKind::Lru); }},
    {"darts-corrected", [](const Options& o) { return detail::make_darts(o, DartsKind::Corrected); }},
    {"data-aware", detail::make_data_aware},
};

}  // namespace

std::vector<std::string> scheduler_names() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : makers) names.emplace_back(name);
  return names;
}

std::unique_ptr<TaskScheduler> make_scheduler(const std::string& name, const SchedulerOptions& options) {
  std::string known;
  for (const auto& [other, maker] : makers) {
    if (name == other) return maker(options);
    known += (known.empty() ? "" : ", ") + std::string(other);
  }
  throw TaskError("there is no scheduler \"" + name + "\"; there are " + known);
}

}  // namespace strata::inline STRATA_ABI::tasks
