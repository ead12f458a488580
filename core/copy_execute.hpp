// Carries out copy plans on a host: on the calling thread, or on the threads of a pool that is passed in.
//
// Every call returns when the copy is done. Nothing here owns memory or threads. The bases are the addresses
// from which the offsets of the layouts count; every thread of the runner must be able to dereference them.
// The caller orders copies against other work on the same memory. Functions with pieces require that the two
// sides do not overlap; `copy_on_host` checks it. Pieces of more than 1 MiB are split over the runner's
// threads; each element is written by exactly one of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <strata/core/config.hpp>
#include <strata/core/copy_plan.hpp>
#include <strata/core/layout_descriptor.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A borrowed way to run chunks of [0, n) on several threads; by default everything runs on the calling
/// thread.
///
/// `run` calls `chunk(context, begin, end)` for disjoint ranges that cover [0, n), on any threads, and
/// returns when all have returned. Fewer and longer ranges are better: a unit is about 256 KiB of the copy.
struct ChunkRunner {
  /// Does the part [begin, end) of the work that `context` describes.
  using Chunk = void (*)(const void* context, index_t begin, index_t end);

  /// Null: everything runs on the calling thread. `pool` is its argument.
  void (*run)(const void* pool, index_t n, Chunk chunk, const void* context) = nullptr;
  const void* pool = nullptr;
};

/// Copies the elements of `src` to the same indices of `dst`: plans, checks, and uses the fastest of the
/// functions below.
///
/// Throws ShapeMismatch where the extents differ, and CopyError where the two sides overlap (a copy of an
/// array onto itself does nothing). Of user-supplied layouts only the ranges of bytes are compared, not the
/// elements.
void copy_on_host(void* dst_base, const LayoutDescriptor& dst, const void* src_base,
                  const LayoutDescriptor& src, std::size_t element_bytes, const ChunkRunner& runner = {});

/// Assigns the `element_bytes` bytes at `value` to every element of `dst`.
void fill_on_host(void* dst_base, const LayoutDescriptor& dst, const void* value, std::size_t element_bytes,
                  const ChunkRunner& runner = {});

/// Copies pieces of any kind but `element_wise`, for which it throws CopyError before it writes anything.
void copy_pieces(void* dst_base, const void* src_base, std::span<const CopyPiece> pieces,
                 const ChunkRunner& runner = {});

/// Fills the pieces of a `plan_fill` for elements of `element_bytes`, with the restriction of `copy_pieces`.
void fill_pieces(void* dst_base, const void* value, std::size_t element_bytes,
                 std::span<const CopyPiece> pieces, const ChunkRunner& runner = {});

/// Copies by computing the offset of each index in both layouts: for any layout, slow. The extents must be
/// equal.
void copy_elementwise(void* dst_base, const LayoutDescriptor& dst, const void* src_base,
                      const LayoutDescriptor& src, std::size_t element_bytes, const ChunkRunner& runner = {});

/// Fills by computing the offset of each index.
void fill_elementwise(void* dst_base, const LayoutDescriptor& dst, const void* value,
                      std::size_t element_bytes, const ChunkRunner& runner = {});

}  // namespace strata::inline STRATA_ABI::detail
