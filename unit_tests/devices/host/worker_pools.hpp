// What the tests of the worker pool share: functions as it takes them, and runs whose result tells whether
// every index was visited once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include <strata/devices/host/worker_pool.hpp>

namespace strata_tests {

using strata::index_t;
using strata::detail::ChunkFunction;
using strata::detail::ChunkRange;
using strata::detail::Schedule;
using strata::detail::WorkerPool;

template <class F>
ChunkFunction erase(const F& f) {
  return {[](const void* context, index_t begin, index_t end, int worker) {
            (*static_cast<const F*>(context))(begin, end, worker);
          },
          &f};
}

struct Piece {
  index_t begin;
  index_t end;
  int worker;
  auto operator<=>(const Piece&) const = default;
};

// What a run called, in the order of the indices.
inline std::vector<Piece> pieces_of(WorkerPool& pool, const ChunkRange& range) {
  std::mutex mutex;
  std::vector<Piece> pieces;
  pool.run(range, erase([&](index_t begin, index_t end, int worker) {
             const std::lock_guard lock(mutex);
             pieces.push_back({begin, end, worker});
           }));
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

// Adds up 0 .. n-1 with the pool: wrong if a piece is lost or run twice.
inline index_t sum_with(WorkerPool& pool, index_t n, Schedule schedule) {
  std::atomic<index_t> sum{0};
  pool.run({0, n, 3, 1, schedule}, erase([&](index_t begin, index_t end, int) {
             for (index_t i = begin; i < end; ++i) sum.fetch_add(i, std::memory_order_relaxed);
           }));
  return sum.load();
}

inline index_t sum_to(index_t n) { return n * (n - 1) / 2; }

}  // namespace strata_tests
