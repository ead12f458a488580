// resize and realloc: give a view a new array of another shape. Other views of the old array keep it.
//
//   resize(x, 6, 2);                               // elements of both shapes stay, others are zero
//   resize(x, 6, 2, on(queue), uninitialized);     // in a queue, others are undefined: options as in create
//
// With a queue the call does not wait: until the queue was waited for, only work on it may use the new and
// the old array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/subview.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// The first common_r indices of `view` in each dimension, as a strided or tiled part.
template <class V, std::size_t... R>
auto leading_block(const V& view, const index_t* common, std::index_sequence<R...>) {
  return subview(view, range(view.begin(R), view.begin(R) + common[R])...);
}

// On a queue, or (null) waiting for the copy.
template <class V>
void copy_common(QueueState* queue, const V& to, const V& from) {
  index_t common[max_rank + 1] = {};
  for (int r = 0; r < to.rank(); ++r)
    common[r] = to.extent(r) < from.extent(r) ? to.extent(r) : from.extent(r);
  const auto with_rank = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    constexpr auto all = std::make_index_sequence<N>();
    deep_copy_on(queue, leading_block(to, common, all), leading_block(from, common, all));
  };
  if constexpr (!V::extents_type::has_dynamic_rank) {
    with_rank(std::integral_constant<std::size_t, V::extents_type::max_rank_value>());
  } else {
    [&]<std::size_t... N>(std::index_sequence<N...>) {
      ((to.rank() == static_cast<int>(N) ? with_rank(std::integral_constant<std::size_t, N>()) : void()),
       ...);
    }
    (std::make_index_sequence<V::extents_type::max_rank_value + 1>());
  }
}

// A mapping of other extents whose indices begin where those of `old` do.
template <class M>
M mapping_like(const M& old, const typename M::extents_type& extents) {
  if constexpr (HasIndexRanges<M>) {
    index_t begins[max_rank + 1] = {};
    for (int r = 0; r < extents.rank() && r < old.extents().rank(); ++r) begins[r] = old.begin(r);
    return M(extents, begins);
  } else {
    return M(extents);
  }
}

// The arguments of resize: extents, then options.
template <class V>
struct NewShape {
  index_t extent[max_rank + 1] = {};
  int count = 0;
  CreateOptions<typename V::device_type> options{};

  template <class... Arguments>
  explicit NewShape(const V& view, const Arguments&... arguments) {
    check_extents<typename V::extents_type, (0 + ... + int{IndexLike<Arguments>})>();
    if (view.allocation().get())
      options.device = typename V::device_type(view.allocation().get()->space.instance);
    (take(arguments), ...);
  }
  template <class Argument>
  void take(const Argument& argument) {
    if constexpr (IndexLike<Argument>) extent[count++] = static_cast<index_t>(argument);
    else options.set(argument);
  }
  typename V::extents_type extents() const { return typename V::extents_type(extent, count); }
};

// An array of the new shape on the instance of `view`, or where on(...) says.
template <class V>
V create_like(const V& view, const NewShape<V>& shape) {
  const auto mapping = mapping_like(view.mapping(), shape.extents());
  return create_with<V>(view.label(), mapping, mapping.required_span_size(), shape.options);
}

}  // namespace detail

/// Gives `view` a new array of the given extents; elements whose indices exist in both shapes are kept,
/// others are zero, or with `uninitialized` undefined. Where the extents are those that it has, the array
/// stays, and so do all its elements. On OutOfMemory `view` is as before. `arguments` are those of create:
/// extents, then `uninitialized` and on(queue).
template <AnyView V, class... Arguments>
void resize(V& view, const Arguments&... arguments) {
  const detail::NewShape<V> shape(view, arguments...);
  if (view && shape.extents() == view.extents()) return;
  if (view && shape.extents().rank() != view.rank())
    detail::fail_rank(shape.extents().rank(), view.rank(), "resize");
  const V larger = detail::create_like(view, shape);
  if (view) detail::copy_common(shape.options.queue, larger, view);
  view = larger;
}

/// Gives `view` a new, zero-filled array of the given extents (with `uninitialized` it is not filled). The
/// old one is released first, so that both need not fit at once; on OutOfMemory `view` is null.
template <AnyView V, class... Arguments>
void realloc(V& view, const Arguments&... arguments) {
  const detail::NewShape<V> shape(view, arguments...);
  char label[256] = {};
  for (int i = 0; i < 255 && view.label()[i]; ++i) label[i] = view.label()[i];
  const auto mapping = detail::mapping_like(view.mapping(), shape.extents());
  view = V();
  view = detail::create_with<V>(label, mapping, mapping.required_span_size(), shape.options);
}

}  // namespace strata::inline STRATA_ABI
