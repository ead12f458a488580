// Conjugate gradients over several devices, for matrices in parts.
//
//   linear::ConjugateGradients solver(matrix, options);     // matrix.place() is across(...)
//   solver.solve(b, x);                                     // coherent arrays
//
// The matrix is a CgOperator that has no device() but
//
//   a.place()                       across(...), of devices of one kind
//   a.multiply(where, x, y)         y = A x; `where` is that place, or a Sequence over it, to which a loop is
//                                   added: linear::launch_or_add does either
//
// with coherent arrays for vectors, also in diagonal() and magnitudes(), where `where` is the place. Vectors
// and what is done to them are in parts as launches over the place are; scalars are made on the first device,
// and each device reads them there. The iterations between two checks are one run of a Sequence, so that on
// GPUs most of them are planned once, and the host waits for none. The bits are those of one device, where
// those of the product are. Products and sums are cut at different rows unless the place is weighted
// accordingly (reduction_sizes): rows between the cuts go to and fro in each iteration.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <strata/algorithms/linear/conjugate_gradients.hpp>
#include <strata/algorithms/sequence/sequence.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

/// A matrix in parts; see the head of this file.
template <class A>
concept CgSplitOperator = CgOperator<A> && requires(const A& a) {
  a.place();
};

/// launch(where.named(label), ...), or a loop of a sequence.
template <class Where, WorkRange R, class K, class... Accesses>
void launch_or_add(const char* label, Where& where, const R& work, const K& kernel,
                   const Accesses&... accesses) {
  strata::detail::cg_step(label, where, work, kernel, accesses...);
}

}  // namespace linear

namespace detail {

struct CopyCgState {
  STRATA_FUNCTION void operator()(auto, auto from, auto to) const { to() = from(); }
};
struct SetCgZero {
  STRATA_FUNCTION void operator()(auto i, auto x) const {
    x(i) = typename std::remove_cvref_t<decltype(x)>::value_type(0);
  }
};

/// The vectors of such a matrix are coherent arrays, and its scalars, too.
template <linear::CgSplitOperator Matrix>
struct CgPlace<Matrix> {
  static constexpr bool is_split = true;
  using device_type = typename Matrix::device_type;
  using place_type = std::remove_cvref_t<decltype(std::declval<const Matrix&>().place())>;
  using vector_type = CoherentArray<typename Matrix::value_type, rank<1>, LayoutRight>;
  template <class T>
  using value_type = CoherentArray<T, rank<0>>;
  static constexpr int check_every = device_type::memory_space::host_accessible ? 1 : 16;

  static place_type of(const Matrix& matrix) { return matrix.place(); }
  static const place_type& with_queue(const place_type& where) { return where; }
  static vector_type vector(const char* label, index_t n, const place_type&) {
    return vector_type(label, n, uninitialized, MemoryMode::Smart);
  }
  template <class T>
  static value_type<T> value(const char* label, const place_type&) {
    return value_type<T>(label, uninitialized, MemoryMode::Smart);
  }
  template <class V>
  static auto in_value(const V& v) {
    return in(v, everything);
  }
  template <class V>
  static auto out_value(const V& v) {
    return out(v, everything);
  }
  template <class V>
  static auto inout_value(const V& v) {
    return inout(v, everything);
  }
  template <class T, class L>
  static void check(const char* what, const CoherentArray<T, rank<1>, L>& v, index_t n) {
    if (v.extent(0) == n) return;
    const index_t found[] = {v.extent(0)}, wanted[] = {n};
    fail_shapes(what, v.label(), found, 1, "a vector that fits the matrix", wanted, 1);
  }
  // A copy of the state, so that the plans of the iterations find it where they left it.
  template <class S>
  static typename S::value_type look(const place_type& where, const S& state) {
    const S seen("CG state for the host", uninitialized, MemoryMode::Smart);
    visit_part(where, 0, [&](const auto& on) {
      launch_at("CG: look", on, 1, CopyCgState{}, in_value(state), out_value(seen));
    });
    return seen.read()();
  }
  template <class X>
  static void set_zero(const place_type& where, const X& x) {
    launch_at("CG: no right-hand side", where, x.extent(0), SetCgZero{}, out(x));
  }

  /// Iterations as a sequence, with the plans of a solve.
  class Repeated {
   public:
    void run(const place_type& where, int count, bool repeats, const auto& iterate) {
      if (!repeats) {
        for (int k = 0; k < count; ++k) iterate(where);
        return;
      }
      if (!steps_) {
        steps_.emplace("CG: iterations", where);
        iterate(*steps_);
      }
      steps_->run(count);
    }

   private:
    std::optional<Sequence<place_type>> steps_;
  };
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
