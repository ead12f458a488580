// Host tasks of launches over teams: see host_tasks.hpp for what a task is, host_team.hpp for teams.
#pragma once

#include <strata/devices/host/reduce_tasks.hpp>
#include <strata/devices/host/tasks.hpp>
#include <strata/devices/host/team.hpp>

namespace strata::inline STRATA_ABI::detail {

/// parallel_for over teams: a thread takes whole teams.
template <class Body>
class TeamForTask {
 public:
  TeamForTask(const Body& body, const TeamShape& shape) : body_(body), shape_(shape) {}

  index_t items() const { return shape_.teams(); }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    TaskCheck check;
    const Context context{body_, shape_, check.get()};
    runner.run(runner.context, ChunkRange{0, shape_.teams(), shape_.chunk, 1, shape_.schedule},
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
class TeamReduceTask {
  using Value = typename Reducer::value_type;

 public:
  TeamReduceTask(const Body& body, const Reducer& reducer, const Finish& finish, const TeamShape& shape)
      : body_(body), reducer_(reducer), finish_(finish), shape_(shape) {}

  index_t items() const { return shape_.teams(); }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    TaskCheck check;
    Context context{body_, reducer_, shape_, check.get(), nullptr};
    const BlockRange blocks = reduction_blocks(0, shape_.teams());
    Value value;
    if (runner.workers > 1 && blocks.last - blocks.first < blocks_a_worker * runner.workers)
      reduce_few(runner, context, blocks, value);
    else
      reduce_nodes(runner, blocks.first, blocks.last,
                   {value_ops<Context, Value>(context), alignof(Value), node}, &value);
    check.throw_found(info);
    const PieceCheck scope(check.get());
    finish_.on_device(value);
    finish_.on_host(value);
    check.throw_found(info);
  }

 private:
  // With fewer blocks than this for each thread the teams themselves are shared out.
  static constexpr index_t blocks_a_worker = 8;

  struct Context {
    const Body& body;
    const Reducer& reducer;
    const TeamShape& shape;
    CheckRecord* check;
    Value* contributions;  // of all teams; null where each node has its own
  };
  struct Buffer {
    Value* data;
    explicit Buffer(index_t count) : data(new Value[static_cast<std::size_t>(count) + 1]) {}
    ~Buffer() { delete[] data; }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
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
    HostTeamLoan team(context.shape);
    const int size = static_cast<int>(context.shape.team_size);
    if (size == 1) {
      for (index_t rank = begin; rank < end; ++rank) {
        Value value;
        context.reducer.init(value);
        body(HostTeamMember(team.alone(rank)), value);
        contributions[rank - begin] = value;
      }
      return;
    }
    const Buffer values(size);
    const Members members{body, context.reducer, values.data};
    const auto member = [](const void* raw, HostMemberState& state) {
      const auto& m = *static_cast<const Members*>(raw);
      Value& value = m.value[state.team_rank];
      m.reducer.init(value);
      m.body(HostTeamMember(state), value);
    };
    for (index_t rank = begin; rank < end; ++rank) {
      team.run(rank, {member, &members});
      join_by_rank(
          size, [&](int k) -> Value& { return values.data[k]; }, context.reducer);
      contributions[rank - begin] = values.data[0];
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

  static void node(const void* raw, index_t block, void* partial) {
    const auto& context = *static_cast<const Context*>(raw);
    const BlockItems items = items_of_block(block, 0, context.shape.teams());
    auto& result = *static_cast<Value*>(partial);
    if (context.contributions != nullptr) {
      join_block(
          context.reducer, items, [&](index_t i) { return context.contributions[i]; }, result);
    } else {
      const Buffer own(items.end - items.begin);
      contribute(context, items.begin, items.end, own.data);
      join_block(
          context.reducer, items, [&](index_t i) { return own.data[i - items.begin]; }, result);
    }
  }

  // The same values with teams as the pieces of work.
  static void reduce_few(const Runner& runner, Context& context, BlockRange blocks, Value& result) {
    const index_t teams = context.shape.teams();
    const Buffer all(teams);
    context.contributions = all.data;
    const TeamShape& shape = context.shape;
    runner.run(runner.context, ChunkRange{0, teams, shape.chunk, 1, shape.schedule},
               {[](const void* raw, index_t begin, index_t end, int) {
                  const auto& c = *static_cast<const Context*>(raw);
                  contribute(c, begin, end, c.contributions + begin);
                },
                &context});
    const Runner alone{[](const void*, const ChunkRange& r, ChunkFunction f) { f(r.begin, r.end, 0); },
                       nullptr, 1};
    const PieceCheck scope(context.check);
    reduce_nodes(alone, blocks.first, blocks.last, {value_ops<Context, Value>(context), alignof(Value), node},
                 &result);
  }

  Body body_;
  Reducer reducer_;
  Finish finish_;
  TeamShape shape_;
};

}  // namespace strata::inline STRATA_ABI::detail
