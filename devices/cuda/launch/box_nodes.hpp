// The nodes of reductions over boxes on a GPU, and where their items lie.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <strata/core/reduction_tree.hpp>
#include <strata/devices/cuda/launch/box_plan.hpp>
#include <strata/devices/cuda/launch/warp.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The numbers of the nodes of a box: each row has `blocks` of them, numbered from (row - origin) *
/// 2^log2_row on; the other numbers are of no node, which makes the tree pairwise within a row and then over
/// rows. The origin keeps the numbers small, and with them the ends of aligned groups within 64 bits,
/// wherever the rows lie: a multiple of 2^k, at least as many as there are rows, from which on pairs of rows
/// are the same.
struct BoxNumbers {
  index_t row_items = 0;
  index_t blocks = 0;
  int log2_row = 0;
  index_t origin = 0;  // a row
  index_t first = 0;
  index_t last = 0;

  /// Whether there are nodes among the numbers [a, b), an aligned group.
  STRATA_FUNCTION bool holds(index_t a, index_t b) const {
    const index_t row_size = index_t{1} << log2_row;
    return a < last && b > first && (b - a >= row_size || (a & (row_size - 1)) < blocks);
  }
  STRATA_FUNCTION index_t count(index_t node) const {
    const index_t left = row_items - (node & ((index_t{1} << log2_row) - 1)) * reduction_block;
    return left < reduction_block ? left : reduction_block;
  }
  index_t most_items() const { return row_items < reduction_block ? row_items : reduction_block; }
};

/// Splits what an index has run over its extent by at most 511 into the index and carries, by 32-bit products
/// instead of divisions. The index counts from where the end of the extent is a whole multiple of 2^shift /
/// factor: from 0 where the extent is below 512, and factor = ceil(2^20 / extent) is exact for numbers below
/// 1024 and for multiples of the extent below 2048; else the end is at 2^30.
struct NodeDivisor {
  static constexpr unsigned far_end = 1u << 30;
  index_t extent = 1;
  unsigned factor = 1;
  int shift = 30;

  NodeDivisor() = default;
  explicit NodeDivisor(index_t n) : extent(n) {
    if (n <= 0 || n >= reduction_block) return;
    factor = ((1u << 20) - 1) / static_cast<unsigned>(n) + 1;
    shift = 20;
  }
  /// The number of index `i`, from which at most 511 others are reached.
  STRATA_FUNCTION unsigned number(index_t i) const {
    if (shift != 30) return static_cast<unsigned>(i);
    const index_t left = extent - i;
    return left < far_end ? far_end - static_cast<unsigned>(left) : 0;
  }
  STRATA_FUNCTION unsigned carries(unsigned number) const { return (number * factor) >> shift; }
};

/// Items of a box that follow each other: the first `of_first` of them along a line of the last index, the
/// others along the next line. `second` is where that would have begun. An address is one or the other,
/// whatever a kernel reads beside it.
template <int Rank, class Kernel>
class TwoLines {
 public:
  __device__ TwoLines(const Kernel& at_first, const Kernel& at_second, const index_t (&first)[Rank],
                      const index_t (&second)[Rank], int of_first)
      : at_first_(at_first), at_second_(at_second), of_first_(of_first) {
#pragma unroll
    for (int d = 0; d < Rank; ++d) first_[d] = first[d], second_[d] = second[d];
  }
  template <class T>
  __device__ void operator()(int k, T& value) const {
    const bool is_second = k >= of_first_;
    index_t item[Rank];
#pragma unroll
    for (int d = 0; d < Rank; ++d) item[d] = is_second ? second_[d] : first_[d];
    Kernel kernel = at_first_;
    kernel.take_addresses_if(is_second, at_second_);
    kernel.set_item(item);
    item[Rank - 1] += k;
    kernel(item, value);
  }

 private:
  const Kernel at_first_, at_second_;
  index_t first_[Rank], second_[Rank];
  int of_first_;
};
// Only where items that follow each other lie next to each other: else boxes of any size have another way.
template <int Rank, class Body>
inline constexpr bool has_two_lines = false;
template <int Rank, class Body>
requires(Rank > 2 && requires(const Body& body, const index_t (&item)[Rank]) {
  body.anchored_at(item).set_item(item);
}) inline constexpr bool has_two_lines<Rank, Body> = is_last_index_fastest<Body>();

/// The nodes of a box.
template <int Rank, class Body>
struct BoxNodes : BoxNumbers {
  using body_type = Body;
  static constexpr bool all_numbers = false;
  Body body;
  index_t lower[Rank];
  NodeDivisor divisor[Rank];

  /// The items of a node, or those from one on.
  struct Items {
    const BoxNodes& nodes;
    index_t base[Rank];     // of the first item; of what has a number, the index of number 0
    unsigned number[Rank];  // by NodeDivisor
    int begin;

    __device__ Items from(int k) const {
      Items result = *this;
      result.begin += k;
      return result;
    }
    template <class T>
    __device__ void operator()(int k, T& value) const {
      index_t item[Rank];
      find(k, item);
      nodes.call(item, value);
    }
    /// The indices of item `k`.
    __device__ void find(int k, index_t (&item)[Rank]) const {
      unsigned more = static_cast<unsigned>(begin + k);
      item[0] = base[0];
#pragma unroll
      for (int d = Rank - 1; d > 1; --d) {
        const unsigned all = number[d] + more;
        more = nodes.divisor[d].carries(all);
        item[d] = base[d] + all - more * nodes.divisor[d].extent;
      }
      item[1] = base[1] + more;
    }
    /// Items k to k + Count - 1, whose indices may differ in the last one only, each to its value.
    template <int Count, class T>
    __device__ void line(int k, T (&value)[Count]) const {
      index_t item[Rank];
      find(k, item);
      const index_t first = item[Rank - 1];
      if constexpr (requires(const Body& body) { body.anchored_at(item); }) {
        const auto kernel = nodes.body.anchored_at(item);
#pragma unroll
        for (int l = 0; l < Count; ++l) {
          item[Rank - 1] = first + l;
          kernel(item, value[l]);
        }
      } else {
#pragma unroll
        for (int l = 0; l < Count; ++l) {
          item[Rank - 1] = first + l;
          nodes.call(item, value[l]);
        }
      }
    }
    /// Whether any `count` items that follow each other have two values of the other indices at most.
    __device__ bool have_two_lines(int count) const { return nodes.divisor[Rank - 1].extent >= count; }
    /// Items from k on that have two values of the other indices at most, for bodies whose addresses can be
    /// anchored: one or the other of two.
    __device__ auto two_lines(int k) const requires has_two_lines<Rank, Body> {
      index_t first[Rank], second[Rank];
      find(k, first);
      const index_t left = nodes.divisor[Rank - 1].extent - (first[Rank - 1] - nodes.lower[Rank - 1]);
      const int of_first =
          left < reduction_block ? static_cast<int>(left) : static_cast<int>(reduction_block);
      find(k + of_first, second);  // begins a line; where no item reaches it, it may be any
      second[Rank - 1] -= of_first;
      return TwoLines<Rank, decltype(nodes.body.anchored_at(first))>(
          nodes.body.anchored_at(first), nodes.body.anchored_at(second), first, second, of_first);
    }
    /// Whether the indices of items k to k + count - 1 differ in the last one only.
    __device__ bool are_line(int k, int count) const {
      if constexpr (Rank == 2) return true;
      const NodeDivisor& divisor = nodes.divisor[Rank - 1];
      const unsigned all = number[Rank - 1] + static_cast<unsigned>(begin + k);
      return divisor.carries(all) == divisor.carries(all + static_cast<unsigned>(count) - 1);
    }
  };
  __device__ Items items(index_t node) const {
    const index_t row = node >> log2_row;
    return items(origin + row, node - (row << log2_row));
  }
  __device__ Items items(index_t row, index_t block) const {
    Items result{*this, {row}, {}, 0};
    index_t left = block * reduction_block;
#pragma unroll
    for (int d = Rank - 1; d > 1; --d) {
      const index_t at = left % divisor[d].extent;
      left /= divisor[d].extent;
      result.number[d] = divisor[d].number(at);
      result.base[d] = lower[d] + at - result.number[d];
    }
    result.base[1] = lower[1] + left;
    return result;
  }

 private:
  template <class T>
  __device__ void call(const index_t (&item)[Rank], T& value) const {
    if constexpr (requires { body.anchored_at(item); }) body.anchored_at(item)(item, value);
    else call(item, value, std::make_index_sequence<Rank>());
  }
  template <class T, std::size_t... D>
  __device__ void call(const index_t (&item)[Rank], T& value, std::index_sequence<D...>) const {
    body(item[D]..., value);
  }
};

/// The nodes of a box.
template <int Rank, class Body>
BoxNodes<Rank, Body> box_nodes(const TileRange<Rank>& range, const Body& body) {
  BoxNodes<Rank, Body> nodes{{}, body, {}, {}};
  index_t row_items = 1;
  for (int d = 0; d < Rank; ++d) {
    const index_t extent = range.upper[d] - range.lower[d];
    nodes.lower[d] = range.lower[d];
    nodes.divisor[d] = NodeDivisor(extent);
    if (d > 0) row_items *= extent;
  }
  if (range.items() > 0) {
    const index_t rows = range.upper[0] - range.lower[0];
    nodes.row_items = row_items;
    nodes.blocks = (row_items + reduction_block - 1) / reduction_block;
    while ((index_t{1} << nodes.log2_row) < nodes.blocks) ++nodes.log2_row;
    int log2_rows = 0;
    while (log2_rows < 62 && (index_t{1} << log2_rows) < rows) ++log2_rows;
    nodes.origin = (range.lower[0] >> log2_rows) << log2_rows;
    nodes.first = (range.lower[0] - nodes.origin) << nodes.log2_row;
    nodes.last = nodes.first + (rows << nodes.log2_row);
  }
  return nodes;
}

/// Nodes above those of a box, whose values there are, of aligned groups of 2^log2_unit numbers: each joins
/// those of 128 groups, four in each lane.
template <class T>
struct StoredNodes {
  struct body_type {
    static constexpr bool only_reads = true;
  };
  static constexpr bool all_numbers = false;
  static constexpr int own = 4, log2_groups = 7;
  BoxNumbers numbers;
  int log2_unit;
  const T* values;  // of the groups, from that of numbers.first on; to be set
  index_t first;
  index_t last;

  StoredNodes(const BoxNumbers& box, int log2)
      : numbers(box),
        log2_unit(log2),
        values(nullptr),
        first(box.first >> (log2 + log2_groups)),
        last(box.last > box.first ? ((box.last - 1) >> (log2 + log2_groups)) + 1 : first) {}

  __device__ bool holds(index_t a, index_t b) const {
    return numbers.holds(a << (log2_unit + log2_groups), b << (log2_unit + log2_groups));
  }

  /// Node `node` by the calling warp, to its lane 0.
  template <class Reducer>
  __device__ void join(T& result, index_t node, const Reducer& reducer) const {
    const index_t unit = (node << log2_groups) + threadIdx.x % warp_lanes * index_t{own};
    const index_t from = numbers.first >> log2_unit;
    T value[own];
    bool has[own];
#pragma unroll
    for (int o = 0; o < own; ++o) {
      has[o] = numbers.holds((unit + o) << log2_unit, (unit + o + 1) << log2_unit);
      if (has[o]) value[o] = values[unit + o - from];
    }
    const bool has_any = join_own(value, has, reducer);
    join_nodes(value[0], has_any, warp_lanes, reducer);
    result = value[0];
  }
};

}  // namespace strata::inline STRATA_ABI::detail
