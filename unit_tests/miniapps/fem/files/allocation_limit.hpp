// A limit on the size of single allocations by operator new in this program.
#pragma once

#include <cstddef>

namespace fem_files_testing {

/// From now on larger ones throw std::bad_alloc; 0: there is no limit.
void limit_allocations(std::size_t bytes);
/// The size of the last one that was refused.
std::size_t refused_allocation();

}  // namespace fem_files_testing
