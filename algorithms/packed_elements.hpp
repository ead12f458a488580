// For algorithms on views of rank 1 that need a packed copy meanwhile: how it is made where the view is, and
// the kernels that fill it and bring it back. And launches at a place or, without one, on the device of the
// views.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/algorithms/place.hpp>
#include <strata/views/create.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class... A>
void for_anywhere(const char* label, const Anywhere&, const A&... arguments) {
  parallel_for(label, arguments...);
}
template <class D, class... A>
void for_anywhere(const char* label, const On<D>& where, const A&... arguments) {
  parallel_for(label, where, arguments...);
}
template <class... A>
void scan_anywhere(const char* label, const Anywhere&, A&&... arguments) {
  parallel_scan(label, static_cast<A&&>(arguments)...);
}
template <class D, class... A>
void scan_anywhere(const char* label, const On<D>& where, A&&... arguments) {
  parallel_scan(label, where, static_cast<A&&>(arguments)...);
}

// The instance of the memory of `x` on which a launch runs.
template <class X>
int instance_for(const Anywhere&, const X& x) {
  const Allocation* const record = x.allocation().get();
  if (record != nullptr) return record->space.instance;
  if constexpr (X::memory_space::host_accessible) return 0;
  else {
    const LayoutDescriptor layout = describe(x.mapping());
    return x.extent(0) > 0 ? copy_side(x, layout).space.instance : 0;
  }
}
template <class D, class X>
int instance_for(const On<D>& where, const X& x) {
  if constexpr (X::memory_space::host_accessible && !D::memory_space::host_accessible)
    return instance_for(Anywhere{}, x);
  else return X::memory_space::host_accessible ? 0 : where.device.index();
}

/// A new array of type V there; its elements are not initialised. Freeing it does not wait for the work that
/// uses it.
template <class V, class Where, class X, class... I>
V on_same_instance(const char* label, const Where& where, const X& x, I... extents) {
  return create<V>(label, extents..., uninitialized, on(typename V::device_type(instance_for(where, x))));
}
template <class X>
using PackedElements = View<typename X::value_type, typename X::device_type, RankExtents<1>, LayoutRight>;
/// One of as many elements as x has.
template <class Where, class X>
PackedElements<X> packed_like(const char* label, const Where& where, const X& x) {
  return on_same_instance<PackedElements<X>>(label, where, x, x.extent(0));
}

struct Pack {
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& packed) const {
    packed(index_t(i)) = x(x.begin(0) + index_t(i));
  }
};
struct Unpack {
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& packed) const {
    x(x.begin(0) + index_t(i)) = packed(index_t(i));
  }
};
struct CopyValue {
  template <class I, class From, class To>
  STRATA_FUNCTION void operator()(I, const From& from, const To& to) const {
    *to = *from;
  }
};
struct ReadValue {
  template <class I, class From>
  STRATA_FUNCTION void operator()(I, const From& from, index_t& sum) const {
    sum += *from;
  }
};

}  // namespace strata::inline STRATA_ABI::detail
