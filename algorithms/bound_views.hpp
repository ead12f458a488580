// BoundViews: the views that `with` and `launch` bind to a kernel, put between its indices and its values.
//
// Some views have more to do: hosts prefetch the rows that are read (ReadRows), checked builds narrow views
// to the rows that a work item declared (declares_items), and new values of streamed steps begin as the old
// ones (begins_items).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <strata/algorithms/anchored_view.hpp>
#include <strata/algorithms/separate_arrays.hpp>
#include <strata/core/lane_index.hpp>
#include <strata/devices/array_addresses.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

/// A kernel bound to views, made by `with`: a launch calls `kernel(index..., views..., values...)`, the
/// values being those of a reduction or scan.
template <class K, class... Views>
struct With;

namespace detail {

// A view of which a work item reads its own row, as launch declares it. Hosts fetch the rows of tiled arrays
// ahead of the kernel: its reads are scattered within a tile, which defeats hardware prefetchers.
template <class V>
struct ReadRows : V {
  explicit ReadRows(V view) : V(static_cast<V&&>(view)) {}
};
template <class V>
inline constexpr bool is_read_rows = false;
template <class V>
inline constexpr bool is_read_rows<ReadRows<V>> = true;
// A view of which some rows may be reached: others need not be in memory. No line (separate_arrays.hpp),
// whose elements may be loaded whether the kernel uses them or not.
template <class V>
struct SomeRows : V {
  explicit SomeRows(const V& view) : V(view) {}
};
template <class V, class Index>
inline constexpr bool can_fetch_rows = false;
// Not of rank 1: a stream, which processors prefetch by themselves. Not of large rows, of which a kernel may
// read a part only.
template <class V, int Lanes>
requires(V::mapping_type::tile >= Lanes && V::mapping_type::static_row_size >= 4 &&
         V::mapping_type::static_row_size <=
             64) inline constexpr bool can_fetch_rows<ReadRows<V>, LaneIndex<Lanes>> = true;

// Whether a view can be narrowed to the rows that a work item declared (DeclaredView).
template <class V>
inline constexpr bool declares_items = requires(const V& view) {
  view.for_item(index_t{});
};
// The left-most index among the arguments of a kernel, which may begin with a tag.
template <class First, class... Rest>
STRATA_FUNCTION index_t left_most_index(const First& first, const Rest&... rest) {
  if constexpr (std::is_convertible_v<First, index_t>) return static_cast<index_t>(first);
  else return left_most_index(rest...);
}

// Views with functions that are called before and after the kernel for each work item: begin_item(the view
// bound before this one, indices...) and end_item(again, indices...).
template <class V>
inline constexpr bool begins_items = requires {
  requires V::begins_items;
};
template <class V>
inline constexpr bool ends_items = requires {
  requires V::ends_items;
};
// A view that notes which of its elements a kernel reaches.
template <class V>
struct NotedView : V {
  ElementNote note;
  NotedView(const V& view, const ElementNote& its_note) : V(view), note(its_note) {}
};
template <class V>
inline constexpr bool notes_elements = requires(const V& view) {
  view.note.reached;
};
// While it lives, the calling thread notes the elements it reaches in views that have notes.
class NotesScope {
 public:
  template <class... V>
  STRATA_FUNCTION explicit NotesScope(const V&... views) {
    (add(views), ...);
#if defined(__CUDA_ARCH__)
    block_note_count = notes_.count;  // in all threads the same
#else
    notes_.before = current_notes;
    current_notes = &notes_;
#endif
  }
  NotesScope(const NotesScope&) = delete;
  NotesScope& operator=(const NotesScope&) = delete;
  STRATA_FUNCTION ~NotesScope() {
#if !defined(__CUDA_ARCH__)
    current_notes = notes_.before;
#endif
  }

 private:
  template <class V>
  STRATA_FUNCTION void add([[maybe_unused]] const V& view) {
    if constexpr (notes_elements<V>) {
      if (view.note.reached == nullptr || notes_.count == ElementNotes::most) return;
#if defined(__CUDA_ARCH__)
      block_notes[notes_.count] = view.note;
#endif
      notes_.of[notes_.count++] = &view.note;
    }
  }

  ElementNotes notes_{{}, 0, nullptr};
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
// Whether a kernel has views that can be anchored at the item of a box, and none with more to do for each.
template <class K, int Rank>
inline constexpr bool can_be_anchored_in = false;
template <class K, class... V, int Rank>
inline constexpr bool can_be_anchored_in<With<K, V...>, Rank> =
    (can_be_anchored<typename V::unmanaged_type, Rank> || ...) &&
    !((begins_items<V> || ends_items<V>) || ...);
// The bytes of the largest elements of which neighbouring items may share reads; 0: of none.
template <class K, int Rank>
inline constexpr std::size_t shared_read_bytes_in = 0;
template <class K, class... V, int Rank>
requires(can_be_anchored_in<With<K, V...>, Rank>) inline constexpr std::size_t
    shared_read_bytes_in<With<K, V...>, Rank> = [] {
      std::size_t most = 0;
      const auto look = [&](bool shared, std::size_t bytes) { most = shared && bytes > most ? bytes : most; };
      (look(can_be_anchored<typename V::unmanaged_type, Rank> && may_share_reads<typename V::unmanaged_type>,
            sizeof(typename V::element_type)),
       ...);
      return most;
    }();
// Whether a kernel over a box reads a row of numbers for each item, as far as its types show: it has a view
// to read with more dimensions than the box, and its rows are not known to be short. (Averages of rows of 8
// were measured, and none of shorter ones.)
template <class V, int Rank>
inline constexpr bool is_row_of_item = false;
template <class T, class D, class E, class L, int Rank>
requires(Rank > 1 && !E::has_dynamic_rank &&
         E::max_rank_value >
             Rank) inline constexpr bool is_row_of_item<View<T, D, E, L, Unmanaged<ReadOnlyAccess>>, Rank> =
    static_product<E>(Rank) == 0 || static_product<E>(Rank) >= 8;
template <class K, int Rank>
inline constexpr bool reads_rows_in = false;
template <class K, class... V, int Rank>
inline constexpr bool reads_rows_in<With<K, V...>, Rank> =
    (is_row_of_item<typename V::unmanaged_type, Rank> || ...);
// The views of a `with`; std::tuple does not work on every device.
template <std::size_t... I, class... V>
struct BoundViews<std::index_sequence<I...>, V...> : BoundView<I, V>... {
  // Not inlined, as in `as`: one function for all kernels of a program with such views.
  [[gnu::noinline]] explicit BoundViews(const V&... v) : BoundView<I, V>{v}... {}
  [[gnu::noinline]] explicit BoundViews(V&&... v) : BoundView<I, V>{static_cast<V&&>(v)}... {}

  // The addresses of their arrays, at most ArrayAddresses::most.
  ArrayAddresses arrays() const {
    return {{address_of_line(static_cast<const BoundView<I, V>&>(*this).view)...}};
  }
  // The same views of arrays at other addresses.
  STRATA_FUNCTION BoundViews on_arrays(const ArrayAddresses& arrays) const {
    return {Inserted{}, moved_line(static_cast<const BoundView<I, V>&>(*this).view, arrays.at[I])...};
  }
  // What item `i` has of them.
  template <bool Opaque>
  STRATA_FUNCTION ElementBits bits_at(index_t i) const {
    return {{bits_of_element<Opaque>(static_cast<const BoundView<I, V>&>(*this).view, i)...}};
  }
  bool hold_elements(index_t begin, index_t end) const {
    return (holds_elements(static_cast<const BoundView<I, V>&>(*this).view, begin, end) && ...);
  }
  // Whether all share no memory.
  bool are_separate() const {
    const Addresses of[] = {addresses_of(static_cast<const BoundView<I, V>&>(*this).view)...};
    return share_nothing(of, static_cast<int>(sizeof...(V)));
  }

  // The same arrays under other types of view, which a capture notes.
  template <class... Others>
  [[gnu::noinline]] auto as() const {
    (note_memory(static_cast<const BoundView<I, V>&>(*this).view), ...);
    return BoundViews<std::index_sequence<I...>, Others...>(
        static_cast<const BoundView<I, V>&>(*this).view...);
  }

  // Calls begin_item and end_item of views; the indices are among the first `Indices` arguments, and `again`
  // calls the kernel once more.
  template <int Indices, class... Arguments>
  STRATA_FUNCTION void begin_item(const Arguments&... arguments) const {
    (begin_item_of<I, Indices, V, begins_items<V>>(arguments...), ...);
  }
  // Before the kernel is called once more for a view that ends items: begins the item again for the others.
  template <int Indices, class... Arguments>
  STRATA_FUNCTION void begin_item_again(const Arguments&... arguments) const {
    (begin_item_of < I, Indices, V, begins_items<V> && !ends_items < V >> (arguments...), ...);
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

  // To be kept while a work item is under way.
  STRATA_FUNCTION NotesScope note_reached() const {
    return NotesScope(static_cast<const BoundView<I, V>&>(*this).view...);
  }
  // The same, with views that show work item `item` only the rows that it declared.
  template <int Indices, class F, class... Rest>
  STRATA_FUNCTION void insert_for(index_t item, const F& f, Rest&&... rest) const {
    if constexpr (Indices == 0)
      f(view_for_item(static_cast<const BoundView<I, V>&>(*this).view, item)...,
        static_cast<Rest&&>(rest)...);
    else insert_for_after<Indices>(item, f, static_cast<Rest&&>(rest)...);
  }
  // Calls f(views...).
  template <class F>
  void visit(const F& f) const {
    f(static_cast<const BoundView<I, V>&>(*this).view...);
  }
  // Calls f(arguments...) with the views put in after the first `Indices` arguments.
  template <int Indices, class F, class... Rest>
  STRATA_FUNCTION void insert(const F& f, Rest&&... rest) const {
    if constexpr (Indices == 0)
      f(typename V::unmanaged_type(static_cast<const BoundView<I, V>&>(*this).view)...,
        static_cast<Rest&&>(rest)...);
    else if constexpr (Indices == 1) insert_after_one(f, static_cast<Rest&&>(rest)...);
    else insert_after<Indices>(f, static_cast<Rest&&>(rest)...);
  }

  // The views for a work item of a box (anchored_view.hpp), which advance along a dimension to the next one.
  template <int Rank>
  STRATA_FUNCTION auto anchored_at(const index_t (&item)[Rank]) const {
    using All = BoundViews<std::index_sequence<I...>, decltype(anchored(std::declval<const V&>(), item))...>;
    return All(typename All::Inserted{}, anchored(static_cast<const BoundView<I, V>&>(*this).view, item)...);
  }
  STRATA_FUNCTION void advance(int dimension) {
    const auto step = [&](auto& view) {
      if constexpr (requires { view.advance(dimension); }) view.advance(dimension);
    };
    (step(static_cast<BoundView<I, V>&>(*this).view), ...);
  }
  STRATA_FUNCTION void take_addresses_if(bool does, const BoundViews& others) {
    const auto take = [&](auto& view, const auto& other) {
      if constexpr (requires { view.take_address_if(does, other); }) view.take_address_if(does, other);
    };
    (take(static_cast<BoundView<I, V>&>(*this).view, static_cast<const BoundView<I, V>&>(others).view), ...);
  }
  template <int Rank>
  STRATA_FUNCTION void set_item(const index_t (&item)[Rank]) {
    const auto set = [&](auto& view) {
      if constexpr (requires { view.set_item(item); }) view.set_item(item);
    };
    (set(static_cast<BoundView<I, V>&>(*this).view), ...);
  }

 private:
  template <class, class...>
  friend struct BoundViews;
  struct Inserted {};
  STRATA_FUNCTION BoundViews(Inserted, const V&... v) : BoundView<I, V>{v}... {}
  // Others may have no share in the ownership, and so nothing that a capture would note.
  template <class OneView>
  static void note_memory([[maybe_unused]] const OneView& view) {
    if constexpr (is_view_v<OneView>) static_cast<void>(AllocationRef(view.allocation()));
  }
  template <std::size_t J, int Indices, class OneView, bool Begins, class... Arguments>
  STRATA_FUNCTION void begin_item_of([[maybe_unused]] const Arguments&... arguments) const {
    if constexpr (Begins)
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
  // Most kernels have one index: a function less to compile for each.
  template <class F, class First, class... Rest>
  STRATA_FUNCTION void insert_after_one(const F& f, First first, Rest&&... rest) const {
    f(first, typename V::unmanaged_type(static_cast<const BoundView<I, V>&>(*this).view)...,
      static_cast<Rest&&>(rest)...);
  }
  template <int Indices, class F, class First, class... Rest>
  STRATA_FUNCTION void insert_after(const F& f, First first, Rest&&... rest) const {
    insert<Indices - 1>([&](auto&&... more) { f(first, static_cast<decltype(more)&&>(more)...); },
                        static_cast<Rest&&>(rest)...);
  }
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
