// Host tasks of reductions: see host/tasks.hpp. The tree is that of core/reduction_tree.hpp; the
// drivers that walk it are in host/drivers.hpp, and the parts that depend on the kernel are here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/host/drivers.hpp>
#include <strata/devices/host/tasks.hpp>

namespace strata::inline STRATA_ABI::detail {

constexpr BlockItems items_of(index_t block, const ChunkRange& range) {
  return items_of_block(block, range.begin, range.end);
}

/// Room for the partials of a PairwiseJoin: on the stack while they are small.
template <class Value>
class PendingValues {
  static constexpr std::size_t count = PairwiseJoin::levels;
  static constexpr bool small = count * sizeof(Value) <= 8192;

 public:
  PendingValues() : heap_(small ? nullptr : new Value[count]) {}
  ~PendingValues() { delete[] heap_; }
  PendingValues(const PendingValues&) = delete;
  PendingValues& operator=(const PendingValues&) = delete;
  void* data() const { return small ? static_cast<void*>(stack_) : heap_; }

 private:
  Value* heap_;
  alignas(Value) mutable char stack_[small ? count * sizeof(Value) : 1];
};

// Init and join of a reducer, for the drivers. `Owner` is what their context points to; it has `reducer`.
// No lambdas: each would be two functions of the program.
template <class Owner, class T>
void init_value(const void* raw, void* value) {
  static_cast<const Owner*>(raw)->reducer.init(*static_cast<T*>(value));
}
template <class Owner, class T>
void join_values(const void* raw, void* value, const void* other) {
  static_cast<const Owner*>(raw)->reducer.join(*static_cast<T*>(value), *static_cast<const T*>(other));
}
template <class Owner, class T>
ValueOps value_ops(const Owner& owner) {
  return {&owner, sizeof(T), init_value<Owner, T>, join_values<Owner, T>};
}

/// Room for values while a task runs; at least one.
template <class T>
class TaskValues {
 public:
  explicit TaskValues(index_t count) : data_(new T[static_cast<std::size_t>(count) + 1]) {}
  ~TaskValues() { delete[] data_; }
  TaskValues(const TaskValues&) = delete;
  TaskValues& operator=(const TaskValues&) = delete;
  T* data() const { return data_; }

 private:
  T* data_;
};

// Runs all pieces on the calling thread, in order. (A function: nvcc 13.0 declares no type for a lambda in a
// braced return.)
inline void run_on_calling_thread(const void*, const ChunkRange& r, ChunkFunction f) { f(r.begin, r.end, 0); }
inline Runner calling_thread() { return {run_on_calling_thread, nullptr, 1}; }

constexpr index_t items_of(const ChunkRange& range) {
  return range.end > range.begin ? range.end - range.begin : 0;
}
template <int Rank>
index_t items_of(const TileRange<Rank>& range) {
  return range.items();
}

/// Base of tasks whose kernels compute a value over a `Range` of items: reductions, scans, and reductions
/// over teams.
template <class Body, class Reducer, class Finish, class Range>
class ValueTask {
 public:
  ValueTask(const Body& body, const Reducer& reducer, const Finish& finish, const Range& range)
      : body_(body), reducer_(reducer), finish_(finish), range_(range) {}

  index_t items() const { return items_of(range_); }

 protected:
  /// The arguments of the pieces of work.
  struct Context {
    const Body& body;
    const Reducer& reducer;
    const Range& range;
    CheckRecord* check;
  };

  /// Calls compute(context), which makes `value`, then the finish: once, on the thread that runs the task.
  /// Throws what checks found on the way.
  template <class Value, class Compute>
  void make_value(const LaunchInfo& info, Value& value, const Compute& compute) const {
    TaskCheck check;
    compute(Context{body_, reducer_, range_, check.get()});
    check.throw_found(info);
    const PieceCheck scope(check.get());
    finish_.on_device(value);
    finish_.on_host(value);
    check.throw_found(info);
  }

 private:
  Body body_;
  Reducer reducer_;
  Finish finish_;
  Range range_;
};

/// parallel_reduce over an index range.
template <class Body, class Reducer, class Finish>
class ReduceTask : public ValueTask<Body, Reducer, Finish, ChunkRange> {
  using Base = ValueTask<Body, Reducer, Finish, ChunkRange>;
  using Context = typename Base::Context;
  using Value = typename Reducer::value_type;

 public:
  using Base::Base;
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    Value value;
    this->make_value(info, value, [&](const Context& context) {
      const BlockRange blocks = reduction_blocks(context.range.begin, context.range.end);
      // Too few blocks for the threads, and items may take long: the lanes of a block are distributed, too.
      if (context.range.schedule == Schedule::Dynamic && blocks.last - blocks.first < 2 * runner.workers)
        reduce_by_lanes(runner, context, blocks, value);
      else
        reduce_nodes(
            runner, blocks.first, blocks.last,
            {value_ops<Context, Value>(context), alignof(Value), reduce_blocks, blocks_together_log2},
            &value);
    });
  }

 private:
  // The driver takes time for each call, which counts where the items of a block are in cache. Large values
  // would need a stack for each level.
  static constexpr int blocks_together_log2 = sizeof(Value) <= 256 ? 3 : 0;

  static void reduce_blocks(const void* raw, index_t first, index_t last, void* partial) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    if constexpr (blocks_together_log2 == 0) {
      reduce_block(context, first, *static_cast<Value*>(partial));
    } else {
      // Nodes of the tree, in order, each of which waits for the one to its right.
      Value waiting[blocks_together_log2 + 1];
      int count = 0;
      const auto join_last = [&] {
        --count;
        context.reducer.join(waiting[count - 1], waiting[count]);
      };
      for (index_t block = first; block < last; ++block) {
        reduce_block(context, block, waiting[count++]);
        for (index_t node = block; count > 1 && (node & 1) != 0; node >>= 1) join_last();
      }
      while (count > 1) join_last();
      *static_cast<Value*>(partial) = waiting[0];
    }
  }
  // Not inlined: with the joins around it g++ takes longer to compile it and keeps less in registers.
  [[gnu::noinline]] static void reduce_block(const Context& context, index_t block, Value& value) {
    const BlockItems items = items_of(block, context.range);
    PieceBody<Body> body = context.body;
    reduce_items(body, context.reducer, items.begin, items.end, value);
  }

  // The same tree, with the lanes of all blocks computed in any order.
  struct Lanes {
    const Context& context;
    index_t first_block;
    Value* lane;
  };
  static constexpr int lane_count = reduction_lanes<Value>;

  static void reduce_by_lanes(const Runner& runner, const Context& context, BlockRange blocks,
                              Value& result) {
    const index_t count = (blocks.last - blocks.first) * lane_count;
    const TaskValues<Value> values(count);
    const Lanes lanes{context, blocks.first, values.data()};
    runner.run(runner.context, ChunkRange{0, count, 1, 1, Schedule::Dynamic}, {run_lanes, &lanes});
    struct Join {
      const Lanes& lanes;
      const Reducer& reducer;
    } const join{lanes, context.reducer};
    reduce_nodes(calling_thread(), blocks.first, blocks.last,
                 {value_ops<Join, Value>(join), alignof(Value),
                  [](const void* raw, index_t block, index_t, void* partial) {
                    const auto& l = static_cast<const Join*>(raw)->lanes;
                    const BlockItems items = items_of(block, l.context.range);
                    Value* const lane = l.lane + (block - l.first_block) * lane_count;
                    join_lanes<lane_count>(lane, items.end - items.begin,
                                           [&](Value& a, const Value& b) { l.context.reducer.join(a, b); });
                    *static_cast<Value*>(partial) = *lane;
                  }},
                 &result);
  }
  static void run_lanes(const void* raw, index_t begin, index_t end, int) {
    const auto& l = *static_cast<const Lanes*>(raw);
    const PieceCheck scope(l.context.check);
    for (index_t k = begin; k < end; ++k) {
      const BlockItems items = items_of(l.first_block + k / lane_count, l.context.range);
      const index_t lane = k % lane_count;
      if (lane >= items.end - items.begin) continue;
      l.context.reducer.init(l.lane[k]);
      for (index_t i = items.begin + lane;; i += lane_count) {
        l.context.body(item_index<Body>(i), l.lane[k]);
        if (items.end - i <= lane_count) break;
      }
    }
  }
};

/// parallel_reduce over a box: a row (one left-most index) is a node, the items of a row go in blocks.
template <int Rank, class Body, class Reducer, class Finish>
class BoxReduceTask : public ValueTask<Body, Reducer, Finish, TileRange<Rank>> {
  using Base = ValueTask<Body, Reducer, Finish, TileRange<Rank>>;
  using Context = typename Base::Context;
  using Value = typename Reducer::value_type;

 public:
  using Base::Base;
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    Value value;
    this->make_value(info, value, [&](const Context& context) {
      const TileRange<Rank>& range = context.range;
      const bool empty = range.items() == 0;
      reduce_nodes(runner, range.lower[0], empty ? range.lower[0] : range.upper[0],
                   {value_ops<Context, Value>(context), alignof(Value), node}, &value);
    });
  }

 private:
  template <class... I>
  static void run_item(const Body& body, Value& value, I... i) {
    body(i..., value);
  }
  // Neighbours along the last dimension, each of which adds to a lane of its own.
  template <class... I>
  STRATA_FLATTEN static void run_line(const Body& body, index_t first, index_t items, Value* lane,
                                      I... outer) {
    STRATA_INDEPENDENT_ITEMS
    for (index_t l = 0; l < items; ++l) run_item(body, lane[l], outer..., first + l);
  }
  // The items of a row in blocks of reduction_block, counted from the row's first; partials joined pairwise.
  static void node(const void* raw, index_t row, index_t, void* partial) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    const PieceBody<Body> body = context.body;
    constexpr int lanes = reduction_lanes<Value>;
    const PendingValues<Value> storage;
    PairwiseJoin join(value_ops<Context, Value>(context), storage.data());
    Value lane[lanes];
    index_t count = 0, block = 0;
    const auto close = [&] {
      join_lanes<lanes>(lane, count, [&](Value& a, const Value& b) { context.reducer.join(a, b); });
      *static_cast<Value*>(join.next()) = lane[0];
      join.push(block++);
      count = 0;
    };
    index_t lower[Rank], upper[Rank];
    for (int r = 0; r < Rank; ++r) {
      lower[r] = r == 0 ? row : context.range.lower[r];
      upper[r] = r == 0 ? row + 1 : context.range.upper[r];
    }
    // Items along the last dimension, up to the last lane at a time.
    const auto line = [&](auto... outer) {
      for (index_t first = lower[Rank - 1]; first < upper[Rank - 1];) {
        Value* const target = lane + (count & (lanes - 1));
        const index_t left = upper[Rank - 1] - first, to_last = lane + lanes - target;
        const index_t items = left < to_last ? left : to_last;
        if (count < lanes)
          for (index_t l = 0; l < items; ++l) context.reducer.init(target[l]);
        run_line(body, first, items, target, outer...);
        first += items;
        count += items;
        if (count == reduction_block) close();
      }
    };
    if constexpr (Rank == 1) {
      line();
    } else {
      index_t at[Rank - 1];
      run_box<Rank - 1>(line, lower, upper, at);
    }
    if (count > 0) close();
    *static_cast<Value*>(partial) = *static_cast<const Value*>(join.finish());
  }
};

/// A reduction whose value is an array of `count` elements, known at run time: no lanes, items of a block in
/// order.
template <class Body, class Reducer, class Finish>
class ArrayReduceTask : public ValueTask<Body, Reducer, Finish, ChunkRange> {
  using Base = ValueTask<Body, Reducer, Finish, ChunkRange>;
  using Context = typename Base::Context;
  using Element = typename Reducer::element_type;

 public:
  ArrayReduceTask(const Body& body, const Reducer& reducer, const Finish& finish, const ChunkRange& range)
      : Base(body, reducer, finish, range), count_(static_cast<index_t>(reducer.count())) {}

  void operator()(const Runner& runner, const LaunchInfo& info) const {
    const TaskValues<Element> values(count_);
    Element* const value = values.data();
    this->make_value(info, value, [&](const Context& context) {
      const BlockRange blocks = reduction_blocks(context.range.begin, context.range.end);
      const ValueOps ops{&context, static_cast<std::size_t>(count_) * sizeof(Element),
                         [](const void* raw, void* into) {
                           static_cast<const Context*>(raw)->reducer.init(static_cast<Element*>(into));
                         },
                         [](const void* raw, void* into, const void* other) {
                           static_cast<const Context*>(raw)->reducer.join(static_cast<Element*>(into),
                                                                          static_cast<const Element*>(other));
                         }};
      reduce_nodes(runner, blocks.first, blocks.last, {ops, alignof(Element), node}, value);
    });
  }

 private:
  static void node(const void* raw, index_t block, index_t, void* partial) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    auto* const value = static_cast<Element*>(partial);
    context.reducer.init(value);
    const BlockItems items = items_of(block, context.range);
    for (index_t i = items.begin; i < items.end; ++i) context.body(item_index<Body>(i), value);
  }

  index_t count_;
};

}  // namespace strata::inline STRATA_ABI::detail
