// Host tasks of launches over teams: see host/tasks.hpp for what a task is, host/team.hpp for teams.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/host/reduce_tasks.hpp>
#include <strata/devices/host/tasks.hpp>
#include <strata/devices/host/team.hpp>

namespace strata::inline STRATA_ABI::detail {

inline index_t items_of(const TeamShape& shape) { return shape.teams(); }

/// parallel_for over teams: a thread takes whole teams.
template <class Body>
class TeamForTask {
 public:
  TeamForTask(const Body& body, const TeamShape& shape) : body_(body), shape_(shape) {}

  index_t items() const { return shape_.teams(); }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    TaskCheck check;
    const Context context{body_, shape_, check.get()};
    runner.run(runner.context, ChunkRange{0, shape_.teams(), shape_.chunk, 1, shape_.schedule, true},
               {run, &context});
    check.throw_found(info);
  }

 private:
  struct Context {
    const Body& body;
    const TeamShape& shape;
    CheckRecord* check;
  };
  static void run(const void* raw, index_t begin, index_t end, int) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    PieceBody<Body> body = context.body;
    HostTeamLoan team(context.shape);
    if (context.shape.team_size == 1) {
      for (index_t rank = begin; rank < end; ++rank) body(HostTeamMember(team.alone(rank)));
    } else {
      const auto member = [](const void* kernel, HostMemberState& state) {
        (*static_cast<const Body*>(kernel))(HostTeamMember(state));
      };
      for (index_t rank = begin; rank < end; ++rank) team.run(rank, {member, &body});
    }
  }

  Body body_;
  TeamShape shape_;
};

/// parallel_reduce over teams. A team's contribution is what its members add to values of their own, joined
/// pairwise by rank; contributions are the items of the reduction's tree, the league rank being the index.
template <class Body, class Reducer, class Finish>
class TeamReduceTask : public ValueTask<Body, Reducer, Finish, TeamShape> {
  using Base = ValueTask<Body, Reducer, Finish, TeamShape>;
  using Value = typename Reducer::value_type;

 public:
  using Base::Base;
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    Value value;
    this->make_value(info, value, [&](const typename Base::Context& given) {
      Context context{given, nullptr};
      const BlockRange blocks = reduction_blocks(0, given.range.teams());
      if (runner.workers > 1 && blocks.last - blocks.first < blocks_a_worker * runner.workers)
        reduce_few(runner, context, blocks, value);
      else
        reduce_nodes(runner, blocks.first, blocks.last,
                     {value_ops<Context, Value>(context), alignof(Value), node}, &value);
    });
  }

 private:
  // With fewer blocks than this for each thread the teams themselves are distributed.
  static constexpr index_t blocks_a_worker = 8;

  struct Context : Base::Context {
    Value* contributions;  // of all teams; null where each node has its own
  };
  struct Members {
    const Body& body;
    const Reducer& reducer;
    Value* value;  // by team rank
  };

  // Writes the contributions of teams [begin, end).
  static void contribute(const Context& context, index_t begin, index_t end, Value* contributions) {
    const PieceCheck scope(context.check);
    PieceBody<Body> body = context.body;
    HostTeamLoan team(context.range);
    const int size = static_cast<int>(context.range.team_size);
    if (size == 1) {
      for (index_t rank = begin; rank < end; ++rank) {
        Value value;
        context.reducer.init(value);
        body(HostTeamMember(team.alone(rank)), value);
        contributions[rank - begin] = value;
      }
      return;
    }
    const TaskValues<Value> values(size);
    const Members members{body, context.reducer, values.data()};
    const auto member = [](const void* raw, HostMemberState& state) {
      const auto& m = *static_cast<const Members*>(raw);
      Value& value = m.value[state.team_rank];
      m.reducer.init(value);
      m.body(HostTeamMember(state), value);
    };
    for (index_t rank = begin; rank < end; ++rank) {
      team.run(rank, {member, &members});
      join_by_rank(
          size, [&](int k) -> Value& { return values.data()[k]; }, context.reducer);
      contributions[rank - begin] = values.data()[0];
    }
  }

  // Joins the contributions of teams, `at(rank)` being that of one.
  template <class At>
  struct JoinContributions {
    static constexpr bool takes_lanes = false;
    const Reducer& reducer;
    At at;
    void operator()(index_t rank, Value& value) const { reducer.join(value, at(rank)); }
  };
  template <class At>
  static void join_block(const Reducer& reducer, const BlockItems& items, const At& at, Value& partial) {
    reduce_items(JoinContributions<At>{reducer, at}, reducer, items.begin, items.end, partial);
  }

  static void node(const void* raw, index_t block, index_t, void* partial) {
    const auto& context = *static_cast<const Context*>(raw);
    const BlockItems items = items_of_block(block, 0, context.range.teams());
    auto& result = *static_cast<Value*>(partial);
    if (context.contributions != nullptr) {
      join_block(
          context.reducer, items, [&](index_t i) { return context.contributions[i]; }, result);
    } else {
      const TaskValues<Value> own(items.end - items.begin);
      contribute(context, items.begin, items.end, own.data());
      join_block(
          context.reducer, items, [&](index_t i) { return own.data()[i - items.begin]; }, result);
    }
  }

  // The same values with teams as the pieces of work.
  static void reduce_few(const Runner& runner, Context& context, BlockRange blocks, Value& result) {
    const index_t teams = context.range.teams();
    const TaskValues<Value> all(teams);
    context.contributions = all.data();
    const TeamShape& shape = context.range;
    runner.run(runner.context, ChunkRange{0, teams, shape.chunk, 1, shape.schedule, true},
               {[](const void* raw, index_t begin, index_t end, int) {
                  const auto& c = *static_cast<const Context*>(raw);
                  contribute(c, begin, end, c.contributions + begin);
                },
                &context});
    const PieceCheck scope(context.check);
    reduce_nodes(calling_thread(), blocks.first, blocks.last,
                 {value_ops<Context, Value>(context), alignof(Value), node}, &result);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
