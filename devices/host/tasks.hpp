// Host tasks: one launch (for, reduce, scan) with all it needs, to be run by a team of host threads. Serial,
// Threads and Tbb run it at once; emulated instances carry it through a queue.
//
// A task holds an uncounted copy of the kernel (see allocation.hpp). Each piece works on a copy of its own if
// the kernel is small: a copy whose address does not escape stays in registers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/host/drivers.hpp>
#include <strata/devices/host/loops.hpp>

namespace strata::inline STRATA_ABI::detail {

// Kernels up to this size are copied for each piece of work, larger ones are shared.
inline constexpr std::size_t private_kernel_bytes = 1024;

template <class Body>
using PieceBody =
    std::conditional_t<(sizeof(Body) <= private_kernel_bytes && std::is_nothrow_copy_constructible_v<Body>),
                       const Body, const Body&>;

/// The record of bad accesses that a kernel's threads share; nothing in unchecked builds.
struct TaskCheck {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  CheckRecord record;
  CheckRecord* get() { return &record; }
  void throw_found(const LaunchInfo& info) {
    throw_failed_check(record, info.label, info.kernel_type, info.tag_type);
  }
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

/// A task of any type, for a call.
struct TaskCall {
  const void* task;
  void (*call)(const void* task, const Runner& runner, const LaunchInfo& info);
};
/// A task of an unknown type, and the function that runs it. (Virtual functions would come with constructors,
/// destructors and run-time type information, for each kernel of a program.)
template <class Task>
struct AnyTask {
  static void call(const void* task, const Runner& runner, const LaunchInfo& info) {
    (*static_cast<const Task*>(task))(runner, info);
  }
  static void destroy(const void* task) { delete static_cast<const Task*>(task); }
};
/// A task that is done later, once or several times: made by `new`.
class HeldTask {
 public:
  HeldTask(TaskCall call, void (*destroy)(const void* task), index_t items)
      : call_(call), destroy_(destroy), items_(items) {}
  HeldTask(HeldTask&& other) noexcept : call_(other.call_), destroy_(other.destroy_), items_(other.items_) {
    other.call_.task = nullptr;
  }
  HeldTask& operator=(HeldTask&&) = delete;
  ~HeldTask() {
    if (call_.task != nullptr) destroy_(call_.task);
  }

  index_t items() const { return items_; }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    call_.call(call_.task, runner, info);
  }

 private:
  TaskCall call_;
  void (*destroy_)(const void* task);
  index_t items_;
};

/// Work that is not a loop over items, such as a sort.
template <class Work>
class CallTask {
 public:
  CallTask(const Work& work, index_t items) : work_(work), items_(items) {}

  index_t items() const { return items_; }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    TaskCheck check;
    const PieceCheck scope(check.get());
    work_(runner);
    check.throw_found(info);
  }

 private:
  Work work_;
  index_t items_;
};

/// parallel_for over an index range.
template <class Body>
class ForTask {
 public:
  ForTask(const Body& body, const ChunkRange& range) : body_(body), range_(range) {
    if constexpr (Body::takes_lanes)
      if (range_.chunk <= 0) range_.align = lanes_of<Body>;
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

// Long enough to vectorise, short enough to distribute a single row.
inline constexpr index_t longest_tile = 4096;

/// parallel_for over a box, tile by tile; by default a tile is a row along the last dimension, or part of
/// one.
template <int Rank, class Body>
class BoxTask {
 public:
  BoxTask(const Body& body, const TileRange<Rank>& range) : body_(body), range_(range) {
    for (int r = 0; r < Rank; ++r) {
      const index_t extent = range_.upper[r] - range_.lower[r];
      if (range_.tile[r] <= 0) range_.tile[r] = r + 1 == Rank ? longest_tile : 1;
      if (range_.tile[r] > extent) range_.tile[r] = extent > 0 ? extent : 1;
      tiles_[r] = extent > 0 ? (extent - 1) / range_.tile[r] + 1 : 0;
    }
  }

  index_t items() const { return range_.items(); }
  void operator()(const Runner& runner, const LaunchInfo& info) const {
    index_t tiles = 1;
    for (int r = 0; r < Rank; ++r) tiles *= tiles_[r];
    TaskCheck check;
    const Context context{*this, check.get()};
    runner.run(runner.context, ChunkRange{0, tiles, 0, 1, range_.schedule}, {run, &context, 0, items()});
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
        const index_t left = task.range_.upper[r] - lower[r];
        upper[r] = left < task.range_.tile[r] ? task.range_.upper[r] : lower[r] + task.range_.tile[r];
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

}  // namespace strata::inline STRATA_ABI::detail
