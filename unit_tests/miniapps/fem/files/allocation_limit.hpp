// A limit on what this program allocates by operator new.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace fem_files_testing {

/// From now on std::bad_alloc where more than this would be in use besides what is now; 0: there is no limit.
void limit_memory(std::size_t bytes);
/// The most that was in use since then.
std::size_t peak_memory();
/// The size of the last allocation that was refused.
std::size_t refused_allocation();

}  // namespace fem_files_testing
