// main_guard: the status of a program and what it prints. Each statement runs in a process of its own, as the
// runtime ends with it.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
#include <strata/core/main_guard.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/core/unheard_errors.hpp>

namespace {

using namespace strata;

template <class Run>
[[noreturn]] void end_by(const Run& run, const char* option = nullptr) {
  std::string program = "/some/where/app", argument = option == nullptr ? "" : option;
  char* argv[] = {program.data(), argument.data(), nullptr};
  std::exit(main_guard(option == nullptr ? 1 : 2, argv, run));
}

int seven() { return 7; }
int count_arguments(int argc, char**) { return argc; }

class MainGuardDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(MainGuardDeathTest, ReturnsWhatRunReturns) {
  EXPECT_EXIT(end_by(seven), ::testing::ExitedWithCode(7), "^$");
  EXPECT_EXIT(end_by([] {}), ::testing::ExitedWithCode(0), "^$");
}

TEST_F(MainGuardDeathTest, TakesOptionsBeforeItRuns) {
  EXPECT_EXIT(end_by(count_arguments, "--strata-threads=3"), ::testing::ExitedWithCode(1), "^$");
  EXPECT_EXIT(end_by(count_arguments, "other"), ::testing::ExitedWithCode(2), "^$");
  EXPECT_EXIT(end_by([] { return settings().threads; }, "--strata-threads=3"), ::testing::ExitedWithCode(3),
              "^$");
}

TEST_F(MainGuardDeathTest, PrintsAnErrorOnceAndReturnsOne) {
  EXPECT_EXIT(end_by([] { throw OutOfMemory("no room for \"x\""); }), ::testing::ExitedWithCode(1),
              "^app: error: no room for \"x\"\n$");
  EXPECT_EXIT(end_by([]() -> int { throw std::runtime_error("of the user"); }), ::testing::ExitedWithCode(1),
              "^app: error: of the user\n$");
  EXPECT_EXIT(end_by([] { throw 42; }), ::testing::ExitedWithCode(1), "^app: error: .*no std::exception\n$");
}

TEST_F(MainGuardDeathTest, SettingThatCannotBeReadIsPrinted) {
  EXPECT_EXIT(end_by([] { std::fputs("run\n", stderr); }, "--strata-threads=many"),
              ::testing::ExitedWithCode(1), "^app: error: [^\n]*threads[^\n]*\n$");
}

TEST_F(MainGuardDeathTest, RuntimeEndsAfterRun) {
  EXPECT_EXIT(end_by([] {
                detail::at_end([]() noexcept { std::fputs(" then the end", stderr); });
                std::fputs("run", stderr);
              }),
              ::testing::ExitedWithCode(0), "^run then the end$");
}

TEST_F(MainGuardDeathTest, ErrorThatTheEndFindsGivesOne) {
  const auto find_at_the_end = [] {
    detail::at_end([]() noexcept { detail::print_unheard_error("\"step\" on Toy{0}", "boom"); });
  };
  constexpr const char* message =
      "^strata: error: \"step\" on Toy\\{0\\} failed, which nobody waited for: boom\n$";

  EXPECT_EXIT(end_by(find_at_the_end), ::testing::ExitedWithCode(1), message);
  EXPECT_EXIT(end_by([&] {
                find_at_the_end();
                return 5;
              }),
              ::testing::ExitedWithCode(5), message);
}

// ---- errors that nobody waited for

std::exception_ptr failure(const char* what) { return std::make_exception_ptr(Error(what)); }

TEST_F(MainGuardDeathTest, HeldErrorIsPrintedByItsLastHolderUnlessItWasTold) {
  EXPECT_EXIT(
      {
        const std::exception_ptr first = failure("one");
        const std::exception_ptr second = failure("two");
        detail::hold_error(first, "\"a\" on Toy{0}");
        detail::hold_error(first, "another place");
        detail::hold_error(second, "\"b\" on Toy{1}");
        if (!detail::share_error(second)) std::exit(9);
        detail::drop_error(first);  // still held
        detail::error_was_reported(second);
        detail::drop_error(second);
        detail::drop_error(second);
        if (detail::share_error(second)) std::exit(9);  // it was told, and is forgotten
        std::fputs("held\n", stderr);
        detail::drop_error(first);
        std::exit(detail::unheard_errors());
      },
      ::testing::ExitedWithCode(1),
      "^held\nstrata: error: \"a\" on Toy\\{0\\} failed, which nobody waited for: one\n$");
  EXPECT_EXIT(
      {
        const std::exception_ptr error = failure("left");
        detail::hold_error(error, "\"c\" on Toy{2}");
        finalize();
        detail::drop_error(error);
        std::exit(detail::unheard_errors());
      },
      ::testing::ExitedWithCode(1),
      "^strata: error: \"c\" on Toy\\{2\\} failed, which nobody waited for: left\n$");
  EXPECT_EXIT(
      {
        const std::exception_ptr error = std::make_exception_ptr(42);
        detail::hold_error(error, "\"d\" on Toy{3}");
        detail::drop_error(error);
        std::exit(detail::unheard_errors());
      },
      ::testing::ExitedWithCode(1),
      "failed, which nobody waited for: an exception that is no std::exception\n$");
}

}  // namespace
