// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/devices/host/fiber.hpp>
#include <strata/devices/host/team.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// As many as a GPU has threads in a block, so that shapes are as portable as can be.
constexpr index_t most_members = 1024;
// Scratch memory above this is given back after a launch.
constexpr std::size_t kept_scratch_bytes = std::size_t{1} << 20;
// More than any memory; sums of two stay within 64 bits.
constexpr index_t most_scratch_bytes = index_t{1} << 46;

// Leaves the kernel of a member whose team has failed.
struct TeamFailed {};

}  // namespace

/// Memory of one level, kept at its largest size.
class ScratchBlock {
 public:
  ~ScratchBlock() { std::free(data_); }
  char* reserve(std::size_t bytes) {
    if (bytes <= bytes_) return data_;
    std::free(data_);
    bytes_ = 0;
    data_ = static_cast<char*>(std::aligned_alloc(scratch_alignment, bytes));
    if (data_ == nullptr)
      throw OutOfMemory(
          "the system gives no " + std::to_string(bytes) +
          " bytes of scratch memory for a team on this host: ask for less, or for smaller teams");
    bytes_ = bytes;
    return data_;
  }
  void trim() {
    if (bytes_ <= kept_scratch_bytes) return;
    std::free(data_);
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The members of one team, and who runs next. One of its fibers runs at a time, all on one thread.
class HostTeam {
 public:
  // Before each launch.
  void prepare(const TeamShape& shape);
  void run(index_t league_rank, const MemberFunction& function);
  void meet(HostMemberState& member, void* mine, const MeetAction& action);
  void trim() {
    for (ScratchBlock& block : scratch_) block.trim();
  }
  HostMemberState& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }

 private:
  [[noreturn]] void work();
  void run_member(HostMemberState& member);
  void fail(std::exception_ptr error);
  void fail_apart();
  void release();
  void leave(Fiber& next);
  Fiber& next_fiber();

  ScratchBlock scratch_[scratch_levels];
  char* of_team_[scratch_levels] = {};
  TeamShape shape_{};
  std::vector<HostMemberState> members_;
  std::vector<void*> brought_;

  MemberFunction function_{};
  int size_ = 0;
  int begun_ = 0;     // members that started, and of those
  int finished_ = 0;  // the ones that ended
  std::exception_ptr error_;
  bool failed_ = false;

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;     // have no member
  std::vector<Fiber*> waiting_;  // for the team
  std::vector<Fiber*> ready_;    // waited; the next to run is last
  Fiber* running_ = nullptr;
  Fiber* caller_ = nullptr;
  void (*action_)(const void*, void* const*, int) = nullptr;  // the action for which members wait
};

void HostTeam::prepare(const TeamShape& shape) {
  shape_ = shape;
  size_ = static_cast<int>(shape.team_size);
  members_.resize(static_cast<std::size_t>(size_));
  brought_.resize(static_cast<std::size_t>(size_));
  waiting_.reserve(static_cast<std::size_t>(size_));
  ready_.reserve(static_cast<std::size_t>(size_));
  for (int level = 0; level < scratch_levels; ++level) {
    const ScratchBytes& bytes = shape.scratch[level];
    const index_t all = scratch_of_team(bytes, size_);
    char* const memory = all > 0 ? scratch_[level].reserve(static_cast<std::size_t>(all)) : nullptr;
    of_team_[level] = memory;
    char* own = memory + padded_scratch(bytes.per_team);
    for (int rank = 0; rank < size_; ++rank) {
      HostMemberState& m = member(rank);
      m.of_team[level] = {memory, memory + bytes.per_team};
      m.of_member[level] = {own, own + bytes.per_member};
      own += padded_scratch(bytes.per_member);
    }
  }
  for (int rank = 0; rank < size_; ++rank) {
    HostMemberState& m = member(rank);
    m.league_rank = 0;
    m.league_size = shape.league_size;
    m.team_rank = rank;
    m.team_size = size_;
    m.vector_length = static_cast<int>(shape.vector_length);
    m.team = this;
  }
}

void HostTeam::run(index_t league_rank, const MemberFunction& function) {
  for (int rank = 0; rank < size_; ++rank) {
    HostMemberState& m = member(rank);
    m.league_rank = league_rank;
    for (int level = 0; level < scratch_levels; ++level) {
      m.of_team[level].next = of_team_[level];
      m.of_member[level].next = m.of_member[level].end - shape_.scratch[level].per_member;
    }
  }
  function_ = function;
  begun_ = finished_ = 0;
  failed_ = false;
  Fiber here;
  caller_ = running_ = &here;
  leave(next_fiber());
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// The work of a fiber: runs members, as long as there are any, then switches to another fiber.
void HostTeam::work() {
  for (;;) {
    while (begun_ < size_ && !failed_) run_member(member(begun_++));
    Fiber& self = *running_;
    idle_.push_back(&self);
    if (ready_.empty()) {
      leave(*caller_);
    } else {
      Fiber& next = *ready_.back();
      ready_.pop_back();
      leave(next);
    }
  }
}

void HostTeam::run_member(HostMemberState& member) {
  try {
    function_.call(function_.context, member);
  } catch (const TeamFailed&) {
  } catch (...) {
    fail(std::current_exception());
  }
  ++finished_;
  if (!failed_ && !waiting_.empty() && finished_ + static_cast<int>(waiting_.size()) == size_) {
    try {
      fail_apart();
    } catch (...) {
      fail(std::current_exception());
    }
  }
}

void HostTeam::fail(std::exception_ptr error) {
  if (!failed_) error_ = std::move(error);
  failed_ = true;
  release();
}

void HostTeam::fail_apart() {
  throw KernelError("the members of a team came apart: of " + std::to_string(size_) + ", " +
                    std::to_string(waiting_.size()) + " wait for their team and " +
                    std::to_string(finished_) +
                    " have returned from the kernel; all members must make the same calls to barrier, "
                    "broadcast and the reductions and scans of their team");
}

// Those who wait come next, by rank.
void HostTeam::release() {
  ready_.insert(ready_.end(), waiting_.rbegin(), waiting_.rend());
  waiting_.clear();
}

Fiber& HostTeam::next_fiber() {
  if (idle_.empty()) {
    idle_.reserve(fibers_.size() + 1);
    fibers_.push_back(
        std::make_unique<Fiber>([](void* team) { static_cast<HostTeam*>(team)->work(); }, this));
    return *fibers_.back();
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void HostTeam::leave(Fiber& next) {
  Fiber& self = *running_;
  running_ = &next;
  self.switch_to(next);
}

void HostTeam::meet(HostMemberState& member, void* mine, const MeetAction& action) {
  if (failed_) throw TeamFailed();
  if (!waiting_.empty() && action.act != action_)
    throw KernelError("the members of a team came apart: member " + std::to_string(member.team_rank) +
                      " of " + std::to_string(size_) + " waits for its team in another call than " +
                      std::to_string(waiting_.size()) +
                      " of the others; all members must make the same calls "
                      "to barrier, broadcast and the reductions and scans of their team");
  brought_[static_cast<std::size_t>(member.team_rank)] = mine;
  action_ = action.act;
  const int waiting = static_cast<int>(waiting_.size());
  if (waiting + 1 == size_) {
    if (action.act != nullptr) action.act(action.context, brought_.data(), size_);
    release();
    return;
  }
  // The next member begins on another stack; without one, a fiber that was released goes on.
  Fiber& self = *running_;
  if (!ready_.empty()) {
    waiting_.push_back(&self);
    Fiber& next = *ready_.back();
    ready_.pop_back();
    leave(next);
  } else if (begun_ < size_) {
    Fiber& next = next_fiber();
    waiting_.push_back(&self);
    leave(next);
  } else {
    waiting_.push_back(&self);
    try {
      fail_apart();
    } catch (...) {
      waiting_.pop_back();
      throw;
    }
  }
  if (failed_) throw TeamFailed();
}

void host_team_meet(HostMemberState& member, void* mine, const MeetAction& action) {
  member.team->meet(member, mine, action);
}

namespace {

// The teams of this thread that no launch uses: nested launches need one each. A kernel of a static object's
// destructor runs when those of the main thread are gone.
constinit thread_local bool free_teams_gone = false;
struct FreeTeams {
  std::vector<std::unique_ptr<HostTeam>> all;
  ~FreeTeams() { free_teams_gone = true; }
};
thread_local FreeTeams free_teams;

}  // namespace

HostTeamLoan::HostTeamLoan(const TeamShape& shape) {
  std::unique_ptr<HostTeam> team;
  if (free_teams_gone || free_teams.all.empty()) {
    team = std::make_unique<HostTeam>();
  } else {
    team = std::move(free_teams.all.back());
    free_teams.all.pop_back();
  }
  team->prepare(shape);
  alone_ = &team->member(0);
  for (int level = 0; level < scratch_levels; ++level) {
    of_team_[level] = alone_->of_team[level].next;
    of_member_[level] = alone_->of_member[level].next;
  }
  team_ = team.release();
}

HostTeamLoan::~HostTeamLoan() {
  team_->trim();
  if (free_teams_gone) delete team_;
  else free_teams.all.emplace_back(team_);
}

void HostTeamLoan::run(index_t league_rank, const MemberFunction& function) {
  team_->run(league_rank, function);
}

TeamShape host_team_shape(const LaunchInfo& info, const char* device, const TeamShape& shape) {
  require_team_shape(info, device, shape);
  TeamShape made = shape;
  // One: a core does best with plain loops, whose lanes are vectorised; more members of a team on it only
  // take turns.
  if (made.team_size == auto_team_size) made.team_size = 1;
  if (made.team_size > most_members)
    fail_team_size(info, device, made.team_size, made.vector_length, most_members, device);
  for (int level = 0; level < scratch_levels; ++level) {
    const ScratchBytes& bytes = shape.scratch[level];
    if (bytes.per_team > most_scratch_bytes || bytes.per_member > most_scratch_bytes / made.team_size)
      fail_team_scratch(info, device, shape, made.team_size, level, most_scratch_bytes, device);
  }
  return made;
}

TeamLimits host_team_limits(const LaunchInfo& info, const char* device, const TeamShape& shape) {
  TeamShape any_size = shape;
  any_size.team_size = auto_team_size;
  require_team_shape(info, device, any_size);
  TeamLimits limits{most_members, 1, {most_scratch_bytes, most_scratch_bytes}};
  for (const ScratchBytes& bytes : shape.scratch) {
    if (bytes.per_team > most_scratch_bytes) limits.most_members = 0;
    if (bytes.per_member > 0)
      limits.most_members = std::min(limits.most_members, most_scratch_bytes / bytes.per_member);
  }
  limits.chosen_members = std::min<index_t>(1, limits.most_members);
  return limits;
}

}  // namespace strata::inline STRATA_ABI::detail
