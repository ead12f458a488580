// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <exception>

#include <strata/core/main_guard.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/unheard_errors.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

int print_error(int argc, char** argv, const char* what) {
  const char* name = argc > 0 && argv[0] != nullptr ? argv[0] : "program";
  if (const char* const slash = std::strrchr(name, '/')) name = slash + 1;
  std::fflush(stdout);  // the program's output before the error
  std::fprintf(stderr, "%s: error: %s\n", name, what);
  return 1;
}

template <class F>
int status_of(int argc, char** argv, const F& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    return print_error(argc, argv, error.what());
  } catch (...) {
    return print_error(argc, argv, "an exception that is no std::exception");
  }
}

}  // namespace

int guard_main(int argc, char** argv, int (*run)(void* context, int argc, char** argv), void* context) {
  const int before = unheard_errors();
  const int status = status_of(argc, argv, [&] {
    const Runtime runtime(argc, argv);
    // Caught within, so that it is printed before errors found by the end of the runtime.
    return status_of(argc, argv, [&] { return run(context, argc, argv); });
  });
  return status == 0 && unheard_errors() > before ? 1 : status;
}

}  // namespace strata::inline STRATA_ABI::detail
