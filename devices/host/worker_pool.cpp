// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <memory>
#include <utility>

#include <strata/devices/host/worker_pool.hpp>
#include <strata/devices/host/worker_region.hpp>
#include <strata/devices/host/worker_team.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

void run_inline(const ChunkPlan& plan, ChunkFunction function, int worker) {
  for (ChunkPlan::Count k = 0; k < plan.count(); ++k) function(plan.begin(k), plan.end(k), worker);
}

}  // namespace

WorkerPool::WorkerPool(Options options) : team_(std::make_unique<Team>(std::move(options))) {
  team_->start();
}

WorkerPool::~WorkerPool() { team_->stop(); }

int WorkerPool::size() const { return team_->options.workers; }

int WorkerPool::current_worker() { return innermost_region != nullptr ? innermost_region->worker : -1; }

bool WorkerPool::in_region() const { return region_of(team_.get()) != nullptr; }

void WorkerPool::run(const ChunkRange& range, ChunkFunction function) {
  if (range.end <= range.begin) return;
  Team& team = *team_;
  if (const WorkerRegion* region = region_of(&team)) {
    const EnterWorkerRegion nested(&team, region->worker);
    return run_inline(ChunkPlan(range, 1), function, region->worker);
  }
  if (team.forked()) {
    const EnterWorkerRegion alone(&team, 0);
    return run_inline(ChunkPlan(range, 1), function, 0);
  }

  struct Turn {
    Team& team;
    explicit Turn(Team& t) : team(t) { team.turns.take(t.options.spin_us, t.crowded); }
    ~Turn() { team.turns.end(); }
  };
  std::exception_ptr error;
  {
    const Turn turn(team);
    const EnterWorkerRegion region(&team, 0);
    const ChunkPlan plan(range, team.options.workers);
    if (plan.count() == 1 || team.options.workers == 1) return run_inline(plan, function, 0);
    team.run(range, plan, function);
    error = team.take_error();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace strata::inline STRATA_ABI::detail
