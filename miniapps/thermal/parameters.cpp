#include <cmath>
#include <cstdio>

#include <strata/miniapps/thermal/parameters.hpp>

namespace strata::inline STRATA_ABI::thermal {

namespace {

template <class... Numbers>
std::string text_of(const char* format, Numbers... numbers) {
  char text[400];
  std::snprintf(text, sizeof text, format, numbers...);
  return text;
}

}  // namespace

void fail_solve(const linear::CgResult& result, const SolveSettings& settings, double norm) {
  throw SolverError(
      text_of("conjugate gradients: %s: residual %.3g of |b| = %.3g after %lld iterations, asked for %.3g; "
              "allow more iterations (--max-iterations), ask for less (--tolerance), or look for a part of "
              "the mesh without a given temperature",
              linear::to_string(result.status), norm > 0 ? result.residual / norm : result.residual, norm,
              static_cast<long long>(result.iterations), settings.tolerance));
}

void fail_newton(int steps, double residual, double first_residual) {
  throw SolverError(
      text_of("Newton's method: the residual is %.3g of the first one (%.3g) after %d steps; start from a "
              "better guess (--initial), take smaller time steps, or change --beta or --sink",
              residual / first_residual, first_residual, steps));
}

void fail_conductivity(double relative, double beta) {
  throw SolverError(
      text_of("the conductivity k0 (1 + beta T) falls to %.3g k0 with beta = %g: it has to be positive at "
              "all temperatures that occur; change --beta, --dirichlet or --initial",
              relative, beta));
}

void fail_singular() {
  throw SolverError(
      "no temperature is given anywhere, so that the steady solution is not unique: give at least one, such "
      "as "
      "--dirichlet 'x<=min=0', or solve in time (--transient DT:STEPS)");
}

void check(const Problem& problem, index_t blocks) {
  if (static_cast<index_t>(problem.materials.size()) != blocks)
    throw SolverError("there are " + std::to_string(problem.materials.size()) + " materials for " +
                      std::to_string(blocks) + " blocks of the mesh; give one for each");
  for (const Material& material : problem.materials) {
    if (!(material.conductivity > 0 && std::isfinite(material.conductivity)))
      throw SolverError(text_of("a conductivity is %g; it has to be positive", material.conductivity));
    if (!(material.capacity > 0 && std::isfinite(material.capacity)))
      throw SolverError(text_of("a heat capacity is %g; it has to be positive", material.capacity));
    if (!std::isfinite(material.source)) throw SolverError("a heat source is not finite");
  }
}

}  // namespace strata::inline STRATA_ABI::thermal
