// Kernel: the properties of a callable that a launch needs: its device, whether it takes a lane index, and
// whether it can be called as the launch will call it. `with` binds a kernel to the views it works on.
//
// Mistakes are reported in one line by static_assert, with the concepts defined here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <typeinfo>
#include <utility>

#include <strata/algorithms/bound_views.hpp>
#include <strata/algorithms/functor_lines.hpp>
#include <strata/algorithms/kernel_parameters.hpp>
#include <strata/algorithms/launch_hints.hpp>
#include <strata/algorithms/line_traits.hpp>
#include <strata/core/layout_right.hpp>
#include <strata/core/scan_order.hpp>
#include <strata/devices/kernel_call.hpp>
#include <strata/devices/queue.hpp>
#include <strata/views/kernel_view.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// Instantiated where the library sees a launch's device and a view's; the compiler's message names both.
template <class LaunchedOn, class ViewOf>
struct SameMemoryFor {
  static_assert(
      can_access<LaunchedOn, typename ViewOf::memory_space>,
      "strata: wrong device: a view of one device is given to a launch on another: you wrote on(device) or a "
      "`device_type`, and a view of another device; write the device of the view, or copy it with "
      "create_mirror and deep_copy");
  static constexpr bool value = true;
};

template <class K>
concept HasDeviceType = requires {
  typename K::device_type;
};

template <class Layout>
inline constexpr bool has_right_layout = false;
template <>
inline constexpr bool has_right_layout<LayoutRight> = true;
template <class L>
requires requires { typename L::base_layout; }
inline constexpr bool has_right_layout<L> = has_right_layout<typename L::base_layout>;

// Over several dimensions: whether devices on which neighbouring threads share cache lines should give them
// neighbouring last indices, not first ones. The kernel may say so; else it is so where all its views of more
// than one dimension, at least one, are in such a layout.
template <class K, class... V>
constexpr bool last_index_fastest_of() {
  constexpr auto is_array = [](int rank) { return rank > 1; };
  if constexpr (
      requires { K::last_index_fastest; } &&
      !requires { requires std::is_member_pointer_v<decltype(&K::last_index_fastest)>; })
    return K::last_index_fastest;
  else
    return (is_array(V::extents_type::max_rank_value) || ...) &&
           ((!is_array(V::extents_type::max_rank_value) || has_right_layout<typename V::layout_type>)&&...);
}

// Bases of the library's own kernels. Of one with several items in flight in a thread of a GPU, as
// items_in_flight_of says of kernels of lines:
template <int Items>
struct HasItemsInFlight {};
template <int Items>
constexpr int items_in_flight_of_base(const HasItemsInFlight<Items>*) {
  return Items;
}
constexpr int items_in_flight_of_base(const void*) { return 0; }
// And of one that can be called in two steps, finish(i, fetch(i), value), of which only the second writes:
// GPUs fetch for several items before they finish the first, as what an item writes would keep the loads of
// the next one waiting.
struct InTwoSteps {};
template <class K>
inline constexpr bool is_in_two_steps = std::is_base_of_v<InTwoSteps, K>;
// And of one that writes no array.
struct OnlyReads {};
// And of one that makes the functor of a reduction of the views, as launches without results find out by
// themselves.
struct MakesFunctor {};

// How a kernel is called: as it is here, with its views inserted below.
template <class K>
struct KernelTraits : private FunctorLines<K> {
 private:
  using OwnLines = FunctorLines<K>;
  using Known = LineTraitsOf<typename OwnLines::Lines>;
  static constexpr int items_of_base = items_in_flight_of_base(static_cast<const K*>(nullptr));

 public:
  static constexpr bool any_index = takes_any_index<K>();
  static constexpr bool takes_int = takes_int_index<K>();
  static constexpr bool last_index_fastest = last_index_fastest_of<K>();
  static constexpr int items_in_flight = items_of_base > 0 ? items_of_base : Known::items_in_flight;
  static constexpr bool writes_views = is_in_two_steps<K> || Known::writes_views;
  static constexpr bool only_reads = std::is_base_of_v<OnlyReads, K> || Known::only_reads;
  static constexpr bool may_be_separate = Known::may_be_separate;
  static constexpr bool may_reduce_separate = Known::may_reduce_separate;
  static constexpr bool may_scan_separate = Known::may_scan_separate;
  static constexpr std::size_t item_bytes = Known::item_bytes;
  static constexpr bool has_narrow_lines = Known::has_narrow_lines && !takes_lane_index<K>();
  using OwnLines::are_separate, OwnLines::hold_elements, OwnLines::bits_at;
  using OwnLines::arrays, OwnLines::on_arrays;
  template <class Index>
  static constexpr bool fetches_ahead = false;
  using Kernel = K;
  using Views = TypeList<>;
  template <class Call, int Indices, class... Arguments>
  STRATA_FUNCTION static void call(const K& kernel, Arguments&&... arguments) {
    Call::call(kernel, static_cast<Arguments&&>(arguments)...);
  }
};
template <class K, class... V>
struct KernelTraits<With<K, V...>> {
 private:
  static constexpr bool lines_only = (is_plain_line<V> && ...) && holds_no_address<K>();
  using Known = std::conditional_t<lines_only, LineTraits<V...>, LineTraits<>>;

 public:
  static constexpr bool any_index = takes_any_index<K>();
  static constexpr bool takes_int = takes_int_index<K>();
  static constexpr bool last_index_fastest = last_index_fastest_of<K, V...>();
  static constexpr int items_in_flight = items_in_flight_of<V...>();
  static constexpr bool writes_views = writes_views_of<V...>;
  static constexpr bool only_reads = Known::only_reads;
  static constexpr bool has_wide_items = writes_views && have_wide_rows<V...>();
  static constexpr bool may_be_separate = Known::may_be_separate;
  static constexpr bool may_reduce_separate = Known::may_reduce_separate;
  static constexpr bool may_scan_separate = Known::may_scan_separate;
  static constexpr std::size_t item_bytes = Known::item_bytes;
  static constexpr bool has_narrow_lines =
      items_in_flight == 4 && ((is_narrow_line<V>)&&...) && holds_no_address<K>() && !takes_lane_index<K>();
  static bool are_separate(const With<K, V...>& bound) { return bound.views.are_separate(); }
  static bool hold_elements(const With<K, V...>& bound, index_t begin, index_t end) {
    return bound.views.hold_elements(begin, end);
  }
  template <bool Opaque>
  STRATA_FUNCTION static ElementBits bits_at(const With<K, V...>& bound, index_t i) {
    return bound.views.template bits_at<Opaque>(i);
  }
  static ArrayAddresses arrays(const With<K, V...>& bound) { return bound.views.arrays(); }
  STRATA_FUNCTION static With<K, V...> on_arrays(const With<K, V...>& bound, const ArrayAddresses& arrays) {
    return {bound.kernel, bound.views.on_arrays(arrays)};
  }
  template <class Index>
  static constexpr bool fetches_ahead = (can_fetch_rows<V, Index> || ...);
  using Kernel = K;
  using Views = TypeList<typename V::unmanaged_type...>;
  template <class Call, int Indices, class... Arguments>
  STRATA_FUNCTION static void call(const With<K, V...>& bound, Arguments&&... arguments) {
    if constexpr (checked_build && (notes_elements<V> || ...)) {
      const NotesScope notes = bound.views.note_reached();
      call_item<Call, Indices>(bound, static_cast<Arguments&&>(arguments)...);
    } else {
      call_item<Call, Indices>(bound, static_cast<Arguments&&>(arguments)...);
    }
  }

 private:
  template <class Call, int Indices, class... Arguments>
  STRATA_FUNCTION static void call_item(const With<K, V...>& bound, Arguments&&... arguments) {
    if constexpr ((begins_items<V> || ...)) bound.views.template begin_item<Indices>(arguments...);
    call_kernel<Call, Indices>(bound, static_cast<Arguments&&>(arguments)...);
    if constexpr ((ends_items<V> || ...))
      bound.views.template end_item<Indices>([&] { call_with_copies<Call, Indices>(bound, arguments...); },
                                             arguments...);
  }

  // Called with copies of the values, which are then dropped.
  template <class Call, int Indices, class... Arguments>
  STRATA_FUNCTION static void call_with_copies(const With<K, V...>& bound, Arguments... arguments) {
    bound.views.template begin_item_again<Indices>(arguments...);
    call_kernel<Call, Indices>(bound, arguments...);
  }
  template <class Call, int Indices, class... Arguments>
  STRATA_FUNCTION static void call_kernel(const With<K, V...>& bound, Arguments&&... arguments) {
    if constexpr (checked_build && (declares_items<V> || ...)) {
      bound.views.template insert_for<Indices>(
          left_most_index(arguments...),
          [&](auto&&... all_arguments) {
            Call::call(bound.kernel, static_cast<decltype(all_arguments)&&>(all_arguments)...);
          },
          static_cast<Arguments&&>(arguments)...);
    } else {
      bound.views.template insert<Indices>(
          [&](auto&&... all_arguments) {
            Call::call(bound.kernel, static_cast<decltype(all_arguments)&&>(all_arguments)...);
          },
          static_cast<Arguments&&>(arguments)...);
    }
  }
};

// What a kernel of a scan stores that has a call for it (core/scan_order.hpp).
template <class K>
constexpr ScanStores scan_stores_of() {
  if constexpr (requires { requires K::scan_stores != ScanStores::Nothing; }) return K::scan_stores;
  else return ScanStores::Nothing;
}

// The lane index of a device for a kernel: with twice as many lanes where vectors then have as many numbers
// of each of its arrays.
template <class Index, class K>
struct LanesFor {
  using type = Index;
};
template <int Lanes, class K>
requires(KernelTraits<K>::has_narrow_lines) struct LanesFor<LaneIndex<Lanes>, K> {
  using type = LaneIndex<2 * Lanes>;
};
template <class D, class K>
struct AnyIndexOn {
  using type = typename LanesFor<typename D::index_type, K>::type;
};
// Device D for scans: their runs begin at any item, and more of them at one of eight than of sixteen.
template <class D>
struct ScanLanes;
template <class D, class K>
struct AnyIndexOn<ScanLanes<D>, K> {
  using type = typename D::index_type;
};
template <class D, class K>
using AnyIndexFor = typename AnyIndexOn<D, K>::type;

// The index type with which a kernel on device `D` is called in a one-dimensional range.
template <class D, class K>
using IndexFor = std::conditional_t<KernelTraits<K>::any_index, AnyIndexFor<D, K>, index_t>;

template <class D, class K, int Rank>
constexpr auto index_list() {
  if constexpr (Rank == 1) return TypeList<IndexFor<D, K>>();
  else if constexpr (Rank == teams_rank) return TypeList<typename D::execution::team_member>();
  else return []<std::size_t... R>(std::index_sequence<R...>) {
      return TypeList<std::enable_if_t<R + 1 != 0, index_t>...>();
    }
  (std::make_index_sequence<static_cast<std::size_t>(Rank)>());
}

// (A tag and) the indices.
template <class D, class Tag, class K, int Rank>
using IndicesOf = decltype(append(TagList<Tag>(), index_list<D, K, Rank>()));

/// Whether `K` can be called with (a tag,) one index a dimension or a member of a team, its views, and
/// `Values`.
template <class D, class Tag, class K, int Rank, class... Values>
inline constexpr bool can_call =
    is_callable<typename KernelTraits<K>::Kernel,
                decltype(append(append(IndicesOf<D, Tag, K, Rank>(), typename KernelTraits<K>::Views()),
                                TypeList<Values...>()))>;

template <class... I>
constexpr TypeList<AnyArgument<I>...> any_arguments(TypeList<I...>) {
  return {};
}
/// Whether only the types of its index parameters keep such a kernel from being called, over indices. (Asked
/// where it cannot be.)
template <class D, class Tag, class K, int Rank, class... Values>
inline constexpr bool takes_no_index =
    is_callable<typename KernelTraits<K>::Kernel,
                decltype(append(append(append(TagList<Tag>(), any_arguments(index_list<D, K, Rank>())),
                                       typename KernelTraits<K>::Views()),
                                TypeList<Values...>()))>;

/// Whether such a kernel takes a value by value that is passed by reference.
template <class D, class Tag, class K, int Rank, class... Values>
inline constexpr bool loses_values = takes_by_value<typename KernelTraits<K>::Kernel, Values...>(
    IndicesOf<D, Tag, K, Rank>(), typename KernelTraits<K>::Views());

/// A kernel prepared for a device (host/loops.hpp): inserts the tag and the views, and calls it by `Call`.
template <class K, class Tag, int Rank, class Index, bool Lanes, class Call>
struct Body {
  using index_type = Index;
  static constexpr bool takes_lanes = Lanes;
  static constexpr bool takes_int = KernelTraits<K>::takes_int;
  static constexpr bool last_index_fastest = KernelTraits<K>::last_index_fastest;
  static constexpr int items_in_flight = KernelTraits<K>::items_in_flight;
  static constexpr bool writes_views = KernelTraits<K>::writes_views;
  static constexpr bool only_reads = KernelTraits<K>::only_reads;
  static constexpr std::size_t shared_read_bytes = shared_read_bytes_in<K, Rank>;
  static constexpr bool reads_rows = reads_rows_in<K, Rank>;
  static constexpr bool has_wide_items = requires { requires KernelTraits<K>::has_wide_items; };
  static constexpr bool may_be_separate = KernelTraits<K>::may_be_separate;
  static constexpr bool may_reduce_separate = KernelTraits<K>::may_reduce_separate;
  static constexpr bool may_scan_separate = KernelTraits<K>::may_scan_separate;
  static constexpr std::size_t item_bytes = KernelTraits<K>::item_bytes;  // of a line's; 0: not known
  static constexpr ScanStores scan_stores = scan_stores_of<typename KernelTraits<K>::Kernel>();
  static constexpr bool fetches_ahead = Lanes && Rank == 1 && KernelTraits<K>::template fetches_ahead<Index>;
  K kernel;

  bool are_separate() const { return KernelTraits<K>::are_separate(kernel); }
  bool hold_elements(index_t begin, index_t end) const {
    return KernelTraits<K>::hold_elements(kernel, begin, end);
  }
  template <bool Opaque>
  STRATA_FUNCTION ElementBits bits_at(index_t i) const {
    return KernelTraits<K>::template bits_at<Opaque>(kernel, i);
  }
  ArrayAddresses arrays() const { return KernelTraits<K>::arrays(kernel); }
  STRATA_FUNCTION Body on_arrays(const ArrayAddresses& arrays) const {
    return {KernelTraits<K>::on_arrays(kernel, arrays)};
  }
  void fetch_ahead(Index block) const { kernel.views.fetch_rows(block); }
  STRATA_FUNCTION auto anchored_at(const index_t (&item)[Rank]) const requires(can_be_anchored_in<K, Rank>) {
    return anchored_kernel<Call, Tag, Rank>(kernel.kernel, kernel.views.anchored_at(item));
  }
  STRATA_FUNCTION auto fetch(index_t i) const requires(is_in_two_steps<K>) { return kernel.fetch(i); }
  STRATA_FUNCTION void finish(index_t i, const auto& fetched, auto& value) const {
    kernel.finish(i, fetched, value);
  }

  template <class... Arguments>
  STRATA_FUNCTION void operator()(Arguments&&... arguments) const {
    if constexpr (std::is_void_v<Tag>)
      KernelTraits<K>::template call<Call, Rank>(kernel, static_cast<Arguments&&>(arguments)...);
    else
      KernelTraits<K>::template call<Call, Rank + 1>(kernel, Tag{}, static_cast<Arguments&&>(arguments)...);
  }
};

// The view that a launch copies for a kernel: of the type that all hosts have in common, and without a share
// in the ownership, so that its copies are trivial and few instructions to compile. Types that only derive
// from or wrap a view stay.
template <class V>
struct LaunchedViewOf {
  using type = KernelView<V>;
};
template <AnyView V>
struct LaunchedViewOf<V> {
  using type = typename KernelView<V>::unmanaged_type;
};
// The kernel with those views: where it can be called with them, it is compiled once for all hosts.
template <class K>
struct CommonKernelOf {
  using type = K;
};
template <class K, class... V>
struct CommonKernelOf<With<K, V...>> {
  using type = With<K, typename LaunchedViewOf<V>::type...>;
};
template <class K>
using CommonKernel = typename CommonKernelOf<K>::type;

template <class D, class Tag, class K, int Rank, class AnyIndex = AnyIndexFor<D, K>>
using BodyFor = Body<K, Tag, Rank == teams_rank ? 1 : Rank, AnyIndex,
                     Rank != teams_rank && KernelTraits<K>::any_index &&
                         (is_lane_index_v<typename D::index_type> || Rank > 1),
                     KernelCallOf<D>>;

// No place was given.
struct Anywhere {};

// The device of a launch: the one asked for, else that of the kernel.
template <class Where, class K>
constexpr bool knows_device = !std::is_same_v<Where, Anywhere> || HasDeviceType<K>;

template <class Where, class K>
struct DeviceFor {
  using type = typename K::device_type;
};
template <class D, class K>
struct DeviceFor<On<D>, K> {
  using type = D;
};

// The kernel itself, without the views of `with`.
template <class K>
struct UnboundKernel {
  using type = K;
  static const K& get(const K& kernel) { return kernel; }
};
template <class K, class... V>
struct UnboundKernel<With<K, V...>> {
  using type = K;
  static const K& get(const With<K, V...>& bound) { return bound.kernel; }
};
template <class K>
using FunctorOf = typename UnboundKernel<K>::type;
template <class K>
const FunctorOf<K>& functor_of(const K& kernel) {
  return UnboundKernel<K>::get(kernel);
}

template <class Tag>
const char* tag_type() {
  if constexpr (std::is_void_v<Tag>) return nullptr;
  else return typeid(Tag).name();
}

// `D` is the type of device that a kernel is launched on: without a place its default. Compiled once for all
// kernels, as is make_capture.
template <class D>
LaunchInfo make_info(const char* label, const Anywhere&, const Capture& views, const char* kernel_type,
                     const char* tag = nullptr) {
  return {label, kernel_type, nullptr, -1, &views, tag, host_of(D{})};
}
template <class D>
LaunchInfo make_info(const char* label, const On<D>& where, const Capture& views, const char* kernel_type,
                     const char* tag = nullptr) {
  const D& device = where.device;
  return {label, kernel_type, where.queue.get(), device.index(), &views, tag, host_of(device)};
}

// The capture of a launch. While a CaptureScope of it is in force, kernels are copied whose views are not
// counted; it records where the views live.
template <class D>
Capture make_capture() {
  return Capture{FamilyOf<typename D::memory_space>::type::kind};
}

// For messages of the compiler, which names the numbers beside the text: what a kernel is called with.
template <int N>
struct Views;
template <int N>
struct References;
// Instantiated for a kernel of a launch that cannot be called with its index and views.
template <class I, class V>
struct KernelOfLaunch {
  static_assert(
      !std::is_same_v<I, I>,
      "strata: launch: the kernel cannot be called as kernel(index..., views...) const, nor as a factory "
      "kernel(views...) const: you wrote other parameters, or an operator() that is not const; write "
      "`void operator()(auto i, auto x) const` with (the tag,) one index for each dimension of the range and "
      "a view for each access (how many: see KernelOfLaunch<Indices<...>, Views<...>> beside this)");
  static constexpr bool is_right = false;
};
// Instantiated for a kernel that takes all it is called with, but for the indices.
template <class I, class V>
struct IndexOfKernel {
  static_assert(
      !std::is_same_v<I, I>,
      "strata: the kernel cannot be called with an index: its first parameter (after a tag the second, over "
      "an mdrange one of the first) has a type to which no index converts: you wrote a pointer, a class or "
      "the like; write `auto i` or `index_t i`, as in `void operator()(auto i, auto x) const`, and x(i) for "
      "an element");
  static constexpr bool is_right = false;
};
template <class K>
inline constexpr int num_views = 0;
template <class K, class... V>
inline constexpr int num_views<With<K, V...>> = static_cast<int>(sizeof...(V));

// Says in one line why a kernel cannot run where it is launched.
template <class Where, class K>
constexpr bool check_kernel() {
  KernelCallOf<typename DeviceFor<Where, K>::type>::template check<FunctorOf<K>>();
  if constexpr (!std::is_same_v<Where, Anywhere> && HasDeviceType<K>)
    static_cast<void>(SameMemoryFor<typename DeviceFor<Where, K>::type, typename K::device_type>::value);
  return true;
}

// The result of a `with` that does not compile, so that its one message is not followed by another.
struct NotBound {
  using device_type = Serial;
  STRATA_FUNCTION void operator()(const auto&...) const {}
};

}  // namespace detail

template <class K, class... Views>
struct With {
  static_assert(sizeof...(Views) > 0, "strata: with: give at least one view");
  /// The device of the views.
  using device_type = typename detail::First<typename Views::device_type...>::type;
  static_assert((detail::SameMemoryFor<device_type, typename Views::device_type>::value && ...));

  /// The kernel, and the views as it gets them.
  K kernel;
  detail::BoundViews<std::index_sequence_for<Views...>, Views...> views;

  /// The same arrays under other types of view.
  template <class... Others>
  requires(sizeof...(Others) == sizeof...(Views)) operator With<K, Others...>() const {
    return {kernel, views.template as<Others...>()};
  }
};

/// Binds `kernel` to the views it is called with: `parallel_for(n, with(axpy{a}, x, y))` calls `kernel(i, x,
/// y)`. All views are in one memory. The kernel's class must be visible at namespace scope for CUDA.
template <class K, AnyView... Views>
With<K, Views...> with(const K& kernel, const Views&... views) {
  return {kernel, detail::BoundViews<std::index_sequence_for<Views...>, Views...>(views...)};
}

/// This does not compile: `with` takes views.
template <class K, class... V>
requires(!(AnyView<V> && ...)) auto with(const K&, const V&...) {
  static_assert((AnyView<V> && ...),
                "strata: with: an argument is no view: you wrote with(kernel, x) of a coherent array, a "
                "std::vector or the like; write launch(on(device), n, kernel, inout(x)) for coherent arrays, "
                "or with(kernel, view)");
  return detail::NotBound();
}

}  // namespace strata::inline STRATA_ABI
