// The plan is that of a copy in units of one number instead of bytes: its offsets and strides are those of
// both sides, each times the bytes of its own numbers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include <strata/core/conversion.hpp>
#include <strata/core/copy_plan.hpp>
#include <strata/core/half.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr index_t split_numbers = index_t{1} << 17;  // fewer are not worth waking threads for
constexpr index_t block_numbers = index_t{1} << 15;
// Of a transposed piece: as many lines of the source stay in the first-level cache.
constexpr index_t line_numbers = 64;

template <NumberKind>
struct NumberOf;
// clang-format off
template <> struct NumberOf<NumberKind::Bool> { using type = bool; };
template <> struct NumberOf<NumberKind::Int8> { using type = std::int8_t; };
template <> struct NumberOf<NumberKind::UInt8> { using type = std::uint8_t; };
template <> struct NumberOf<NumberKind::Int16> { using type = std::int16_t; };
template <> struct NumberOf<NumberKind::UInt16> { using type = std::uint16_t; };
template <> struct NumberOf<NumberKind::Int32> { using type = std::int32_t; };
template <> struct NumberOf<NumberKind::UInt32> { using type = std::uint32_t; };
template <> struct NumberOf<NumberKind::Int64> { using type = std::int64_t; };
template <> struct NumberOf<NumberKind::UInt64> { using type = std::uint64_t; };
template <> struct NumberOf<NumberKind::Float> { using type = float; };
template <> struct NumberOf<NumberKind::Double> { using type = double; };
template <> struct NumberOf<NumberKind::Half> { using type = half_t; };
template <> struct NumberOf<NumberKind::Brain> { using type = bfloat16_t; };
// clang-format on

// Steps are in numbers.
using ConvertRun = void (*)(void* dst, index_t dst_step, const void* src, index_t src_step, index_t count);

template <class To, class From>
void convert_run(void* dst, index_t dst_step, const void* src, index_t src_step, index_t count) {
  To* __restrict const d = static_cast<To*>(dst);
  const From* __restrict const s = static_cast<const From*>(src);
  if (dst_step == 1 && src_step == 1) {
    for (index_t i = 0; i < count; ++i) d[i] = static_cast<To>(s[i]);
  } else {
    for (index_t i = 0; i < count; ++i) d[i * dst_step] = static_cast<To>(s[i * src_step]);
  }
}

template <int To, int... From>
ConvertRun run_from(NumberKind from, std::integer_sequence<int, From...>) {
  using Number = typename NumberOf<static_cast<NumberKind>(To)>::type;
  static constexpr ConvertRun runs[] = {
      convert_run<Number, typename NumberOf<static_cast<NumberKind>(From)>::type>...};
  return runs[static_cast<int>(from)];
}
template <int... To>
ConvertRun run_of(Conversion how, std::integer_sequence<int, To...> all) {
  using From = ConvertRun (*)(NumberKind, std::integer_sequence<int, To...>);
  static constexpr From rows[] = {run_from<To, To...>...};
  return rows[static_cast<int>(how.to)](how.from, all);
}

// A piece as loops over runs, which are done in blocks: a thread's share is a range of blocks. Where the
// source's nearest neighbours lie along another loop, that one goes round within a block's place in the run.
struct ConversionJob {
  char* dst;
  const char* src;
  index_t to_bytes, from_bytes;
  ConvertRun run;
  CopyPiece piece;  // the loops that are left
  struct {
    index_t extent = 1, dst = 1, src = 1;
  } inner, near;
  index_t block;      // the most numbers of one
  index_t blocks;     // of a run
  index_t units = 1;  // blocks of all runs

  ConversionJob(void* dst_base, const void* src_base, const CopyPiece& whole, Conversion how)
      : dst(static_cast<char*>(dst_base)),
        src(static_cast<const char*>(src_base)),
        to_bytes(bytes_of(how.to)),
        from_bytes(bytes_of(how.from)),
        run(run_of(how, std::make_integer_sequence<int, number_kinds>())),
        piece(whole) {
    dst += piece.dst_offset * to_bytes;
    src += piece.src_offset * from_bytes;
    inner.extent = piece.run_bytes;
    const auto take = [&](auto& loop, int r) {
      loop = {piece.extent[r], piece.dst_stride[r], piece.src_stride[r]};
      --piece.rank;
      for (int q = r; q < piece.rank; ++q) {
        piece.extent[q] = piece.extent[q + 1];
        piece.dst_stride[q] = piece.dst_stride[q + 1];
        piece.src_stride[q] = piece.src_stride[q + 1];
      }
    };
    if (inner.extent == 1 && piece.rank > 0) take(inner, piece.rank - 1);
    const bool turns = whole.kind == CopyKind::Transpose && piece.rank > 0;
    if (turns) {
      int nearest = 0;
      for (int r = 1; r < piece.rank; ++r)
        if (std::abs(piece.src_stride[r]) < std::abs(piece.src_stride[nearest])) nearest = r;
      take(near, nearest);
    }
    block = turns ? line_numbers : block_numbers;
    blocks = (inner.extent + block - 1) / block;
    units = near.extent * blocks;
    for (int r = 0; r < piece.rank; ++r) units *= piece.extent[r];
  }

  void operator()(index_t begin, index_t end) const {
    for (index_t k = begin; k < end; ++k) {
      index_t rest = k / near.extent;
      const index_t at_near = k - rest * near.extent, first = rest % blocks * block;
      rest /= blocks;
      index_t to = first * inner.dst + at_near * near.dst, from = first * inner.src + at_near * near.src;
      for (int r = piece.rank; r-- > 0; rest /= piece.extent[r]) {
        to += rest % piece.extent[r] * piece.dst_stride[r];
        from += rest % piece.extent[r] * piece.src_stride[r];
      }
      run(dst + to * to_bytes, inner.dst, src + from * from_bytes, inner.src,
          std::min(block, inner.extent - first));
    }
  }

  void on(const ChunkRunner& runner) const {
    const index_t numbers = std::min(block, inner.extent);  // of a unit
    if (runner.run == nullptr || units * numbers <= split_numbers || units == 1) return (*this)(0, units);
    struct Split {
      const ConversionJob* job;
      index_t grain;  // units of a large block's worth of numbers
    } const split{this, std::max<index_t>(1, block_numbers / numbers)};
    runner.run(
        runner.pool, (units + split.grain - 1) / split.grain,
        [](const void* context, index_t begin, index_t end) {
          const auto& s = *static_cast<const Split*>(context);
          (*s.job)(begin * s.grain, std::min(end * s.grain, s.job->units));
        },
        &split);
  }
};

// By the offset of each index: for layouts that strides cannot describe.
void convert_each(void* dst_base, const LayoutDescriptor& dst, const void* src_base,
                  const LayoutDescriptor& src, Conversion how) {
  const ConvertRun run = run_of(how, std::make_integer_sequence<int, number_kinds>());
  const index_t parts = how.parts, to_bytes = bytes_of(how.to), from_bytes = bytes_of(how.from);
  index_t index[max_rank + 1] = {};
  for (index_t k = element_count(dst); k > 0; --k) {
    run(static_cast<char*>(dst_base) + offset_of(dst, index) * parts * to_bytes, 1,
        static_cast<const char*>(src_base) + offset_of(src, index) * parts * from_bytes, 1, parts);
    for (int r = dst.rank - 1; r >= 0 && ++index[r] == dst.extent[r]; --r) index[r] = 0;
  }
}

}  // namespace

bool conversion_overlaps(const void* dst_base, const LayoutDescriptor& dst, const void* src_base,
                         const LayoutDescriptor& src, Conversion how) {
  struct Range {
    std::uintptr_t begin, end;
  };
  const auto range_of = [&](const void* base, const LayoutDescriptor& layout, NumberKind kind) {
    const OffsetBounds bounds = offset_bounds(layout);
    const index_t bytes = how.parts * bytes_of(kind);
    const auto at = reinterpret_cast<std::uintptr_t>(base);
    return Range{at + static_cast<std::uintptr_t>(bounds.lowest * bytes),
                 at + static_cast<std::uintptr_t>((bounds.highest + 1) * bytes)};
  };
  if (element_count(dst) == 0) return false;
  const Range d = range_of(dst_base, dst, how.to), s = range_of(src_base, src, how.from);
  return d.begin < s.end && s.begin < d.end;
}

void convert_on_host(void* dst_base, const LayoutDescriptor& dst, const void* src_base,
                     const LayoutDescriptor& src, Conversion how, const ChunkRunner& runner) {
  const CopyPieces pieces = plan_copy(dst, src, static_cast<std::size_t>(how.parts));
  for (const CopyPiece& piece : pieces) {
    if (piece.kind == CopyKind::ElementWise) return convert_each(dst_base, dst, src_base, src, how);
    ConversionJob(dst_base, src_base, piece, how).on(runner);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
