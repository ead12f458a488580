// expect: main_guard: run must be callable as run\(\) or run\(argc, argv\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

int main(int argc, char** argv) {
  return strata::main_guard(argc, argv, [](double) {});
}
