// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include <strata/core/error.hpp>
#include <strata/devices/host/drivers.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Raw storage for values of a type known by size and alignment only: on the stack where it is small.
class Storage {
 public:
  // `advice`: what else to do than to free arrays, where there is no memory. OutOfMemory.
  Storage(std::size_t bytes, std::size_t alignment, const char* advice)
      : alignment_(std::align_val_t(alignment)) {
    if (bytes <= sizeof(local_) && alignment <= alignof(std::max_align_t)) return;
    heap_ = ::operator new(bytes, alignment_, std::nothrow);
    if (heap_ == nullptr)
      throw OutOfMemory("a reduction or a scan needs " + std::to_string(bytes) +
                        " bytes of the host's memory for values of parts of its range, which the system does "
                        "not give: free arrays, or " +
                        advice);
  }
  ~Storage() {
    if (heap_) ::operator delete(heap_, alignment_);
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  char* data() { return heap_ ? static_cast<char*>(heap_) : local_; }

 private:
  std::align_val_t alignment_;
  void* heap_ = nullptr;
  alignas(std::max_align_t) char local_[2048];
};

constexpr const char* use_smaller_values = "reduce smaller values";
constexpr const char* scan_in_parts =
    "go over the range in several calls, each of which begins with the total of the last one";

// The nodes of each group are an aligned subtree of 2^log2_size nodes, so a worker may join them alone.
struct Groups {
  index_t first, last;  // nodes
  int log2_size;

  index_t first_group() const { return first >> log2_size; }
  index_t last_group() const { return ((last - 1) >> log2_size) + 1; }
};

Groups make_groups(index_t first, index_t last, int workers) {
  // A few groups a worker balance the load; more would only cost memory.
  Groups groups{first, last, 0};
  while ((last - first) >> groups.log2_size > 16 * static_cast<index_t>(workers)) ++groups.log2_size;
  return groups;
}

// Joins nodes [first, last) into `partial`.
void reduce_range(index_t first, index_t last, const ReduceNodes& nodes, void* partial) {
  const int together = nodes.together;
  if (first >> together == (last - 1) >> together)
    return nodes.nodes(nodes.ops.context, first, last, partial);
  Storage storage(PairwiseJoin::levels * nodes.ops.bytes, nodes.alignment, use_smaller_values);
  PairwiseJoin join(nodes.ops, storage.data());
  for (index_t node = first; node < last;) {
    const index_t group = node >> together, rest = (group + 1) * (index_t{1} << together) - node;
    const index_t end = rest < last - node ? node + rest : last;
    nodes.nodes(nodes.ops.context, node, end, join.next());
    join.push(group);
    node = end;
  }
  std::memcpy(partial, join.finish(), nodes.ops.bytes);
}

void reduce_group(const Groups& groups, index_t group, const ReduceNodes& nodes, void* partial) {
  // The last node, not the one after it, which may be 2^63.
  const index_t first = group << groups.log2_size, back = first + ((index_t{1} << groups.log2_size) - 1);
  reduce_range(first > groups.first ? first : groups.first, back < groups.last ? back + 1 : groups.last,
               nodes, partial);
}

}  // namespace

void reduce_nodes(const Runner& runner, index_t first, index_t last, const ReduceNodes& nodes, void* result) {
  if (first >= last) {
    nodes.ops.init(nodes.ops.context, result);
    return;
  }
  if (runner.workers == 1 || last - first == 1) {
    reduce_range(first, last, nodes, result);
    return;
  }
  const Groups groups = make_groups(first, last, runner.workers);
  const index_t begin = groups.first_group(), end = groups.last_group();
  Storage partials(static_cast<std::size_t>(end - begin) * nodes.ops.bytes, nodes.alignment,
                   use_smaller_values);
  struct Context {
    const Groups& groups;
    const ReduceNodes& nodes;
    char* partials;
    index_t begin;
  } const context{groups, nodes, partials.data(), begin};
  const auto work = [](const void* raw, index_t from, index_t to, int) {
    const auto& c = *static_cast<const Context*>(raw);
    for (index_t group = from; group < to; ++group)
      reduce_group(c.groups, group, c.nodes,
                   c.partials + static_cast<std::size_t>(group - c.begin) * c.nodes.ops.bytes);
  };
  runner.run(runner.context, {.begin = begin, .end = end},
             {work, &context, reinterpret_cast<std::uintptr_t>(nodes.nodes), last - first});

  Storage storage(PairwiseJoin::levels * nodes.ops.bytes, nodes.alignment, use_smaller_values);
  PairwiseJoin join(nodes.ops, storage.data());
  for (index_t group = begin; group < end; ++group) {
    std::memcpy(join.next(), partials.data() + static_cast<std::size_t>(group - begin) * nodes.ops.bytes,
                nodes.ops.bytes);
    join.push(group);
  }
  std::memcpy(result, join.finish(), nodes.ops.bytes);
}

namespace {

// One thread: sums and final values of a tile while it is in cache.
void scan_alone(index_t first, index_t last, const ScanTiles& tiles, void* carry) {
  const ValueOps& ops = tiles.ops;
  if (tiles.exact) {
    for (index_t t = first; t < last; ++t) tiles.final(ops.context, t, nullptr, carry);
    return;
  }
  Storage storage((tiles.runs + 1) * ops.bytes, tiles.alignment, use_smaller_values);
  char* const total = storage.data();
  char* const runs = total + ops.bytes;
  for (index_t t = first; t < last; ++t) {
    tiles.total(ops.context, t, runs, total);
    tiles.final(ops.context, t, runs, carry);
    ops.join(ops.context, carry, total);
  }
}

}  // namespace

void scan_tiles(const Runner& runner, index_t first, index_t last, const ScanTiles& tiles, void* carry) {
  if (first >= last) return;
  if (runner.workers == 1 || last - first == 1) {
    scan_alone(first, last, tiles, carry);
    return;
  }
  // Of each tile its sum, later the sum before it, and those of its runs: a sixteenth of the items, so that
  // no item is visited a third time.
  const ValueOps& ops = tiles.ops;
  const std::size_t tile_bytes = (tiles.runs + 1) * ops.bytes;
  Storage values(static_cast<std::size_t>(last - first) * tile_bytes, tiles.alignment, scan_in_parts);
  Storage swap(ops.bytes, tiles.alignment, use_smaller_values);
  struct Context {
    const ScanTiles& tiles;
    char* values;
    std::size_t tile_bytes;
    index_t first;
    char* value(index_t t) const { return values + static_cast<std::size_t>(t - first) * tile_bytes; }
    char* runs(index_t t) const { return value(t) + tiles.ops.bytes; }
  } const context{tiles, values.data(), tile_bytes, first};

  const auto total = [](const void* raw, index_t from, index_t to, int) {
    const auto& c = *static_cast<const Context*>(raw);
    for (index_t t = from; t < to; ++t) c.tiles.total(c.tiles.ops.context, t, c.runs(t), c.value(t));
  };
  const auto kernel = reinterpret_cast<std::uintptr_t>(tiles.final);
  runner.run(runner.context, {.begin = first, .end = last}, {total, &context, kernel, 0});

  for (index_t t = first; t < last; ++t) {
    std::memcpy(swap.data(), context.value(t), ops.bytes);
    std::memcpy(context.value(t), carry, ops.bytes);
    ops.join(ops.context, carry, swap.data());
  }

  const auto final = [](const void* raw, index_t from, index_t to, int) {
    const auto& c = *static_cast<const Context*>(raw);
    for (index_t t = from; t < to; ++t) c.tiles.final(c.tiles.ops.context, t, c.runs(t), c.value(t));
  };
  runner.run(runner.context, {.begin = first, .end = last}, {final, &context, kernel, 0});
}

}  // namespace strata::inline STRATA_ABI::detail
