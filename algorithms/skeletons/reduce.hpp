// reduce, reduce_rows, reduce_columns: join the elements of an array, of each row or of each column.
//
//   double sum = reduce(where, Sum, x);
//   double most = reduce(where, Larger{}, -1.0, x);           // by Larger{}(a, b), from -1
//   reduce_rows(where, Sum, y, a);                            // y(i) = a(i, 0) + a(i, 1) + ...
//   reduce_columns(where, Larger{}, -1.0, y, a);              // y(j) from a(0, j), a(1, j), ...
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/skeletons/map_reduce.hpp>

namespace strata::inline STRATA_ABI {
namespace detail {

struct SameElement {
  template <class T>
  STRATA_FUNCTION T operator()(const T& element) const {
    return element;
  }
};

template <bool Rows, class Op, class T>
struct FoldKernel {
  Joining<Op, T> joining;
  T start;
  template <class I, class A, class Y>
  STRATA_FUNCTION void operator()(I i, const A& a, const Y& y) const {
    T value = start;
    const index_t n = a.extent(Rows ? 1 : 0);
    for (index_t k = 0; k < n; ++k)
      joining.template fold<KernelCallOfView<A>>(value, Rows ? a(i, k) : a(k, i));
    y(i) = value;
  }
};

template <bool Rows, class Where, class Op, class T, class LY, class LA>
void reduce_lines(const char* label, const Where& where, const Op& op, const T& start,
                  const CoherentArray<T, rank<1>, LY>& y, const CoherentArray<T, rank<2>, LA>& a) {
  const index_t shape[] = {array_of(a).extent(0), a.extent(1)}, length[] = {array_of(y).extent(0)};
  if (length[0] != shape[Rows ? 0 : 1]) fail_shapes(label, a.label(), shape, 2, y.label(), length, 1);
  const FoldKernel<Rows, Op, T> kernel{Joining<Op, T>{op}, start};
  if constexpr (Rows) launch_at(label, where, range(length[0]), kernel, in(a), out(y));
  else launch_at(label, where, range(length[0]), kernel, in(a, columns), out(y));
}

}  // namespace detail

namespace skeletons {

/// Returns start op x(0) op x(1) ..., for an empty array `start`; waits for the result, whose bits do not
/// depend on how many devices there are. Errors are those of launch.
template <Place Where, class Op, class T, int Rank, class L>
T reduce(const Where& where, const Op& op, const std::type_identity_t<T>& start,
         const BasicCoherentArray<T, Rank, L>& x) {
  return detail::map_reduce_from<T>(detail::label_of(where, "reduce"), where, detail::SameElement{}, op,
                                    start, x);
}
template <Place Where, NamedOperation Op, class T, int Rank, class L>
T reduce(const Where& where, const Op& op, const BasicCoherentArray<T, Rank, L>& x) {
  return reduce(where, op, detail::neutral_of<T>(op), x);
}

/// y(i) = start op a(i, 0) op a(i, 1) ..., in this order; a device gets its rows of `a`. Returns as launch
/// does. ShapeMismatch where y has not as many elements as a has rows.
template <Place Where, class Op, class T, class LY, class LA>
void reduce_rows(const Where& where, const Op& op, const std::type_identity_t<T>& start,
                 const CoherentArray<T, rank<1>, LY>& y, const CoherentArray<T, rank<2>, LA>& a) {
  detail::reduce_lines<true>(detail::label_of(where, "reduce_rows"), where, op, start, y, a);
}
template <Place Where, NamedOperation Op, class T, class LY, class LA>
void reduce_rows(const Where& where, const Op& op, const CoherentArray<T, rank<1>, LY>& y,
                 const CoherentArray<T, rank<2>, LA>& a) {
  detail::reduce_lines<true>(detail::label_of(where, "reduce_rows"), where, op, detail::neutral_of<T>(op), y,
                             a);
}
/// y(j) = start op a(0, j) op a(1, j) ..., likewise; a device gets its columns of `a`.
template <Place Where, class Op, class T, class LY, class LA>
void reduce_columns(const Where& where, const Op& op, const std::type_identity_t<T>& start,
                    const CoherentArray<T, rank<1>, LY>& y, const CoherentArray<T, rank<2>, LA>& a) {
  detail::reduce_lines<false>(detail::label_of(where, "reduce_columns"), where, op, start, y, a);
}
template <Place Where, NamedOperation Op, class T, class LY, class LA>
void reduce_columns(const Where& where, const Op& op, const CoherentArray<T, rank<1>, LY>& y,
                    const CoherentArray<T, rank<2>, LA>& a) {
  detail::reduce_lines<false>(detail::label_of(where, "reduce_columns"), where, op, detail::neutral_of<T>(op),
                              y, a);
}

}  // namespace skeletons
}  // namespace strata::inline STRATA_ABI
