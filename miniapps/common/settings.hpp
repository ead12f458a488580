// CommonSettings: the options that all applications have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <strata/miniapps/common/options.hpp>

namespace strata::inline STRATA_ABI::miniapp {

struct CommonSettings {
  std::string mesh;             ///< a file or "box:..."; the application sets the default
  index_t refine = 0;           ///< times that every element becomes eight
  std::string device = "";      ///< names, comma-separated, or "all"; "": the best there is
  std::string type = "double";  ///< "double" or "float"
  std::string output;           ///< file of the results; empty: none
  std::string json;             ///< file of the report; empty: none
  std::string sweep;            ///< "A:B"; empty: one run
  std::string memory_limit;     ///< bytes of the device, "2GiB"; empty: all that it has
  bool verify = false;
  bool quiet = false;
};

/// Declares them.
void declare(Options& options, CommonSettings& settings);

/// The number of refinements; UsageError where no mesh could bear so many.
int refinements_of(const CommonSettings& settings);

/// The bytes of the device's memory that arrays may take at --memory-limit, which makes them go through it in
/// slices; 0: no limit was given. UsageError.
index_t memory_limit_of(const CommonSettings& settings);

/// What may be used of a device of this capacity, of which `used` bytes are taken; 0: not known.
index_t memory_left(std::size_t capacity, std::size_t used);

/// "part.vtu" and "Cuda:1" make "part.Cuda-1.vtu": the file of one device among several. An empty path stays
/// empty.
std::string path_with(const std::string& path, const std::string& device);

/// The sizes of --sweep A:B: A, 2 A, 4 A ... up to B. UsageError.
std::vector<index_t> sweep_sizes(const std::string& text);

/// A box of elements of about `elements` elements, nx x (nx + 1) x 2 (nx + 1) as in the paper, as
/// "box:NXxNYxNZ".
std::string box_of_about(index_t elements);

}  // namespace strata::inline STRATA_ABI::miniapp
