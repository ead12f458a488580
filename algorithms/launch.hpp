// launch: runs a kernel over arrays whose use it declares.
//
//   launch(on(device), n, axpy{a}, in(x), inout(y));      // kernel(i, x, y)
//
// One way to write a kernel, one way to launch it: where it runs and how data gets there is said by `where`.
// Here: plain views on one device. `in` hands the kernel a read-only view (ReadOnlyAccess): nothing in the
// launch writes what it reads, so that a GPU may load numbers ahead of stores. `out` and `inout` hand it a
// mutable one. A work item touches its own row (left-most index) of what it writes.
//
// A kernel that cannot be called with an index may be a factory: called with the views it returns a functor,
// as the Kokkos Array paper writes them. Ordering and errors are those of parallel_for and parallel_reduce.
#pragma once

#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/core/access_mode.hpp>
#include <strata/views/view_as.hpp>

namespace strata::inline STRATA_ABI {

/// One declared use of an array.
template <AccessMode Mode, class V>
struct DeclaredAccess {
  /// How it is used, and the view as the kernel gets it.
  static constexpr AccessMode mode = Mode;
  using view_type = V;
  V view;  // as the kernel gets it
};

/// The launch reads the array: a work item its own row, which hosts fetch ahead of it.
template <AnyView V>
DeclaredAccess<AccessMode::In, typename V::const_type> in(const V& view) {
  return {view};
}
/// The launch writes every element that a work item owns, and reads none. Elements of a view that the range
/// leaves out keep their values (those of a coherent array would not: there it is an error).
template <AnyView V>
DeclaredAccess<AccessMode::Out, V> out(const V& view) {
  static_assert(!std::is_const_v<typename V::element_type>,
                "strata: out: the view has const elements; use in");
  return {view};
}
/// The launch reads and writes the array.
template <AnyView V>
DeclaredAccess<AccessMode::InOut, V> inout(const V& view) {
  static_assert(!std::is_const_v<typename V::element_type>,
                "strata: inout: the view has const elements; use in");
  return {view};
}

namespace detail {

template <class>
inline constexpr bool is_access_v = false;
template <AccessMode Mode, class V>
inline constexpr bool is_access_v<DeclaredAccess<Mode, V>> = true;

template <class V>
auto view_for_reading(const V& view) {
  using Access = typename V::access_type;
  if constexpr (std::is_same_v<Access, DefaultAccess> || std::is_same_v<Access, Unmanaged<DefaultAccess>>)
    return read_only(view);
  else return view;
}
template <AccessMode Mode, class Declared>
auto view_to_bind(const DeclaredAccess<Mode, Declared>& access) {
  using V = KernelView<Declared>;
  const V& view = access.view;
  if constexpr (Mode == AccessMode::Out) {
    return view;
  } else if constexpr (Mode == AccessMode::In) {
    using ForReading = decltype(view_for_reading(view));
    return ReadRows<ForReading>(view_for_reading(view));
  } else {
    return ReadRows<V>(view);
  }
}
template <class Access>
using BoundTo = decltype(view_to_bind(std::declval<const Access&>()));
template <class K, class... V>
With<K, V...> bind_views(const K& kernel, const V&... views) {
  return {kernel, BoundViews<std::index_sequence_for<V...>, V...>(views...)};
}

// Whether `K` makes a functor of views.
template <class K, class... V>
concept Factory = requires(const K& kernel, const V&... views) {
  requires !std::is_void_v<decltype(kernel(views...))>;
};

// The kernel bound to its views, or the functor that a factory makes of them.
template <class D, class R, class K, class... Accesses>
auto bind_kernel(const K& kernel, const Accesses&... accesses) {
  static_assert((SameMemoryFor<D, typename Accesses::view_type::device_type>::value && ...));
  using W = WorkOf<R>;
  // Nested: asking both at once would instantiate a generic kernel as a factory.
  if constexpr (can_call<D, typename W::tag, With<K, BoundTo<Accesses>...>, W::rank>)
    return bind_views(kernel, view_to_bind(accesses)...);
  else if constexpr (Factory<K, typename Accesses::view_type...>) return kernel(accesses.view...);
  else return bind_views(kernel, view_to_bind(accesses)...);
}

}  // namespace detail

/// Calls kernel(index..., views...) for every index of `work` on the device or queue of `where`.
template <class D, WorkRange R, class K, class... Accesses>
requires(detail::is_access_v<Accesses>&&...) void launch(const On<D>& where, const R& work, const K& kernel,
                                                         const Accesses&... accesses) {
  static_assert(sizeof...(Accesses) > 0, "strata: launch: declare the arrays: in(x), out(y), inout(z)");
  parallel_for(where, work, detail::bind_kernel<D, R>(kernel, accesses...));
}

/// Calls kernel(index..., views..., value&) and joins the values into `into`: a named reducer (Sum(total)), a
/// host variable, a Value or a finalize functor, the last three for kernels with `value_type`, `init` and
/// `join`.
template <class D, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_access_v<Accesses>&&...) void launch_reduce(const On<D>& where, const R& work,
                                                                const K& kernel, Into&& into,
                                                                const Accesses&... accesses) {
  static_assert((detail::SameMemoryFor<D, typename Accesses::view_type::device_type>::value && ...));
  parallel_reduce(where, work, detail::bind_views(kernel, detail::view_to_bind(accesses)...),
                  static_cast<Into&&>(into));
}

/// Calls kernel(index, views..., value&, final) as parallel_scan does; `into` takes the total.
template <class D, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_access_v<Accesses>&&...) void launch_scan(const On<D>& where, const R& work,
                                                              const K& kernel, Into&& into,
                                                              const Accesses&... accesses) {
  static_assert((detail::SameMemoryFor<D, typename Accesses::view_type::device_type>::value && ...));
  parallel_scan(where, work, detail::bind_views(kernel, detail::view_to_bind(accesses)...),
                static_cast<Into&&>(into));
}

}  // namespace strata::inline STRATA_ABI
