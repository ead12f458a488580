// Kernel: what a launch needs to know of a callable: the device it is for, whether it takes a lane index, and
// whether it can be called as the launch will call it. `with` binds a kernel to the views it works on.
//
// Mistakes are told in one line by static_assert; the concepts behind them are here.
#pragma once

#include <type_traits>
#include <typeinfo>
#include <utility>

#include <strata/algorithms/launch_hints.hpp>
#include <strata/core/layout_right.hpp>
#include <strata/devices/kernel_call.hpp>
#include <strata/devices/queue.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

/// A kernel bound to views, made by `with`: a launch calls `kernel(index..., views..., values...)`, the
/// values being those of a reduction or scan.
template <class K, class... Views>
struct With;

namespace detail {

template <class...>
struct TypeList {};

// Instantiated where the library sees a launch's device and a view's; the compiler's message names both.
template <class LaunchedOn, class ViewOf>
struct SameMemoryFor {
  static_assert(can_access<LaunchedOn, typename ViewOf::memory_space>,
                "strata: wrong device: a view of one device is given to a launch on another; copy it with "
                "create_mirror and deep_copy");
  static constexpr bool value = true;
};

// A view of which a work item reads its own row, as launch declares it. Hosts fetch the rows of tiled arrays
// ahead of the kernel: its reads hop about in a tile, which defeats the prefetchers of processors.
template <class V>
struct ReadRows : V {
  explicit ReadRows(const V& view) : V(view) {}
};
template <class V, class Index>
inline constexpr bool can_fetch_rows = false;
// Rank 1 is a stream, which processors fetch by themselves; of large rows a kernel may read a part only.
template <class V, int Lanes>
requires(V::mapping_type::tile >= Lanes && V::mapping_type::static_row_size >= 4 &&
         V::mapping_type::static_row_size <=
             64) inline constexpr bool can_fetch_rows<ReadRows<V>, LaneIndex<Lanes>> = true;

#if defined(STRATA_CHECKED) && STRATA_CHECKED
// Whether a view knows what a work item declared to touch of it (DeclaredView).
template <class V>
inline constexpr bool declares_items = requires(const V& view) {
  view.for_item(index_t{});
};
// Of the arguments of a kernel, which may begin with a tag.
template <class First, class... Rest>
STRATA_FUNCTION index_t left_most_index(const First& first, const Rest&... rest) {
  if constexpr (std::is_convertible_v<First, index_t>) return static_cast<index_t>(first);
  else return left_most_index(rest...);
}
#endif

// Views that do something about each work item, before the kernel is called with it and after that, as they
// are bound after another view: begin_item(view before, indices...) and end_item(again, indices...).
template <class V>
inline constexpr bool begins_items = requires {
  requires V::begins_items;
};
template <class V>
inline constexpr bool ends_items = requires {
  requires V::ends_items;
};
// Calls f(the indices among the first `Count` arguments...), which may begin with a tag.
struct FirstIndices {
  template <int Count, class F, class... A>
  STRATA_FUNCTION static void give(const F& f, const A&... arguments) {
    if constexpr (Count == 0) f();
    else give_first<Count>(f, arguments...);
  }

 private:
  template <int Count, class F, class First, class... Rest>
  STRATA_FUNCTION static void give_first(const F& f, const First& first, const Rest&... rest) {
    if constexpr (IndexLike<First>) give<Count - 1>([&](const auto&... more) { f(first, more...); }, rest...);
    else give<Count - 1>(f, rest...);
  }
};

template <std::size_t I, class V>
struct BoundView {
  V view;
};
template <std::size_t I, class V>
STRATA_FUNCTION const V& view_number(const BoundView<I, V>& bound) {
  return bound.view;
}
template <class, class...>
struct BoundViews;
// The views of a `with`; std::tuple would not travel to every device.
template <std::size_t... I, class... V>
struct BoundViews<std::index_sequence<I...>, V...> : BoundView<I, V>... {
  explicit BoundViews(const V&... v) : BoundView<I, V>{v}... {}

  // What views do about a work item, whose indices are among the first `Indices` arguments; `again` calls the
  // kernel once more.
  template <int Indices, class... Arguments>
  STRATA_FUNCTION void begin_item(const Arguments&... arguments) const {
    (begin_item_of<I, Indices, V>(arguments...), ...);
  }
  template <int Indices, class Again, class... Arguments>
  STRATA_FUNCTION void end_item(const Again& again, const Arguments&... arguments) const {
    (end_item_of<I, Indices, V>(again, arguments...), ...);
  }

  // Asks the caches for the rows that the lanes of `block` read.
  template <class Index>
  void fetch_rows(Index block) const {
    (fetch_rows_of(static_cast<const BoundView<I, V>&>(*this).view, block), ...);
  }

#if defined(STRATA_CHECKED) && STRATA_CHECKED
  // The same, where views show work item `item` what it declared to touch, and nothing else.
  template <int Indices, class F, class... Rest>
  STRATA_FUNCTION void insert_for(index_t item, const F& f, Rest&&... rest) const {
    if constexpr (Indices == 0)
      f(view_for_item(static_cast<const BoundView<I, V>&>(*this).view, item)...,
        static_cast<Rest&&>(rest)...);
    else insert_for_after<Indices>(item, f, static_cast<Rest&&>(rest)...);
  }
#endif
  // Calls f(arguments...) with the views put in after the first `Indices` arguments.
  template <int Indices, class F, class... Rest>
  STRATA_FUNCTION void insert(const F& f, Rest&&... rest) const {
    if constexpr (Indices == 0)
      f(typename V::unmanaged_type(static_cast<const BoundView<I, V>&>(*this).view)...,
        static_cast<Rest&&>(rest)...);
    else insert_after<Indices>(f, static_cast<Rest&&>(rest)...);
  }

 private:
  template <std::size_t J, int Indices, class OneView, class... Arguments>
  STRATA_FUNCTION void begin_item_of([[maybe_unused]] const Arguments&... arguments) const {
    if constexpr (begins_items<OneView>)
      FirstIndices::give<Indices>(
          [&](const auto&... i) { view_number<J>(*this).begin_item(view_number<J - 1>(*this), i...); },
          arguments...);
  }
  template <std::size_t J, int Indices, class OneView, class Again, class... Arguments>
  STRATA_FUNCTION void end_item_of([[maybe_unused]] const Again& again,
                                   [[maybe_unused]] const Arguments&... arguments) const {
    if constexpr (ends_items<OneView>)
      FirstIndices::give<Indices>([&](const auto&... i) { view_number<J>(*this).end_item(again, i...); },
                                  arguments...);
  }
  template <class OneView, class Index>
  static void fetch_rows_of([[maybe_unused]] const OneView& view, [[maybe_unused]] Index block) {
    if constexpr (can_fetch_rows<OneView, Index>) view.mapping().prefetch_rows(view.data(), block);
  }
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  template <int Indices, class F, class First, class... Rest>
  STRATA_FUNCTION void insert_for_after(index_t item, const F& f, First first, Rest&&... rest) const {
    insert_for<Indices - 1>(
        item, [&](auto&&... more) { f(first, static_cast<decltype(more)&&>(more)...); },
        static_cast<Rest&&>(rest)...);
  }
  template <class OneView>
  STRATA_FUNCTION static typename OneView::unmanaged_type view_for_item(const OneView& view,
                                                                        [[maybe_unused]] index_t item) {
    if constexpr (requires { view.for_item(item); }) return view.for_item(item);
    else return typename OneView::unmanaged_type(view);
  }
#endif
  template <int Indices, class F, class First, class... Rest>
  STRATA_FUNCTION void insert_after(const F& f, First first, Rest&&... rest) const {
    insert<Indices - 1>([&](auto&&... more) { f(first, static_cast<decltype(more)&&>(more)...); },
                        static_cast<Rest&&>(rest)...);
  }
};

template <class...>
struct First;
template <class T, class... Rest>
struct First<T, Rest...> {
  using type = T;
};

template <class K>
concept HasDeviceType = requires {
  typename K::device_type;
};

// The first parameter of a call operator that is neither overloaded nor a template.
template <class>
struct FirstParameter {
  using type = void;
};
template <class R, class C, class A, class... Rest>
struct FirstParameter<R (C::*)(A, Rest...) const> {
  using type = std::remove_cvref_t<A>;
};
template <class R, class C, class A, class... Rest>
struct FirstParameter<R (C::*)(A, Rest...) const noexcept> {
  using type = std::remove_cvref_t<A>;
};

// Kernels whose index parameter is an integer run in plain loops; all others are handed the device's index
// type.
template <class K>
constexpr bool takes_any_index() {
  if constexpr (requires { &K::operator(); })
    return is_lane_index_v<typename FirstParameter<decltype(&K::operator())>::type>;
  else return true;
}
// Whether its index parameter is an int.
template <class K>
constexpr bool takes_int_index() {
  if constexpr (requires { &K::operator(); })
    return std::is_same_v<typename FirstParameter<decltype(&K::operator())>::type, int>;
  else return false;
}

template <class Layout>
inline constexpr bool has_right_layout = false;
template <>
inline constexpr bool has_right_layout<LayoutRight> = true;
template <class L>
requires requires { typename L::base_layout; }
inline constexpr bool has_right_layout<L> = has_right_layout<typename L::base_layout>;

// Over several dimensions, whether devices whose neighbouring threads share cache lines should give them
// neighbouring last indices, not first ones: what the kernel says, or else where all its views of more than
// one dimension (there is one) lie so.
template <class K, class... V>
constexpr bool last_index_fastest_of() {
  constexpr auto is_array = [](int rank) { return rank > 1; };
  if constexpr (requires { K::last_index_fastest; }) return K::last_index_fastest;
  else
    return (is_array(V::extents_type::max_rank_value) || ...) &&
           ((!is_array(V::extents_type::max_rank_value) || has_right_layout<typename V::layout_type>)&&...);
}

// Kernels that stream, by all signs: bound to a few arrays of rank 1, of each of which an item takes an
// element. A thread of a GPU then has 16 bytes of an array in flight, as wide loads have: so many items. (An
// item of arrays of more dimensions has enough loads of its own.)
template <class... V>
constexpr int items_in_flight_of() {
  constexpr std::size_t most_arrays = 4, wanted_bytes = 16, most_items = 8;
  if constexpr (sizeof...(V) <= most_arrays && ((V::extents_type::max_rank_value == 1) && ...)) {
    std::size_t items = most_items;
    ((items = items * sizeof(typename V::value_type) > wanted_bytes
                  ? wanted_bytes / sizeof(typename V::value_type)
                  : items),
     ...);
    return items == 0 ? 1 : static_cast<int>(items);
  } else {
    return 1;
  }
}

// Whether `F` has a const call operator, generic or not, whose parameters are exactly `A`. Its body is not
// instantiated where they are not.
template <class F, class... A>
concept HasCall = requires {
  static_cast<void (F::*)(A...) const>(&F::operator());
};
// The same, indices and views being taken by value or by reference.
template <class F, class... I, class... V, class... T>
constexpr bool takes_exactly(TypeList<I...>, TypeList<V...>, TypeList<T...>) {
  return HasCall<F, I..., V..., T...> || HasCall<F, I..., const V&..., T...> ||
         HasCall<F, I..., V&&..., T...> || HasCall<F, const I&..., V..., T...> ||
         HasCall<F, const I&..., const V&..., T...> || HasCall<F, const I&..., V&&..., T...>;
}
// Of a call operator that is neither overloaded nor a template: whether one of the last parameters, as many
// as `Values`, is taken by value though it is handed by reference.
template <class>
struct LastParameters {
  template <class...>
  static constexpr bool by_value = false;
};
template <class R, class C, class... A>
struct LastParameters<R (C::*)(A...) const> {
  template <class... Values>
  static constexpr bool by_value = [] {
    constexpr std::size_t first = sizeof...(A) - sizeof...(Values);
    const bool is_value[] = {!std::is_reference_v<A>...};
    const bool handed_by_reference[] = {std::is_lvalue_reference_v<Values>...};
    for (std::size_t k = 0; k < sizeof...(Values); ++k)
      if (handed_by_reference[k] && is_value[first + k]) return true;
    return false;
  }();
};
template <class R, class C, class... A>
struct LastParameters<R (C::*)(A...) const noexcept> : LastParameters<R (C::*)(A...) const> {};

// Whether `F` takes by value, which loses what it adds, one or all of `Values` that it is handed by
// reference.
template <class F, class... Values, class I, class V>
constexpr bool takes_by_value(I indices, V views) {
  constexpr bool handed_by_reference = (std::is_lvalue_reference_v<Values> || ...);
  if constexpr (!handed_by_reference) {
    return false;
  } else if constexpr (requires { &F::operator(); }) {
    return LastParameters<decltype(&F::operator())>::template by_value<Values...>;
  } else {
    const auto one_of = [&]<std::size_t... Q>(std::index_sequence<Q...>) {
      const auto is_by_value = [&]<std::size_t One>(std::integral_constant<std::size_t, One>) {
        return takes_exactly<F>(
            indices, views,
            TypeList<std::conditional_t<Q == One, std::remove_reference_t<Values>, Values>...>());
      };
      const bool is_reference[] = {std::is_lvalue_reference_v<Values>...};
      return ((is_reference[Q] && is_by_value(std::integral_constant<std::size_t, Q>())) || ...);
    };
    return takes_exactly<F>(indices, views, TypeList<std::remove_reference_t<Values>...>()) ||
           one_of(std::index_sequence_for<Values...>());
  }
}
template <class... A, class... B>
constexpr TypeList<A..., B...> append(TypeList<A...>, TypeList<B...>) {
  return {};
}
template <class Tag>
using TagList = std::conditional_t<std::is_void_v<Tag>, TypeList<>, TypeList<Tag>>;

// How a kernel is called: plainly here, with its views put in below.
template <class K>
struct KernelTraits {
  static constexpr bool any_index = takes_any_index<K>();
  static constexpr bool takes_int = takes_int_index<K>();
  static constexpr bool last_index_fastest = last_index_fastest_of<K>();
  static constexpr int items_in_flight = 1;
  template <class Index>
  static constexpr bool fetches_ahead = false;
  template <class Tag, class Index, class... Values>
  static constexpr bool can_call() {
    if constexpr (std::is_void_v<Tag>)
      return
          []<class... I>(TypeList<I...>) { return std::is_invocable_v<const K&, I..., Values...>; }(Index());
    else
      return []<class... I>(TypeList<I...>) {
        return std::is_invocable_v<const K&, Tag, I..., Values...>;
      }(Index());
  }
  template <class Tag, class Index, class... Values>
  static constexpr bool takes_by_value() {
    return detail::takes_by_value<K, Values...>(append(TagList<Tag>(), Index()), TypeList<>());
  }
  template <class Call, int Indices, class... Arguments>
  STRATA_FUNCTION static void call(const K& kernel, Arguments&&... arguments) {
    Call::call(kernel, static_cast<Arguments&&>(arguments)...);
  }
};
template <class K, class... V>
struct KernelTraits<With<K, V...>> {
  static constexpr bool any_index = takes_any_index<K>();
  static constexpr bool takes_int = takes_int_index<K>();
  static constexpr bool last_index_fastest = last_index_fastest_of<K, V...>();
  static constexpr int items_in_flight = items_in_flight_of<V...>();
  template <class Index>
  static constexpr bool fetches_ahead = (can_fetch_rows<V, Index> || ...);
  template <class Tag, class Index, class... Values>
  static constexpr bool can_call() {
    if constexpr (std::is_void_v<Tag>)
      return []<class... I>(TypeList<I...>) {
        return std::is_invocable_v<const K&, I..., typename V::unmanaged_type..., Values...>;
      }(Index());
    else
      return []<class... I>(TypeList<I...>) {
        return std::is_invocable_v<const K&, Tag, I..., typename V::unmanaged_type..., Values...>;
      }(Index());
  }
  template <class Tag, class Index, class... Values>
  static constexpr bool takes_by_value() {
    return detail::takes_by_value<K, Values...>(append(TagList<Tag>(), Index()),
                                                TypeList<typename V::unmanaged_type...>());
  }
  template <class Call, int Indices, class... Arguments>
  STRATA_FUNCTION static void call(const With<K, V...>& bound, Arguments&&... arguments) {
    if constexpr ((begins_items<V> || ...)) bound.views.template begin_item<Indices>(arguments...);
    call_kernel<Call, Indices>(bound, static_cast<Arguments&&>(arguments)...);
    if constexpr ((ends_items<V> || ...))
      bound.views.template end_item<Indices>([&] { call_with_copies<Call, Indices>(bound, arguments...); },
                                             arguments...);
  }

 private:
  // Whose values are not kept.
  template <class Call, int Indices, class... Arguments>
  STRATA_FUNCTION static void call_with_copies(const With<K, V...>& bound, Arguments... arguments) {
    call_kernel<Call, Indices>(bound, arguments...);
  }
  template <class Call, int Indices, class... Arguments>
  STRATA_FUNCTION static void call_kernel(const With<K, V...>& bound, Arguments&&... arguments) {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
    if constexpr ((declares_items<V> || ...)) {
      bound.views.template insert_for<Indices>(
          left_most_index(arguments...),
          [&](auto&&... all_arguments) {
            Call::call(bound.kernel, static_cast<decltype(all_arguments)&&>(all_arguments)...);
          },
          static_cast<Arguments&&>(arguments)...);
      return;
    }
#endif
    bound.views.template insert<Indices>(
        [&](auto&&... all_arguments) {
          Call::call(bound.kernel, static_cast<decltype(all_arguments)&&>(all_arguments)...);
        },
        static_cast<Arguments&&>(arguments)...);
  }
};

// The index type that a kernel for device `D` is handed in a one-dimensional range.
template <class D, class K>
using IndexFor = std::conditional_t<KernelTraits<K>::any_index, typename D::index_type, index_t>;

template <class D, class K, int Rank>
constexpr auto index_list() {
  if constexpr (Rank == 1) return TypeList<IndexFor<D, K>>();
  else if constexpr (Rank == teams_rank) return TypeList<typename D::execution::team_member>();
  else return []<std::size_t... R>(std::index_sequence<R...>) {
      return TypeList<std::enable_if_t<R + 1 != 0, index_t>...>();
    }
  (std::make_index_sequence<static_cast<std::size_t>(Rank)>());
}

/// Whether `K` can be called with (a tag,) one index a dimension or a member of a team, its views, and
/// `Values`.
template <class D, class Tag, class K, int Rank, class... Values>
inline constexpr bool can_call =
    KernelTraits<K>::template can_call<Tag, decltype(index_list<D, K, Rank>()), Values...>();

/// Whether such a kernel takes a value by value that it is handed by reference.
template <class D, class Tag, class K, int Rank, class... Values>
inline constexpr bool loses_values =
    KernelTraits<K>::template takes_by_value<Tag, decltype(index_list<D, K, Rank>()), Values...>();

/// A kernel made ready for a device (see host_loops.hpp): puts in the tag and the views, and calls it by
/// `Call`.
template <class K, class Tag, int Rank, class Index, bool Lanes, class Call>
struct Body {
  static constexpr bool takes_lanes = Lanes;
  static constexpr bool takes_int = KernelTraits<K>::takes_int;
  static constexpr bool last_index_fastest = KernelTraits<K>::last_index_fastest;
  static constexpr int items_in_flight = KernelTraits<K>::items_in_flight;
  static constexpr bool fetches_ahead = Lanes && Rank == 1 && KernelTraits<K>::template fetches_ahead<Index>;
  K kernel;

  void fetch_ahead(Index block) const { kernel.views.fetch_rows(block); }

  template <class... Arguments>
  STRATA_FUNCTION void operator()(Arguments&&... arguments) const {
    if constexpr (std::is_void_v<Tag>)
      KernelTraits<K>::template call<Call, Rank>(kernel, static_cast<Arguments&&>(arguments)...);
    else
      KernelTraits<K>::template call<Call, Rank + 1>(kernel, Tag{}, static_cast<Arguments&&>(arguments)...);
  }
};

template <class D, class Tag, class K, int Rank>
using BodyFor = Body<K, Tag, Rank == teams_rank ? 1 : Rank, typename D::index_type,
                     Rank != teams_rank && KernelTraits<K>::any_index &&
                         (is_lane_index_v<typename D::index_type> || Rank > 1),
                     KernelCallOf<D>>;

// Where nothing was said.
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

template <class K, class Tag = void>
LaunchInfo make_info(const char* label, const Anywhere&, const Capture& views) {
  return {label, typeid(FunctorOf<K>).name(), nullptr, -1, &views, tag_type<Tag>()};
}
template <class K, class Tag = void, class D>
LaunchInfo make_info(const char* label, const On<D>& where, const Capture& views) {
  return {label,          typeid(FunctorOf<K>).name(), where.queue.get(), where.device.index(), &views,
          tag_type<Tag>()};
}

// What `make` returns: copies of kernels whose views are not counted; `views` learns where those live.
template <class Make>
auto captured(Capture& views, const Make& make) {
  const CaptureScope scope(views);
  return make();
}

// The capture of a launch.
template <class Where, class K>
Capture make_capture() {
  return Capture{FamilyOf<typename DeviceFor<Where, K>::type::memory_space>::type::kind};
}

// Says in one line why a kernel cannot go where it is launched.
template <class Where, class K>
constexpr void check_kernel() {
  KernelCallOf<typename DeviceFor<Where, K>::type>::template check<FunctorOf<K>>();
  if constexpr (!std::is_same_v<Where, Anywhere> && HasDeviceType<K>)
    static_cast<void>(SameMemoryFor<typename DeviceFor<Where, K>::type, typename K::device_type>::value);
}

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
};

/// Binds `kernel` to the views it is called with: `parallel_for(n, with(axpy{a}, x, y))` calls `kernel(i, x,
/// y)`. All views are of one memory. The kernel's class must be visible at namespace scope for CUDA.
template <class K, AnyView... Views>
With<K, Views...> with(const K& kernel, const Views&... views) {
  return {kernel, detail::BoundViews<std::index_sequence_for<Views...>, Views...>(views...)};
}

}  // namespace strata::inline STRATA_ABI
