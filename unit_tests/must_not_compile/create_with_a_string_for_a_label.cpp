// expect: create: the label is not a const char\*: you wrote .* write create<V>\(name.c_str\(\), n\)
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Threads, strata::rank<1>>;

void make(const std::string& name) { static_cast<void>(strata::create<Vector>(name, 100)); }
