// Teams on hosts. A team runs on one thread; its members are fibers (host/fiber.hpp) that take turns: one
// runs until it waits for its team, then the next begins. So the members of a team may wait for each other on
// every device, with any number of threads, and shared data needs only the team's own synchronisation. Teams
// of one member, which the device chooses by default, are plain function calls: their barriers cost a branch.
//
// A fiber that finishes its member without having waited continues with the next member, so that kernels
// without barriers switch stacks twice a team. Fibers, and scratch memory, stay with their thread for the
// next launch.
//
// Errors: the first exception of a member ends its team. The members that wait are resumed and leave their
// kernel by a private exception, which runs the destructors on their stacks. Members that do not wait for
// their team together (some returned, or wait elsewhere) are an error, KernelError, not a hang.
//
// The lanes of a member are the iterations of loops that are vectorised, whatever the vector length.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout_right.hpp>
#include <strata/core/reduction_tree.hpp>
#include <strata/devices/host/loops.hpp>
#include <strata/devices/team_nesting.hpp>
#include <strata/devices/team_shape.hpp>

namespace strata::inline STRATA_ABI::detail {

class HostTeam;

/// The position of a member, and the sizes of its league and team.
struct HostMemberState {
  index_t league_rank;
  index_t league_size;
  int team_rank;
  int team_size;
  int vector_length;
  HostTeam* team;  // null: alone, without scratch memory
  ScratchCursor of_team[scratch_levels];
  ScratchCursor of_member[scratch_levels];
};

/// Called once for a team, when its last member has arrived: `all` are the pointers that the members passed,
/// by rank.
struct MeetAction {
  void (*act)(const void* context, void* const* all, int count);
  const void* context;
};

/// Waits for the team, passing `mine` to the action. The members' actions must be the same.
void host_team_meet(HostMemberState& member, void* mine, const MeetAction& action);

/// The joined value of nodes 0 to count - 1, pairwise: at(k) and at(k + 1), then these by twos, ... in at(0).
template <class At, class Reducer>
void join_by_rank(int count, const At& at, const Reducer& reducer) {
  for (int distance = 1; distance < count; distance *= 2)
    for (int k = 0; k + distance < count; k += 2 * distance) reducer.join(at(k), at(k + distance));
}

// One item of a lane; the index is passed by value for the reason given at run_lane.
template <class F, class... Value>
void run_lane_item(ThrownByItems& thrown, const F& f, index_t i, Value&... value) {
  thrown.run(f, i, value...);
}

/// A vectorised loop: the lanes of a member.
template <class F>
STRATA_FLATTEN void run_lanes(const F& f, index_t begin, index_t end) {
  ThrownByItems thrown;
#pragma omp simd
  for (index_t i = begin; i < end; ++i) run_lane_item(thrown, f, i);
  thrown.rethrow();
}

/// Reduces items [begin, end) on one member, in as many partials as make a vector.
template <class F, class Reducer, class T>
STRATA_FLATTEN void reduce_lanes(const F& f, index_t begin, index_t end, const Reducer& reducer, T& result) {
  constexpr int lanes = sizeof(T) <= 16 ? host_lanes : 1;
  T partial[lanes];
  for (int l = 0; l < lanes; ++l) reducer.init(partial[l]);
  ThrownByItems thrown;
  index_t i = begin;
  for (; end - i >= lanes; i += lanes) {
#pragma omp simd
    for (int l = 0; l < lanes; ++l) run_lane_item(thrown, f, i + l, partial[l]);
    thrown.rethrow();
  }
  for (int l = 0; l < lanes && i < end; ++l, ++i) run_integer(f, i, partial[l]);
  join_lanes<lanes>(partial, lanes, [&](T& a, const T& b) { reducer.join(a, b); });
  result = partial[0];
}

// The same for items that are loops themselves: they are not vectorised across items.
template <class F, class Reducer, class T>
void reduce_one_by_one(const F& f, index_t begin, index_t end, const Reducer& reducer, T& result) {
  constexpr int lanes = sizeof(T) <= 16 ? host_lanes : 1;
  T partial[lanes];
  for (int l = 0; l < lanes; ++l) reducer.init(partial[l]);
  for (index_t i = begin; i < end; ++i) f(i, partial[(i - begin) & (lanes - 1)]);
  join_lanes<lanes>(partial, lanes, [&](T& a, const T& b) { reducer.join(a, b); });
  result = partial[0];
}

/// A member of a team on a host: a handle, valid during the call of the kernel. See algorithms/team.hpp.
class HostTeamMember {
 public:
  using scratch_layout = LayoutRight;

  explicit HostTeamMember(HostMemberState& state) : state_(&state) {}

  STRATA_FUNCTION index_t league_rank() const { return state_->league_rank; }
  STRATA_FUNCTION index_t league_size() const { return state_->league_size; }
  STRATA_FUNCTION int team_rank() const { return state_->team_rank; }
  STRATA_FUNCTION int team_size() const { return state_->team_size; }
  STRATA_FUNCTION int vector_length() const { return state_->vector_length; }

  STRATA_MAY_CALL_HOST
  STRATA_FUNCTION void barrier() const {
    if (state_->team_size > 1) host_team_meet(*state_, nullptr, {nullptr, nullptr});
  }

  STRATA_MAY_CALL_HOST
  template <class T>
  STRATA_FUNCTION T* scratch(int level, index_t count) const {
    return static_cast<T*>(state_->of_team[level == 0 ? 0 : 1].take(count, static_cast<index_t>(sizeof(T)),
                                                                    alignof(T), level, false));
  }
  STRATA_MAY_CALL_HOST
  template <class T>
  STRATA_FUNCTION T* own_scratch(int level, index_t count) const {
    return static_cast<T*>(state_->of_member[level == 0 ? 0 : 1].take(count, static_cast<index_t>(sizeof(T)),
                                                                      alignof(T), level, true));
  }

  // ---- loops: [begin, end) shared out over members, over lanes, or both

  template <class F>
  void for_items(OverMembers, index_t begin, index_t end, const F& f) const {
    const Share mine = share(begin, end);
    for (index_t i = mine.begin; i < mine.end; ++i) f(i);
  }
  template <class F>
  void for_items(OverLanes, index_t begin, index_t end, const F& f) const {
    run_lanes(f, begin, end);
  }
  template <class F>
  void for_items(OverMembersAndLanes, index_t begin, index_t end, const F& f) const {
    const Share mine = share(begin, end);
    run_lanes(f, mine.begin, mine.end);
  }

  template <class F, class Reducer, class T>
  void reduce_items(OverLanes, index_t begin, index_t end, const F& f, const Reducer& reducer,
                    T& result) const {
    reduce_lanes(f, begin, end, reducer, result);
  }
  template <class Over, class F, class Reducer, class T>
  void reduce_items(Over, index_t begin, index_t end, const F& f, const Reducer& reducer, T& result) const {
    const Share mine = share(begin, end);
    if constexpr (std::is_same_v<Over, OverMembers>)
      reduce_one_by_one(f, mine.begin, mine.end, reducer, result);
    else reduce_lanes(f, mine.begin, mine.end, reducer, result);
    if (state_->team_size > 1) host_team_meet(*state_, &result, {join_and_share<Reducer, T>, &reducer});
  }

  template <class F, class Reducer, class T>
  void scan_items(OverLanes, index_t begin, index_t end, const F& f, const Reducer& reducer, T& total) const {
    reducer.init(total);
    for (index_t i = begin; i < end; ++i) f(i, total, true);
  }
  template <class Over, class F, class Reducer, class T>
  void scan_items(Over, index_t begin, index_t end, const F& f, const Reducer& reducer, T& total) const {
    if (state_->team_size == 1) return scan_items(OverLanes{}, begin, end, f, reducer, total);
    const Share mine = share(begin, end);
    Prefix<T> prefix;
    reducer.init(prefix.value);
    for (index_t i = mine.begin; i < mine.end; ++i) f(i, prefix.value, false);
    host_team_meet(*state_, &prefix, {make_prefixes<Reducer, T>, &reducer});
    for (index_t i = mine.begin; i < mine.end; ++i) f(i, prefix.value, true);
    total = prefix.total;
  }

  // ---- one value for all

  template <class F>
  void single(OneOfTeam, const F& f) const {
    if (state_->team_rank == 0) f();
  }
  template <class F>
  void single(OneOfMember, const F& f) const {
    f();
  }
  /// Every member's `value` becomes that of member `root`.
  template <class T>
  void broadcast(OneOfTeam, T& value, int root) const {
    if (state_->team_size == 1) return;
    const Shared shared{root};
    host_team_meet(*state_, &value, {copy_from_root<T>, &shared});
  }
  template <class T>
  void broadcast(OneOfMember, T&, int) const {}

 private:
  struct Share {
    index_t begin;
    index_t end;
  };
  struct Shared {
    int root;
  };
  template <class T>
  struct Prefix {
    T value;
    T total;
  };

  // Neighbouring items on one member: the members run one after the other, over caches and vectors.
  Share share(index_t begin, index_t end) const {
    const index_t members = state_->team_size, rank = state_->team_rank;
    if (members == 1) return {begin, end};
    const index_t n = end > begin ? end - begin : 0;
    const index_t each = n / members, longer = n % members;
    const index_t first = begin + rank * each + (rank < longer ? rank : longer);
    return {first, first + each + (rank < longer ? 1 : 0)};
  }

  template <class Reducer, class T>
  static void join_and_share(const void* context, void* const* all, int count) {
    const auto at = [all](int k) -> T& { return *static_cast<T*>(all[k]); };
    join_by_rank(count, at, *static_cast<const Reducer*>(context));
    for (int k = 1; k < count; ++k) at(k) = at(0);
  }
  template <class Reducer, class T>
  static void make_prefixes(const void* context, void* const* all, int count) {
    const Reducer& reducer = *static_cast<const Reducer*>(context);
    const auto at = [all](int k) -> Prefix<T>& { return *static_cast<Prefix<T>*>(all[k]); };
    T running;
    reducer.init(running);
    for (int k = 0; k < count; ++k) {
      const T total = at(k).value;
      at(k).value = running;
      reducer.join(running, total);
    }
    for (int k = 0; k < count; ++k) at(k).total = running;
  }
  template <class T>
  static void copy_from_root(const void* context, void* const* all, int count) {
    const int root = static_cast<const Shared*>(context)->root;
    for (int k = 0; k < count; ++k)
      if (k != root) *static_cast<T*>(all[k]) = *static_cast<const T*>(all[root]);
  }

  HostMemberState* state_;
};

/// One member's run of a kernel.
struct MemberFunction {
  void (*call)(const void* context, HostMemberState& member);
  const void* context;
};

/// A team of the calling thread, for as long as this lives: its fibers and scratch memory. Throws
/// OutOfMemory.
class HostTeamLoan {
 public:
  explicit HostTeamLoan(const TeamShape& shape);
  ~HostTeamLoan();
  HostTeamLoan(const HostTeamLoan&) = delete;
  HostTeamLoan& operator=(const HostTeamLoan&) = delete;

  /// The state of member 0, for teams of one: beginning with a fresh scratch memory.
  HostMemberState& alone(index_t league_rank) {
    HostMemberState& state = *alone_;
    state.league_rank = league_rank;
    for (int level = 0; level < scratch_levels; ++level) {
      state.of_team[level].next = of_team_[level];
      state.of_member[level].next = of_member_[level];
    }
    return state;
  }
  /// Runs all members of a team of several.
  void run(index_t league_rank, const MemberFunction& function);

 private:
  HostTeam* team_;
  HostMemberState* alone_;
  char* of_team_[scratch_levels];
  char* of_member_[scratch_levels];
};

/// The shape of a launch on hosts: `shape` with a team size. Throws KernelError and OutOfMemory where that is
/// not possible.
TeamShape host_team_shape(const LaunchInfo& info, const char* device, const TeamShape& shape);

/// The limits of such teams on hosts. Throws KernelError for lanes that are not possible.
TeamLimits host_team_limits(const LaunchInfo& info, const char* device, const TeamShape& shape);

}  // namespace strata::inline STRATA_ABI::detail
