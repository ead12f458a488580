// Conjugate gradients for A x = b, A symmetric and positive definite, preconditioned by the diagonal of A, by
// a Chebyshev polynomial of it and A, or by a function of the user.
//
//   auto result = linear::solve_cg(A, b, x, {.relative_tolerance = 1e-10});   // x: guess in, solution out
//   if (!result) std::puts(linear::to_string(result.status));
//
// An iteration is four launches on one queue: q = A p; p.q, finalized to alpha; r and the next r.z in one
// pass, finalized to beta and the verdict; x and p. All scalars stay on the device, which also stops the
// iteration: the host checks only every `check_every` iterations, and iterations enqueued after the last one
// change nothing, so that iteration counts and results do not depend on how often it checks. Host devices
// give the same bits.
//
// The polynomial costs a product with A for each degree and saves reductions and iterations.
//
// A is a CrsMatrix, or a CgOperator with the functions below, such as a matrix that its device cannot hold:
// then every iteration is checked, and none recorded.
//
//   a.rows(), a.columns(), a.device()
//   a.multiply(where, x, y)         y = A x
//   a.diagonal(where, d)            d(i) = a_ii, 0 where it is missing
//   a.magnitudes(where, s)          s(i) = the sum of |a_ij| over j, from left to right
//
// A matrix in parts on several devices has a.place() in place of a.device(): conjugate_gradients_across.hpp.
//
// ConjugateGradients keeps the workspace of 4 vectors (6 with the polynomial, 5 with a function) between
// solves; begin() and iterate() can be called, and recorded, by themselves. One solver is used by one thread
// and one queue at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <strata/algorithms/launch.hpp>
#include <strata/algorithms/launch_hints.hpp>
#include <strata/algorithms/linear/cg_kernels.hpp>
#include <strata/algorithms/linear/chebyshev.hpp>
#include <strata/algorithms/linear/place.hpp>
#include <strata/algorithms/linear/spmv.hpp>
#include <strata/algorithms/linear/vectors.hpp>
#include <strata/core/error.hpp>
#include <strata/core/function.hpp>
#include <strata/devices/graph.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

/// The approximate inverse of A in each iteration.
enum class Preconditioner {
  Jacobi,  ///< the inverse of its diagonal
  None,
  Chebyshev,  ///< a polynomial of A, scaled by its diagonal
};

struct CgResult;

/// The options of a solve.
struct CgOptions {
  double relative_tolerance = 1e-8;  ///< converged at |b - A x| <= this * |b| ...
  double absolute_tolerance = 0;     ///< ... or <= this
  index_t max_iterations = 10000;    ///< after which it gives up
  /// Iterations between two checks of the residual; 0: 1 where launches return when done, else 20.
  int check_every = 0;
  Preconditioner preconditioner = Preconditioner::Jacobi;
  int chebyshev_degree = 3;  ///< of the polynomial: products with A in each iteration in addition to the one
  /// The part of the eigenvalues that it works on is [greatest / ratio, greatest]; more than 1.
  double chebyshev_ratio = 30;
  Backend backend = Backend::Strata;  ///< of the products with A
  /// Whether the iterations between two checks are recorded once and replayed as a graph: no one else may use
  /// the queue meanwhile, so give the solve a queue of its own.
  bool record = false;
  /// Called with the state of the solve, by the thread that solves, whenever convergence was checked and the
  /// solve continues.
  detail::Function<void(const CgResult& so_far)> watch{};
};

/// How a solve ended.
struct CgResult {
  /// Why it ended, and after how many iterations.
  CgStatus status = CgStatus::Running;
  index_t iterations = 0;
  double residual = 0;         ///< |r|, as the iteration carries it along
  double right_hand_side = 0;  ///< |b|

  /// Whether it converged.
  explicit operator bool() const { return status == CgStatus::Converged; }
};

/// A matrix with its own product; the head of this file lists its functions, which enqueue at `where`, or
/// return when done. A handle, as views are.
template <class A>
concept CgOperator = !requires(const A& a) {
  a.graph();
}
&&requires(const A& a) { typename A::value_type; }
&&(
    requires(const A& a) { a.device(); } || requires(const A& a) { a.place(); });

/// The status in words.
constexpr const char* to_string(CgStatus status) {
  switch (status) {
    case CgStatus::Running:
      return "running";
    case CgStatus::Converged:
      return "converged";
    case CgStatus::MaxIterations:
      return "not converged within the iterations allowed";
    case CgStatus::NotPositiveDefinite:
      return "matrix or preconditioner are not positive definite, or a diagonal entry is not positive";
    case CgStatus::NotFinite:
      return "infinities or NaN in the matrix, the right-hand side or the first guess";
  }
  return "";
}

}  // namespace linear

namespace detail {

/// Where the vectors and scalars of a solve are, and what else depends on that: on one device, as views.
template <class Matrix>
struct CgPlace {
  static constexpr bool is_split = false;
  static constexpr bool is_operator = linear::CgOperator<Matrix>;
  using device_type = typename Matrix::device_type;
  using place_type = On<device_type>;
  using vector_type = MDArray<typename Matrix::value_type, device_type, rank<1>>;
  template <class T>
  using value_type = Value<T, device_type>;
  static constexpr int check_every = is_operator || device_type::memory_space::host_accessible ? 1 : 20;

  static place_type of(const Matrix& matrix) {
    if constexpr (is_operator) return on(matrix.device());
    else return on(device_of(matrix.values()));
  }
  static place_type with_queue(const place_type& where) { return on_queue(where); }
  static vector_type vector(const char* label, index_t n, const place_type& where) {
    return create<vector_type>(label, n, where);
  }
  template <class T>
  static value_type<T> value(const char* label, const place_type& where) {
    return create<value_type<T>>(label, where);
  }
  template <class V>
  static auto in_value(const V& v) {
    return in(v);
  }
  template <class V>
  static auto out_value(const V& v) {
    return out(v);
  }
  template <class V>
  static auto inout_value(const V& v) {
    return inout(v);
  }
  template <AnyView V>
  static void check(const char* what, const V& v, index_t n) {
    check_spmv_vector(what, v, n);
  }
  template <class S>
  static typename S::value_type look(const place_type& where, const S& state) {
    typename S::value_type value{};
    launch_reduce_into("CG: look", where, 1, CgRead<S>{state}, value);
    return value;
  }
  template <AnyView X>
  static void set_zero(const place_type& where, const X& x) {
    deep_copy(Queue<device_type>(where.device, where.queue), x, typename X::value_type(0));
    where.queue->wait();
  }

  /// Iterations that are repeated: as a graph, if that is asked for.
  class Repeated {
   public:
    void run(const place_type& where, int count, bool repeats, const auto& iterate) {
      const auto all = [&] {
        for (int k = 0; k < count; ++k) iterate(where);
      };
      if (!repeats) return all();
      const Queue<device_type> replayed(where.device, where.queue);
      if (!graph_) graph_ = strata::record(replayed, all);
      graph_.launch(replayed);
    }

   private:
    Graph<device_type> graph_;
  };
};

// A step of the iteration: launched at a place, or declared as a loop of a sequence.
template <class Where, class R, class K, class... Accesses>
void cg_step(const char* label, Where& where, const R& work, const K& kernel, const Accesses&... accesses) {
  if constexpr (Place<std::remove_const_t<Where>>) launch_at(label, where, work, kernel, accesses...);
  else where.loop(label, work, kernel, accesses...);
}
template <class Where, class R, class K, class Into, class... Accesses>
void cg_sum(const char* label, Where& where, const R& work, const K& kernel, const Into& into,
            const Accesses&... accesses) {
  if constexpr (Place<std::remove_const_t<Where>>)
    launch_reduce_at(label, where, work, kernel, into, accesses...);
  else where.loop_reduce(label, work, kernel, into, accesses...);
}

}  // namespace detail

namespace linear {

/// Solves A x = b for symmetric positive definite A; keeps its vectors from one solve to the next.
template <class Matrix>
class ConjugateGradients {
  static constexpr bool is_operator = CgOperator<Matrix>;
  using At = strata::detail::CgPlace<Matrix>;

 public:
  /// The types of elements, device and vectors, and of the place where it solves: on(queue).
  using value_type = typename Matrix::value_type;
  using device_type = typename Matrix::device_type;
  using vector_type = typename At::vector_type;
  using place_type = typename At::place_type;
  /// Enqueues z = M r at `where`, where M is about A^-1, symmetric and positive definite. Computation on the
  /// host has to wait for the queue first, and cannot be recorded.
  using Apply = detail::Function<void(const place_type& where, const vector_type& r, const vector_type& z)>;
  static_assert(std::is_floating_point_v<value_type>,
                "strata: ConjugateGradients: the elements are float or double");

  /// A solver for `matrix`, with its workspace on the matrix's device instance. ShapeMismatch unless the
  /// matrix is square; SettingError for options of which no polynomial can be made; OutOfMemory.
  explicit ConjugateGradients(const Matrix& matrix, const CgOptions& options = {})
      : matrix_(matrix), options_(options) {
    if (matrix.rows() != matrix.columns()) {
      const index_t found[] = {matrix.rows(), matrix.columns()}, wanted[] = {matrix.rows(), matrix.rows()};
      const char* label = "A";
      if constexpr (!is_operator) label = matrix.values().label();
      strata::detail::fail_shapes("ConjugateGradients", label, found, 2, "a square matrix", wanted, 2);
    }
    r_ = make_vector("CG r");
    p_ = make_vector("CG p");
    q_ = make_vector("CG q");
    d_ = make_vector("CG diagonal");
    state_ = At::template value<State>("CG state", place());
    step_ = At::template value<State>("CG state within an iteration", place());
    prepare();
  }

  /// The number of vectors of the workspace, without that for a function.
  static int vector_count(const CgOptions& options) {
    return options.preconditioner == Preconditioner::Chebyshev ? 6 : 4;
  }

  /// Solves A x = b; x holds the first guess and then the solution, or, if it did not converge, the last
  /// iterate. A right-hand side of 0 gives x = 0. Waits.
  template <class B, class X>
  CgResult solve(const place_type& where, const B& b, const X& x) const {
    const place_type queue = At::with_queue(where);
    typename At::Repeated repeated;
    begin(queue, b, x);
    CgResult result = look(queue);
    while (result.status == CgStatus::Running) {
      const index_t left = options_.max_iterations - result.iterations;
      if (left <= 0) {
        result.status = CgStatus::MaxIterations;
        break;
      }
      const int now = left < check_every() ? static_cast<int>(left) : check_every();
      repeated.run(queue, now, repeats(now), [&](auto& at) { iterate(at, x); });
      result = look(queue);
      if (options_.watch && result.status == CgStatus::Running) options_.watch(result);
    }
    if (result && result.right_hand_side == 0) {
      At::set_zero(queue, x);
      result.residual = 0;
    }
    return result;
  }
  template <class B, class X>
  CgResult solve(const B& b, const X& x) const {
    return solve(place(), b, x);
  }

  /// Enqueues the work before the first iteration. Does not wait.
  template <class B, class X>
  void begin(const place_type& where, const B& b, const X& x) const {
    static_assert(std::is_same_v<typename B::value_type, value_type> &&
                      std::is_same_v<typename X::value_type, value_type>,
                  "strata: ConjugateGradients: the element types of matrix and vectors differ");
    using namespace strata::detail;
    const index_t n = matrix_.rows();
    At::check("ConjugateGradients: b", b, n);
    At::check("ConjugateGradients: x", x, n);
    invert_diagonal(where, apply_ || options_.preconditioner == Preconditioner::None);
    multiply(where, x, q_);
    const CgFirst<value_type> first{static_cast<value_type>(options_.relative_tolerance),
                                    static_cast<value_type>(options_.absolute_tolerance)};
    cg_sum("CG: first residual", where, n, MakeCgResidual<value_type>{},
           finalize(first, At::inout_value(state_)), in(b), in(q_), in(d_), out(r_), out(p_));
    if (apply_ || options_.preconditioner != Preconditioner::Chebyshev) return;
    find_bound(where);
    cg_step("CG: Chebyshev scale", where, n, MakeChebyshevScale{}, inout(d_), At::in_value(bound_));
  }

  /// Enqueues one iteration on the x that begin() was given. Does not wait. `where` may also be a sequence,
  /// to which it adds the loops of an iteration.
  template <class Where, class X>
  void iterate(Where&& where, const X& x) const {
    using namespace strata::detail;
    const index_t n = matrix_.rows();
    const bool is_diagonal = !apply_ && options_.preconditioner != Preconditioner::Chebyshev;
    if (!is_diagonal) make_direction(where);
    multiply(where, p_, q_);
    cg_sum("CG: p.Ap", where, n, MakeCgDot<value_type>{},
           finalize(CgStep{}, At::in_value(state_), At::out_value(step_)), in(p_), in(q_));
    // Twice the threads that a sum of three numbers has by default: loads wait for stores.
    const auto work = launch_bounds<256, 4>(n);
    if (!is_diagonal)
      return cg_sum("CG: update", where, work, MakeCgUpdate<value_type>{},
                    finalize(CgJudgeResidual{}, At::in_value(step_), At::out_value(state_)), inout(x),
                    inout(r_), in(p_), in(q_), in(d_), At::in_value(step_));
    cg_sum("CG: residual", where, work, MakeCgUpdateResidual<value_type>{},
           finalize(CgJudge{}, At::in_value(step_), At::out_value(state_)), inout(r_), in(q_), in(d_),
           At::in_value(step_));
    cg_step("CG: x and direction", where, n, MakeCgAdvance{}, inout(x), inout(p_), in(r_), in(d_),
            At::in_value(state_));
  }

  /// The state of the solve after all that was enqueued; the status is Running if it is not done. Waits.
  CgResult look(const place_type& where) const {
    const State state = At::look(where, state_);
    return {state.status, state.iterations, static_cast<double>(state.residual),
            static_cast<double>(state.right_hand_side)};
  }

  /// The options of the next solve.
  const CgOptions& options() const { return options_; }
  /// Changes the options of the next solve.
  void set_options(const CgOptions& options) {
    options_ = options;
    prepare();
  }
  /// Uses `apply` in place of the preconditioner of the options, from the next solve on; an empty function
  /// restores the latter. OutOfMemory.
  void set_preconditioner(Apply apply) {
    apply_ = std::move(apply);
    if (apply_ && !z_) z_ = make_vector("CG z");
  }

 private:
  using State = strata::detail::CgState<value_type>;

  // The workspace that only the polynomial needs.
  void prepare() {
    if (options_.preconditioner != Preconditioner::Chebyshev) return;
    if (!(options_.chebyshev_ratio > 1) || options_.chebyshev_degree < 0)
      throw SettingError(
          "conjugate gradients: the Chebyshev polynomial needs a ratio of more than 1 and a degree of "
          "0 or more, not " +
          std::to_string(options_.chebyshev_ratio) + " and " + std::to_string(options_.chebyshev_degree));
    if (!z_) z_ = make_vector("CG z");
    if (s_) return;
    s_ = make_vector("CG Chebyshev step");
    bound_ = At::template value<value_type>("CG Chebyshev bound", place());
  }
  auto place() const { return At::of(matrix_); }
  vector_type make_vector(const char* label) const { return At::vector(label, matrix_.rows(), place()); }

  // y = A x
  template <class Where, class X>
  void multiply(Where& where, const X& x, const vector_type& y) const {
    if constexpr (is_operator) matrix_.multiply(where, x, y);
    else spmv(where, matrix_, x, y, options_.backend);
  }
  // d = D^-1, and the state of a solve that begins.
  void invert_diagonal(const place_type& where, bool identity) const {
    using namespace strata::detail;
    if constexpr (is_operator) {
      const auto begin = finalize(CgBegin{}, At::out_value(state_));
      if (identity) {
        cg_sum("CG: diagonal", where, matrix_.rows(), MakeCgUnitDiagonal{}, begin, out(d_));
      } else {
        matrix_.diagonal(where, d_);
        cg_sum("CG: diagonal", where, matrix_.rows(), MakeCgInvertDiagonal{}, begin, inout(d_));
      }
    } else {
      const auto& graph = matrix_.graph();
      launch_reduce_into(
          "CG: diagonal", where, matrix_.rows(),
          CgDiagonal<Matrix, vector_type>{graph.row_map(), graph.entries(), matrix_.values(), d_, identity},
          bound_finalize(CgBegin{}, state_));
    }
  }
  // The greatest sum of magnitudes of a row of D^-1 A; uses q.
  void find_bound(const place_type& where) const {
    using namespace strata::detail;
    if constexpr (is_operator) {
      matrix_.magnitudes(where, q_);
      cg_sum("CG: Chebyshev bound", where, matrix_.rows(), MakeCgGreatestProduct<value_type>{}, bound_,
             in(q_), in(d_));
    } else {
      launch_reduce_into("CG: Chebyshev bound", where, matrix_.rows(),
                         ChebyshevBound<Matrix, vector_type>{matrix_.graph().row_map(), matrix_.values(), d_},
                         bound_);
    }
  }

  // z = about A^-1 r, p = z + beta p
  template <class Where>
  void make_direction(Where& where) const {
    using namespace strata::detail;
    if (!apply_) apply_polynomial(where);
    else if constexpr (Place<std::remove_const_t<Where>>) apply_(where, r_, z_);
    cg_sum("CG: r.z", where, matrix_.rows(), MakeCgDot<value_type>{},
           finalize(CgNextProduct{}, At::inout_value(state_)), in(r_), in(z_));
    cg_step("CG: direction", where, matrix_.rows(), MakeCgDirectionOf{}, inout(p_), in(z_),
            At::in_value(state_));
  }
  // z = p(D^-1 A) D^-1 r; uses q.
  template <class Where>
  void apply_polynomial(Where& where) const {
    using namespace strata::detail;
    ChebyshevRecurrence<value_type> recurrence(options_.chebyshev_ratio);
    cg_step("CG: Chebyshev begin", where, matrix_.rows(), MakeChebyshevBegin<value_type>{recurrence.first()},
            in(r_), in(d_), out(s_), out(z_));
    for (int k = 0; k < options_.chebyshev_degree; ++k) {
      value_type keep, c;
      recurrence.next(keep, c);
      multiply(where, z_, q_);
      cg_step("CG: Chebyshev step", where, matrix_.rows(), MakeChebyshevStep<value_type>{keep, c}, in(r_),
              in(q_), in(d_), inout(s_), inout(z_));
    }
  }
  // Whether so many iterations are recorded, or declared, and done again and again.
  bool repeats(int iterations) const {
    if constexpr (At::is_split) return !apply_;
    else return options_.record && !is_operator && iterations == check_every();
  }
  int check_every() const { return options_.check_every > 0 ? options_.check_every : At::check_every; }

  Matrix matrix_;
  CgOptions options_;
  vector_type r_, p_, q_, d_;
  vector_type z_, s_;  // of the polynomial; z also of a function
  Apply apply_;
  typename At::template value_type<value_type> bound_;
  typename At::template value_type<State> state_;  // after an iteration
  typename At::template value_type<State> step_;   // within it, with alpha
};

/// One solve, with a workspace of its own.
template <class D, class Matrix, AnyView B, AnyView X>
CgResult solve_cg(const On<D>& where, const Matrix& matrix, const B& b, const X& x,
                  const CgOptions& options = {}) {
  return ConjugateGradients<Matrix>(matrix, options).solve(where, b, x);
}
template <class Matrix, class B, class X>
CgResult solve_cg(const Matrix& matrix, const B& b, const X& x, const CgOptions& options = {}) {
  return ConjugateGradients<Matrix>(matrix, options).solve(b, x);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
