// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include <strata/miniapps/thermal/boomeramg.hpp>
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
  const char* advice = "allow more iterations (--max-iterations) or ask for less (--tolerance)";
  if (result.status == linear::CgStatus::NotPositiveDefinite)
    advice =
        "look for a part of the mesh without a given temperature and, with --sink, for temperatures below 0, "
        "where there is no stable solution";
  if (result.status == linear::CgStatus::NotFinite || !std::isfinite(result.residual))
    advice =
        "numbers of the problem are too large or too small for the type: try other units or --type double";
  throw SolverError(
      text_of("conjugate gradients: %s: residual %.3g of |b| = %.3g after %lld iterations, "
              "asked for %.3g; %s",
              linear::to_string(result.status), norm > 0 ? result.residual / norm : result.residual, norm,
              static_cast<long long>(result.iterations), settings.tolerance, advice));
}

void fail_newton(int steps, double residual, double first_residual, bool is_steady) {
  if (!std::isfinite(residual))
    throw SolverError(
        text_of("Newton's method: after %d steps the residual is not finite: temperatures or other numbers "
                "are too large for the type; try other units or --type double",
                steps));
  throw SolverError(
      text_of("Newton's method does not converge: after %d steps the residual is %.3g times the first one "
              "(%.3g); %s, ask for less (--newton-tolerance), or change --beta or --sink",
              steps, residual / first_residual, first_residual,
              is_steady ? "start from a better guess (--initial), such as the end of a run in time"
                        : "take other time steps (--transient) or smaller elements where temperatures jump "
                          "(--refine)"));
}

void fail_conductivity(double beta, bool is_steady) {
  throw SolverError(text_of(
      "the conductivity k0 (1 + beta T) is not positive at temperatures %s %g that come up, with beta = "
      "%g: change --beta, --dirichlet, --source or --initial so that they do not%s",
      beta > 0 ? "down to" : "up to", -1 / beta, beta,
      is_steady
          ? ""
          : "; where temperatures jump, short time steps lead beyond the given ones: there, take longer "
            "steps (--transient) or smaller elements (--refine)"));
}

void require_boomeramg(const std::string& device, bool is_in_host_memory) {
  const std::string lack = boomeramg_lack();
  if (!lack.empty()) throw SettingError("--preconditioner boomeramg: " + lack);
  if (!is_in_host_memory)
    throw SettingError("--preconditioner boomeramg: not on " + device +
                       ", as hypre works in host memory: take --device serial, threads or tbb, or "
                       "--preconditioner chebyshev");
}

std::string placing_lack(const SolveSettings& settings) {
  if (settings.assembly != Assembly::Gather)
    return std::string("--assembly ") + (settings.assembly == Assembly::Atomic ? "atomic" : "fused") +
           " needs all of the matrix on one device, of which there are slices or parts: take --assembly "
           "gather";
  if (settings.use_boomeramg)
    return "--preconditioner boomeramg needs all of the matrix, of which there are slices or parts: take "
           "--preconditioner chebyshev";
  if (settings.backend == linear::Backend::Vendor)
    return "--spmv vendor needs all of the matrix on one device, of which there are slices or parts: take "
           "--spmv strata";
  return "";
}

void fail_singular() {
  throw SolverError(
      "neither a temperature nor convection is given anywhere, so that the steady solution is not unique: "
      "give at least one, such as --dirichlet 'x<=min=0' or --convection 'x<=min=10,20', or solve in time "
      "(--transient DT:STEPS)");
}

namespace {

// The number as the fields will have it.
double as_type(double value, bool is_float) { return is_float ? static_cast<float>(value) : value; }

void require_positive(const char* what, const char* option, double value, bool is_float,
                      const std::string& block) {
  const double own = as_type(value, is_float);
  if (own > 0 && std::isfinite(own)) return;
  throw SolverError(text_of("the %s of block \"%.100s\" is %g%s; it has to be positive: change %s", what,
                            block.c_str(), value, value > 0 ? ", beyond the numbers of type float" : "",
                            option));
}

}  // namespace

void check(const Problem& problem, const std::vector<std::string>& blocks, bool is_float) {
  if (problem.materials.size() != blocks.size())
    throw SolverError("there are " + std::to_string(problem.materials.size()) + " materials for " +
                      std::to_string(blocks.size()) + " blocks of the mesh; give one for each");
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Material& material = problem.materials[b];
    require_positive("conductivity", "--conductivity", material.conductivity, is_float, blocks[b]);
    require_positive("heat capacity", "--capacity", material.capacity, is_float, blocks[b]);
    if (!std::isfinite(as_type(material.source, is_float)))
      throw SolverError(
          text_of("the source of block \"%.100s\" is %g, no number of the type: change --source",
                  blocks[b].c_str(), material.source));
  }
  if (!std::isfinite(as_type(problem.beta, is_float)) || !std::isfinite(as_type(problem.sink, is_float)))
    throw SolverError(
        text_of("--beta %g and --sink %g have to be numbers of the type", problem.beta, problem.sink));
}

void check_temperature(double value, bool is_float, const std::string& what) {
  if (!std::isfinite(as_type(value, is_float)))
    throw SolverError(text_of("%.200s: %g is no number of the type%s", what.c_str(), value,
                              is_float ? "; --type double has larger ones" : ""));
}

void check(const Inflow& inflow, bool is_float, const std::string& selector) {
  for (const double value :
       {inflow.flux, inflow.coefficient, inflow.outside, inflow.flux + inflow.coefficient * inflow.outside})
    if (!std::isfinite(as_type(value, is_float)))
      throw SolverError(
          text_of("the heat that comes in at %.100s: %g is no number of the type%s: change "
                  "--flux or --convection",
                  selector.c_str(), value, is_float ? "; --type double has larger ones" : ""));
  if (inflow.coefficient < 0)
    throw SolverError(
        text_of("--convection at %.100s: the coefficient is %g; it has to be 0 or positive, as "
                "heat flows to where it is colder",
                selector.c_str(), inflow.coefficient));
}

void fail_no_inflows() {
  throw SolverError(
      "the problem was made for faces that let no heat in: set has_inflows of the Problem before it is made");
}

}  // namespace strata::inline STRATA_ABI::thermal
