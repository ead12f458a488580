// The tests of the method. Each solves problems with known answers on a device, in float or in double and by
// the solver that was asked for, and notes what it compared. Reference figures are of independent programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/thermal/error_norms.hpp>
#include <strata/miniapps/thermal/heat.hpp>

namespace strata::inline STRATA_ABI::thermal {

using Checks = std::vector<miniapp::Check>;

/// Where the tests run, and what they found so far.
class Verification {
 public:
  /// `serial` makes the same on one thread; of `solve` the tolerances are not taken.
  Verification(MakeHeat make, MakeHeat serial, bool is_float, const SolveSettings& solve)
      : make_(std::move(make)), serial_(std::move(serial)), is_float_(is_float), solve_(solve) {}

  bool is_float() const { return is_float_; }
  /// The tolerance for the type of the fields.
  double tolerance(double of_double, double of_float) const { return is_float_ ? of_float : of_double; }
  const SolveSettings& solve() const { return solve_; }

  /// A problem on a box; solved as exactly as the type allows.
  std::unique_ptr<Heat> heat(const std::string& box, const ProblemOfBlocks& problem,
                             bool on_serial = false) const {
    return heat(box, problem, solve_, on_serial);
  }
  std::unique_ptr<Heat> heat(const std::string& box, const ProblemOfBlocks& problem, SolveSettings solve,
                             bool on_serial = false) const;
  void add(const miniapp::Check& check) { checks_.push_back(check); }
  const Checks& checks() const { return checks_; }

 private:
  MakeHeat make_, serial_;
  bool is_float_;
  SolveSettings solve_;
  Checks checks_;
};

/// A test.
struct VerificationCase {
  const char* name;
  void (*run)(Verification&);
};
/// All of them.
const std::vector<VerificationCase>& verification_cases();

/// Faces that let heat in: closed solutions, exact ones and one that converges; a block that cools as a
/// whole; and given temperatures that jump.
void verify_flux(Verification& v);
void verify_convection(Verification& v);
void verify_cooling(Verification& v);
void verify_jump(Verification& v);

/// Symmetry and row sums, before and after given temperatures are eliminated; the ways to assemble agree; the
/// stored contributions give the bits of one thread.
void verify_structure(Verification& v);

}  // namespace strata::inline STRATA_ABI::thermal
