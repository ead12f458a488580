// The new values of a state, as steps are launched with them. Elements that a kernel leaves out keep their
// values: before a work item runs, its old values are copied to the elements that it may write, its row or
// its element. The kernel reads them anyway, and compilers omit the copy where they see that the kernel
// overwrites it; where it costs time, state(u, region).writes_all() removes it. Checked builds then find
// kernels that do not write all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/coherent_access.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

// The view itself, without special handling of indices.
template <class T, class D, class E, class L, class A>
STRATA_FUNCTION const View<T, D, E, L, A>& plain_view(const View<T, D, E, L, A>& view) {
  return view;
}

// Calls f(indices...) for each element of the item `i...` of an array: all that has these left-most indices.
template <class V, class F, class... I>
STRATA_FUNCTION void for_elements_of_item(const V& view, const F& f, const I&... i) {
  constexpr int given = sizeof...(I);
  if constexpr (given == V::extents_type::max_rank_value) {
    f(i...);
  } else {
    for (index_t j = 0; j < view.extent(given); ++j) for_elements_of_item(view, f, i..., j);
  }
}

// Bytes that a kernel hardly ever writes. Two marks show whether it did: values that it writes are the same
// after both.
template <class T>
struct UnwrittenMark {
  STRATA_FUNCTION static void set(T& element, int which) {
    unsigned char* const to = reinterpret_cast<unsigned char*>(&element);
    for (std::size_t k = 0; k < sizeof(T); ++k) to[k] = byte(which);
  }
  STRATA_FUNCTION static bool is_in(const T& element, int which) {
    const unsigned char* const from = reinterpret_cast<const unsigned char*>(&element);
    for (std::size_t k = 0; k < sizeof(T); ++k)
      if (from[k] != byte(which)) return false;
    return true;
  }

 private:
  STRATA_FUNCTION static unsigned char byte(int which) { return which == 0 ? 0xa7 : 0x5c; }
};

/// The address that a view of memory Space holds for `element`, a reference that the calling thread may use.
template <class Space, class T>
STRATA_FUNCTION const void* held_address(const T& element) {
  const char* const here = reinterpret_cast<const char*>(&element);
  return here - (Space::resolve(here) - here);
}

/// Logs the element that views hold at `data` as left out.
template <class... I>
STRATA_FUNCTION void report_left_out(const void* data, const I&... i) {
  BadAccess found;
  found.data = data;
  found.rank = sizeof...(I);
  const index_t index[] = {static_cast<index_t>(i)...};
  for (int r = 0; r < found.rank; ++r) found.index[r] = index[r];
#if defined(__CUDA_ARCH__)
  report_unwritten_on_device(found, "");
#else
  report_unwritten(found, "");
#endif
}

/// The view V of new values, bound after that of the old ones.
template <class V, bool WritesAll>
struct NewValues : V {
  using unmanaged_type = typename V::unmanaged_type;
  using T = typename V::value_type;
  static constexpr bool begins_items = true;
  static constexpr bool ends_items = WritesAll;
  explicit NewValues(const V& view) : V(view) {}

  template <class Old, class... I>
  STRATA_FUNCTION void begin_item([[maybe_unused]] const Old& old, const I&... i) const {
    const auto& next = plain_view(*this);
    for_elements_of_item(
        next,
        [&](const auto&... at) {
          if constexpr (WritesAll) UnwrittenMark<T>::set(next(at...), 0);
          else next(at...) = plain_view(old)(at...);
        },
        i...);
  }
  template <class Again, class... I>
  STRATA_FUNCTION void end_item(const Again& again, const I&... i) const {
    const auto& next = plain_view(*this);
    for_elements_of_item(
        next,
        [&](const auto&... at) {
          if (!UnwrittenMark<T>::is_in(next(at...), 0)) return;
          UnwrittenMark<T>::set(next(at...), 1);
          again();
          if (UnwrittenMark<T>::is_in(next(at...), 1))
            report_left_out(held_address<typename V::memory_space>(next(at...)), at...);
        },
        i...);
  }
};

/// The new values of a state, before they are bound.
template <class V, bool WritesAll>
struct ResolvedNew {
  using view_type = V;
  V view;
};
template <class V, bool WritesAll>
auto view_to_bind(const ResolvedNew<V, WritesAll>& access) {
  const auto view = view_to_bind(ResolvedAccess<AccessMode::Out, V, Own>{access.view, own});
  if constexpr (WritesAll && !checked_build) return view;
  else return NewValues<std::remove_const_t<decltype(view)>, WritesAll>(view);
}

/// For work items that cannot copy old values themselves, as several of them have one element or the kernel
/// is a factory: a launch before theirs, with an item for each row, does.
struct CarryRow {
  template <class Old, class New>
  STRATA_FUNCTION void operator()(index_t i, const Old& old, const New& next) const {
    for_elements_of_item(
        next, [&](const auto&... at) { next(at...) = old(at...); }, i);
  }
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
