// expect: the `value_type` must be trivially copyable
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/strata.hpp>

struct JoinNames {
  using device_type = strata::Serial;
  using value_type = std::string;
  void operator()(int i, std::string& names) const { names += static_cast<char>('a' + i); }
  static void init(std::string& names) { names.clear(); }
  static void join(std::string& names, const std::string& other) { names += other; }
};

void names(std::string& result) { strata::parallel_reduce(10, JoinNames{}, result); }
