// The host task of scans: see host/tasks.hpp. Values join in the order of core/scan_order.hpp; the driver
// that goes over the tiles is in host/drivers.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/scan_order.hpp>
#include <strata/devices/host/reduce_tasks.hpp>

namespace strata::inline STRATA_ABI::detail {

/// parallel_scan over an index range; the finish is called once, with the total.
template <class Body, class Reducer, class Finish>
class ScanTask : public ValueTask<Body, Reducer, Finish, ChunkRange> {
  using Base = ValueTask<Body, Reducer, Finish, ChunkRange>;
  using Context = typename Base::Context;
  using Value = typename Reducer::value_type;
  static constexpr bool exact = joins_exactly<Value>;

 public:
  ScanTask(const Body& body, const Reducer& reducer, const Finish& finish, const ChunkRange& range,
           const Value& start)
      : Base(body, reducer, finish, range), start_(start) {}

  void operator()(const Runner& runner, const LaunchInfo& info) const {
    Value carry = start_;
    this->make_value(info, carry, [&](const Context& context) {
      const index_t begin = context.range.begin, end = context.range.end;
      const BlockRange tiles = tiles_of_scan(begin, end);
      scan_tiles(
          runner, tiles.first, tiles.last,
          {value_ops<Context, Value>(context), alignof(Value), most_runs(begin, end), exact, total, final},
          &carry);
    });
  }

 private:
  // Of a tile of the range.
  static constexpr std::size_t most_runs(index_t begin, index_t end) {
    if (exact || begin >= end) return 0;
    const auto items = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
    return static_cast<std::size_t>(
        scan_runs_of(items < scan_tile ? static_cast<index_t>(items) : scan_tile));
  }
  // The items at `from` that are before `end`, at most `most` of them; returns where they end.
  static constexpr index_t end_of(index_t from, index_t most, index_t end) {
    return end - from < most ? end : from + most;
  }

  static void total(const void* raw, index_t tile, void* runs, void* value) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    const BlockItems items = items_of_scan_tile(tile, context.range.begin, context.range.end);
    PieceBody<Body> body = context.body;
    Value& whole = *static_cast<Value*>(value);
    if constexpr (exact) {
      Value sum;
      context.reducer.init(sum);
      run_in_order(body, items.begin, items.end, sum, false);
      whole = sum;
    } else {
      auto* run = static_cast<Value*>(runs);
      for (index_t from = items.begin; from < items.end;) {
        const bool first = from == items.begin;
        const index_t block_end = end_of(from, scan_block, items.end);
        int count = 0;
        for (; from < block_end; ++count) {
          const index_t end = end_of(from, scan_run, block_end);
          Value sum;
          context.reducer.init(sum);
          run_in_order(body, from, end, sum, false);
          from = end;
          run[count] = sum;
        }
        scan_run_sums(run, count, [&](Value& a, const Value& b) { context.reducer.join(a, b); });
        run += count;
        if (first) whole = run[-1];
        else context.reducer.join(whole, run[-1]);
      }
    }
  }

  static void final(const void* raw, index_t tile, const void* runs, void* value) {
    const auto& context = *static_cast<const Context*>(raw);
    const PieceCheck scope(context.check);
    const BlockItems items = items_of_scan_tile(tile, context.range.begin, context.range.end);
    PieceBody<Body> body = context.body;
    if constexpr (exact) {
      Value sum = *static_cast<Value*>(value);
      run_in_order(body, items.begin, items.end, sum, true);
      *static_cast<Value*>(value) = sum;
    } else {
      const Value& before_tile = *static_cast<const Value*>(value);
      const auto* run = static_cast<const Value*>(runs);
      Value before_block;
      context.reducer.init(before_block);
      for (index_t from = items.begin; from < items.end;) {
        const bool first = from == items.begin;
        Value block = before_tile;
        if (!first) context.reducer.join(block, before_block);
        const index_t block_end = end_of(from, scan_block, items.end);
        int count = 0;
        for (; from < block_end; ++count) {
          const index_t end = end_of(from, scan_run, block_end);
          Value sum = block;
          if (count > 0) context.reducer.join(sum, run[count - 1]);
          run_in_order(body, from, end, sum, true);
          from = end;
        }
        run += count;
        if (first) before_block = run[-1];
        else context.reducer.join(before_block, run[-1]);
      }
    }
  }

  Value start_;
};

}  // namespace strata::inline STRATA_ABI::detail
