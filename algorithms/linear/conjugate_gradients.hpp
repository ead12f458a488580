// Conjugate gradients for A x = b, A symmetric and positive definite, preconditioned by the diagonal of A, by
// a Chebyshev polynomial of it and A, or by a function of the user.
//
//   auto result = linear::solve_cg(A, b, x, {.relative_tolerance = 1e-10});   // x: guess in, solution out
//   if (!result) std::puts(linear::to_string(result.status));
//
// An iteration is four launches on one queue: q = A p; p.q, finalized to alpha; x, r and the next r.z in one
// pass, finalized to beta and the verdict; p. All scalars stay on the device, which also stops the iteration:
// the host checks only every `check_every` iterations, and iterations enqueued after the last one change
// nothing, so that iteration counts and results do not depend on how often it checks. Host devices give the
// same bits.
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
// ConjugateGradients keeps the workspace of 4 vectors (6 with the polynomial, 5 with a function) between
// solves; begin() and iterate() can be called, and recorded, by themselves. One solver is used by one thread
// and one queue at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

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
&&requires(const A& a) {
  typename A::value_type;
  a.device();
};

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

/// Solves A x = b for symmetric positive definite A; keeps its vectors from one solve to the next.
template <class Matrix>
class ConjugateGradients {
  static constexpr bool is_operator = CgOperator<Matrix>;

 public:
  /// The types of elements, device and vectors.
  using value_type = typename Matrix::value_type;
  using device_type = typename Matrix::device_type;
  using vector_type = MDArray<value_type, device_type, rank<1>>;
  /// Enqueues z = M r at `where`, where M is about A^-1, symmetric and positive definite. Computation on the
  /// host has to wait for the queue first, and cannot be recorded.
  using Apply =
      detail::Function<void(const On<device_type>& where, const vector_type& r, const vector_type& z)>;
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
    const index_t n = matrix.rows();
    r_ = create<vector_type>("CG r", n, place());
    p_ = create<vector_type>("CG p", n, place());
    q_ = create<vector_type>("CG q", n, place());
    d_ = create<vector_type>("CG diagonal", n, place());
    state_ = create<StateView>("CG state", place());
    prepare();
  }

  /// The number of vectors of the workspace, without that for a function.
  static int vector_count(const CgOptions& options) {
    return options.preconditioner == Preconditioner::Chebyshev ? 6 : 4;
  }

  /// Solves A x = b; x holds the first guess and then the solution, or, if it did not converge, the last
  /// iterate. A right-hand side of 0 gives x = 0. Waits.
  template <AnyView B, AnyView X>
  CgResult solve(const On<device_type>& where, const B& b, const X& x) const {
    const auto queue = strata::detail::on_queue(where);
    Graph<device_type> graph;
    begin(queue, b, x);
    CgResult result = look(queue);
    while (result.status == CgStatus::Running) {
      const index_t left = options_.max_iterations - result.iterations;
      if (left <= 0) {
        result.status = CgStatus::MaxIterations;
        break;
      }
      const index_t now = left < check_every() ? left : check_every();
      const auto step = [&] {
        for (index_t k = 0; k < now; ++k) iterate(queue, x);
      };
      if (options_.record && !is_operator && now == check_every()) {
        const Queue<device_type> replayed(queue.device, queue.queue);
        if (!graph) graph = strata::record(replayed, step);
        graph.launch(replayed);
      } else {
        step();
      }
      result = look(queue);
      if (options_.watch && result.status == CgStatus::Running) options_.watch(result);
    }
    if (result && result.right_hand_side == 0) {
      scale_to_zero(queue, x);
      result.residual = 0;
    }
    return result;
  }
  template <AnyView B, AnyView X>
  CgResult solve(const B& b, const X& x) const {
    return solve(place(), b, x);
  }

  /// Enqueues the work before the first iteration. Does not wait.
  template <AnyView B, AnyView X>
  void begin(const On<device_type>& where, const B& b, const X& x) const {
    static_assert(std::is_same_v<typename B::value_type, value_type> &&
                      std::is_same_v<typename X::value_type, value_type>,
                  "strata: ConjugateGradients: the element types of matrix and vectors differ");
    using namespace strata::detail;
    const index_t n = matrix_.rows();
    check_spmv_vector("ConjugateGradients: b", b, n);
    check_spmv_vector("ConjugateGradients: x", x, n);
    invert_diagonal(where, apply_ || options_.preconditioner == Preconditioner::None);
    multiply(where, x, q_);
    launch_reduce_into("CG: first residual", where, n, CgResidual<B, vector_type>{{}, b, q_, r_, p_, d_},
                       CgFirst<StateView>{state_, static_cast<value_type>(options_.relative_tolerance),
                                          static_cast<value_type>(options_.absolute_tolerance)});
    if (apply_ || options_.preconditioner != Preconditioner::Chebyshev) return;
    find_bound(where);
    launch_for("CG: Chebyshev scale", where, n,
               ChebyshevScale<vector_type, Value<value_type, device_type>>{d_, bound_});
  }

  /// Enqueues one iteration on the x that begin() was given. Does not wait.
  template <AnyView X>
  void iterate(const On<device_type>& where, const X& x) const {
    using namespace strata::detail;
    const index_t n = matrix_.rows();
    const bool is_diagonal = !apply_ && options_.preconditioner != Preconditioner::Chebyshev;
    if (!is_diagonal) make_direction(where);
    multiply(where, p_, q_);
    launch_reduce_into("CG: p.Ap", where, n, DotKernel<vector_type, vector_type>{p_, q_},
                       CgStep<StateView>{state_});
    const CgUpdate<X, vector_type, StateView> update{
        {}, {}, x, r_, read_only(p_), read_only(q_), read_only(d_), state_};
    // Twice the threads that a sum of three numbers has by default: loads wait for stores.
    const auto work = launch_bounds<256, 4>(n);
    if (!is_diagonal) {
      launch_reduce_into("CG: update", where, work, update, CgJudgeResidual<StateView>{state_});
      return;
    }
    launch_reduce_into("CG: update", where, work, update, CgJudge<StateView>{state_});
    launch_for("CG: direction", where, n,
               CgDirection<vector_type, StateView>{{}, p_, read_only(r_), read_only(d_), state_});
  }

  /// The state of the solve after all that was enqueued; the status is Running if it is not done. Waits.
  CgResult look(const On<device_type>& where) const {
    State state{};
    strata::detail::launch_reduce_into("CG: look", where, 1, strata::detail::CgRead<StateView>{state_},
                                       state);
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
  /// restores that. OutOfMemory.
  void set_preconditioner(Apply apply) {
    apply_ = std::move(apply);
    if (apply_ && !z_) z_ = create<vector_type>("CG z", matrix_.rows(), place());
  }

 private:
  using State = strata::detail::CgState<value_type>;
  using StateView = Value<State, device_type>;

  // The workspace that only the polynomial needs.
  void prepare() {
    if (options_.preconditioner != Preconditioner::Chebyshev) return;
    if (!(options_.chebyshev_ratio > 1) || options_.chebyshev_degree < 0)
      throw SettingError(
          "conjugate gradients: the Chebyshev polynomial needs a ratio of more than 1 and a degree of "
          "0 or more, not " +
          std::to_string(options_.chebyshev_ratio) + " and " + std::to_string(options_.chebyshev_degree));
    if (!z_) z_ = create<vector_type>("CG z", matrix_.rows(), place());
    if (s_) return;
    s_ = create<vector_type>("CG Chebyshev step", matrix_.rows(), place());
    bound_ = create<Value<value_type, device_type>>("CG Chebyshev bound", place());
  }
  auto place() const {
    if constexpr (is_operator) return on(matrix_.device());
    else return on(strata::detail::device_of(matrix_.values()));
  }

  // y = A x
  template <AnyView X>
  void multiply(const On<device_type>& where, const X& x, const vector_type& y) const {
    if constexpr (is_operator) matrix_.multiply(where, x, y);
    else spmv(where, matrix_, x, y, options_.backend);
  }
  // d = D^-1, and the state of a solve that begins.
  void invert_diagonal(const On<device_type>& where, bool identity) const {
    using namespace strata::detail;
    const CgBegin<StateView> begin{state_};
    if constexpr (is_operator) {
      if (!identity) matrix_.diagonal(where, d_);
      launch_reduce_into("CG: diagonal", where, matrix_.rows(), CgInvertDiagonal<vector_type>{d_, identity},
                         begin);
    } else {
      const auto& graph = matrix_.graph();
      launch_reduce_into(
          "CG: diagonal", where, matrix_.rows(),
          CgDiagonal<Matrix, vector_type>{graph.row_map(), graph.entries(), matrix_.values(), d_, identity},
          begin);
    }
  }
  // The greatest sum of magnitudes of a row of D^-1 A; uses q.
  void find_bound(const On<device_type>& where) const {
    using namespace strata::detail;
    const ChebyshevStoreBound<Value<value_type, device_type>> store{bound_};
    if constexpr (is_operator) {
      matrix_.magnitudes(where, q_);
      launch_reduce_into("CG: Chebyshev bound", where, matrix_.rows(), CgGreatestProduct<vector_type>{q_, d_},
                         store);
    } else {
      launch_reduce_into("CG: Chebyshev bound", where, matrix_.rows(),
                         ChebyshevBound<Matrix, vector_type>{matrix_.graph().row_map(), matrix_.values(), d_},
                         store);
    }
  }

  // z = about A^-1 r, p = z + beta p
  void make_direction(const On<device_type>& where) const {
    using namespace strata::detail;
    if (apply_) apply_(where, r_, z_);
    else apply_polynomial(where);
    launch_reduce_into("CG: r.z", where, matrix_.rows(), DotKernel<vector_type, vector_type>{r_, z_},
                       CgNextProduct<StateView>{state_});
    launch_for("CG: direction", where, matrix_.rows(),
               CgDirectionOf<vector_type, StateView>{p_, read_only(z_), state_});
  }
  // z = p(D^-1 A) D^-1 r; uses q.
  void apply_polynomial(const On<device_type>& where) const {
    using namespace strata::detail;
    ChebyshevRecurrence<value_type> recurrence(options_.chebyshev_ratio);
    launch_for("CG: Chebyshev begin", where, matrix_.rows(),
               ChebyshevBegin<vector_type>{r_, d_, s_, z_, recurrence.first()});
    for (int k = 0; k < options_.chebyshev_degree; ++k) {
      value_type keep, c;
      recurrence.next(keep, c);
      multiply(where, z_, q_);
      launch_for("CG: Chebyshev step", where, matrix_.rows(),
                 ChebyshevStep<vector_type>{r_, q_, d_, s_, z_, keep, c});
    }
  }
  index_t check_every() const {
    if (options_.check_every > 0) return options_.check_every;
    return is_operator || device_type::memory_space::host_accessible ? 1 : 20;
  }
  template <AnyView X>
  static void scale_to_zero(const On<device_type>& where, const X& x) {
    deep_copy(Queue<device_type>(where.device, where.queue), x, value_type(0));
    where.queue->wait();
  }

  Matrix matrix_;
  CgOptions options_;
  vector_type r_, p_, q_, d_;
  vector_type z_, s_;  // of the polynomial; z also of a function
  Apply apply_;
  Value<value_type, device_type> bound_;
  StateView state_;
};

/// One solve, with a workspace of its own.
template <class D, class Matrix, AnyView B, AnyView X>
CgResult solve_cg(const On<D>& where, const Matrix& matrix, const B& b, const X& x,
                  const CgOptions& options = {}) {
  return ConjugateGradients<Matrix>(matrix, options).solve(where, b, x);
}
template <class Matrix, AnyView B, AnyView X>
CgResult solve_cg(const Matrix& matrix, const B& b, const X& x, const CgOptions& options = {}) {
  return ConjugateGradients<Matrix>(matrix, options).solve(b, x);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
