// expect: the elements of an array are trivially copyable
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/strata.hpp>

void make() {
  const auto x = strata::create<strata::MDArray<std::string, strata::Serial>>("x", 10);
  static_cast<void>(x);
}
