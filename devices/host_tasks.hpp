// Host tasks: one launch (for, reduce, scan) with all it needs, to be run by a team of host threads. Serial,
// Threads and Tbb run it at once; emulated instances carry it through a queue.
//
// A task holds an uncounted copy of the kernel (see allocation.hpp). Each piece works on a copy of its own
// where that is small: a copy whose address nobody else knows stays in registers.
#pragma once

#include <strata/devices/host_drivers.hpp>
#include <strata/devices/host_loops.hpp>

namespace strata::inline STRATA_ABI::detail {

// Kernels up to this size are copied for each piece of work, larger ones are shared.
inline constexpr std::size_t private_kernel_bytes = 1024;

template <class Body>
using PieceBody = std::conditional_t<(sizeof(Body) <= private_kernel_bytes), const Body, const Body&>;

/// The record of bad accesses that a kernel's threads share; nothing in unchecked builds.
struct TaskCheck {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  CheckRecord record;
  CheckRecord* get() { return &record; }
  void throw_found(const LaunchInfo& info) { throw_bad_access(record, info.label, info.kernel_type); }
#else
  static CheckRecord* get() { return nullptr; }
  static void throw_found(const LaunchInfo&) {}
#endif
};

// Puts the task's record in force on the thread that runs a piece.
struct PieceCheck {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  explicit PieceCheck(CheckRecord* record) : scope(record) {}
  CheckScope scope;
#else
  explicit PieceCheck(CheckRecord*) {}
#endif
};

/// parallel_for over an index range.
template <class Body>
class ForTask {
 public:
  ForTask(const Body& body, const ChunkRange& range) : body_(body), range_(range) {
    range_.align = host_lanes;
  }

  index_t items() const { return range_.end > range_.begin ? range_.end - range_.begin : 0; }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    TaskCheck check;
    const Context context{body_, check.get()};
    runner.run(runner.context, range_, {run, &context});
    check.throw_found(info);
  }

 private:
  struct Context {
    const Body& body;
    CheckRecord* check;
  };
  static void run(const void* raw, index_t begin, index_t end, int) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    PieceBody<Body> body = context.body;
    run_items(body, begin, end);
  }

  Body body_;
  ChunkRange range_;
};

/// parallel_for over a box, tile by tile; by default a tile is a row along the last dimension.
template <int Rank, class Body>
class BoxTask {
 public:
  BoxTask(const Body& body, const TileRange<Rank>& range) : body_(body), range_(range) {
    for (int r = 0; r < Rank; ++r) {
      const index_t extent = range_.upper[r] - range_.lower[r];
      if (range_.tile[r] <= 0) range_.tile[r] = r + 1 == Rank ? (extent > 0 ? extent : 1) : 1;
      tiles_[r] = extent > 0 ? (extent - 1) / range_.tile[r] + 1 : 0;
    }
  }

  index_t items() const { return range_.items(); }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    index_t tiles = 1;
    for (int r = 0; r < Rank; ++r) tiles *= tiles_[r];
    TaskCheck check;
    const Context context{*this, check.get()};
    runner.run(runner.context, ChunkRange{0, tiles, 0, 1, range_.schedule}, {run, &context});
    check.throw_found(info);
  }

 private:
  struct Context {
    const BoxTask& task;
    CheckRecord* check;
  };
  static void run(const void* raw, index_t begin, index_t end, int) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    const BoxTask& task = context.task;
    PieceBody<Body> body = task.body_;
    for (index_t tile = begin; tile < end; ++tile) {
      index_t lower[Rank], upper[Rank];
      index_t rest = tile;
      for (int r = Rank - 1; r >= 0; --r) {
        lower[r] = task.range_.lower[r] + rest % task.tiles_[r] * task.range_.tile[r];
        rest /= task.tiles_[r];
        const index_t next = lower[r] + task.range_.tile[r];
        upper[r] = next < task.range_.upper[r] ? next : task.range_.upper[r];
      }
      if constexpr (Body::takes_lanes) {
        run_box_lanes<Rank>(body, lower, upper);
      } else {
        index_t at[Rank];
        run_box<Rank>(body, lower, upper, at);
      }
    }
  }

  Body body_;
  TileRange<Rank> range_;
  index_t tiles_[Rank];
};

// Init and join of a reducer, for the drivers. `Owner` is what their context points to; it has `reducer`.
template <class Owner, class T>
ValueOps value_ops(const Owner& owner) {
  return {&owner, sizeof(T),
          [](const void* raw, void* value) {
            static_cast<const Owner*>(raw)->reducer.init(*static_cast<T*>(value));
          },
          [](const void* raw, void* value, const void* other) {
            static_cast<const Owner*>(raw)->reducer.join(*static_cast<T*>(value),
                                                         *static_cast<const T*>(other));
          }};
}

/// parallel_reduce over an index range. `finish(value)` is called once, on the thread that runs the task.
template <class Body, class Reducer, class Finish>
class ReduceTask {
  using Value = typename Reducer::value_type;

 public:
  ReduceTask(const Body& body, const Reducer& reducer, const Finish& finish, const ChunkRange& range)
      : body_(body), reducer_(reducer), finish_(finish), range_(range) {}

  index_t items() const { return range_.end > range_.begin ? range_.end - range_.begin : 0; }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    TaskCheck check;
    const Context context{body_, reducer_, range_, check.get()};
    const BlockRange blocks = reduction_blocks(range_.begin, range_.end);
    Value value;
    reduce_nodes(runner, blocks.first, blocks.last,
                 {value_ops<Context, Value>(context), alignof(Value), node}, &value);
    check.throw_found(info);
    const PieceCheck scope(check.get());
    finish_(value);
    check.throw_found(info);
  }

 private:
  struct Context {
    const Body& body;
    const Reducer& reducer;
    const ChunkRange& range;
    CheckRecord* check;
  };
  static void node(const void* raw, index_t block, void* partial) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    const index_t first = block * reduction_block, last = first + reduction_block;
    PieceBody<Body> body = context.body;
    reduce_items(body, context.reducer, first > context.range.begin ? first : context.range.begin,
                 last < context.range.end ? last : context.range.end, *static_cast<Value*>(partial));
  }

  Body body_;
  Reducer reducer_;
  Finish finish_;
  ChunkRange range_;
};

/// parallel_reduce over a box: a row (one left-most index) is a node, the items of a row go in blocks.
template <int Rank, class Body, class Reducer, class Finish>
class BoxReduceTask {
  using Value = typename Reducer::value_type;

 public:
  BoxReduceTask(const Body& body, const Reducer& reducer, const Finish& finish, const TileRange<Rank>& range)
      : body_(body), reducer_(reducer), finish_(finish), range_(range) {}

  index_t items() const { return range_.items(); }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    TaskCheck check;
    const Context context{body_, reducer_, range_, check.get()};
    const bool empty = range_.items() == 0;
    Value value;
    reduce_nodes(runner, range_.lower[0], empty ? range_.lower[0] : range_.upper[0],
                 {value_ops<Context, Value>(context), alignof(Value), node}, &value);
    check.throw_found(info);
    const PieceCheck scope(check.get());
    finish_(value);
    check.throw_found(info);
  }

 private:
  struct Context {
    const Body& body;
    const Reducer& reducer;
    const TileRange<Rank>& range;
    CheckRecord* check;
  };

  // The items of a row in blocks of reduction_block, counted from the row's first; partials joined pairwise.
  static void node(const void* raw, index_t row, void* partial) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    constexpr int lanes = reduction_lanes<Value>;
    alignas(Value) char storage[PairwiseJoin::levels * sizeof(Value)];
    PairwiseJoin join(value_ops<Context, Value>(context), storage);
    Value lane[lanes];
    index_t count = 0, block = 0;
    const auto close = [&] {
      join_lanes<lanes>(lane, count, [&](Value& a, const Value& b) { context.reducer.join(a, b); });
      *static_cast<Value*>(join.next()) = lane[0];
      join.push(block++);
      count = 0;
    };
    const auto item = [&](auto... i) {
      Value& target = lane[count & (lanes - 1)];
      if (count < lanes) context.reducer.init(target);
      context.body(i..., target);
      if (++count == reduction_block) close();
    };
    index_t at[Rank], lower[Rank], upper[Rank];
    for (int r = 0; r < Rank; ++r) {
      lower[r] = r == 0 ? row : context.range.lower[r];
      upper[r] = r == 0 ? row + 1 : context.range.upper[r];
    }
    run_box<Rank>(item, lower, upper, at);
    if (count > 0) close();
    *static_cast<Value*>(partial) = *static_cast<const Value*>(join.finish());
  }

  Body body_;
  Reducer reducer_;
  Finish finish_;
  TileRange<Rank> range_;
};

/// A reduction whose value is an array of `count` elements, known at run time: no lanes, items of a block in
/// order.
template <class Body, class Reducer, class Finish>
class ArrayReduceTask {
  using Element = typename Reducer::element_type;

 public:
  ArrayReduceTask(const Body& body, const Reducer& reducer, const Finish& finish, const ChunkRange& range)
      : body_(body), reducer_(reducer), finish_(finish), range_(range) {}

  index_t items() const { return range_.end > range_.begin ? range_.end - range_.begin : 0; }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    TaskCheck check;
    const Context context{body_, reducer_, range_, check.get()};
    const BlockRange blocks = reduction_blocks(range_.begin, range_.end);
    const std::size_t count = static_cast<std::size_t>(reducer_.count());
    const ValueOps ops{&context, count * sizeof(Element),
                       [](const void* raw, void* value) {
                         static_cast<const Context*>(raw)->reducer.init(static_cast<Element*>(value));
                       },
                       [](const void* raw, void* value, const void* other) {
                         static_cast<const Context*>(raw)->reducer.join(static_cast<Element*>(value),
                                                                        static_cast<const Element*>(other));
                       }};
    auto* const value = new Element[count > 0 ? count : 1];
    struct Owner {
      Element* value;
      ~Owner() { delete[] value; }
    } const owner{value};
    reduce_nodes(runner, blocks.first, blocks.last, {ops, alignof(Element), node}, value);
    check.throw_found(info);
    const PieceCheck scope(check.get());
    finish_(value);
    check.throw_found(info);
  }

 private:
  struct Context {
    const Body& body;
    const Reducer& reducer;
    const ChunkRange& range;
    CheckRecord* check;
  };
  static void node(const void* raw, index_t block, void* partial) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    auto* const value = static_cast<Element*>(partial);
    context.reducer.init(value);
    const index_t first = block * reduction_block, last = first + reduction_block;
    const index_t end = last < context.range.end ? last : context.range.end;
    for (index_t i = first > context.range.begin ? first : context.range.begin; i < end; ++i)
      context.body(item_index<Body>(i), value);
  }

  Body body_;
  Reducer reducer_;
  Finish finish_;
  ChunkRange range_;
};

/// parallel_scan over an index range; `finish(total)` is called once.
template <class Body, class Reducer, class Finish>
class ScanTask {
  using Value = typename Reducer::value_type;

 public:
  ScanTask(const Body& body, const Reducer& reducer, const Finish& finish, const ChunkRange& range,
           const Value& start)
      : body_(body), reducer_(reducer), finish_(finish), range_(range), start_(start) {}

  index_t items() const { return range_.end > range_.begin ? range_.end - range_.begin : 0; }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    TaskCheck check;
    const Context context{body_, reducer_, range_, check.get()};
    const BlockRange blocks = reduction_blocks(range_.begin, range_.end);
    Value carry = start_;
    scan_blocks(runner, blocks.first, blocks.last,
                {value_ops<Context, Value>(context), alignof(Value), block, std::is_integral_v<Value>},
                &carry);
    check.throw_found(info);
    const PieceCheck scope(check.get());
    finish_(carry);
    check.throw_found(info);
  }

 private:
  struct Context {
    const Body& body;
    const Reducer& reducer;
    const ChunkRange& range;
    CheckRecord* check;
  };
  static void block(const void* raw, index_t number, void* update, bool final) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    const index_t first = number * reduction_block, last = first + reduction_block;
    const index_t end = last < context.range.end ? last : context.range.end;
    Value value = *static_cast<Value*>(update);
    PieceBody<Body> body = context.body;
    for (index_t i = first > context.range.begin ? first : context.range.begin; i < end; ++i)
      body(item_index<Body>(i), value, final);
    *static_cast<Value*>(update) = value;
  }

  Body body_;
  Reducer reducer_;
  Finish finish_;
  ChunkRange range_;
  Value start_;
};

}  // namespace strata::inline STRATA_ABI::detail
