// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>

#include <strata/core/error.hpp>
#include <strata/core/thread_number.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/task_function.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {
thread_local std::thread::id acts_for;       // none: for itself
thread_local std::uint64_t acts_for_number;  // where that is one
thread_local bool in_task_function = false;
thread_local std::uint64_t num_calls_begun = 0;
}  // namespace

std::thread::id acting_thread() {
  return acts_for == std::thread::id() ? std::this_thread::get_id() : acts_for;
}

std::uint64_t acting_thread_number() {
  return acts_for == std::thread::id() ? thread_number() : acts_for_number;
}

std::uint64_t calls_begun() { return num_calls_begun; }
void note_call_begun() { ++num_calls_begun; }

namespace {
std::atomic<void (*)()> before_waits = nullptr;
}
void set_before_waits(void (*f)()) { before_waits = f; }
void call_before_waits() {
  if (void (*const f)() = before_waits) f();
}

ActingFor::ActingFor(std::thread::id thread, std::uint64_t number)
    : before_(acts_for), number_before_(acts_for_number) {
  acts_for = thread;
  acts_for_number = number;
}
ActingFor::~ActingFor() {
  acts_for = before_;
  acts_for_number = number_before_;
}

TaskFunctionScope::TaskFunctionScope() : before_(in_task_function) { in_task_function = true; }
TaskFunctionScope::~TaskFunctionScope() { in_task_function = before_; }

OutsideTaskFunction::OutsideTaskFunction() : before_(in_task_function) { in_task_function = false; }
OutsideTaskFunction::~OutsideTaskFunction() { in_task_function = before_; }

void require_no_task_function(const char* what) {
  if (in_task_function)
    throw Error(
        std::string(what) +
        " in the function of a task: it uses the views that it is given, and launches over them on its "
        "queue; what uses coherent arrays is a task of its own, or comes before run()");
}

}  // namespace strata::inline STRATA_ABI::detail
