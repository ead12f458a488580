// Shared by sort, select and find: the checks of their views of rank 1, the targets of their results, and how
// their work is launched.
//
// Their work is an object. Devices whose kernels run on host threads call `work(runner)`, on the device. For
// others `work.on(execution, info)` calls a primitive of the device with pointers, counts and functors:
// sort_keys, sort_pairs, select_items, partition_items, find_first, found by the type of the device's
// execution (devices/cuda/primitives/).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <strata/algorithms/kernel.hpp>
#include <strata/algorithms/place.hpp>
#include <strata/algorithms/reduction.hpp>
#include <strata/core/fail.hpp>
#include <strata/devices/host/tasks.hpp>
#include <strata/views/copy.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The first argument of an algorithm over views: on(...), or the first view, on whose device it then runs.
template <class A>
concept OnOrView = is_on_v<A> || AnyView<A>;

// ---- views of rank 1

template <class V>
constexpr bool check_rank_one() {
  using E = typename V::extents_type;
  constexpr bool may_be = E::has_dynamic_rank || E::max_rank_value == 1;
  static_assert(may_be,
                "strata: sort, copy_if, partition, find and transform_reduce work on views of rank 1; take a "
                "subview");
  return may_be;
}

/// Throws ExtentError unless `view` has rank 1; where the type says that it has not, it does not compile.
template <class V>
void require_rank_one(const char* what, const V& view) {
  if constexpr (check_rank_one<V>() && V::extents_type::has_dynamic_rank)
    if (view.rank() != 1) fail_rank(view.rank(), 1, what);
}

/// Throws ShapeMismatch unless both have the same indices.
template <class X, class Y>
void require_same_indices(const char* what, const X& x, const Y& y) {
  const index_t shape_x[] = {x.extent(0)}, shape_y[] = {y.extent(0)};
  if (shape_x[0] != shape_y[0] || x.begin(0) != y.begin(0))
    fail_shapes(what, x.label(), shape_x, 1, y.label(), shape_y, 1);
}

/// Whether two arrays with strides and as many elements, which need not lie apart, have none in common.
bool interleave(const LayoutDescriptor& a, const void* a_data, const LayoutDescriptor& b, const void* b_data,
                std::size_t element_bytes);
/// Throws LayoutError: two arrays of a call share memory.
[[noreturn]] void fail_overlap(const char* what, const char* from, const char* to, const char* device,
                               index_t elements);

template <class V>
inline constexpr bool has_plain_elements = std::is_same_v<typename V::reference, typename V::element_type&> &&
                                           !std::is_const_v<typename V::element_type>;

/// Whether the elements of a view can be sorted.
template <class V>
constexpr bool check_sorted_view() {
  static_assert(has_plain_elements<V>,
                "strata: sort: the elements are const, or accessed otherwise than by plain references");
  return check_rank_one<V>() && has_plain_elements<V>;
}

/// Whether the elements of a view of rank 1 are neighbours.
template <class V>
bool has_contiguous_elements(const V& view) {
  if (view.extent(0) <= 1) return true;
  const LayoutDescriptor layout = describe(view.mapping());
  return layout.offset == nullptr && layout.stride[0] == 1 &&
         (layout.tile_log2 < 0 || layout.tile_stride == index_t{1} << layout.tile_log2);
}

/// The address of the first of the elements, which are neighbours. Throws ExtentError, and in checked builds
/// OutOfBounds for a slice that does not hold all rows.
template <class V>
typename V::element_type* contiguous_elements(const char* what, const V& view) {
  require_rank_one(what, view);
  const index_t count = view.extent(0);
  if (count == 0) return view.data();
  if constexpr (requires { view.mapping().resident(); })  // in checked builds
    if constexpr (!HasIndexRanges<typename V::mapping_type>)
      if (view.mapping().resident().begin > 0 || view.mapping().resident().end < count)
        fail_rows(view.label(), {0, count}, count);
  const index_t first[max_rank] = {};
  return view.data() + offset_of(describe(view.mapping()), first);
}

/// Throws LayoutError where the memory of two arrays overlaps; columns of one matrix do not.
template <class X, class Y>
void require_apart(const char* what, const X& from, const Y& to) {
  if (from.extent(0) == 0 || to.extent(0) == 0) return;
  if constexpr (sizeof(typename X::value_type) == sizeof(typename Y::value_type))
    if (interleave(describe(from.mapping()), from.data(), describe(to.mapping()), to.data(),
                   sizeof(typename X::value_type)))
      return;
  const auto bounds = [](const auto& view) {
    const OffsetBounds b = offset_bounds(describe(view.mapping()));
    return std::pair(reinterpret_cast<std::uintptr_t>(view.data() + b.lowest),
                     reinterpret_cast<std::uintptr_t>(view.data() + b.highest + 1));
  };
  const auto [from_begin, from_end] = bounds(from);
  const auto [to_begin, to_end] = bounds(to);
  if (from_begin < to_end && to_begin < from_end)
    fail_overlap(what, from.label(), to.label(), device_name(typename Y::device_type()), to.extent(0));
}

template <class X, class P>
constexpr bool check_predicate() {
  constexpr bool callable = std::is_invocable_r_v<bool, const P&, const typename X::value_type&>;
  static_assert(callable,
                "strata: copy_if, partition, find_if: the predicate cannot be called as "
                "predicate(const T&) const and give a bool");
  return callable;
}

// ---- results: an index or a count, into a host variable or a Value

template <class Finish, class T>
struct IndexResult {
  using value_type = T;
  static constexpr bool waits = Finish::waits;
  Finish finish;

  /// On hosts: once, at the end of the work.
  void store(index_t index) const {
    const T value = static_cast<T>(index);
    finish.on_device(value);
    finish.on_host(value);
  }
};

template <class V>
auto index_result(const V& result) requires(AnyView<V>) {
  constexpr bool fits = V::extents_type::max_rank_value == 0 && std::is_integral_v<typename V::value_type> &&
                        has_plain_elements<V>;
  static_assert(fits, "strata: the result is neither an integer variable nor a Value of integers");
  if constexpr (fits) return IndexResult<StoreView<V>, typename V::value_type>{{result}};
  else return IndexResult<StoreNothing, index_t>{};
}
template <class T>
auto index_result(T& result) requires(!AnyView<T>) {
  constexpr bool fits = std::is_integral_v<T> && !std::is_const_v<T>;
  static_assert(fits, "strata: the result is neither an integer variable nor a Value of integers");
  if constexpr (fits) return IndexResult<StoreHost<T>, T>{{&result}};
  else return IndexResult<StoreNothing, index_t>{};
}

/// Throws WrongDevice, at compile time, for a Value in another memory.
template <class D, class R>
constexpr void check_result_memory() {
  if constexpr (AnyView<R>)
    static_assert(SameMemoryFor<D, typename std::remove_cvref_t<R>::device_type>::value);
}

/// Stores into `result`, or without one returns the result.
template <class Launch, class... Result>
auto into_or_returned(const Launch& launch, Result&&... result) {
  static_assert(sizeof...(Result) <= 1,
                "strata: there is one result: an integer variable or a Value of integers");
  if constexpr (sizeof...(Result) == 0) {
    index_t returned = 0;
    launch(returned);
    return returned;
  } else if constexpr (sizeof...(Result) == 1) {
    launch(result...);
  }
}

// ---- launching

/// Launches what `make()` returns on the device asked for, else on that of the view type `V`; `K` names it.
template <class V, class K, class Where, class Make>
void launch_work(const char* label, const Where& where, index_t items, const Make& make) {
  using D = typename DeviceFor<Where, V>::type;
  using Execution = typename D::execution;
  static_assert(SameMemoryFor<D, typename V::device_type>::value);
  KernelCallOf<D>::template check<K>();
  Capture views = make_capture<D>();
  CaptureScope scope(views);
  const auto work = make();
  scope.end();
  const LaunchInfo info = make_info<D>(label, where, views, typeid(FunctorOf<K>).name());
  if constexpr (requires { Execution::call(info, work, items); }) {
    Execution::call(info, work, items);
  } else {
    constexpr bool known = requires { work.on(Execution(), info); };
    static_assert(
        known,
        "strata: an algorithm for Cuda is launched in a file that nvcc does not compile: name the file "
        "in strata_add_kernels(target file.cpp)");
    if constexpr (known) work.on(Execution(), info);
  }
}

/// Calls f(begin, end) for the pieces of a range, on the threads of the device.
template <class F>
void run_pieces(const Runner& runner, const ChunkRange& range, const F& f) {
  struct Context {
    const F& f;
    CheckRecord* check;
  } const context{f, current_check};
  runner.run(runner.context, range,
             {[](const void* raw, index_t begin, index_t end, int) {
                const auto& c = *static_cast<const Context*>(raw);
                const PieceCheck scope(c.check);
                c.f(begin, end);
              },
              &context});
}

/// Memory for the time of one call, in pages as large as the system gives; its elements are not initialised.
/// Throws OutOfMemory, naming `what`.
void* take_work_buffer(std::size_t bytes, const char* what);
void give_work_buffer(void* buffer) noexcept;

template <class T>
class WorkBuffer {
 public:
  WorkBuffer(index_t count, const char* what)
      : data_(count > 0 ? static_cast<T*>(take_work_buffer(static_cast<std::size_t>(count) * sizeof(T), what))
                        : nullptr) {
    static_assert(std::is_trivially_copyable_v<T>);
  }
  ~WorkBuffer() { give_work_buffer(data_); }
  WorkBuffer(const WorkBuffer&) = delete;
  WorkBuffer& operator=(const WorkBuffer&) = delete;
  T* data() const { return data_; }

 private:
  T* data_;
};

}  // namespace strata::inline STRATA_ABI::detail
