// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <strata/miniapps/factorize/run.hpp>
#include <strata/miniapps/factorize/verify.hpp>

namespace strata::inline STRATA_ABI::factorize {

namespace {

constexpr index_t num_vectors = 4, seed_of_vectors = 1'000'003, seed_of_right_side = 1'000'033;

bool is_symmetric(Operation operation) { return operation == Operation::Cholesky; }

// |E| by the products E v.
double estimated_norm(const Vectors& products, const Vectors& v) {
  double sum = 0;
  for (index_t c = 0; c < v.columns; ++c) {
    const double ratio = norm_of(products, c) / norm_of(v, c);
    sum += ratio * ratio;
  }
  return std::sqrt(sum / static_cast<double>(v.columns) * static_cast<double>(v.rows));
}

template <class T>
class Verification {
 public:
  Verification(const Computed<T>& computed, Operations<T>& operations, miniapp::RunReport& report)
      : of_(computed),
        operations_(operations),
        report_(report),
        n_(of_.input.order()),
        limit_(residual_limit(of_.request.operation, n_, sizeof(T) == 8, of_.request.tf32)) {}

  void run() {
    const Vectors v = random_vectors(n_, num_vectors, seed_of_vectors);
    switch (of_.request.operation) {
      case Operation::Cholesky: {
        const Vectors expected = times_input(v, &norm_);
        const Vectors half = multiply(of_.result, TilePart::LowerTransposed, v);
        check("|A - L L^T| / |A|", difference(expected, multiply(of_.result, TilePart::Lower, half)), v,
              norm_);
        solve();
        break;
      }
      case Operation::Lu:
      case Operation::LuNoPivot: {
        const Vectors expected = times_input(v, &norm_);
        const TiledMatrix<T> x = column("v", v);
        operations_.multiply_by_factors(x);
        check(of_.request.operation == Operation::Lu ? "|A - P^T L U| / |A|" : "|A - L U| / |A|",
              difference(expected, values_of(x)), v, norm_);
        solve();
        break;
      }
      case Operation::Gemm: {
        const Vectors right = multiply<T>(*of_.right, InputPart::All, false, v, nullptr);
        const Vectors expected = multiply<T>(of_.input, InputPart::All, false, right, nullptr);
        check("|C - A B| / |C|", difference(expected, multiply(of_.result, TilePart::All, v)), v,
              estimated_norm(expected, v));
        break;
      }
      case Operation::Syrk: {
        const Vectors right = multiply<T>(of_.input, InputPart::All, true, v, nullptr);
        const Vectors expected = multiply<T>(of_.input, InputPart::All, false, right, nullptr);
        check("|C - A A^T| / |C|", difference(expected, multiply(of_.result, TilePart::Symmetric, v)), v,
              estimated_norm(expected, v));
        break;
      }
      case Operation::Trsm:
        check_system();
    }
  }

 private:
  Vectors times_input(const Vectors& v, double* norm) const {
    const InputPart part = is_symmetric(of_.request.operation) ? InputPart::Symmetric : InputPart::All;
    return multiply<T>(of_.input, part, false, v, norm);
  }
  TiledMatrix<T> column(const char* name, const Vectors& values) {
    const TiledMatrix<T> x(name, n_, values.columns, of_.result.tile_order(), uninitialized);
    set(x, values);
    return x;
  }
  // From the right all is transposed, op(A)^T X^T = B^T: vectors have as many elements as there are
  // right-hand sides, so that the norms of few are as exact as those of many.
  void check_system() {
    const TriangularRequest& system = of_.request.system;
    const InputPart part = system.unit_diagonal ? system.upper ? InputPart::UnitUpper : InputPart::UnitLower
                           : system.upper       ? InputPart::Upper
                                                : InputPart::Lower;
    const bool right = system.from_right;
    const index_t rhs = right ? of_.result.rows() : of_.result.columns();
    const Vectors v = random_vectors(rhs, num_vectors, seed_of_vectors);
    const Vectors x = multiply(of_.result, right ? TilePart::AllTransposed : TilePart::All, v);
    const Vectors expected = multiply<T>(*of_.right, InputPart::All, right, v, nullptr);
    const Vectors found = multiply<T>(of_.input, part, system.transpose != right, x, &norm_);
    const double norm_of_x = estimated_norm(x, v);
    if (!std::isfinite(norm_of_x))  // then the residual is no number, and fails
      report_.notes.push_back(
          "X is not finite: A has a zero on its diagonal, or solutions too large for --type " +
          std::string(sizeof(T) == 8 ? "double" : "float"));
    check(right ? "|X op(A) - B| / (|A| |X|)" : "|op(A) X - B| / (|A| |X|)", difference(found, expected), v,
          norm_ * norm_of_x);
  }
  void check(const std::string& name, const Vectors& products, const Vectors& v, double norm) {
    const double error = estimated_norm(products, v);
    const double residual = error == 0 ? 0 : error / norm;  // products may be zero
    report_.add_result("residual", residual);
    report_.add_result("norm", norm);
    report_.checks.push_back(miniapp::check_zero(name, residual, limit_));
  }
  void solve() {
    const Vectors b = random_vectors(n_, 1, seed_of_right_side);
    const TiledMatrix<T> tiled = column("b", b);
    operations_.solve(tiled);
    const Vectors x = values_of(tiled);
    // The right-hand side as T has it is b: its numbers are exact in float.
    const double residual = norm_of(difference(b, times_input(x, nullptr)), 0) / (norm_ * norm_of(x, 0));
    report_.add_result("residual_of_solution", residual);
    report_.checks.push_back(miniapp::check_zero("|b - A x| / (|A| |x|)", residual, limit_));
  }

  const Computed<T>& of_;
  Operations<T>& operations_;
  miniapp::RunReport& report_;
  const index_t n_;
  const double limit_;
  double norm_ = 0;  // of A
};

}  // namespace

double residual_limit(Operation operation, index_t order, bool is_double, bool tf32) {
  const double epsilon = is_double ? std::numeric_limits<double>::epsilon()
                                   : static_cast<double>(std::numeric_limits<float>::epsilon());
  const double n = static_cast<double>(order);
  const bool is_lu = operation == Operation::Lu || operation == Operation::LuNoPivot;
  constexpr double most_of_tf32 = 0.01;  // factors of products have 11 bits
  return (4 * std::sqrt(n) + (is_lu ? n : 0)) * epsilon + (tf32 ? most_of_tf32 : 0);
}

template <class T>
void verify(const Computed<T>& computed, Operations<T>& operations, miniapp::RunReport& report) {
  Verification<T>(computed, operations, report).run();
}
template void verify(const Computed<float>&, Operations<float>&, miniapp::RunReport&);
template void verify(const Computed<double>&, Operations<double>&, miniapp::RunReport&);

}  // namespace strata::inline STRATA_ABI::factorize
