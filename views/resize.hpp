// resize and realloc: give a view a new array of another shape. Other views of the old array keep it.
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

template <class V>
void copy_common(const V& to, const V& from) {
  index_t common[max_rank + 1] = {};
  for (int r = 0; r < to.rank(); ++r)
    common[r] = to.extent(r) < from.extent(r) ? to.extent(r) : from.extent(r);
  const auto with_rank = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    constexpr auto all = std::make_index_sequence<N>();
    deep_copy(leading_block(to, common, all), leading_block(from, common, all));
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

// An array of the new shape on the instance and with the label of `view`.
template <class V, class... I>
V create_like(const V& view, I... extents) {
  check_extents<typename V::extents_type, int{sizeof...(I)}>();
  const index_t given[] = {static_cast<index_t>(extents)..., 0};
  const auto mapping = mapping_like(view.mapping(), typename V::extents_type(given, sizeof...(I)));
  CreateOptions<typename V::device_type> options{};
  if (view.allocation().get())
    options.device = typename V::device_type(view.allocation().get()->space.instance);
  return create_with<V>(view.label(), mapping, mapping.required_span_size(), options);
}

}  // namespace detail

/// Gives `view` a new array of the given extents; elements whose indices exist in both shapes are kept,
/// others zero. On OutOfMemory `view` is as before.
template <AnyView V, class... I>
void resize(V& view, I... extents) {
  V larger = detail::create_like(view, extents...);
  if (view && larger.rank() != view.rank()) detail::fail_rank(larger.rank(), view.rank(), "resize");
  if (view) detail::copy_common(larger, view);
  view = larger;
}

/// Gives `view` a new, zero-filled array of the given extents. The old one is released first, so that both
/// need not fit at once; on OutOfMemory `view` is null.
template <AnyView V, class... I>
void realloc(V& view, I... extents) {
  detail::check_extents<typename V::extents_type, int{sizeof...(I)}>();
  const V nothing;
  if (view.use_count() == 0) {
    view = detail::create_like(nothing, extents...);
    return;
  }
  char label[256] = {};
  for (int i = 0; i < 255 && view.label()[i]; ++i) label[i] = view.label()[i];
  const index_t given[] = {static_cast<index_t>(extents)..., 0};
  const auto mapping = detail::mapping_like(view.mapping(), typename V::extents_type(given, sizeof...(I)));
  detail::CreateOptions<typename V::device_type> options{};
  options.device = typename V::device_type(view.allocation().get()->space.instance);
  view = nothing;
  view = detail::create_with<V>(label, mapping, mapping.required_span_size(), options);
}

}  // namespace strata::inline STRATA_ABI
