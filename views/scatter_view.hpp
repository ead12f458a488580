// ScatterView: contributions of many work items to the same elements of an array, as assembly makes them.
//
//   const auto f = scatter_view(forces);                       // sums; scatter_view<ScatterMax>(x) and so on
//   parallel_for(on(d), elements, [=](auto e) { for (...) f(node(e, k), 0) += force; });
//   contribute(f);                                             // forces now has its old values plus sums
//
// How they are kept apart depends on the device: Serial adds at once; on Threads, Tbb and AnyHost every
// worker but the first adds to a copy of its own, which `contribute` joins to the target, in the order of the
// workers; on all others (GPUs, Emulated) every contribution is one atomic operation on the target. From the
// first contribution to `contribute` the target's elements have no defined value.
//
// Results: integers, minima and maxima are exact everywhere. Sums and products of floating-point numbers have
// the same bits from run to run on Serial, and on Threads where the schedule is static and the number of
// threads the same; on Tbb and under dynamic schedules it varies which worker gets which item, on GPUs the
// order of the atomics, and with it the last bits.
//
// While there is one with copies, launches on Threads do not even out processors that are not equally fast
// (docs/design.md).
//
// Memory: (workers - 1) times that of the target on Threads and Tbb; ScatterAtomic in place of the device's
// own way needs none: scatter_view<ScatterSum, ScatterAtomic>(x).
//
// A scatter view is a handle, copied shallowly into kernels; it shares the ownership of its target. Launches
// that contribute to one scatter view must not overlap in time, unless one is nested in the other on the same
// device. It is used on the device it was made for, on oneTBB in the arena it was made in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/devices/host/space.hpp>
#include <strata/devices/host/worker.hpp>
#include <strata/devices/host/worker_copies.hpp>
#include <strata/devices/queue.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/index_loop.hpp>
#include <strata/views/scatter_operations.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// Devices that say how many host threads work on a launch number them, too (host/worker.hpp).
template <class D>
concept NumbersWorkers = std::is_same_v<typename D::memory_space, HostSpace> && requires(const D& device) {
  device.concurrency();
};
template <class D>
using ScatterModeOf =
    std::conditional_t<std::is_same_v<D, Serial>, ScatterDirect,
                       std::conditional_t<NumbersWorkers<D>, ScatterDuplicated, ScatterAtomic>>;

[[noreturn]] void fail_scatter_worker(const char* label, int worker, int workers);
[[noreturn]] void fail_scatter_slice(const char* label);

}  // namespace detail

/// Made by scatter_view. `Target` is a view of non-const elements, `Mode` one of ScatterDirect,
/// ScatterDuplicated, ScatterAtomic.
template <class Target, class Operation = ScatterSum,
          class Mode = detail::ScatterModeOf<typename Target::device_type>>
class ScatterView {
 public:
  /// The target, and the type of one contribution.
  using target_type = Target;
  using operation = Operation;
  using mode = Mode;
  using device_type = typename Target::device_type;
  using value_type = typename Target::value_type;
  using element_type = detail::Contribution<value_type, Operation, Mode>;

  /// LayoutError for slices, OutOfMemory where there is no room for the copies.
  explicit ScatterView(const Target& target, const device_type& device = device_type()) : target_(target) {
    if constexpr (duplicated) {
      device_ = device;
      make_copies();
    }
  }

  /// The element at a multi-index, for one contribution. Checked builds check the indices.
  template <IndexLike... I>
  STRATA_FUNCTION element_type operator()(I... i) const {
    if constexpr (duplicated) {
      const Part part(own_copy(), target_.mapping());
      return element_type(&part(i...));
    } else {
      return element_type(&target_(i...));
    }
  }

  /// The view that the contributions go to.
  const Target& target() const { return target_; }

  /// Joins the workers' copies to the target, one after the other, and empties them. On devices without
  /// copies everything is there already, in the order of the queue.
  void contribute() const {
    if constexpr (duplicated) join_copies();
  }
  /// Forgets all contributions: the target's elements become the operation's identity (0, 1, the largest or
  /// the lowest value), in the device's default queue; complete on return.
  void reset() const {
    deep_copy(target_, Operation::template identity<value_type>());
    if constexpr (duplicated) clear_copies();
  }

 private:
  static constexpr bool duplicated = std::is_same_v<Mode, ScatterDuplicated>;
  using Part = typename Target::unmanaged_type;
  using Copies = View<value_type, device_type, RankExtents<1>, LayoutRight>;
  static constexpr index_t block = 1024;  // elements of the target that a work item joins

  static_assert(std::is_same_v<typename Target::reference, value_type&>,
                "strata: a scatter view needs a target of non-const elements with plain access");
  static_assert(
      !duplicated || detail::NumbersWorkers<device_type>,
      "strata: ScatterDuplicated needs a device whose workers are host threads: Threads, Tbb, AnyHost");

  // The copies, for kernels: `copies` begins with that of worker 1, each at its lowest offset.
  struct Shared {
    value_type* target;  // at its lowest offset
    value_type* copies;
    index_t stride;
    int workers;
    index_t span;  // elements from the lowest to the highest offset
  };
  struct Clear {
    Shared s;
    STRATA_FUNCTION void operator()(index_t worker) const {
      if (worker == 0) return;
      value_type* const copy = s.copies + (worker - 1) * s.stride;
      for (index_t k = 0; k < s.span; ++k) copy[k] = Operation::template identity<value_type>();
    }
  };
  struct JoinBlock {
    Shared s;
    STRATA_FUNCTION void operator()(index_t number) const {
      const index_t begin = number * block, end = begin + block < s.span ? begin + block : s.span;
      for (int w = 1; w < s.workers; ++w) {
        value_type* const copy = s.copies + (w - 1) * s.stride;
        for (index_t k = begin; k < end; ++k) {
          s.target[k] = Operation::join(s.target[k], copy[k]);
          copy[k] = Operation::template identity<value_type>();
        }
      }
    }
  };
  // For a target between whose elements others lie.
  struct JoinElement {
    Shared s;
    LayoutDescriptor layout;
    index_t lowest;
    STRATA_FUNCTION void operator()(index_t number) const {
      index_t at[max_rank] = {};
      for (int r = layout.rank - 1; r >= 0; --r) {
        at[r] = number % layout.extent[r];
        number /= layout.extent[r];
      }
      const index_t k = detail::offset_of(layout, at) - lowest;
      for (int w = 1; w < s.workers; ++w) {
        value_type& part = s.copies[(w - 1) * s.stride + k];
        s.target[k] = Operation::join(s.target[k], part);
        part = Operation::template identity<value_type>();
      }
    }
  };

  STRATA_FUNCTION value_type* own_copy() const {
#if defined(__CUDA_ARCH__)
    return nullptr;
#else
    const int worker = detail::current_host_worker();
    if (worker == first_worker_) return target_.data();
    if (worker >= workers_ || workers_ == 1) [[unlikely]]
      detail::fail_scatter_worker(target_.label(), worker, workers_);
    return copies_.data() + ((worker - 1) * stride_ - lowest_);
#endif
  }

  Shared shared() const { return {target_.data() + lowest_, copies_.data(), stride_, workers_, span_}; }

  void make_copies() {
    const LayoutDescriptor layout = detail::describe(target_.mapping());
    if (detail::element_count(layout) == 0) return;
    if (const detail::Allocation* const record = target_.allocation().get())
      if (!detail::lies_within(record->data, record->bytes, target_.data(), layout, sizeof(value_type)))
        detail::fail_scatter_slice(target_.label());
    const detail::OffsetBounds bounds = detail::offset_bounds(layout);
    workers_ = device_.concurrency();
    if (workers_ == 1) first_worker_ = detail::current_host_worker();  // inside a launch: for nested ones
    lowest_ = bounds.lowest;
    span_ = bounds.highest - bounds.lowest + 1;
    // Whole pairs of cache lines, which processors fetch together, belong to one worker.
    constexpr index_t apart = sizeof(value_type) < 128 ? static_cast<index_t>(128 / sizeof(value_type)) : 1;
    stride_ = (span_ + apart - 1) / apart * apart;
    if (workers_ == 1) return;
    copies_ = create<Copies>(target_.label(), (workers_ - 1) * stride_, uninitialized);
    detail::mark_worker_copies(copies_.allocation());
    clear_copies();
  }
  // Each worker touches its own copy first, where the device gives piece k to worker k.
  void clear_copies() const {
    if (copies_) detail::run_indices(device_, "scatter_view: clear", workers_, Clear{shared()});
  }
  void join_copies() const {
    if (!copies_) return;
    const LayoutDescriptor layout = detail::describe(target_.mapping());
    const index_t elements = detail::element_count(layout);
    if (elements == span_)
      detail::run_indices(device_, "scatter_view: contribute", (span_ + block - 1) / block,
                          JoinBlock{shared()});
    else
      detail::run_indices(device_, "scatter_view: contribute", elements,
                          JoinElement{shared(), layout, lowest_});
  }

  struct NoDevice {};

  Target target_;
  [[no_unique_address]] std::conditional_t<duplicated, device_type, NoDevice> device_;  // of the launches
  Copies copies_;                                                                       // of workers 1 and up
  index_t stride_ = 0;
  index_t lowest_ = 0;
  index_t span_ = 0;
  int workers_ = 1;
  int first_worker_ = 0;  // whose copy is the target
};

/// A scatter view of `target` for its device; `Operation` is ScatterSum, ScatterProd, ScatterMin or
/// ScatterMax. Contributions are joined to the values of the target.
template <class Operation = ScatterSum, class... Mode, class T, class D, class E, class L, class A>
[[nodiscard]] auto scatter_view(const View<T, D, E, L, A>& target) {
  return ScatterView<View<T, D, E, L, A>, Operation, Mode...>(target);
}

/// The same for kernels on another device that shares the target's memory: an array of Serial assembled on
/// Threads, one of AnyHost on another host device than the default.
template <class Operation = ScatterSum, class... Mode, class Where, class T, class D, class E, class L,
          class A>
[[nodiscard]] auto scatter_view(const On<Where>& where, const View<T, D, E, L, A>& target) {
  static_assert(std::is_same_v<typename Where::memory_space, typename D::memory_space>,
                "strata: scatter_view: on(...) names a device that does not share the target's memory");
  return ScatterView<View<T, Where, E, L, A>, Operation, Mode...>(View<T, Where, E, L, A>(target),
                                                                  where.device);
}

/// Completes `scatter`: its target then holds its old values and all contributions, joined.
template <class Target, class Operation, class Mode>
void contribute(const ScatterView<Target, Operation, Mode>& scatter) {
  scatter.contribute();
}

}  // namespace strata::inline STRATA_ABI
