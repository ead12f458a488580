// deep_copy: copies the elements of one array to another of the same shape, whatever their devices, layouts
// and strides, or sets all elements to one value. Elements of another type are converted: numbers to numbers
// as static_cast does it, complex numbers to complex numbers.
//
// Without a queue the copy is ordered after everything on the default queues of both arrays' instances, is
// complete on return, and waits for nothing else. With a queue it is asynchronous and ordered in that queue
// only; host memory it reads or writes must stay until the queue was waited for.
//
// A conversion between arrays that the kernels of one device reach is one pass over both, on hosts and GPUs.
// Between two memories it needs a packed array on the device for a moment, of the elements as they are on the
// other side.
//
// Errors: ShapeMismatch naming both labels and shapes, CopyError (failed transfer, overlapping arrays), the
// error of earlier work on the same queue, OutOfMemory of a conversion between memories. Elements that are
// neither of one type nor both numbers are a compile-time error: write a parallel_for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/queue.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/views/copy.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class D, class S>
void check_copy_types() {
  static_assert(!std::is_const_v<typename D::element_type>,
                "strata: deep_copy: the destination has const elements: you wrote deep_copy(destination, "
                "source) with a view of const T as the "
                "first; write a view of T there");
  using To = typename D::value_type;
  using From = typename S::value_type;
  static_assert(std::is_same_v<To, From> || can_convert<To, From>(),
                "strata: deep_copy: the element types differ, and are not both numbers or both complex "
                "numbers: you wrote arrays of two types; write "
                "parallel_for(n, with(convert, y, x)), or give both one type");
}

template <class D, class S>
void deep_copy_on(QueueState* queue, const D& destination, const S& source) {
  check_copy_types<D, S>();
  const LayoutDescriptor to = describe(destination.mapping()), from = describe(source.mapping());
  using To = typename D::value_type;
  using From = typename S::value_type;
  if constexpr (std::is_same_v<To, From>)
    copy_arrays(copy_side(destination, to), copy_side(source, from), sizeof(To), queue);
  else if constexpr (can_convert<To, From>())
    convert_arrays(copy_side(destination, to), copy_side(source, from), conversion<To, From>(), queue);
}

template <class D>
void fill_on(QueueState* queue, const D& destination, const typename D::value_type& value) {
  static_assert(!std::is_const_v<typename D::element_type>,
                "strata: deep_copy: the destination has const elements: you wrote deep_copy(destination, "
                "source) with a view of const T as the "
                "first; write a view of T there");
  const LayoutDescriptor to = describe(destination.mapping());
  fill_array(copy_side(destination, to), &value, sizeof(typename D::value_type), queue);
}

template <class>
inline constexpr bool is_no_side = false;
template <class T>
void refuse_side() {
  static_assert(
      is_no_side<T>,
      "strata: deep_copy: an argument is neither a view nor a value of its elements: you wrote "
      "deep_copy(x, v) of a std::vector, a pointer or a coherent array; write a view of the memory, "
      "deep_copy(x, MDArray<double, Serial, rank<1>>(v.data(), n)), or x.read().view() of a coherent array");
}

}  // namespace detail

/// Copies `source` to `destination`; complete on return.
template <AnyView D, AnyView S>
void deep_copy(const D& destination, const S& source) {
  detail::deep_copy_on(nullptr, destination, source);
}

/// Copies on a queue of a device that owns one of the arrays; asynchronous.
template <class Q, AnyView D, AnyView S>
void deep_copy(const Queue<Q>& queue, const D& destination, const S& source) {
  static_assert(std::is_same_v<typename Q::memory_space, typename D::memory_space> ||
                    std::is_same_v<typename Q::memory_space, typename S::memory_space>,
                "strata: deep_copy: the queue is of a device that owns neither array");
  detail::deep_copy_on(&queue.state(), destination, source);
}

/// Sets every element to `value`; complete on return.
template <AnyView D>
void deep_copy(const D& destination, const typename D::value_type& value) {
  detail::fill_on(nullptr, destination, value);
}

/// Sets every element on a queue; asynchronous.
template <class Q, AnyView D>
void deep_copy(const Queue<Q>& queue, const D& destination, const typename D::value_type& value) {
  static_assert(std::is_same_v<typename Q::memory_space, typename D::memory_space>,
                "strata: deep_copy: the queue is of a device that does not own the array");
  detail::fill_on(&queue.state(), destination, value);
}

/// Reads the element of an array of rank 0 into `destination`; complete on return.
template <class T, AnyView S>
requires(!AnyView<T> && S::extents_type::max_rank_value == 0) void deep_copy(T& destination,
                                                                             const S& source) {
  const View<T, Serial, Extents<>, typename S::layout_type> host(&destination);
  detail::deep_copy_on(nullptr, host, source);
}

/// These do not compile: one side is neither a view nor a value of its elements.
template <AnyView D, class S>
requires(!AnyView<S> && !std::is_convertible_v<const S&, typename D::value_type>) void deep_copy(const D&,
                                                                                                 const S&) {
  detail::refuse_side<S>();
}
template <class D, AnyView S>
requires(!AnyView<D> && S::extents_type::max_rank_value != 0) void deep_copy(const D&, const S&) {
  detail::refuse_side<D>();
}
template <class Q, AnyView D, class S>
requires(!AnyView<S> &&
         !std::is_convertible_v<const S&, typename D::value_type>) void deep_copy(const Queue<Q>&, const D&,
                                                                                  const S&) {
  detail::refuse_side<S>();
}
template <class Q, class D, AnyView S>
requires(!AnyView<D> && S::extents_type::max_rank_value != 0) void deep_copy(const Queue<Q>&, const D&,
                                                                             const S&) {
  detail::refuse_side<D>();
}
/// Nor does this: what is read on a queue is there later.
template <class Q, class T, AnyView S>
requires(!AnyView<T> && S::extents_type::max_rank_value == 0) void deep_copy(const Queue<Q>&, T&, const S&) {
  static_assert(detail::is_no_side<T>,
                "strata: deep_copy: a value is read into a variable on a queue: you wrote deep_copy(queue, "
                "number, view); write deep_copy(number, view), which waits, or a view of the variable");
}

}  // namespace strata::inline STRATA_ABI
