// The problem: vectors, the two that each iteration samples, and what a good flow is. From a file of
// comma-separated values, or made with a seed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <strata/miniapps/ransac/flow.hpp>

namespace strata::inline STRATA_ABI::ransac {

/// What there may be of each; UsageError beyond. A file may have as many vectors as are made.
inline constexpr index_t most_vectors = 10'000'000, most_iterations = 10'000'000;
inline constexpr index_t largest_error = 1 << 20;

struct Problem {
  std::vector<FlowVector> vectors;
  std::vector<std::int32_t> samples;  ///< of iteration i: the numbers of its vectors, 2 i and 2 i + 1
  std::int32_t error = 3;             ///< a vector that ends so far from where it should is an outlier
  std::int32_t limit = 0;             ///< a candidate has fewer outliers

  index_t iterations() const { return static_cast<index_t>(samples.size() / 2); }
};

/// The flow that make_vectors hides among outliers.
FlowModel flow_of(std::uint64_t seed);
/// `n` vectors in a picture of 640 x 480 points: about half of them are of that flow, each end off by at most
/// one point, the others end anywhere. The same for a seed everywhere.
std::vector<FlowVector> make_vectors(index_t n, std::uint64_t seed);

/// The vectors of a file: lines "x,y,x',y'" of integers, the first of which may name the columns; empty lines
/// are left out. UsageError, with the number of the line, for what is none, too large or not there.
std::vector<FlowVector> read_vectors(const std::string& path);
/// The same of a stream; `name` is for messages.
std::vector<FlowVector> read_vectors(std::istream& stream, const std::string& name);

/// The problem with two vectors drawn for each iteration. A candidate is a flow with fewer than
/// `convergence` times as many outliers as there are vectors. UsageError for figures out of range.
Problem make_problem(std::vector<FlowVector> vectors, index_t iterations, index_t error, double convergence,
                     std::uint64_t seed);

}  // namespace strata::inline STRATA_ABI::ransac
